"""The models that a training has judged by its held-out rows, of which it keeps one: evaluations along the way, and blends at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...evaluation.selection import ScoredModel, gain_of_chosen


def name_of_step(step: int) -> str:
    """Return the name of the evaluation after so many steps."""
    return f"step-{step}"


class Candidates:
    """Scores, and resampled scores in float32, of every candidate by its name.

    Attributes:
        complete: whether all evaluations so far are known. Checkpoints of earlier versions hold none; the choice among them cannot be
            repeated, and intervals are those of the kept model by itself.
    """

    def __init__(self) -> None:
        self.complete = True
        self._models: dict[str, ScoredModel] = {}

    def add(self, name: str, scores: Mapping[str, Any], resampled: np.ndarray | None) -> None:
        """Add one candidate, or replace the one of this name."""
        score = scores.get("score")
        drawn = np.empty(0, np.float32) if resampled is None else np.asarray(resampled, np.float32)
        self._models[name] = ScoredModel(float("nan") if score is None else float(score), drawn)

    def load(self, scores: Mapping[str, float] | None, resampled: Mapping[str, Tensor]) -> None:
        """Replace all candidates by those of a checkpoint; ``None`` where it holds no evaluations, although there were some."""
        self.complete = scores is not None
        self._models.clear()
        for name, score in (scores or {}).items():
            self.add(name, {"score": score}, resampled[name].numpy() if name in resampled else None)

    def scores(self) -> dict[str, float] | None:
        """Return the score of each candidate, as :meth:`load` takes them."""
        return {name: model.score for name, model in self._models.items()} if self.complete else None

    def tensors(self) -> dict[str, Tensor]:
        """Return the resampled scores of each candidate that has any, (resamples,) float32."""
        return {name: torch.from_numpy(model.resampled) for name, model in self._models.items() if len(model.resampled)}

    def chosen(self, name: str, scores: Mapping[str, Any], untuned: np.ndarray | None, *, besides: int = 0) -> dict[str, Any]:
        """Return the scores of the candidate that is kept, with ``gain_interval`` as the choice among all candidates makes it.

        Args:
            scores: the candidate's own. Without an interval of its own gain it has none here.
            untuned: the untuned model's resampled scores.
            besides: other models that might have been kept, such as the untuned one.

        Returns:
            ``scores`` with the interval and with ``chosen_among``, the number of models; unchanged where not all candidates are known.
        """
        found = dict(scores)
        if not self.complete:
            return found
        found["chosen_among"] = len(self._models) + besides
        if untuned is not None and "gain_interval" in scores and name in self._models:
            others = [model for other, model in self._models.items() if other != name]
            found |= gain_of_chosen(np.asarray(untuned, np.float32), self._models[name], others)
        return found
