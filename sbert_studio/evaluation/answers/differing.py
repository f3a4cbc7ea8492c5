"""Where two models differ: the rows on which one is much nearer to what people said, and on how many only one is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .answers import Answers

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
