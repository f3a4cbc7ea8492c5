"""Suites in the sets as their authors hand them out: a year of STS with its gold scores apart, TREC's ``.label`` files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from .base import Part, PartFound, Search, Suite

if TYPE_CHECKING:
    from ...data.known_sets import Found, OwnSplits
    from ...data.loading.table import Table


def originals(suite: type[Suite], search: Search) -> Iterator[PartFound]:
    """The parts that lie in such a set: the subsets of its table, or, of a suite of one part, all of it.

    Of a part that is learned, the train split has to lie beside the one that is judged.
    """
    name, split = suite.known_as
    own = [one for one in search.sets if one.judged.name == (name or suite.name)]
    judged = next((one for one in own if one.judged.split == split), None)
    if len(suite.parts) == 1:
        (part,) = suite.parts
        if judged is not None:
            if not part.learned or judged.known is not None:
                yield _found(suite, part, judged)
        elif part.instead and (other := next((one for one in own if one.judged.split == "dev"), None)) is not None:
            yield PartFound(suite, part, partial(_table, other.judged), other.judged.roles, other.judged.files[0].name)
    elif judged is not None:
        subsets = {name.casefold(): found for name, found in judged.judged.subsets.items()}
        for part in suite.parts:
            there = next((subsets[name.casefold()] for name in (part.name, *part.stems) if name.casefold() in subsets), None)
            if there is not None:
                yield PartFound(suite, part, partial(_table, there), there.roles)


def _found(suite: type[Suite], part: Part, own: OwnSplits) -> PartFound:
    known, dev = (None if one is None or not part.learned else partial(_table, one) for one in (own.known, own.dev))
    return PartFound(suite, part, partial(_table, own.judged), own.judged.roles, known=known, dev=dev)


def _table(found: Found) -> Table:
    return found.table
