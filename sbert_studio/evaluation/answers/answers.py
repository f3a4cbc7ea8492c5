"""What a model says of each row that it is judged on, and how near that is to what people said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..measures.ranks import average_ranks

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
