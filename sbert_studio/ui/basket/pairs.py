"""Pairs of texts that a person has labelled, as immutable values: each change returns a new basket that can be undone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from ...data.cells import clean
from ...errors import StudioError

MAX_PAIRS = 2_000
_MAX_CHARACTERS = 4_000  # of a text
_MAX_SOURCE = 60
_MAX_UNDO = 30


@dataclass(frozen=True)
class LabelledPair:
    """Two texts and their label.

    Attributes:
        together: whether they belong together.
        source: tab where they were labelled, such as "Search".
    """

    a: str
    b: str
    together: bool
    source: str = ""

    @property
    def id(self) -> str:
        """16 hex digits that identify the two texts in either order."""
        joined = "\0".join(sorted((_normalized(self.a), _normalized(self.b))))
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def is_informative(self) -> bool:
        """True if both texts are given and differ."""
        return bool(_normalized(self.a)) and bool(_normalized(self.b)) and _normalized(self.a) != _normalized(self.b)


@dataclass(frozen=True)
class Basket:
    """Labelled pairs, oldest first; no two have the same texts.

    Attributes:
        past: the pairs before each of the last changes, oldest first.
    """

    pairs: tuple[LabelledPair, ...] = ()
    past: tuple[tuple[LabelledPair, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, pair_id: object) -> LabelledPair | None:
        """Return the pair with this id."""
        return next((pair for pair in self.pairs if pair.id == pair_id), None)

    def add(self, pairs: Iterable[LabelledPair]) -> Basket:
        """Add pairs; they replace pairs of the same texts. Pairs of a text with itself are skipped.

        Raises:
            StudioError: there would be more than :data:`MAX_PAIRS`.
        """
        new = {pair.id: _truncated(pair) for pair in pairs if pair.is_informative}
        merged = tuple({**{pair.id: pair for pair in self.pairs}, **new}.values())
        if len(merged) > MAX_PAIRS:
            raise StudioError(
                f"the basket holds {len(self):,} pairs and takes {MAX_PAIRS:,} at most", "download it, or remove some, before you add more"
            )
        return self._changed(merged)

    def toggle(self, pair: LabelledPair) -> Basket:
        """Add a pair, or remove it if it has this label already, so that a second click undoes the first.

        Raises:
            StudioError: both texts are the same; or as :meth:`add`.
        """
        if not pair.is_informative:
            raise StudioError("both texts are the same", "choose two that differ")
        known = self.find(pair.id)
        return self.remove(pair.id) if known is not None and known.together == pair.together else self.add([pair])

    def flip(self, pair_id: object) -> Basket:
        """Invert the label of a pair."""
        return self._changed(tuple(replace(pair, together=not pair.together) if pair.id == pair_id else pair for pair in self.pairs))

    def edit(self, pair_id: object, a: str, b: str) -> Basket:
        """Change the texts of a pair; another pair of the same texts is removed.

        Raises:
            StudioError: a text is empty, or both are the same.
        """
        known = self.find(pair_id)
        if known is None:
            return self
        edited = _truncated(replace(known, a=a, b=b))
        if not edited.is_informative:
            raise StudioError("a pair needs two texts that differ", "write both, or remove the pair")
        others = (pair for pair in self.pairs if pair.id == pair_id or pair.id != edited.id)
        return self._changed(tuple(edited if pair.id == pair_id else pair for pair in others))

    def remove(self, pair_id: object) -> Basket:
        """Remove a pair."""
        return self._changed(tuple(pair for pair in self.pairs if pair.id != pair_id))

    def clear(self) -> Basket:
        """Remove all pairs."""
        return self._changed(())

    def undo(self) -> Basket:
        """Return the basket before the last change."""
        return Basket(self.past[-1], self.past[:-1]) if self.past else self

    def columns(self) -> dict[str, list[str]]:
        """Return the columns of a training table: ``text_a``, ``text_b`` and ``label`` (1 for together, 0 for apart)."""
        return {
            "text_a": [pair.a for pair in self.pairs],
            "text_b": [pair.b for pair in self.pairs],
            "label": ["1" if pair.together else "0" for pair in self.pairs],
        }

    def _changed(self, pairs: tuple[LabelledPair, ...]) -> Basket:
        return self if pairs == self.pairs else Basket(pairs, (*self.past, self.pairs)[-_MAX_UNDO:])


def chain_pairs(texts: Sequence[str], source: str, limit: int = 200) -> list[LabelledPair]:
    """Return texts that belong together as pairs, each with the next one: the fewest pairs that connect them.

    Args:
        limit: largest number of pairs.
    """
    distinct = list(dict.fromkeys(texts))
    return [LabelledPair(a, b, True, source) for a, b in islice(pairwise(distinct), limit)]


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())


def _truncated(pair: LabelledPair) -> LabelledPair:
    a, b = (clean(text).strip()[:_MAX_CHARACTERS] for text in (pair.a, pair.b))
    return LabelledPair(a, b, pair.together, clean(pair.source)[:_MAX_SOURCE])
