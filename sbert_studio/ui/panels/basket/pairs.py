"""Pairs that a person has judged, as values: every change gives a new basket, and undo leads back to the one before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ....data.cells import clean
from ....errors import StudioError

MOST = 2_000
_LONGEST = 4_000
_STEPS_BACK = 30


@dataclass(frozen=True)
class Pair:
    """Two texts and what was said of them.

    Attributes:
        together: whether they belong together.
        source: where that was said, in a word or two: Search, Map.
    """

    a: str
    b: str
    together: bool
    source: str = ""

    @property
    def id(self) -> str:
        """16 hex digits that name the two texts, whichever stands first."""
        joined = "\0".join(sorted((_same(self.a), _same(self.b))))
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def says_something(self) -> bool:
        """Whether there are two texts, and not the same one twice."""
        return bool(_same(self.a)) and bool(_same(self.b)) and _same(self.a) != _same(self.b)


@dataclass(frozen=True)
class Basket:
    """Pairs in the order in which they were judged, the first first; no two hold the same texts.

    Attributes:
        past: the pairs as they were before each of the last changes, the oldest first.
    """

    pairs: tuple[Pair, ...] = ()
    past: tuple[tuple[Pair, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, pair_id: object) -> Pair | None:
        """The pair of that id, if it is here."""
        return next((pair for pair in self.pairs if pair.id == pair_id), None)

    def add(self, pairs: Iterable[Pair]) -> Basket:
        """With these pairs; what was said of the same texts before gives way. Pairs of one text with itself are passed over.

        Raises:
            StudioError: it would hold more than :data:`MOST`.
        """
        new = {pair.id: _bounded(pair) for pair in pairs if pair.says_something}
        here = {pair.id: pair for pair in self.pairs}
        merged = tuple({**here, **new}.values())
        if len(merged) > MOST:
            raise StudioError(
                f"the basket holds {len(self):,} pairs and takes {MOST:,} at most", "download it, or remove some, before you add more"
            )
        return self._become(merged)

    def mark(self, pair: Pair) -> Basket:
        """With this pair; without it where just that was said of it already, so that a second click takes the first one back.

        Raises:
            StudioError: it is one text twice; or as :meth:`add`.
        """
        if not pair.says_something:
            raise StudioError("both texts are the same", "choose two that differ")
        known = self.find(pair.id)
        return self.remove(pair.id) if known is not None and known.together == pair.together else self.add([pair])

    def flip(self, pair_id: object) -> Basket:
        """With the opposite said of one pair."""
        return self._become(tuple(replace(pair, together=not pair.together) if pair.id == pair_id else pair for pair in self.pairs))

    def edit(self, pair_id: object, a: str, b: str) -> Basket:
        """With other words in one pair; what else was said of those words gives way.

        Raises:
            StudioError: a text is empty, or both are the same.
        """
        known = self.find(pair_id)
        if known is None:
            return self
        changed = _bounded(replace(known, a=a, b=b))
        if not changed.says_something:
            raise StudioError("a pair needs two texts that differ", "write both, or remove the pair")
        kept = (changed if pair.id == pair_id else pair for pair in self.pairs if pair.id in (pair_id, known.id) or pair.id != changed.id)
        return self._become(tuple(kept))

    def remove(self, pair_id: object) -> Basket:
        """Without one pair."""
        return self._become(tuple(pair for pair in self.pairs if pair.id != pair_id))

    def clear(self) -> Basket:
        """Without any."""
        return self._become(())

    def undo(self) -> Basket:
        """As it was before the last change."""
        return Basket(self.past[-1], self.past[:-1]) if self.past else self

    def columns(self) -> dict[str, list[str]]:
        """The table to train on: ``text_a``, ``text_b`` and ``label``, 1 for together and 0 for not."""
        return {
            "text_a": [pair.a for pair in self.pairs],
            "text_b": [pair.b for pair in self.pairs],
            "label": ["1" if pair.together else "0" for pair in self.pairs],
        }

    def _become(self, pairs: tuple[Pair, ...]) -> Basket:
        return self if pairs == self.pairs else Basket(pairs, (*self.past, self.pairs)[-_STEPS_BACK:])


def _same(text: str) -> str:
    """What two texts share that differ in nothing but blanks and capitals."""
    return " ".join(text.casefold().split())


def _bounded(pair: Pair) -> Pair:
    return Pair(clean(pair.a).strip()[:_LONGEST], clean(pair.b).strip()[:_LONGEST], pair.together, clean(pair.source)[:60])
