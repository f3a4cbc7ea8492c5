"""What there is to judge by: files, the tables of a folder, public sets, and the samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...data.known_sets import own_splits_at
from ...data.loading.hub import is_hub_address
from ...data.samples import samples
from ...errors import StudioError
from ...workspace import existing
from ..reading import existing_file
from .given import learned_sets


def place_of(path: str | Path) -> Path:
    """A file or folder that is there.

    Raises:
        StudioError: nothing is.
    """
    found = existing(path)
    if found is None:
        raise StudioError(f"there is no folder {str(path)[:200]!r}", "put the suite's files there, or name the folder that holds them")
    return found.resolve()


def tables_at(path: str | Path, task: str) -> list[tuple[str | Path, bool]]:
    """A file or a public set, and that it was named; or the tables of a folder, or, for a task that learns, the known
    sets that lie there.

    Raises:
        StudioError: there is neither, or the folder holds no table.
    """
    from ...data.loading.formats import SUFFIXES

    if is_hub_address(path):
        return [(str(path), True)]
    found = existing(path)
    if found is None or not found.is_dir():
        return [(existing_file(path), True)]
    if sets := learned_sets(found, task):
        return [(own.judged.files[0], False) for own in sets]
    tables = sorted(one for one in found.iterdir() if one.is_file() and one.suffix.lower() in SUFFIXES)
    if not tables or any(one.suffix.lower() == ".txt" for one in tables):
        tables = _with_sets(tables, found)
    if not tables:
        raise StudioError(f"the folder {found.name or found} holds no table", f"name a folder of {', '.join(SUFFIXES)} files")
    return [(one, False) for one in tables]


def _with_sets(tables: list[Path], folder: Path) -> list[Path]:
    """Tables without those that are the other half of one of them; where there is none, what the sets below are judged by."""
    own = [part for one in own_splits_at(folder) for part in one.judged.subsets.values() or (one.judged,)]
    halves = {other for part in own for other in part.files[1:]}
    return [one for one in tables if one not in halves] or [part.files[0] for part in own]


def names_of(paths: Sequence[str | Path]) -> list[str]:
    """What files are called in the answer: by their names, with their folder where two have the same; samples by their titles."""
    titles = {sample.path.resolve(): sample.title for sample in samples()}
    names = [str(path) if is_hub_address(path) else titles.get(Path(path).resolve(), Path(path).name) for path in paths]
    return [
        name if names.count(name) == 1 or is_hub_address(path) else f"{Path(path).resolve().parent.name}/{name}"
        for path, name in zip(paths, names, strict=True)
    ]


def is_everybodys(path: str | Path) -> bool:
    """Whether a file is nobody's own: a public set, or a sample of ours."""
    return is_hub_address(path) or Path(path).resolve() in {sample.path.resolve() for sample in samples()}
