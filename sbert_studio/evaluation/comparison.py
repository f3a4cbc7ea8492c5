"""Two models on the same rows: is one better than the other by more than which rows there happen to be? (paired bootstrap, Efron 1979)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .bootstrap import gain


@dataclass(frozen=True)
class Comparison:
    """Two models by one number.

    Attributes:
        of: the file or the group that they are judged on.
        by: the file itself, the mean over the group's files, all its rows as one set, or the mean over suites.
        task, metric: what the number is.
        models: the two; ``scores`` are theirs.
        interval: the 95% interval of the second one's score less the first one's; ``None``: the rows are too few to tell.
        chance: the share of resamples in which the order of the two turns, or they tie; ``None`` as above.
        smaller: whether the smaller number is the better one.
    """

    of: str
    by: Literal["file", "mean", "all", "average"]
    task: str
    metric: str
    models: tuple[str, str]
    scores: tuple[float, float]
    interval: tuple[float, float] | None
    chance: float | None
    smaller: bool = False

    @property
    def difference(self) -> float:
        """The second one's score less the first one's."""
        return self.scores[1] - self.scores[0]

    @property
    def better(self) -> str | None:
        """The one that is better beyond chance, if either is."""
        if self.interval is None:
            return None
        low, high = self.interval
        more, less = self.models[::-1] if not self.smaller else self.models
        return more if low > 0 else less if high < 0 else None

    def in_words(self) -> str:
        """``better beyond chance: NAME``, or ``no difference beyond chance``."""
        if self.interval is None:
            return "too few rows of a kind to tell a difference from chance"
        return "no difference beyond chance" if self.better is None else f"better beyond chance: {self.better}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON; the difference is the second model's score less the first one's."""
        return {
            "of": self.of,
            "by": self.by,
            "task": self.task,
            "metric": self.metric,
            "models": list(self.models),
            "scores": list(self.scores),
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "chance": self.chance,
            "better": self.better,
            "words": self.in_words(),
        }


def told_apart(
    scores: tuple[float, float], resampled: tuple[np.ndarray | None, np.ndarray | None]
) -> tuple[tuple[float, float] | None, float | None]:
    """The interval of the difference of two models, and the share of resamples in which their order turns.

    Args:
        scores: of the two models on the same rows.
        resampled: their scores on the same resamples, (resamples,) each. A resample takes part where both are defined.
    """
    found = gain(*resampled).get("gain_interval")
    if found is None or resampled[0] is None or resampled[1] is None:
        return None, None
    differences = resampled[1] - resampled[0]
    differences = differences[~np.isnan(differences)]
    way = np.sign(scores[1] - scores[0])
    turned = float((np.sign(differences) != way).mean()) if way else 1.0
    return (float(found[0]), float(found[1])), turned
