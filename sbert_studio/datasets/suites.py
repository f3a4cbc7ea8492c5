"""Evaluation suites of the literature: their parts, and the search for them in files and folders."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from ..data.findings import count
from ..errors import StudioError
from ..i18n import _
from ..serialization import JsonResult, doc

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..data.schema.roles import Kind, Roles
    from .base import Split
    from .search import FoundDataset, OfficialSplits

T = TypeVar("T")


@dataclass(frozen=True)
class SuitePart:
    """One file of a suite.

    Attributes:
        name: the name under which its scores are reported.
        rows: the number of rows that the published scores are computed on.
        stems: alternative names of its file, without the suffix, case-insensitive.
        common: names that other datasets also use, such as ``test``; they count only in a folder named after the suite.
        substitutes: names of files that may replace it, used like ``common``; the results mention the replacement.
        unit: what a row represents, in the singular.
        train_rows: the number of training rows behind the published scores, in a ``train`` file next to it; 0 if nothing is trained.
    """

    name: str
    rows: int
    stems: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    substitutes: tuple[str, ...] = ()
    unit: str = "pair"
    train_rows: int = 0

    def missing_message(self) -> str:
        size = count(self.rows, self.unit)
        if self.train_rows:
            return _(
                "{name} is missing ({size}, and {train_rows} for training)", name=self.name, size=size, train_rows=f"{self.train_rows:,}"
            )
        return _("{name} is missing ({size})", name=self.name, size=size)


@dataclass(frozen=True)
class Suite:
    """Files that are evaluated together.

    Attributes:
        name: its id.
        title: a description with the paper.
        parts: its files; empty for a suite of suites.
        folders: possible names of its folder, case-insensitive.
        suites: the names of the suites it consists of.
        task: the evaluation task of its parts.
        kind: the kind of examples, if it differs from the default of the task.
        group: the column of groups, for a task that reports scores by group.
        dataset: the name of the original dataset in :mod:`sbert_studio.datasets`; the suite's name if empty.
        split: the split of that dataset to evaluate on.
        scale: the scores of the least and the most similar pairs; None unless the pairs are scored.
    """

    name: str
    title: str
    parts: tuple[SuitePart, ...] = ()
    folders: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    task: str = "sts"
    kind: Kind | None = None
    group: str = ""
    dataset: str = ""
    split: Split = "test"
    scale: tuple[float, float] | None = (0.0, 5.0)

    @property
    def dataset_name(self) -> str:
        return self.dataset or self.name

    @property
    def folder_names(self) -> set[str]:
        return {self.name.casefold(), *(name.casefold() for name in self.folders)} if self.parts else set()


def _load_suites() -> dict[str, Suite]:
    found = {}
    for name, values in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items():
        lists = {key: tuple(value) or None for key, value in values.items() if isinstance(value, list)}
        parts = tuple(_load_part(part, value) for part, value in values.pop("parts", {}).items())
        found[name] = Suite(name, parts=parts, **values | lists)
    return found


def _load_part(name: str, values: int | dict[str, Any]) -> SuitePart:
    if isinstance(values, int):
        return SuitePart(name, values)
    attributes: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return SuitePart(name, **attributes)


SUITES: dict[str, Suite] = _load_suites()


def get_suite(name: str) -> Suite:
    """Return the suite with the given name, case-insensitive; raise a ``StudioError`` if it does not exist."""
    names = {known.casefold(): known for known in SUITES}
    key = names.get(name.strip().casefold())
    if key is None:
        raise StudioError(_("there is no suite {name}", name=repr(name)), _("choose one of {suites}", suites=", ".join(SUITES)))
    return SUITES[key]


def expand_suite(suite: Suite) -> list[Suite]:
    """Return the suites that have files: the suite itself, or its members."""
    return [SUITES[name] for name in suite.suites] or [suite]


@dataclass(frozen=True, eq=False)
class FoundPart:
    """A part of a suite whose files were found.

    Attributes:
        read: returns its table; called once.
        roles: the roles of the columns; ``None``: infer them, with scores on the suite's scale.
        substitute: the name of the file used instead, if any.
        train, dev: return the rows for training and for choosing the settings, if the task needs them.
    """

    suite: Suite
    part: SuitePart
    read: Callable[[], Table]
    roles: Roles | None = None
    substitute: str = ""
    train: Callable[[], Table] | None = None
    dev: Callable[[], Table] | None = None


@dataclass(frozen=True)
class MissingPart(JsonResult):
    """A part of a suite that was not found, or for which another file is used."""

    suite: str
    file: str
    message: Annotated[str, doc("one sentence", name="words")]


@dataclass(frozen=True)
class SuiteSearch:
    """Search for suites in files and folders; ``read`` reads a file as a table.

    ``is_only`` is True if no other suite is searched, so that a file name shared by several suites is attributed to this one.
    """

    paths: tuple[Path, ...]
    read: Callable[[Path], Table]
    is_only: bool = True

    @cached_property
    def official(self) -> list[OfficialSplits]:
        """Datasets in their original format; empty for a folder with too many files."""
        from .search import find_official_splits  # deferred: listing suites must not load the table readers

        return self._collect(find_official_splits)

    def splits(self, dataset: str) -> list[Split]:
        """Return the splits of a dataset that were found, including those that are not used for evaluation."""
        from .search import find_datasets

        return list(dict.fromkeys(one.split for one in self._collect(find_datasets) if one.name == dataset))

    def _collect(self, find: Callable[[Path], list[T]]) -> list[T]:
        found: list[T] = []
        for path in self.paths:
            with contextlib.suppress(StudioError):
                found += find(path)
        return found


def find_parts(suites: Sequence[Suite], paths: Sequence[Path], read: Callable[[Path], Table]) -> tuple[list[FoundPart], list[MissingPart]]:
    """Return the parts of suites that are in files and folders, and the missing ones; ``read`` reads a file as a table.

    Raises:
        StudioError: no part was found.
    """
    found: list[FoundPart] = []
    missing: list[MissingPart] = []
    search = SuiteSearch(tuple(paths), read, len(suites) == 1)
    for suite in suites:
        parts = _find_suite(suite, search)
        for part in suite.parts:
            one = parts.get(part.name)
            if one is None:
                missing.append(MissingPart(suite.name, part.name, part.missing_message()))
                continue
            found.append(one)
            if one.substitute:
                message = _(
                    "{missing_message}; {substitute} is used instead", missing_message=part.missing_message(), substitute=one.substitute
                )
                missing.append(MissingPart(suite.name, part.name, message))
    if not found:
        raise _nothing_found(suites, search)
    return found, missing


def _nothing_found(suites: Sequence[Suite], search: SuiteSearch) -> StudioError:
    names = ", ".join(suite.name for suite in suites)
    where = ", ".join(path.name for path in search.paths)
    files = ", ".join(part.name for suite in suites[:1] for part in suite.parts)
    folder = next((suite.folders[0] for suite in suites if suite.folders), "")
    return StudioError(
        _(
            "no file of {names} was found in {where}{missing_split}",
            names=names,
            where=where or "the specified files",
            missing_split=_missing_split(suites, search),
        ),
        _(
            "specify the folder that contains {folder}/ with a table for each of {files}, or the dataset in its original format",
            folder=folder,
            files=files,
        ),
    )


def _missing_split(suites: Sequence[Suite], search: SuiteSearch) -> str:
    for suite in suites:
        needed = [suite.split, *(["train"] if any(part.train_rows for part in suite.parts) else [])]
        present = search.splits(suite.dataset_name)
        missing = [split for split in needed if split not in present]
        if present and missing:
            return _(": there is a {present} split, but no {missing} split", missing=missing[0], present=present[0])
    return ""


def _find_suite(suite: Suite, search: SuiteSearch) -> dict[str, FoundPart]:
    """Return the parts by name; a part's own file is preferred to a substitute, and a table to the original files."""
    parts: dict[str, FoundPart] = {}
    for one in (*_find_tables(suite, search), *_find_originals(suite, search)):
        known = parts.get(one.part.name)
        if known is None or (known.substitute and not one.substitute):
            parts[one.part.name] = one
    return parts


def _find_originals(suite: Suite, search: SuiteSearch) -> Iterator[FoundPart]:
    """Find parts in the dataset's original format: its subsets, or the whole dataset if the suite has one part.

    A part with training rows also needs the train split.
    """
    datasets = [one for one in search.official if one.evaluated.name == suite.dataset_name]
    official = next((one for one in datasets if one.evaluated.split == suite.split), None)
    if len(suite.parts) > 1:
        subsets = {} if official is None else {name.casefold(): subset for name, subset in official.evaluated.subsets.items()}
        for part in suite.parts:
            subset = next((subsets[name.casefold()] for name in (part.name, *part.stems) if name.casefold() in subsets), None)
            if subset is not None:
                yield FoundPart(suite, part, _reader(subset), subset.roles)
        return
    for part in suite.parts:
        if official is not None and not (part.train_rows and official.train is None):
            others = (official.train, official.dev) if part.train_rows else (None, None)
            train, dev = (None if other is None else _reader(other) for other in others)
            yield FoundPart(suite, part, _reader(official.evaluated), official.evaluated.roles, train=train, dev=dev)
        elif official is None and part.substitutes:
            for other in [one.evaluated for one in datasets if one.evaluated.split == "dev"][:1]:
                yield FoundPart(suite, part, _reader(other), other.roles, other.files[0].name)


def _reader(dataset: FoundDataset) -> Callable[[], Table]:
    return lambda: dataset.table


def _find_tables(suite: Suite, search: SuiteSearch) -> Iterator[FoundPart]:
    """Find parts as tables, named after the part, in a folder named after the suite; or anywhere if the name is unambiguous.

    A part with training rows needs ``train`` next to ``test``; ``dev`` is optional. A path may be a table, the folder of the suite, or a
    folder that contains it. Folders of other suites are skipped, because 2013 and 2014 both have ``headlines``.
    """
    in_suite_folders, elsewhere = _tables_by_folder(suite, search.paths)
    for part in suite.parts:
        names = (part.name, *part.stems)
        is_shared = sum(part.name == other.name for known in SUITES.values() for other in known.parts) > 1
        file = _find_stem(names, in_suite_folders)
        if file is None and (search.is_only or not is_shared):
            file = _find_stem(names, elsewhere)
        file = file or _find_stem(part.common, in_suite_folders)
        if file is not None and part.train_rows:
            train, dev = _find_split(file, ("train",)), _find_split(file, ("dev", "validation", "valid"))
            if train is not None:
                read_dev = None if dev is None else partial(search.read, dev)
                yield FoundPart(suite, part, partial(search.read, file), train=partial(search.read, train), dev=read_dev)
        elif file is not None:
            yield FoundPart(suite, part, partial(search.read, file))
        elif (substitute := _find_stem(part.substitutes, in_suite_folders)) is not None:
            yield FoundPart(suite, part, partial(search.read, substitute), substitute=substitute.name)


def _tables_by_folder(suite: Suite, paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    names = suite.folder_names
    other_names = {name for other in SUITES.values() for name in other.folder_names} - names
    own: list[Path] = []
    elsewhere: list[Path] = []
    for path in paths:
        folder = path.parent if path.is_file() else path
        files = [path] if path.is_file() else _tables_in(path)
        if folder.name.casefold() in names:
            own.extend(files)
        elif folder.name.casefold() not in other_names:
            elsewhere.extend(files)
        if path.is_dir():
            subfolders = sorted(one for one in path.iterdir() if one.is_dir() and one.name.casefold() in names)
            own.extend(file for subfolder in subfolders for file in _tables_in(subfolder))
    return own, elsewhere


def _tables_in(folder: Path) -> list[Path]:
    from ..data.loading.table import SUFFIXES

    return sorted(one for one in folder.iterdir() if one.is_file() and one.suffix.lower() in SUFFIXES)


def _find_split(test: Path, splits: Sequence[str]) -> Path | None:
    stem = test.stem.casefold()
    return _find_stem([stem.replace("test", split) for split in splits if "test" in stem], _tables_in(test.parent))


def _find_stem(stems: Sequence[str], files: Sequence[Path]) -> Path | None:
    """Return the first file whose name without suffix is one of ``stems``, in the order of ``stems``."""
    by_stem = {file.stem.casefold(): file for file in reversed(files)}
    return next((by_stem[stem.casefold()] for stem in stems if stem.casefold() in by_stem), None)
