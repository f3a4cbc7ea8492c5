"""Several models judged on several files, on a folder, or on a suite of the literature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..workspace import existing
from .given import Given, learned_sets
from .judging import Judging, of_reading
from .questions import Unanswered
from .reading import existing_file
from .results import Evaluation, LeftOut

if TYPE_CHECKING:
    from ..data.choices.column_choices import ColumnChoices
    from ..data.evidence.similarity import Similar
    from ..data.examples import Roles
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..encoders.base import Encoder
    from ..evaluation.judging import Judged
    from ..evaluation.remembered import Remembered
    from ..evaluation.several import Average, JudgedFile
    from ..evaluation.suites import Missing, PartFound, Suite


class Evaluating(Judging):
    """Models × files → scores, and which model is better."""

    def evaluate_all(
        self,
        models: Sequence[str] = (),
        data: Sequence[str | Path] = (),
        task: str = "auto",
        suite: str = "",
        progress: Progress | None = None,
        asked: ColumnChoices | None = None,
        known: str | Path | Table | None = None,
    ) -> Evaluation:
        """Every model on the same rows of every file, the files taken together, and every two models compared.

        Args:
            models: the default model where none is named.
            data: files, or folders whose tables are meant; with a suite, where its files lie (``suites`` in the home folder otherwise).
            task: one for all files; ``auto`` finds it for each.
            suite: judge by the files of this suite (see :mod:`sbert_studio.evaluation.suites`).
            asked: what was said of the files' columns.
            known: see :meth:`evaluate`; one for all files.

        Raises:
            Unanswered: a file can be read in more than one way.
            StudioError: there is nothing to judge by, a file that was named cannot be read, or a model cannot be judged by its task.
        """
        from ..evaluation.several import compared, groups_of, judge_model

        names = tuple(dict.fromkeys(name for name in models if name)) or (self.settings.default_model,)
        encoders = _Encoders(self.catalog.load_either, lambda: self._untuned(names[0]) or self.catalog.load(self.settings.default_model))
        missing: tuple[Missing, ...] = ()
        left_out: tuple[LeftOut, ...] = ()
        if suite and known is not None:
            raise StudioError("a suite has its own rows to learn from", "leave --known out")
        if suite:
            files, averages, missing = self._suite(suite, data, asked)
        else:
            files, left_out = self._files(data, task, asked, encoders, None if known is None else self.read.table(known, asked=asked))
            averages = []
        judged, tables = [file for file, _ in files], [table for _, table in files]
        groups = groups_of(judged)
        scores = []
        for name in names:
            found = judge_model(name, encoders.of(name), judged, groups, averages, progress)
            scores.append(replace(found, notes=tuple(tuple(self._of_model(name, table)) for table in tables)))
        comparisons = compared(judged, groups, averages, scores)
        return Evaluation(tuple(judged), tuple(groups), tuple(averages), tuple(scores), tuple(comparisons), missing, left_out)

    def _files(
        self, data: Sequence[str | Path], task: str, asked: ColumnChoices | None, encoders: _Encoders, known: Table | None
    ) -> tuple[list[tuple[JudgedFile, Table]], tuple[LeftOut, ...]]:
        """What there is to judge by in files and folders. A table of a folder that holds nothing of the kind is left out."""
        files: list[tuple[JudgedFile, Table]] = []
        left_out: list[LeftOut] = []
        paths = [path for one in data for path in _tables_at(one, task)]
        if not paths:
            raise StudioError("there is nothing to judge by", "give files or a folder of tables, or name a suite")
        for (path, alone), name in zip(paths, _names([path for path, _ in paths]), strict=True):
            try:
                files.append(self._judged_file(name, self._given(path, task, asked, known, name), task, asked, encoders))
            except Unanswered:
                raise
            except StudioError as error:
                if alone:
                    raise
                left_out.append(LeftOut(name, error.message))
        if not files:
            raise StudioError(f"no table there can be judged by: {left_out[0].file}: {left_out[0].why}", "see what evaluate reads")
        return files, tuple(left_out)

    def _judged_file(
        self, name: str, given: Given, task: str, asked: ColumnChoices | None, encoders: _Encoders
    ) -> tuple[JudgedFile, Table]:
        from ..evaluation.several import JudgedFile
        from ..evaluation.suite import beside, task_of

        table = given.table
        roles, open_ = self._roles_of(given, task, asked, encoders.similar)
        chosen, columns = task_of(table, task, roles)
        rows = chosen.read(table, columns)
        if given.known is not None:
            rows = beside(rows, chosen, given.known, given.dev, columns)
        return JudgedFile(name, rows, chosen, task == "auto", notes=(*open_, *of_reading(table), *rows.notes)), table

    def _suite(
        self, name: str, data: Sequence[str | Path], asked: ColumnChoices | None
    ) -> tuple[list[tuple[JudgedFile, Table]], list[Average], tuple[Missing, ...]]:
        """The files of a suite, the averages over suites, and what is missing."""
        from ..evaluation.several import Average
        from ..evaluation.suites import find_parts, suite_named, suites_in

        suite = suite_named(name)
        places = [_place(one) for one in data] or [_place(self.workspace.home / "suites")]
        parts, missing = find_parts(suites_in(suite), places, lambda path: self.read.table(path, asked=asked))
        files = [self._part(part, asked) for part in parts]
        there = tuple(dict.fromkeys(part.suite.name for part in parts))
        averages = [Average(suite.name, there, len(suite.suites))] if suite.suites else []
        return files, averages, tuple(missing)

    def _part(self, found: PartFound, asked: ColumnChoices | None) -> tuple[JudgedFile, Table]:
        from ..evaluation.several import JudgedFile
        from ..evaluation.suite import beside
        from ..evaluation.tasks import task_named

        suite, part = found.suite, found.part
        table = found.read()
        task = task_named(suite.task)
        roles = found.roles or _roles(table, suite, asked)
        rows = task.read(table, roles)
        if found.known is not None:
            rows = beside(rows, task, found.known(), None if found.dev is None else found.dev(), roles)
        notes = [*of_reading(table), *rows.notes]
        if len(rows.examples) != part.rows and not found.instead:
            notes.append(f"{len(rows.examples):,} rows are judged; the published figures are of {part.rows:,}")
        if rows.known is not None and len(rows.known) != part.learned:
            notes.append(f"{len(rows.known):,} rows are learned from; those of the published figures were {part.learned:,}")
        # The only part of a suite is told by the suite's name, and one of several by its own.
        name = found.instead or (suite.name if len(suite.parts) == 1 else part.name)
        return JudgedFile(name, rows, task, suite=suite.name, notes=tuple(notes)), table


class _Encoders:
    """The models by name. The one that tells what columns mean remembers the texts that it was shown, so that none is encoded twice."""

    def __init__(self, load: Callable[[str], Any], untuned: Callable[[], Encoder]) -> None:
        self._load, self._untuned = load, untuned
        self._shown: Remembered | None = None

    def similar(self) -> Similar:
        """How alike texts are by the first model before it was tuned."""
        from ..data.evidence.similarity import similar_by
        from ..evaluation.remembered import Remembered

        if self._shown is None:
            self._shown = Remembered(self._untuned())
        return similar_by(self._shown.encode)

    def of(self, name: str) -> Judged:
        """The model of that name."""
        model = self._load(name)
        return self._shown if self._shown is not None and self._shown.encoder is model else model


def _roles(table: Table, suite: type[Suite], asked: ColumnChoices | None) -> Roles:
    """What the columns of a suite's file are: its task and its scale are known, and names tell the rest."""
    from ..data.choices.column_choices import ColumnChoices, roles_as_asked
    from ..evaluation.tasks import task_named

    asked = asked or ColumnChoices()
    group = suite.group if asked.group is None and suite.group in table.columns else asked.group
    said = replace(asked, kind=suite.kind or task_named(suite.task).kinds[0], scale=suite.scale, group=group, as_read=True)
    return roles_as_asked(table, said)


def _place(path: str | Path) -> Path:
    """A file or folder that is there.

    Raises:
        StudioError: nothing is.
    """
    found = existing(path)
    if found is None:
        raise StudioError(f"there is no folder {str(path)[:200]!r}", "put the suite's files there, or name the folder that holds them")
    return found.resolve()


def _tables_at(path: str | Path, task: str) -> list[tuple[Path, bool]]:
    """A file, and that it was named; or the tables of a folder, or, for a task that learns, the known sets that lie there.

    Raises:
        StudioError: there is neither, or the folder holds no table.
    """
    from ..data.readers.content import SUFFIXES

    found = existing(path)
    if found is None or not found.is_dir():
        return [(existing_file(path), True)]
    if sets := learned_sets(found, task):
        return [(own.judged.files[0], False) for own in sets]
    tables = sorted(one for one in found.iterdir() if one.is_file() and one.suffix.lower() in SUFFIXES)
    if not tables:
        raise StudioError(f"the folder {found.name or found} holds no table", f"name a folder of {', '.join(SUFFIXES)} files")
    return [(one, False) for one in tables]


def _names(paths: Sequence[Path]) -> list[str]:
    """What files are called in the answer: by their names, with their folder where two have the same."""
    names = [path.name for path in paths]
    return [name if names.count(name) == 1 else f"{path.resolve().parent.name}/{name}" for path, name in zip(paths, names, strict=True)]
