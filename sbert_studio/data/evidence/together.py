"""Whether texts of one category lie together for a model: by pairs, and by what each text's nearest neighbour is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .apart import Separated, separated
from .similarity import Evidence

_MOST = 20_000  # rows in which texts of one category are looked for
_NEIGHBOURS = 200  # texts of which each is compared with each
_LEAST = 40
_KNOWN = 0.98


@dataclass(frozen=True)
class Neighbours:
    """The nearest other text of each of some texts.

    Attributes:
        same: the share whose nearest other text is of the same category.
        chance: the share expected of texts thrown together.
        rows: how many texts were looked at.
    """

    same: float
    chance: float
    rows: int

    @property
    def clear(self) -> bool:
        """Whether so many more than by chance have a neighbour of their category that nothing else is likely."""
        error = (self.chance * (1 - self.chance) / self.rows) ** 0.5
        return (self.same - self.chance) / (1 - self.chance) >= 0.3 and self.same - self.chance > 6 * error

    @property
    def known(self) -> bool:
        """Whether the model tells the categories apart so well that next to nothing is left to learn."""
        return self.clear and self.same >= _KNOWN

    def in_words(self) -> str:
        """``the text most like it is of the same category for 71% of 200 texts, 22% by chance``."""
        return f"the text most like it is of the same category for {self.same:.0%} of {self.rows} texts, {self.chance:.0%} by chance"


def neighbours(evidence: Evidence, text: str, category: str) -> Neighbours | None:
    """What the nearest neighbours of texts say of a column of categories; None: no model, or too few texts."""
    if evidence.similar is None:
        return None
    named = [(a, b) for a, b in zip(evidence.cells(text), evidence.cells(category), strict=True) if a and b]
    named = list(dict(named).items())
    named = [named[place] for place in np.linspace(0, len(named) - 1, min(_NEIGHBOURS, len(named))).astype(int)] if named else []
    if len(named) < _LEAST:
        return None
    number = len(named)
    texts = [one for one, _ in named]
    categories = np.array([name for _, name in named])
    a, b = np.triu_indices(number, 1)
    cosines = np.full((number, number), -np.inf)
    cosines[a, b] = cosines[b, a] = evidence.compare([texts[place] for place in a.tolist()], [texts[place] for place in b.tolist()])
    nearest = np.nan_to_num(cosines, nan=-np.inf).argmax(axis=1)
    _, counts = np.unique(categories, return_counts=True)
    chance = float((counts * (counts - 1)).sum() / (number * (number - 1)))
    return Neighbours(float((categories == categories[nearest]).mean()), chance, number)


def together(evidence: Evidence, text: str, category: str) -> Separated | None:
    """Whether texts of one category are more alike than others: pairs of the same and of different categories."""
    if evidence.similar is None:
        return None
    part = evidence.table.select(np.linspace(0, len(evidence.table) - 1, min(_MOST, len(evidence.table))).astype(np.int64))
    texts, names = part.column(text), part.column(category)
    members: dict[str, list[str]] = {}
    for cell, name in zip(texts, names, strict=True):
        if cell.strip() and name.strip():
            members.setdefault(name.strip(), []).append(cell.strip())
    generator = np.random.default_rng(12)
    several = [name for name in members if len(set(members[name])) > 1]
    if len(several) < 2:
        return None
    number = min(evidence.rows, sum(len(members[name]) for name in several)) // 2
    sizes = np.array([len(members[name]) for name in several], dtype=float)
    a: list[str] = []
    b: list[str] = []
    c: list[str] = []
    for place in generator.choice(len(several), number, p=sizes / sizes.sum()).tolist():
        one, other = (members[several[place]][at] for at in generator.choice(len(members[several[place]]), 2, replace=False).tolist())
        rest = [index for index in range(len(several)) if index != place]
        else_where = members[several[rest[int(generator.integers(len(rest)))]]]
        a.append(one)
        b.append(other)
        c.append(else_where[int(generator.integers(len(else_where)))])
    return separated({"same": evidence.compare(a, b), "different": evidence.compare(a, c)}, evidence.model)
