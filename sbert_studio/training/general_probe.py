"""General quality before and after a training: correlation on scored pairs of everyday language."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.samples import ASSETS
from ..evaluation.bootstrap import percentile_interval
from ..evaluation.encoding import pair_similarities
from ..evaluation.tasks.sts import bootstrap_spearman, spearman
from ..models.base import Encoder

if TYPE_CHECKING:
    from ..models.trainable import Trainable

PAIRS = ASSETS / "probe" / "general.csv"
# A language counts where the untuned model gets so much of it right, or where it is the one that the model knows best.
_KNOWN, _LEAST = 0.6, 0.2
_MODELS = 32  # of which is remembered what they say untuned, some kilobytes each
_LOCK = Lock()
_CACHE: dict[tuple[str, str, Path], Sequence[np.ndarray]] = {}


@dataclass(frozen=True)
class _ProbeLanguage:
    language: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    scores: np.ndarray

    def scored(self, encoder: Trainable) -> np.ndarray:
        return pair_similarities(encoder, self.left, self.right)


class GeneralProbe:
    """Correlation of a model on everyday pairs, in the languages the base model knows.

    Attributes:
        untuned: ``{"score", "rows", "interval", "languages": {code: score}}`` of the base model: mean Spearman's ρ over languages with
            its 95 % bootstrap interval.
    """

    def __init__(self, parts: Sequence[_ProbeLanguage], untuned: Sequence[np.ndarray]) -> None:
        """``untuned``: what the untuned encoder says of the pairs of each part."""
        self._parts = tuple(parts)
        self.untuned, self._resampled = self._summarize(untuned)

    @classmethod
    def build(cls, encoder: Trainable) -> GeneralProbe | None:
        """Create the probe for a base model; ``None`` for a cross-encoder with a new head, or if the model knows none of the languages."""
        if encoder.has_untrained_scores or not PAIRS.is_file():
            return None
        found = list(zip(_load_pairs(), _base_similarities(encoder), strict=True))
        scores = [spearman(scored, part.scores) for part, scored in found]
        known = [both for both, score in zip(found, scores, strict=True) if score >= _KNOWN or score == max(scores) >= _LEAST]
        return cls(*zip(*known, strict=True)) if known else None

    def __call__(self, encoder: Trainable) -> dict[str, Any]:
        """Return the scores of another encoder, with ``change_interval``: the 95 % interval of its change (paired bootstrap)."""
        found, resampled = self._summarize([part.scored(encoder) for part in self._parts])
        return {**found, "change_interval": percentile_interval(resampled - self._resampled)}

    def _summarize(self, scored: Sequence[np.ndarray]) -> tuple[dict[str, Any], np.ndarray]:
        scores = {part.language: spearman(found, part.scores) for part, found in zip(self._parts, scored, strict=True)}
        # Languages have pairs of their own, so that their resamples may stand beside each other in any order.
        resampled = np.mean([bootstrap_spearman(found, part.scores) for part, found in zip(self._parts, scored, strict=True)], axis=0)
        found = {
            "score": float(np.mean(list(scores.values()))),
            "rows": sum(len(part.scores) for part in self._parts),
            "interval": percentile_interval(resampled),
            "languages": scores,
        }
        return found, resampled


def _base_similarities(encoder: Trainable) -> Sequence[np.ndarray]:
    model = getattr(encoder, "fingerprint", None)
    if model is None:
        return [part.scored(encoder) for part in _load_pairs()]
    # A run may replace the prompts of a model whose weights are the same.
    key = (model, encoder.prompt_for_role("symmetric") if isinstance(encoder, Encoder) else "", PAIRS)
    if (said := _CACHE.get(key)) is None:
        said = [part.scored(encoder) for part in _load_pairs()]
        with _LOCK:
            while len(_CACHE) >= _MODELS:
                _CACHE.pop(next(iter(_CACHE)))
            _CACHE[key] = said
    return said


@lru_cache(maxsize=1)
def _load_pairs() -> tuple[_ProbeLanguage, ...]:
    with PAIRS.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    parts = []
    for language in dict.fromkeys(row["language"] for row in rows):
        own = [row for row in rows if row["language"] == language]
        scores = np.array([float(row["score"]) for row in own])
        parts.append(_ProbeLanguage(language, tuple(row["sentence1"] for row in own), tuple(row["sentence2"] for row in own), scores))
    return tuple(parts)
