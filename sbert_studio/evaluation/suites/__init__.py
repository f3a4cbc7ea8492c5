"""Suites by name, and where their files are.

Every module of this folder is imported, so that adding a suite is adding a class. ``SOURCES`` are the forms in which people have
suites; the first that has a part gives it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import StudioError
from .base import SUITES, Missing, Part, PartFound, Search, Source, Suite
from .original import originals
from .plain import tables

if TYPE_CHECKING:
    from ...data.loading.table import Table

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

SOURCES: list[Source] = [tables, originals]


def suite_named(name: str) -> type[Suite]:
    """The suite of that name, in any case.

    Raises:
        StudioError: there is none.
    """
    known = {one.casefold(): one for one in SUITES}
    return SUITES[known.get(name.strip().casefold(), name)]


def suites_in(suite: type[Suite]) -> list[type[Suite]]:
    """The suites that have files: itself, or those that it holds."""
    return [SUITES[name] for name in suite.suites] or [suite]


def find_parts(
    suites: Sequence[type[Suite]], places: Sequence[Path], read: Callable[[Path], Table]
) -> tuple[list[PartFound], list[Missing]]:
    """What lies of some suites in files and folders, and what is missing of them.

    Args:
        suites: those that have files (see :func:`suites_in`).
        read: a table's file → the table.

    Raises:
        StudioError: nothing is there.
    """
    found: list[PartFound] = []
    missing: list[Missing] = []
    search = Search(tuple(places), read, len(suites) == 1)
    for suite in suites:
        there = _there(suite, search)
        for part in suite.parts:
            if part.name not in there:
                words = f"{part.name} is missing{_note(part)}"
                missing.append(Missing(suite.name, part.name, words))
                continue
            one = there[part.name]
            found.append(one)
            if one.instead:
                words = f"{part.name} is missing{_note(part)}; {one.instead} stands in for it"
                missing.append(Missing(suite.name, part.name, words))
    if not found:
        names = ", ".join(suite.name for suite in suites)
        where = ", ".join(place.name for place in places)
        files = ", ".join(part.name for suite in suites[:1] for part in suite.parts)
        folder = next((suite.folders[0] for suite in suites if suite.folders), "")
        raise StudioError(
            f"nothing of {names} lies in {where or 'the files given'}{_half(suites, search)}",
            f"name the folder that holds {folder}/ with a table for each of {files}, or the set as its authors hand it out",
        )
    return found, missing


def _there(suite: type[Suite], search: Search) -> dict[str, PartFound]:
    """The parts by name; the real file of a part comes before any that stands in for it."""
    there: dict[str, PartFound] = {}
    for source in SOURCES:
        for one in source(suite, search):
            known = there.get(one.part.name)
            if known is None or (known.instead and not one.instead):
                there[one.part.name] = one
    return there


def _half(suites: Sequence[type[Suite]], search: Search) -> str:
    """What is missing of a suite of which one split lies there without that which it is judged by, or learns from."""
    for suite in suites:
        name, judged = suite.known_as
        there = search.splits(name or suite.name)
        needed = [judged, *(["train"] if any(part.learned for part in suite.parts) else [])]
        if there and (missing := [split for split in needed if split not in there]):
            return f": its {missing[0]} split is missing beside its {there[0]} split"
    return ""


def _note(part: Part) -> str:
    return f" ({part.note})" if part.note else f" ({part.rows:,} pairs)"


__all__ = ["SOURCES", "SUITES", "Missing", "Part", "PartFound", "Search", "Source", "Suite", "find_parts", "suite_named", "suites_in"]
