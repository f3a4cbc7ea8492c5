"""Suites as folders of tables: a table a part, named after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from .base import SUITES, Part, PartFound, Search, Suite


def tables(suite: type[Suite], search: Search) -> Iterator[PartFound]:
    """The parts of which a table lies in a folder that is called after the suite, or, by a name of its own, in one of the places.

    Of a part that is learned, ``train`` has to lie beside ``test``, and ``dev`` may.

    A place may be a table itself, and the folder of the suite may lie in a place or be one. The folder of another suite is passed over:
    both 2013 and 2014 have ``headlines``.
    """
    named, others = _sorted_by_folder(suite, search.places)
    for part in suite.parts:
        own = (part.name, *part.stems)
        unmistakable = search.alone or not _shared(part)
        found = _named(own, named) or (_named(own, others) if unmistakable else None) or _named(part.common, named)
        if found is not None and part.learned:
            known, dev = _beside(found, ("train",)), _beside(found, ("dev", "validation", "valid"))
            if known is not None:
                read = None if dev is None else partial(search.read, dev)
                yield PartFound(suite, part, partial(search.read, found), known=partial(search.read, known), dev=read)
        elif found is not None:
            yield PartFound(suite, part, partial(search.read, found))
        elif (stand_in := _named(part.instead, named)) is not None:
            yield PartFound(suite, part, partial(search.read, stand_in), instead=stand_in.name)


def _sorted_by_folder(suite: type[Suite], places: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The tables in folders that are called after the suite, and those in places that are called after none."""
    names, foreign = _names(suite), {name for known in SUITES for name in _names(SUITES[known])} - _names(suite)
    named: list[Path] = []
    others: list[Path] = []
    for place in places:
        holder = place.parent if place.is_file() else place
        files = [place] if place.is_file() else _tables_in(place)
        if holder.name.casefold() in names:
            named.extend(files)
        elif holder.name.casefold() not in foreign:
            others.extend(files)
        if place.is_dir():
            below = sorted(one for one in place.iterdir() if one.is_dir() and one.name.casefold() in names)
            named.extend(file for folder in below for file in _tables_in(folder))
    return named, others


def _names(suite: type[Suite]) -> set[str]:
    return {suite.name.casefold(), *(name.casefold() for name in suite.folders)} if suite.parts else set()


def _shared(part: Part) -> bool:
    """Whether parts of several suites have this name."""
    return sum(part.name == other.name for known in SUITES for other in SUITES[known].parts) > 1


def _tables_in(folder: Path) -> list[Path]:
    from ...data.loading.formats import SUFFIXES

    return sorted(one for one in folder.iterdir() if one.is_file() and one.suffix.lower() in SUFFIXES)


def _beside(file: Path, splits: Sequence[str]) -> Path | None:
    """The table of another split in the same folder: it is called as this one is, with that split in place of ``test``."""
    stem = file.stem.casefold()
    return _named([stem.replace("test", split) for split in splits if "test" in stem], _tables_in(file.parent))


def _named(stems: Sequence[str], files: Sequence[Path]) -> Path | None:
    """The first file whose name without its ending is one of ``stems``, in their order."""
    by_stem = {file.stem.casefold(): file for file in reversed(files)}
    return next((by_stem[stem.casefold()] for stem in stems if stem.casefold() in by_stem), None)
