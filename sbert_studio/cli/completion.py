"""Completion of names in the shell. It reads file names only, since it runs at each press of the Tab key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..settings import DEFAULT_MODEL, MULTILINGUAL_MODEL, Settings

Completer = Callable[[str], list[tuple[str, str]]]


def complete_runs(incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of runs, newest first, with their names."""
    return [one for one in _stored("runs", "run-*", "run.json") if one[0].startswith(incomplete)]


def complete_own_models(incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of runs and of static models trained here, with their names."""
    static = [one for one in _stored("fitted", "words-*", "fitted.json") if one[0].startswith(incomplete)]
    return [*complete_runs(incomplete), *static]


def complete_models(incomplete: str) -> list[tuple[str, str]]:
    """Return the names of bundled models, and the ids of runs and static models. Folders are completed by the shell if none fits."""
    bundled = [(DEFAULT_MODEL, "English"), (MULTILINGUAL_MODEL, "about a hundred languages")]
    return [*(one for one in bundled if one[0].startswith(incomplete)), *complete_own_models(incomplete)]


def one_of(names: Sequence[str]) -> Completer:
    """Return a function that completes one of ``names``."""
    return lambda incomplete: [(name, "") for name in names if name.startswith(incomplete)]


def _stored(folder: str, pattern: str, record: str) -> Iterator[tuple[str, str]]:
    """Yield (id, name) of the items in a folder of the home folder, newest first; those that cannot be read have no name."""
    found: list[Path] = []
    with suppress(Exception):  # an error would be printed into the command that is being typed
        found = sorted((Settings.from_env().home / folder).glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found:
        name = ""
        with suppress(OSError, ValueError, AttributeError):
            name = str(json.loads((path / record).read_text(encoding="utf-8")).get("name", ""))
        yield path.name, name
