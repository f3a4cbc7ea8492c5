"""Evaluate and compare models on files, folders and suites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..data.loading.hub import is_hub_address
from ..errors import StudioError
from .evaluation_files import (
    EvaluationInput,
    display_names,
    find_benchmark,
    find_tables,
    is_public_data,
    match_split_classes,
    require_path,
    split_notes,
)
from .languages import language_mismatch_notes, unknown_word_notes
from .leaderboard import LOCAL_OWNER
from .questions import OpenQuestionsError
from .resources import Service
from .results import AvailableSuite, EvaluationResult, SkippedFile
from .training_history import describe_overlap, find_base_model, find_trained_rows

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..data.schema.evidence import SimilarityFunction
    from ..data.schema.roles import Roles, SchemaOverrides
    from ..datasets.suites import FoundPart, MissingPart, Suite
    from ..evaluation.comparison import EvaluationFile, SuiteAverage
    from ..evaluation.encoding import CachingEncoder
    from ..evaluation.evaluate import EvaluatedModel
    from ..evaluation.report import Report
    from ..models.base import Encoder
    from ..progress import Progress
    from .data import DataService
    from .jobs import BeginPhase
    from .leaderboard import Leaderboard
    from .resources import Resources

    _ReadFile = tuple[EvaluationFile, Table, Roles | None]

INFLATES_SCORE = "flatters it"  # end of the note that a model was trained on rows it is evaluated on
_TEXT_COLUMNS = 3


class EvaluationService(Service):
    """Models × files → scores, and which model is better."""

    def __init__(self, resources: Resources, data: DataService, leaderboard: Leaderboard) -> None:
        super().__init__(resources)
        self._data, self._leaderboard = data, leaderboard

    def evaluate(
        self,
        model: str | None,
        path: str | Path | Table,
        task: str = "auto",
        progress: Progress | None = None,
        overrides: SchemaOverrides | None = None,
        reference: str | Path | Table | None = None,
        owner: str = LOCAL_OWNER,
    ) -> Report:
        """Evaluate a model on a file of pairs, triplets or labelled texts; a note tells if it was trained on the same rows.

        Args:
            overrides: what the user set of the file and its columns; the rest is detected.
            reference: labelled rows that ``senteval`` trains its classifier on and ``categories`` compares texts with. A benchmark
                file with its own train split needs none.
            owner: owner of the leaderboard entry.

        Raises:
            OpenQuestionsError: the file can be read in more than one way, such as a scale that looks reversed.
            StudioError: the file cannot be read or does not hold what the task needs.
        """
        from ..evaluation.comparison import evaluate_model

        name = model or self.settings.default_model
        source = path if isinstance(path, str | Path) else None
        task, title = match_split_classes(path, task)
        given = self._read_input(path, task, overrides, reference, None if source is None else title or display_names([source])[0])
        encoders = _ModelLoader(self, name)
        judged = encoders.load(name)
        file, table, roles = self._read_file(given.table.name, given, task, overrides, encoders)
        public = source is not None and reference is None and is_public_data(source)
        file = replace(file, public=public, notes=(*split_notes(path), *file.notes))
        scores = evaluate_model(name, judged, [file], progress=progress)
        stored = self._leaderboard.add(EvaluationResult((file,), (), (), (scores,), ()), owner)
        notes = (*file.notes, *self._model_notes(name, table, roles), *stored)
        return replace(scores.reports[0], notes=notes, account=file.rows.account)

    def evaluate_models(
        self,
        models: Sequence[str] = (),
        data: Sequence[str | Path] = (),
        task: str = "auto",
        suite: str = "",
        progress: Progress | None = None,
        overrides: SchemaOverrides | None = None,
        reference: str | Path | Table | None = None,
        owner: str = LOCAL_OWNER,
        begin_phase: BeginPhase | None = None,
    ) -> EvaluationResult:
        """Evaluate every model on every file, aggregate over files, and compare every two models.

        Args:
            models: the default model if none.
            data: files, folders of tables, or public datasets (``hf://datasets/…``); with a suite, where its files are
                (``suites`` in the home folder by default).
            task: one for all files; ``auto`` detects it for each.
            suite: evaluate on the files of this suite (see :mod:`sbert_studio.datasets.suites`).
            overrides: what the user set of the files' columns.
            reference: see :meth:`evaluate`; one for all files.
            owner: owner of the leaderboard entries.
            begin_phase: called as each phase begins, returns its progress callback; replaces ``progress``.

        Raises:
            OpenQuestionsError: a file can be read in more than one way.
            StudioError: there is nothing to evaluate on, a named file cannot be read, or a model does not fit its task.
        """
        from ..evaluation.comparison import compare_models, evaluate_model, group_files
        from ..models.base import PairScorer

        if suite and reference is not None:
            raise StudioError("a suite has its own rows to learn from", "leave --reference out")
        begin = begin_phase or (lambda phase, unit: progress)
        names = tuple(dict.fromkeys(name for name in models if name)) or (self.settings.default_model,)
        several = len(names) > 1
        encoders = _ModelLoader(self, names[0])
        missing: tuple[MissingPart, ...] = ()
        skipped: tuple[SkippedFile, ...] = ()
        averages: list[SuiteAverage] = []
        begin("reading what to judge by", "texts")
        if suite:
            files, averages, missing = self._read_suite(suite, data, overrides)
        else:
            known = None if reference is None else self._data.read_table(reference, overrides=overrides)
            files, skipped = self._read_files(data, task, overrides, encoders, known, begin_phase)
        judged = [file for file, _, _ in files]
        groups = group_files(judged)
        scores = []
        for number, name in enumerate(names, start=1):
            begin(f"loading model {number} of {len(names)}" if several else "loading the model", "texts")
            model = encoders.load(name)
            phase = f"judging model {number} of {len(names)}" if several else "judging the model"
            report = begin(phase, "pairs" if isinstance(model, PairScorer) else "texts")
            found = evaluate_model(name, model, judged, groups, averages, report)
            notes = tuple(tuple(self._model_notes(name, table, roles)) for _, table, roles in files)
            scores.append(replace(found, notes=notes))
        if several:
            begin("comparing the models", "pairs")
        comparisons = tuple(compare_models(judged, groups, averages, scores))
        result = EvaluationResult(tuple(judged), tuple(groups), tuple(averages), tuple(scores), comparisons, missing, skipped)
        return replace(result, notes=self._leaderboard.add(result, owner))

    def list_suites(self) -> list[AvailableSuite]:
        """List the suites with files in ``suites`` in the home folder."""
        from ..datasets.suites import SUITES, expand_suite, find_parts, get_suite

        folder = self.workspace.home / "suites"
        found: list[AvailableSuite] = []
        for name in SUITES if folder.is_dir() else ():
            suite = get_suite(name)
            with suppress(StudioError):
                parts, _ = find_parts(expand_suite(suite), [folder], self._data.read_table)
                wanted = sum(len(one.parts) for one in expand_suite(suite))
                found.append(AvailableSuite(suite.name, suite.title, len(parts), wanted))
        return found

    def find_witness(self, model: str) -> tuple[str, Encoder]:
        """Return the name and encoder whose similarity is evidence of column meaning: the model before it was fine-tuned."""
        found = find_base_model(lambda: self.store, self.workspace, self.catalog, model)
        return found or (self.settings.default_model, self.catalog.load(self.settings.default_model))

    def _read_input(
        self,
        path: str | Path | Table,
        task: str,
        overrides: SchemaOverrides | None,
        reference: str | Path | Table | None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> EvaluationInput:
        """Read a file. A task that trains a classifier gets a benchmark as its authors split it, unless told otherwise."""
        if reference is None and not overrides and (found := find_benchmark(path, task)) is not None:
            return found
        known = None if reference is None else self._data.read_table(reference, overrides=overrides)
        return EvaluationInput(self._data.read_table(path, name, progress, overrides=overrides), known)

    def _read_files(
        self,
        data: Sequence[str | Path],
        task: str,
        overrides: SchemaOverrides | None,
        encoders: _ModelLoader,
        reference: Table | None,
        begin_phase: BeginPhase | None,
    ) -> tuple[list[_ReadFile], tuple[SkippedFile, ...]]:
        """Read files and folders. Tables of a folder that fit no task are skipped."""
        files: list[_ReadFile] = []
        skipped: list[SkippedFile] = []
        paths = [path for one in data for path in find_tables(one, task)]
        if not paths:
            raise StudioError("there is nothing to judge by", "give files or a folder of tables, or name a suite")
        for (path, is_named), name in zip(paths, display_names([path for path, _ in paths]), strict=True):
            try:
                report = begin_phase("fetching the set", "bytes") if begin_phase is not None and is_hub_address(path) else None
                own_task, title = match_split_classes(path, task)
                given = self._read_input(path, own_task, overrides, reference, title or name, report)
                label = given.table.name if is_hub_address(path) else title or name
                file, table, roles = self._read_file(label, given, own_task, overrides, encoders)
                notes = (*split_notes(path, [one for one, _ in paths]), *file.notes)
                files.append((replace(file, public=is_public_data(path) and reference is None, notes=notes), table, roles))
            except OpenQuestionsError:
                raise
            except StudioError as error:
                if is_named:
                    raise
                skipped.append(SkippedFile(name, error.message))
        if not files:
            raise StudioError(
                f"no table there can be judged by: {skipped[0].file}: {skipped[0].why}",
                "give pairs with a score or a label, triplets, or texts with a label",
            )
        return files, tuple(skipped)

    def _read_file(
        self, name: str, given: EvaluationInput, task: str, overrides: SchemaOverrides | None, encoders: _ModelLoader
    ) -> _ReadFile:
        from ..evaluation.comparison import EvaluationFile
        from ..evaluation.evaluate import choose_task, with_reference

        table, notes = given.table, list[str]()
        roles = given.roles
        if roles is None:
            roles, notes = _infer_roles(table, task, overrides, encoders.similar)
        chosen, columns = choose_task(table, task, roles)
        rows = chosen.read(table, columns)
        if given.known is not None:
            rows = with_reference(rows, chosen, given.known, given.dev, columns)
        return EvaluationFile(name, rows, chosen, task == "auto", notes=(*notes, *reading_notes(table), *rows.notes)), table, roles

    def _read_suite(
        self, name: str, data: Sequence[str | Path], overrides: SchemaOverrides | None
    ) -> tuple[list[_ReadFile], list[SuiteAverage], tuple[MissingPart, ...]]:
        from ..datasets.suites import expand_suite, find_parts, get_suite
        from ..evaluation.comparison import SuiteAverage

        suite, home = get_suite(name), self.workspace.home / "suites"
        if not data and self.settings.shared and not home.is_dir():  # do not tell strangers the path
            raise StudioError("there are no suites on this machine", "give the suite's files")
        places = [require_path(one) for one in data] or [require_path(home)]
        parts, missing = find_parts(expand_suite(suite), places, lambda path: self._data.read_table(path, overrides=overrides))
        files = [_read_suite_part(part, overrides, public=not data) for part in parts]
        found = tuple(dict.fromkeys(part.suite.name for part in parts))
        averages = [SuiteAverage(suite.name, found, len(suite.suites))] if suite.suites else []
        return files, averages, tuple(missing)

    def _model_notes(self, model: str, table: Table, roles: Roles | None = None) -> list[str]:
        from ..data.corpus import find_text_columns
        from ..data.language import count_languages
        from ..models.base import Encoder
        from ..models.similarity import evaluation_similarity_note

        columns = find_text_columns(table)[:_TEXT_COLUMNS] if roles is None else roles.texts
        texts = [text for column in columns for text in table.column(column) if text.strip()]
        loaded = self.catalog.load_any(model)
        trained = find_trained_rows(lambda: self.store, self.workspace, model, table)
        multilingual = self._data.multilingual
        return [
            *(evaluation_similarity_note(loaded.similarity_name) if isinstance(loaded, Encoder) else ()),
            *language_mismatch_notes(self.catalog, model, count_languages(texts), suggestion=multilingual),
            *unknown_word_notes(loaded.coverage(texts), len(texts)),
            *(f"{describe_overlap(rows, table, run)}, so its score here {INFLATES_SCORE}." for run, rows in trained),
        ]


class _ModelLoader:
    """Loads models by name. The one whose similarity is evidence of column meaning remembers vectors, so no text is encoded twice."""

    def __init__(self, service: EvaluationService, first: str) -> None:
        self._service, self._first = service, first
        self._name = ""
        self._remembered: CachingEncoder | None = None

    def similar(self) -> SimilarityFunction:
        """Return the similarity by the first model before it was fine-tuned."""
        from ..data.schema.evidence import EncoderSimilarity
        from ..evaluation.encoding import CachingEncoder

        if self._remembered is None:
            self._name, encoder = self._service.find_witness(self._first)
            self._remembered = CachingEncoder(encoder)
        return EncoderSimilarity(self._remembered.for_role("symmetric").encode, PurePath(self._name).name)

    def load(self, name: str) -> EvaluatedModel:
        """Load a model of any architecture."""
        model: Any = self._service.catalog.load_any(name)
        return self._remembered if self._remembered is not None and self._remembered.encoder is model else model


def reading_notes(table: Table) -> list[str]:
    """Return the warnings and errors that reading a file produced."""
    return [note.describe() for note in table.notes if note.severity != "info"]


def _infer_roles(
    table: Table, task: str, overrides: SchemaOverrides | None, evidence: Callable[[], SimilarityFunction]
) -> tuple[Roles | None, list[str]]:
    """Return the columns' roles (``None`` if a task of single texts finds its own) and notes on questions skipped by ``as_read``."""
    from ..data.schema.inference import infer_schema
    from ..data.schema.roles import SchemaOverrides
    from ..evaluation.evaluate import task_kinds

    kinds, overrides = task_kinds(task), overrides or SchemaOverrides()
    chosen = replace(overrides, as_read=False)
    if kinds == ("labelled_texts",) and not chosen:
        return None, []
    similar = evidence()
    try:
        reading = infer_schema(table, chosen, (), similar)
        if kinds and chosen.kind is None and reading.roles.kind not in kinds:
            reading = infer_schema(table, replace(chosen, kind=kinds[0]), (), similar)
    except StudioError:
        if chosen or kinds:
            raise
        return None, []  # neither pairs nor triplets
    # Labelled texts are evaluated the same way whether or not texts of one label belong together: no need to ask.
    of_texts = reading.roles.kind in ("labelled_texts", "sentences")
    questions = [one for one in reading.questions if not (of_texts and one.name == "kind")]
    if questions and not overrides.as_read:
        raise OpenQuestionsError.of_file(table.name, questions)
    return reading.roles, [f"read as it stands, though uncertain: {one.text} {one.why}".rstrip() for one in questions]


def _read_suite_part(source: FoundPart, overrides: SchemaOverrides | None, *, public: bool) -> _ReadFile:
    from ..evaluation.comparison import EvaluationFile
    from ..evaluation.evaluate import with_reference
    from ..evaluation.tasks import get_task

    suite, part = source.suite, source.part
    table, task = source.read(), get_task(suite.task)
    roles = source.roles or _suite_roles(table, suite, overrides)
    rows = task.read(table, roles)
    if source.train is not None:
        rows = with_reference(rows, task, source.train(), None if source.dev is None else source.dev(), roles)
    notes = [*reading_notes(table), *rows.notes]
    if len(rows.examples) != part.rows and not source.substitute:
        notes.append(f"{len(rows.examples):,} rows are judged; the published figures are of {part.rows:,}")
    if rows.reference is not None and len(rows.reference) != part.train_rows:
        notes.append(f"{len(rows.reference):,} rows are learned from; those of the published figures were {part.train_rows:,}")
    name = source.substitute or (suite.name if len(suite.parts) == 1 else part.name)
    return EvaluationFile(name, rows, task, suite=suite.name, notes=tuple(notes), public=public), table, roles


def _suite_roles(table: Table, suite: Suite, overrides: SchemaOverrides | None) -> Roles:
    from ..data.schema.inference import infer_schema
    from ..data.schema.roles import SchemaOverrides
    from ..evaluation.tasks import get_task

    overrides = overrides or SchemaOverrides()
    group = suite.group if overrides.group is None and suite.group in table.columns else overrides.group
    kind = suite.kind or get_task(suite.task).kinds[0]
    return infer_schema(table, replace(overrides, kind=kind, scale=suite.scale, group=group, as_read=True)).roles
