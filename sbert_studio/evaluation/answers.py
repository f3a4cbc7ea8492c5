"""Per-row predictions of a model, and the rows on which two models differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 on, (n,) float64; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])


def rank_gaps(found: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """By how much each pair stands higher with the model than with people, in shares of all ranks: (n,) float64 in [-1, 1].

    Their squares are what Spearman's ρ adds up: ρ = 1 − 6 Σ d² / (n (n² − 1)) where no two are the same.

    Args:
        found, gold: (n,) scores, larger for more alike, on any two scales.
    """
    return np.asarray((average_ranks(found) - average_ranks(gold)) / max(1, len(found) - 1))


What = Literal["cosine", "score", "margin", "rank", "class"]


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's answers to m questions.

    Attributes:
        credit: (m,) float64 between 0 and 1, larger is nearer to what people said.
        said: (m,) what it said: a cosine or score of a pair, by how much the positive of a triplet is nearer than its negative, the rank of
            the first right candidate, or a place in ``names``.
        what: which of these it is.
        names: of classes.
        places: (m,) of scores, which are judged by their order: the share of the other pairs below each, half of those that tie.
        people: (m,) the same of the scores that people gave.
        rows: (m,) the rows of the examples that the questions are; all of them, in order, where it is ``None``.
    """

    credit: np.ndarray
    said: np.ndarray
    what: What
    names: tuple[str, ...] = ()
    rows: np.ndarray | None = None
    places: np.ndarray | None = None
    people: np.ndarray | None = None

    @property
    def right_or_wrong(self) -> bool:
        """Whether an answer is either right or wrong, with nothing between."""
        return self.what in ("class", "margin")

    def row(self, place: int) -> int:
        """The row of the examples that question ``place`` is."""
        return place if self.rows is None else int(self.rows[place])

    def in_words(self, place: int) -> str:
        """What was said to question ``place``: ``0.83, above 61% of pairs``, ``rank 3``, ``card lost``, ``wrong by 0.04``."""
        said = self.said[place]
        if self.what == "class":
            return self.names[int(said)] if said >= 0 else "nothing"
        if self.what == "rank":
            return f"rank {int(said):,}"
        if self.what == "margin":
            return f"{'right' if self.credit[place] else 'wrong'} by {abs(said):.2f}"
        score = f"{said:.2f}".replace("-", "−")
        return score if self.places is None else f"{score}, above {self.places[place]:.0%} of pairs"


def what_of(similarity: str) -> What:
    """Return what a pair's similarity by a measure is."""
    return "cosine" if similarity == "cosine" else "score"


def of_scores(scores: np.ndarray, gold: np.ndarray, what: What = "cosine") -> Answers:
    """(n,) scores of pairs beside those of people: the nearer a pair's rank is to the one that people gave it, the better."""
    places, people = ((average_ranks(np.asarray(one)) - 1) / max(1, len(gold) - 1) for one in (scores, gold))
    return Answers(1 - np.abs(places - people), np.asarray(scores, np.float64), what, places=places, people=people)


def of_labels(scores: np.ndarray, labels: np.ndarray, what: What = "cosine") -> Answers:
    """(n,) scores of pairs beside 0 or 1: the share of the other label's pairs that lie on the right side, half of those that tie."""
    scores, yes = np.asarray(scores, np.float64), np.asarray(labels) == 1
    credit = np.zeros(len(scores))
    for own, sign in ((yes, 1), (~yes, -1)):
        others = np.sort(sign * scores[~own])
        mine = sign * scores[own]
        below, upto = (np.searchsorted(others, mine, side) for side in ("left", "right"))
        credit[own] = (below + upto) / (2 * max(1, len(others)))
    return Answers(credit, scores, what)


def of_classes(found: np.ndarray, truth: np.ndarray) -> Answers:
    """(n,) classes found, by name, beside the true ones."""
    names, said = np.unique(np.asarray(found), return_inverse=True)
    return Answers((np.asarray(found) == np.asarray(truth)).astype(np.float64), said, "class", tuple(str(name) for name in names))


def of_places(found: np.ndarray, truth: np.ndarray, names: Sequence[str]) -> Answers:
    """(n,) classes found, as places in ``names``, -1 for none, beside the true ones."""
    return Answers((found == truth).astype(np.float64), found, "class", tuple(names))


def of_margins(margins: np.ndarray) -> Answers:
    """(n,) by how much each positive is nearer than the nearest negative; not above zero is wrong."""
    return Answers((margins > 0).astype(np.float64), np.asarray(margins, np.float64), "margin")


def of_ranks(ranks: np.ndarray, rows: Sequence[int]) -> Answers:
    """(m,) ranks from 1 on of the first right candidate, for queries that stand first in ``rows``; the credit is 1 / rank."""
    return Answers(1 / np.asarray(ranks, np.float64), np.asarray(ranks), "rank", rows=np.asarray(rows, np.int64))


_LEAST = 0.02  # of a credit between 0 and 1: less is no difference that anybody would look at


@dataclass(frozen=True)
class Differing:
    """A row on which two models differ.

    Attributes:
        row: of the examples.
        said: what each says; credits: how near each is to what people said.
    """

    row: int
    said: tuple[str, str]
    credits: tuple[float, float]

    @property
    def nearer(self) -> int:
        """Which of the two is nearer: 0 or 1."""
        return int(self.credits[1] > self.credits[0])

    @property
    def by(self) -> float:
        """By how much."""
        return abs(self.credits[1] - self.credits[0])


@dataclass(frozen=True)
class RightOrWrong:
    """How many questions both, one, or neither of two models answered right."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def total(self) -> int:
        """All questions."""
        return self.both + self.only_first + self.only_second + self.neither


def comparable(first: Answers | None, second: Answers | None) -> bool:
    """Whether two models answered the same questions."""
    return first is not None and second is not None and len(first.credit) == len(second.credit)


def differing(first: Answers, second: Answers, top: int = 20) -> list[Differing]:
    """The rows on which the two differ most: half of them those on which the first is nearer, as far as there are any."""
    gains = second.credit - first.credit
    order = np.argsort(-np.abs(gains), kind="stable")
    sides = [[int(place) for place in order if sign * gains[place] > _LEAST] for sign in (-1, 1)]
    half = [top - min(len(sides[1]), top // 2), top - min(len(sides[0]), top // 2)]
    chosen = [place for side, most in zip(sides, half, strict=True) for place in side[:most]]
    chosen.sort(key=lambda place: (-abs(gains[place]), place))
    return [
        Differing(
            first.row(place),
            (first.in_words(place), second.in_words(place)),
            (float(first.credit[place]), float(second.credit[place])),
        )
        for place in chosen[:top]
    ]


def right_or_wrong(first: Answers, second: Answers) -> RightOrWrong | None:
    """The counts; ``None`` where answers are not either right or wrong."""
    if not (first.right_or_wrong and second.right_or_wrong):
        return None
    one, two = first.credit > 0, second.credit > 0
    return RightOrWrong(int((one & two).sum()), int((one & ~two).sum()), int((~one & two).sum()), int((~one & ~two).sum()))
