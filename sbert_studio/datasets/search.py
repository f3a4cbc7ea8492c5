"""Find public datasets in files and folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..data.loading.table import Table
from ..data.row_report import RowReport, report_rows
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..i18n import _
from . import LAYOUTS
from .base import SPLITS, DatasetLayout, DatasetPart, FolderFiles

_MAX_DEPTH = 8
_MAX_FILES = 100_000


@dataclass(frozen=True)
class FoundDataset(DatasetPart):
    """One split of one dataset. Its files are read on first access of :attr:`table`."""

    layout: DatasetLayout = field(kw_only=True)

    @cached_property
    def roles(self) -> Roles:
        """Roles of the table's columns; results are also reported by group (subset, genre or topic)."""
        return self.layout.roles(self)

    @property
    def title(self) -> str:
        """Name, section and split, such as ``MultiNLI matched dev``."""
        return " ".join(word for word in (self.name, self.section, "" if self.split == "all" else self.split) if word)

    @cached_property
    def table(self) -> Table:
        """Rows of the dataset, with the skipped lines in the notes; rows of several files are numbered consecutively."""
        content = self.layout.read(self)
        return Table(self.title, content.names, content.lines, content.notes, content.data)

    @property
    def subsets(self) -> Mapping[str, FoundDataset]:
        return self.layout.subsets(self)

    @property
    def account(self) -> RowReport:
        return report_rows(self.table, (), self.table.lines)


def find_datasets(path: str | Path) -> list[FoundDataset]:
    """Return the datasets that a file belongs to, or those in a folder and its subfolders.

    The other files of a dataset are expected in the same folder: the scores of ``STS.input.X.txt`` in ``STS.gs.X.txt``. Results are sorted
    by name and split.

    Raises:
        StudioError: ``path`` does not exist, or the folder contains too many files.
    """
    path = Path(path).expanduser()
    if path.is_file():
        return [dataset for dataset in _in_folder(_list_files(path.parent)) if path in dataset.files]
    if not path.is_dir():
        raise StudioError(_("there is no file or folder {path}", path=path), "check the path")
    datasets = [dataset for folder in _walk(path) for dataset in _in_folder(folder)]
    return sorted(datasets, key=lambda dataset: (dataset.name, SPLITS.index(dataset.split), dataset.section, dataset.files))


@dataclass(frozen=True)
class OfficialSplits:
    """Official splits of a dataset. ``evaluated`` is the test split, else the dev split, or all of a dataset without splits."""

    evaluated: FoundDataset
    train: FoundDataset | None = None
    dev: FoundDataset | None = None


def find_official_splits(path: Path) -> list[OfficialSplits]:
    """Return the official splits of the datasets that a file belongs to, or of those in a folder.

    Empty for the file of a train split: a user who selects it wants just this file.
    """
    datasets = [dataset for dataset in find_datasets(path) if dataset.split != "train"]
    with_test = {_key(dataset) for dataset in datasets if dataset.split == "test"}
    evaluated = [dataset for dataset in datasets if dataset.split != "dev" or path.is_file() or _key(dataset) not in with_test]
    return [_with_other_splits(dataset) for dataset in evaluated]


def _key(dataset: FoundDataset) -> tuple[str, str, Path]:
    return dataset.name, dataset.section, dataset.files[0].parent


def _with_other_splits(evaluated: FoundDataset) -> OfficialSplits:
    folder = _list_files(evaluated.files[0].parent)
    splits = {other.split: other for other in _in_folder(folder) if (other.name, other.section) == (evaluated.name, evaluated.section)}
    return OfficialSplits(evaluated, splits.get("train"), splits.get("dev") if evaluated.split == "test" else None)


def _in_folder(folder: FolderFiles) -> Iterator[FoundDataset]:
    for layout in LAYOUTS:
        for part in layout.parts(folder):
            yield FoundDataset(**vars(part), layout=layout)


def _walk(root: Path) -> Iterator[FolderFiles]:
    seen = 0
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        if len(Path(folder).relative_to(root).parts) >= _MAX_DEPTH:
            subfolders.clear()
        seen += len(files)
        if seen > _MAX_FILES:
            raise StudioError(
                _("{root} contains more than {max_files} files", root=root, max_files=f"{_MAX_FILES:,}"),
                "specify the folder of the dataset",
            )
        yield {name: Path(folder, name) for name in sorted(files)}


def _list_files(folder: Path) -> FolderFiles:
    return {file.name: file for file in sorted(folder.iterdir()) if file.is_file()}
