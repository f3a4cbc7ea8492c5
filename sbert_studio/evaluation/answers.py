"""Per-row predictions of a model, and the rows on which two models disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..i18n import _


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Return the 1-based ranks of (n,) values as float64; ties share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])


def rank_differences(scores: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Return the rank difference of each pair between (n,) model and gold scores as a share of all ranks, (n,) float64 in [-1, 1].

    Positive values mean that the model ranks the pair higher than the gold scores do. For ranks d without ties, Spearman's ρ is
    1 − 6 Σ d² / (n (n² − 1)).
    """
    return np.asarray((average_ranks(scores) - average_ranks(gold)) / max(1, len(scores) - 1))


PredictionKind = Literal["cosine", "score", "margin", "rank", "class"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Per-row predictions of a model for m questions.

    Attributes:
        credit: (m,) float64 in [0, 1]; larger is closer to the gold answer.
        values: (m,) predicted values: the similarity or score of a pair, the margin of a triplet, the rank of the first correct
            candidate, or a class id (index into ``names``).
        kind: the kind of these values.
        names: class names.
        percentiles: (m,), for scores, which are evaluated by rank: the percentile of each prediction; ties count half.
        gold_percentiles: (m,) percentiles of the gold scores.
        rows: (m,) row of the examples for each question; ``None`` means all rows in order.
    """

    credit: np.ndarray
    values: np.ndarray
    kind: PredictionKind
    names: tuple[str, ...] = ()
    rows: np.ndarray | None = None
    percentiles: np.ndarray | None = None
    gold_percentiles: np.ndarray | None = None

    @property
    def is_binary(self) -> bool:
        """True if each prediction is either right or wrong."""
        return self.kind in ("class", "margin")

    def row(self, place: int) -> int:
        """Return the example row of question ``place``."""
        return place if self.rows is None else int(self.rows[place])

    def describe(self, place: int) -> str:
        """Describe prediction ``place``: ``0.83, above 61% of pairs``, ``rank 3``, ``card lost``, ``wrong by 0.04``."""
        value = self.values[place]
        if self.kind == "class":
            return self.names[int(value)] if value >= 0 else "nothing"
        if self.kind == "rank":
            return _("rank {value}", value=f"{int(value):,}")
        if self.kind == "margin":
            return (
                _("right by {value}", value=f"{abs(value):.2f}") if self.credit[place] else _("wrong by {value}", value=f"{abs(value):.2f}")
            )
        score = f"{value:.2f}".replace("-", "−")
        return (
            score
            if self.percentiles is None
            else _("{score}, above {percentiles} of pairs", score=score, percentiles=f"{self.percentiles[place]:.0%}")
        )


def prediction_kind(similarity: str) -> PredictionKind:
    """Return the kind of predictions made with the similarity function ``similarity``."""
    return "cosine" if similarity == "cosine" else "score"


def predictions_from_scores(scores: np.ndarray, gold: np.ndarray, kind: PredictionKind = "cosine") -> Predictions:
    """Return predictions for (n,) pair scores; the credit is 1 minus the rank difference to the (n,) gold scores."""
    places, people = ((average_ranks(np.asarray(one)) - 1) / max(1, len(gold) - 1) for one in (scores, gold))
    return Predictions(1 - np.abs(places - people), np.asarray(scores, np.float64), kind, percentiles=places, gold_percentiles=people)


def predictions_from_labels(scores: np.ndarray, labels: np.ndarray, kind: PredictionKind = "cosine") -> Predictions:
    """Return predictions for (n,) pair scores with 0/1 labels; the credit is the share of opposite pairs ranked correctly (ties half)."""
    scores, yes = np.asarray(scores, np.float64), np.asarray(labels) == 1
    credit = np.zeros(len(scores))
    for own, sign in ((yes, 1), (~yes, -1)):
        others = np.sort(sign * scores[~own])
        mine = sign * scores[own]
        below, upto = (np.searchsorted(others, mine, side) for side in ("left", "right"))
        credit[own] = (below + upto) / (2 * max(1, len(others)))
    return Predictions(credit, scores, kind)


def predictions_from_classes(predicted: np.ndarray, truth: np.ndarray) -> Predictions:
    """Return predictions for (n,) predicted class names and the true ones."""
    names, ids = np.unique(np.asarray(predicted), return_inverse=True)
    return Predictions((np.asarray(predicted) == np.asarray(truth)).astype(np.float64), ids, "class", tuple(str(name) for name in names))


def predictions_from_class_ids(predicted: np.ndarray, truth: np.ndarray, names: Sequence[str]) -> Predictions:
    """Return predictions for (n,) predicted class ids (indices into ``names``, -1: none) and the true ids."""
    return Predictions((predicted == truth).astype(np.float64), predicted, "class", tuple(names))


def predictions_from_margins(margins: np.ndarray) -> Predictions:
    """Return predictions for (n,) triplet margins; a margin of 0 or less is wrong."""
    return Predictions((margins > 0).astype(np.float64), np.asarray(margins, np.float64), "margin")


def predictions_from_ranks(ranks: np.ndarray, rows: Sequence[int]) -> Predictions:
    """Return predictions for the (m,) 1-based ranks of the first correct candidates of the queries at ``rows``; the credit is 1 / rank."""
    return Predictions(1 / np.asarray(ranks, np.float64), np.asarray(ranks), "rank", rows=np.asarray(rows, np.int64))


_MIN_GAP = 0.02  # smaller differences of credit are not listed


@dataclass(frozen=True)
class Disagreement:
    """Example row on which two models differ, with a description and the credit of both predictions."""

    row: int
    descriptions: tuple[str, str]
    credits: tuple[float, float]

    @property
    def better_model(self) -> int:
        """Index (0 or 1) of the model that is closer to the gold answer."""
        return int(self.credits[1] > self.credits[0])

    @property
    def gap(self) -> float:
        return abs(self.credits[1] - self.credits[0])


@dataclass(frozen=True)
class AgreementCounts:
    """Number of questions that both, one or neither of two models answered correctly."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def total(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither


def are_comparable(first: Predictions | None, second: Predictions | None) -> bool:
    """Return True if two models answered the same questions."""
    return first is not None and second is not None and len(first.credit) == len(second.credit)


def find_disagreements(first: Predictions, second: Predictions, top: int = 20) -> list[Disagreement]:
    """Return the ``top`` rows on which two models differ most; the first model is better on half of them, if there are enough."""
    gains = second.credit - first.credit
    order = np.argsort(-np.abs(gains), kind="stable")
    sides = [[int(place) for place in order if sign * gains[place] > _MIN_GAP] for sign in (-1, 1)]
    half = [top - min(len(sides[1]), top // 2), top - min(len(sides[0]), top // 2)]
    chosen = [place for side, most in zip(sides, half, strict=True) for place in side[:most]]
    chosen.sort(key=lambda place: (-abs(gains[place]), place))
    return [
        Disagreement(first.row(at), (first.describe(at), second.describe(at)), (float(first.credit[at]), float(second.credit[at])))
        for at in chosen[:top]
    ]


def count_agreement(first: Predictions, second: Predictions) -> AgreementCounts | None:
    """Return the counts, or ``None`` if predictions are not binary."""
    if not (first.is_binary and second.is_binary):
        return None
    one, two = first.credit > 0, second.credit > 0
    return AgreementCounts(int((one & two).sum()), int((one & ~two).sum()), int((~one & two).sum()), int((~one & ~two).sum()))
