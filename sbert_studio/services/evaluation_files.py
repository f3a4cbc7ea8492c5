"""Find the tables to evaluate on: files, folders, public datasets and benchmarks with their own splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.loading.formats import SUFFIXES
from ..data.loading.hub import is_hub_address
from ..data.samples import list_samples
from ..datasets.search import find_official_splits
from ..errors import StudioError
from ..workspace import existing_path
from .data import existing_file

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..data.schema.roles import Roles
    from ..datasets.search import OfficialSplits


@dataclass(frozen=True, eq=False)
class EvaluationInput:
    """A table to evaluate on.

    Attributes:
        known, dev: labelled rows to train a classifier on, and rows to tune its regularization on.
        roles: the columns' roles, if the file is a known benchmark.
    """

    table: Table
    known: Table | None = None
    dev: Table | None = None
    roles: Roles | None = None


def find_benchmark(path: str | Path | Table, task: str) -> EvaluationInput | None:
    """Return the splits of a benchmark that ``path`` belongs to; ``None`` for other files, and for tasks that train nothing.

    Raises:
        StudioError: there is no such task, or a file of the benchmark is missing or is not what its name says.
    """
    place = existing_path(path) if isinstance(path, str | Path) else None
    own = [] if place is None else find_splits(place, task)
    if len(own) != 1:
        return None
    known, dev = (None if one is None else one.table for one in (own[0].train, own[0].dev))
    return EvaluationInput(own[0].evaluated.table, known, None if known is None else dev, own[0].evaluated.roles)


def match_split_classes(path: str | Path | Table, task: str) -> tuple[str, str]:
    """Return the task, and the title of a benchmark with one file per class (``rt-polarity.pos`` and ``.neg``: MR) or ``""``.

    Such a file holds a single class and means nothing by itself, so ``auto`` means the whole set, evaluated as SentEval does.
    """
    place = existing_path(path) if isinstance(path, str | Path) else None
    if place is None or not place.is_file() or (task == "auto" and place.suffix.lower() in SUFFIXES):
        return task, ""
    found = [one.evaluated for one in find_splits(place, "senteval" if task == "auto" else task)]
    if len(found) != 1 or found[0].split != "all" or len(found[0].files) < 2:
        return task, ""
    return "senteval" if task == "auto" else task, found[0].title


def split_notes(path: str | Path | Table, others: Sequence[str | Path] = ()) -> tuple[str, ...]:
    """Return a sentence if more than a test split is evaluated: a file of several splits, or the train file of a folder.

    Args:
        others: the files evaluated together with it.
    """
    from ..datasets.search import find_datasets

    place = existing_path(path) if isinstance(path, str | Path) else None
    if place is None or not place.is_file():
        return ()
    found = [one for one in find_datasets(place) if one.files == (place,)]
    splits = list(dict.fromkeys(one.split for one in found))
    if len(splits) > 1:
        return (
            f"{place.name} holds {' and '.join(splits)} of {found[0].name}, and all of it is judged; its suite judges the test split alone",
        )
    tests = [Path(one).name for one in others if Path(one).parent == place.parent and Path(one).stem.lower().startswith("test")]
    if tests and place.stem.lower().startswith("train"):
        return (f"{place.name} looks like rows to learn from, and counts like the others; name {tests[0]} to judge by it alone",)
    return ()


def find_splits(place: Path, task: str) -> list[OfficialSplits]:
    """Return the benchmarks with splits at ``place`` that fit a task which trains a classifier; none for other tasks."""
    from ..evaluation.tasks import get_task

    if task == "auto" or not get_task(task).learns:
        return []
    return [one for one in find_official_splits(place) if one.evaluated.roles.kind in get_task(task).kinds]


def require_path(path: str | Path) -> Path:
    """Return an existing file or folder.

    Raises:
        StudioError: there is none.
    """
    found = existing_path(path)
    if found is None:
        raise StudioError(f"there is no folder {str(path)[:200]!r}", "put the suite's files there, or name the folder that holds them")
    return found.resolve()


def find_tables(path: str | Path, task: str) -> list[tuple[str | Path, bool]]:
    """Return (path, is named by the user) of a file or public dataset, or of the tables and benchmarks of a folder.

    Raises:
        StudioError: there is neither, or the folder holds no table.
    """
    if is_hub_address(path):
        return [(str(path), True)]
    found = existing_path(path)
    if found is None or not found.is_dir():
        return [(existing_file(path), True)]
    if sets := find_splits(found, task):
        return [(own.evaluated.files[0], False) for own in sets]
    tables = sorted(one for one in found.iterdir() if one.is_file() and one.suffix.lower() in SUFFIXES)
    if not tables or any(one.suffix.lower() == ".txt" for one in tables):
        tables = _without_halves(tables, found)
    if not tables:
        raise StudioError(f"the folder {found.name or found} holds no table", f"name a folder of {', '.join(SUFFIXES)} files")
    return [(one, False) for one in tables]


def _without_halves(tables: list[Path], folder: Path) -> list[Path]:
    """Drop tables that are the second half of another one; if none is left, return the test files of the benchmarks in the folder."""
    own = [part for one in find_official_splits(folder) for part in one.evaluated.subsets.values() or (one.evaluated,)]
    halves = {other for part in own for other in part.files[1:]}
    return [one for one in tables if one not in halves] or [part.files[0] for part in own]


def display_names(paths: Sequence[str | Path]) -> list[str]:
    """Return the names of files in a result: samples by their titles, others by file name, with the folder if ambiguous."""
    titles = {sample.path.resolve(): sample.title for sample in list_samples()}
    names = [str(path) if is_hub_address(path) else titles.get(Path(path).resolve(), Path(path).name) for path in paths]
    return [
        name if names.count(name) == 1 or is_hub_address(path) else f"{Path(path).resolve().parent.name}/{name}"
        for path, name in zip(paths, names, strict=True)
    ]


def is_public_data(path: str | Path) -> bool:
    """Return True for public datasets and bundled samples."""
    return is_hub_address(path) or Path(path).resolve() in {sample.path.resolve() for sample in list_samples()}
