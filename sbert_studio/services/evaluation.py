"""Evaluation service: evaluate and compare models on files, folders, public datasets, benchmarks and suites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from ..data.corpus import find_text_columns
from ..data.loading.hub import is_hub_address
from ..data.loading.table import SUFFIXES, Table
from ..data.samples import list_samples
from ..data.schema.evidence import EncoderSimilarity, SimilarityFunction
from ..data.schema.inference import infer_schema
from ..data.schema.roles import Roles, SchemaOverrides
from ..data.schema.split_column import RowSplit, SplitPart, find_split, split_rows
from ..datasets.search import OfficialSplits, find_datasets, find_official_splits
from ..datasets.suites import SUITES, FoundPart, MissingPart, Suite, expand_suite, find_parts, get_suite
from ..errors import StudioError
from ..evaluation.comparison import EvaluationFile, SuiteAverage, compare_models, evaluate_model, group_files
from ..evaluation.encoding import CachingEncoder
from ..evaluation.evaluate import EvaluatedModel, choose_task, task_kinds, with_reference
from ..evaluation.report import Report
from ..evaluation.tasks import get_task
from ..i18n import _, join
from ..models.base import Encoder, PairScorer
from ..models.similarity import evaluation_similarity_note
from ..progress import Progress
from ..runs.run import LOCAL_OWNER
from ..workspace import existing_path
from .data import DataService, existing_file
from .jobs import BeginPhase
from .languages import unknown_word_notes
from .leaderboard import Leaderboard
from .questions import OpenQuestionsError
from .resources import Resources, Service
from .results import AvailableSuite, EvaluationResult, SkippedFile
from .training_history import TrainingHistory, describe_overlap

INFLATES_SCORE = "is inflated"  # end of the note that a model was trained on rows used for evaluation
_TEXT_COLUMNS = 3
_ReadFile = tuple[EvaluationFile, Table, Roles | None]


@dataclass(frozen=True, eq=False)
class EvaluationInput:
    """A table to evaluate on.

    Attributes:
        known, dev: labelled rows for training a classifier, and rows for tuning its regularization.
        roles: the columns' roles, if the file is a known benchmark.
    """

    table: Table
    known: Table | None = None
    dev: Table | None = None
    roles: Roles | None = None


class EvaluationService(Service):
    """Evaluates models on files and compares their scores."""

    def __init__(self, resources: Resources, data: DataService, leaderboard: Leaderboard) -> None:
        super().__init__(resources)
        self._data, self._leaderboard, self._history = data, leaderboard, TrainingHistory(resources)

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
        """Evaluate a model on a file of pairs, triplets or labelled texts; a note warns if it was trained on the same rows.

        Args:
            overrides: format and columns set by the user; the rest is detected.
            reference: labelled rows that ``senteval`` trains its classifier on and ``categories`` compares texts with. Not needed for a
                benchmark file with its own train split.
            owner: owner of the leaderboard entry.

        Raises:
            OpenQuestionsError: the file is ambiguous, for example a scale that looks reversed.
        """
        name = model or self.settings.default_model
        source = path if isinstance(path, str | Path) else None
        task, title = match_split_classes(path, task)
        inputs = self._read_input(path, task, overrides, reference, None if source is None else title or display_names([source])[0])
        encoders = _ModelLoader(self, name)
        encoder = encoders.load(name)
        splits = split_notes(path)
        file, table, roles = self._read_file(inputs.table.name, inputs, task, overrides, encoders, by_split=not splits)
        public = source is not None and reference is None and is_public_data(source)
        file = replace(file, public=public, notes=(*splits, *file.notes))
        scores = evaluate_model(name, encoder, [file], progress=progress)
        stored = self._leaderboard.add(EvaluationResult((file,), (), (), (scores,), ()), owner)
        notes = (*file.notes, *self._model_notes(name, table, roles), *stored)
        return replace(scores.reports[0], notes=notes, account=file.rows.account)

    def evaluate_models(
        self,
        models: Sequence[str] = (),
        data: Sequence[str | Path] = (),
        task: str = "auto",
        suite: str = "",
        overrides: SchemaOverrides | None = None,
        reference: str | Path | Table | None = None,
        owner: str = LOCAL_OWNER,
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> EvaluationResult:
        """Evaluate every model on every file, aggregate over files, and compare all pairs of models.

        Args:
            models: the default model if empty.
            data: files, folders of tables, or public datasets (``hf://datasets/…``); with a suite, the location of its files
                (``suites`` in the home folder by default).
            task: one for all files; ``auto`` detects it for each.
            suite: evaluate on the files of this suite (see :mod:`sbert_studio.datasets.suites`).
            overrides: columns set by the user.
            reference: see :meth:`evaluate`; one for all files.
            owner: owner of the leaderboard entries.
            begin_phase: called as each phase begins; returns its progress callback.

        Raises:
            OpenQuestionsError: a file is ambiguous.
        """
        if suite and reference is not None:
            raise StudioError("a suite has its own training rows", "omit --reference")
        names = tuple(dict.fromkeys(name for name in models if name)) or (self.settings.default_model,)
        several = len(names) > 1
        encoders = _ModelLoader(self, names[0])
        missing: tuple[MissingPart, ...] = ()
        skipped: tuple[SkippedFile, ...] = ()
        averages: list[SuiteAverage] = []
        begin_phase("reading the evaluation data", "texts")
        if suite:
            files, averages, missing = self._read_suite(suite, data, overrides)
        else:
            known = None if reference is None else self._data.read_table(reference, overrides=overrides)
            files, skipped = self._read_files(data, task, overrides, encoders, known, begin_phase)
        tables = [file for file, _, _ in files]
        groups = group_files(tables)
        scores = []
        for number, name in enumerate(names, start=1):
            begin_phase(
                _("loading model {number} of {names}", number=number, names=len(names)) if several else "loading the model", "texts"
            )
            model = encoders.load(name)
            phase = _("evaluating model {number} of {names}", number=number, names=len(names)) if several else "evaluating the model"
            report = begin_phase(phase, "pairs" if isinstance(model, PairScorer) else "texts")
            found = evaluate_model(name, model, tables, groups, averages, report)
            notes = tuple(tuple(self._model_notes(name, table, roles)) for _, table, roles in files)
            scores.append(replace(found, notes=notes))
        if several:
            begin_phase("comparing the models", "pairs")
        comparisons = tuple(compare_models(tables, groups, averages, scores))
        result = EvaluationResult(tuple(tables), tuple(groups), tuple(averages), tuple(scores), comparisons, missing, skipped)
        return replace(result, notes=self._leaderboard.add(result, owner))

    def list_suites(self) -> list[AvailableSuite]:
        """List the suites with files in ``suites`` in the home folder."""
        folder = self.workspace.home / "suites"
        found: list[AvailableSuite] = []
        for name in SUITES if folder.is_dir() else ():
            suite = get_suite(name)
            with suppress(StudioError):
                parts, _unused = find_parts(expand_suite(suite), [folder], self._data.read_table)
                wanted = sum(len(one.parts) for one in expand_suite(suite))
                found.append(AvailableSuite(suite.name, suite.title, len(parts), wanted))
        return found

    def find_witness(self, model: str) -> tuple[str, Encoder]:
        """Return the name and encoder whose similarity is evidence of column meaning: the model before fine-tuning."""
        found = self._history.find_base_model(model)
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
        begin_phase: BeginPhase,
    ) -> tuple[list[_ReadFile], tuple[SkippedFile, ...]]:
        files: list[_ReadFile] = []
        skipped: list[SkippedFile] = []
        paths = [path for one in data for path in find_tables(one, task)]
        if not paths:
            raise StudioError("there is no evaluation data", "specify files, a folder of tables, or a suite")
        for (path, is_named), name in zip(paths, display_names([path for path, _unused in paths]), strict=True):
            try:
                report = begin_phase("downloading the dataset", "bytes") if is_hub_address(path) else None
                own_task, title = match_split_classes(path, task)
                inputs = self._read_input(path, own_task, overrides, reference, title or name, report)
                label = inputs.table.name if is_hub_address(path) else title or name
                splits = split_notes(path, [one for one, _ in paths])  # a benchmark file, which has its own splits
                file, table, roles = self._read_file(label, inputs, own_task, overrides, encoders, by_split=not splits)
                notes = (*splits, *file.notes)
                files.append((replace(file, public=is_public_data(path) and reference is None, notes=notes), table, roles))
            except OpenQuestionsError:
                raise
            except StudioError as error:
                if is_named:
                    raise
                skipped.append(SkippedFile(name, error.message))
        if not files:
            raise StudioError(
                _("no table in the folder can be used for evaluation: {file}: {why}", file=skipped[0].file, why=skipped[0].why),
                "use pairs with a score or a label, triplets, or texts with a label",
            )
        return files, tuple(skipped)

    def _read_file(
        self,
        name: str,
        inputs: EvaluationInput,
        task: str,
        overrides: SchemaOverrides | None,
        encoders: _ModelLoader,
        *,
        by_split: bool = True,
    ) -> _ReadFile:
        table, notes = inputs.table, list[str]()
        roles = inputs.roles
        if roles is None:
            roles, notes = _infer_roles(table, task, overrides, encoders.similar)
        if by_split and inputs.known is None and inputs.roles is None and (split := _find_split(table, roles, overrides)):
            table, split_note = _test_part(split)
            notes = [*notes, *split_note]
        if roles is not None and roles.low is not None and roles.high is not None and roles.low > roles.high:
            notes = [*notes, roles.note]
        chosen, columns = choose_task(table, task, roles)
        rows = chosen.read(table, columns)
        if inputs.known is not None:
            rows = with_reference(rows, chosen, inputs.known, inputs.dev, columns)
        return EvaluationFile(name, rows, chosen, task == "auto", notes=(*notes, *reading_notes(table), *rows.notes)), table, roles

    def _read_suite(
        self, name: str, data: Sequence[str | Path], overrides: SchemaOverrides | None
    ) -> tuple[list[_ReadFile], list[SuiteAverage], tuple[MissingPart, ...]]:
        suite, home = get_suite(name), self.workspace.home / "suites"
        if not data and self.settings.shared and not home.is_dir():  # do not reveal the path to visitors
            raise StudioError("there are no suites on this machine", "specify the suite's files")
        places = [require_path(one) for one in data] or [require_path(home)]
        parts, missing = find_parts(expand_suite(suite), places, lambda path: self._data.read_table(path, overrides=overrides))
        files = [_read_suite_part(part, overrides, public=not data) for part in parts]
        found = tuple(dict.fromkeys(part.suite.name for part in parts))
        averages = [SuiteAverage(suite.name, found, len(suite.suites))] if suite.suites else []
        return files, averages, tuple(missing)

    def _model_notes(self, model: str, table: Table, roles: Roles | None = None) -> list[str]:
        columns = find_text_columns(table)[:_TEXT_COLUMNS] if roles is None else roles.texts
        texts = [text for column in columns for text in table.column(column) if text.strip()]
        loaded, trained = self.catalog.load_any(model), self._history.find_trained_rows(model, table)
        return [
            *(evaluation_similarity_note(loaded.similarity_name) if isinstance(loaded, Encoder) else ()),
            *self._data.languages.language_notes(texts, model),
            *unknown_word_notes(loaded.coverage(texts), len(texts)),
            *(_("{overlap}, so its score here is inflated.", overlap=describe_overlap(rows, table, run)) for run, rows in trained),
        ]


class _ModelLoader:
    """Loads models by name. The model used as evidence of column meaning caches vectors, so no text is encoded twice."""

    def __init__(self, service: EvaluationService, first: str) -> None:
        self._service, self._first = service, first
        self._name = ""
        self._remembered: CachingEncoder | None = None

    def similar(self) -> SimilarityFunction:
        """Return the similarity function of the first model before fine-tuning."""
        if self._remembered is None:
            self._name, encoder = self._service.find_witness(self._first)
            self._remembered = CachingEncoder(encoder)
        return EncoderSimilarity(self._remembered.for_role("symmetric").encode, PurePath(self._name).name)

    def load(self, name: str) -> EvaluatedModel:
        """Load a model of any architecture."""
        model: Any = self._service.catalog.load_any(name)
        return self._remembered if self._remembered is not None and self._remembered.encoder is model else model


def reading_notes(table: Table) -> list[str]:
    """Return the warnings and errors produced while reading a file."""
    return [note.describe() for note in table.notes if note.severity != "info"]


def _find_split(table: Table, roles: Roles | None, overrides: SchemaOverrides | None) -> RowSplit | None:
    """Return the split of the rows. Without roles, raise the question about rows that belong to no part, if any."""
    if roles is not None:
        return split_rows(table, roles.split) if roles.split else None
    split, overrides = find_split(table, overrides), overrides or SchemaOverrides()
    question = split.question(find_text_columns(table)[:1]) if split and overrides.split is None and not overrides.as_read else None
    if question is not None:
        raise OpenQuestionsError.of_file(table.name, [question])
    return split


def _test_part(split: RowSplit) -> tuple[Table, tuple[str, ...]]:
    """Return the rows of the test split, else of the validation split, with a note; the whole table without either."""
    part: SplitPart = "test" if split.has("test") else "dev"
    rows, total = split.count(part), len(split.table)
    if rows in (0, total):
        return split.table, ()
    values = {"rows": f"{rows:,}", "total": f"{total:,}", "part": "test" if part == "test" else "validation", "column": repr(split.column)}
    return split.select(part), (_("only the {part} rows according to the column {column} are evaluated: {rows} of {total}", **values),)


def _infer_roles(
    table: Table, task: str, overrides: SchemaOverrides | None, evidence: Callable[[], SimilarityFunction]
) -> tuple[Roles | None, list[str]]:
    """Return the columns' roles (``None`` if the task finds its own columns) and notes on questions skipped by ``as_read``."""
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
    # No need to ask: labelled texts are evaluated in the same way whether or not texts with the same label are similar.
    of_texts = reading.roles.kind in ("labelled_texts", "sentences")
    questions = [one for one in reading.questions if not (of_texts and one.name == "kind")]
    if questions and not overrides.as_read:
        raise OpenQuestionsError.of_file(table.name, questions)
    notes = [
        _("accepted as detected, although uncertain: {doubt}", doubt=join(" ", filter(None, (one.text, one.why)))) for one in questions
    ]
    return reading.roles, notes


def _read_suite_part(source: FoundPart, overrides: SchemaOverrides | None, *, public: bool) -> _ReadFile:
    suite, part = source.suite, source.part
    table, task = source.read(), get_task(suite.task)
    roles = source.roles or _suite_roles(table, suite, overrides)
    rows = task.read(table, roles)
    if source.train is not None:
        rows = with_reference(rows, task, source.train(), None if source.dev is None else source.dev(), roles)
    notes = [*reading_notes(table), *rows.notes]
    if len(rows.examples) != part.rows and not source.substitute:
        notes.append(
            _("{examples} rows are evaluated; published results use {rows}", examples=f"{len(rows.examples):,}", rows=f"{part.rows:,}")
        )
    if rows.reference is not None and len(rows.reference) != part.train_rows:
        notes.append(
            _(
                "{reference} rows are used for training; published results use {train_rows}",
                reference=f"{len(rows.reference):,}",
                train_rows=f"{part.train_rows:,}",
            )
        )
    name = source.substitute or (suite.name if len(suite.parts) == 1 else part.name)
    return EvaluationFile(name, rows, task, suite=suite.name, notes=tuple(notes), public=public), table, roles


def _suite_roles(table: Table, suite: Suite, overrides: SchemaOverrides | None) -> Roles:
    overrides = overrides or SchemaOverrides()
    group = suite.group if overrides.group is None and suite.group in table.columns else overrides.group
    kind = suite.kind or get_task(suite.task).kinds[0]
    return infer_schema(table, replace(overrides, kind=kind, scale=suite.scale, group=group, as_read=True)).roles


def find_benchmark(path: str | Path | Table, task: str) -> EvaluationInput | None:
    """Return the splits of a benchmark that ``path`` belongs to; ``None`` for other files, and for tasks without training."""
    place = existing_path(path) if isinstance(path, str | Path) else None
    own = [] if place is None else find_splits(place, task)
    if len(own) != 1:
        return None
    known, dev = (None if one is None else one.table for one in (own[0].train, own[0].dev))
    return EvaluationInput(own[0].evaluated.table, known, None if known is None else dev, own[0].evaluated.roles)


def match_split_classes(path: str | Path | Table, task: str) -> tuple[str, str]:
    """Return the task, and the title of a benchmark with one file per class (``rt-polarity.pos`` and ``.neg``: MR) or ``""``.

    Such a file contains a single class and cannot be evaluated alone, so ``auto`` means the whole dataset, evaluated as in SentEval.
    """
    place = existing_path(path) if isinstance(path, str | Path) else None
    if place is None or not place.is_file() or (task == "auto" and place.suffix.lower() in SUFFIXES):
        return task, ""
    found = [one.evaluated for one in find_splits(place, "senteval" if task == "auto" else task)]
    if len(found) != 1 or found[0].split != "all" or len(found[0].files) < 2:
        return task, ""
    return "senteval" if task == "auto" else task, found[0].title


def split_notes(path: str | Path | Table, others: Sequence[str | Path] = ()) -> tuple[str, ...]:
    """Return a sentence if more than a test split is evaluated: a file with several splits, or the train file of a folder.

    Args:
        others: the files evaluated together with it.
    """
    place = existing_path(path) if isinstance(path, str | Path) else None
    if place is None or not place.is_file():
        return ()
    found = [one for one in find_datasets(place) if one.files == (place,)]
    splits = list(dict.fromkeys(one.split for one in found))
    if len(splits) > 1:
        return (
            _(
                "{name} contains {splits} of {name2}, and all of it is evaluated; its suite uses only the test split",
                name=place.name,
                splits=" and ".join(splits),
                name2=found[0].name,
            ),
        )
    tests = [Path(one).name for one in others if Path(one).parent == place.parent and Path(one).stem.lower().startswith("test")]
    if tests and place.stem.lower().startswith("train"):
        return (
            _(
                "{name} looks like training data but is evaluated like the others; specify {tests} to evaluate only that",
                name=place.name,
                tests=tests[0],
            ),
        )
    return ()


def find_splits(place: Path, task: str) -> list[OfficialSplits]:
    """Return the benchmarks with splits at ``place`` that fit a task with a trained classifier; empty for other tasks."""
    if task == "auto" or not get_task(task).learns:
        return []
    return [one for one in find_official_splits(place) if one.evaluated.roles.kind in get_task(task).kinds]


def require_path(path: str | Path) -> Path:
    """Return an existing file or folder.

    Raises:
        StudioError: it does not exist.
    """
    found = existing_path(path)
    if found is None:
        raise StudioError(
            _("there is no folder {path}", path=repr(str(path)[:200])),
            "put the suite's files there, or specify the folder that contains them",
        )
    return found.resolve()


def find_tables(path: str | Path, task: str) -> list[tuple[str | Path, bool]]:
    """Return (path, whether the user specified it) of a file or public dataset, or of the tables and benchmarks of a folder."""
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
        raise StudioError(
            _("the folder {name} contains no table", name=found.name or found),
            _("specify a folder of {suffixes} files", suffixes=", ".join(SUFFIXES)),
        )
    return [(one, False) for one in tables]


def _without_halves(tables: list[Path], folder: Path) -> list[Path]:
    """Drop tables that are the second half of another one; if none remain, return the test files of the benchmarks in the folder."""
    own = [part for one in find_official_splits(folder) for part in one.evaluated.subsets.values() or (one.evaluated,)]
    halves = {other for part in own for other in part.files[1:]}
    return [one for one in tables if one not in halves] or [part.files[0] for part in own]


def display_names(paths: Sequence[str | Path]) -> list[str]:
    """Return the names of files in results: titles of samples, other file names, with the folder if ambiguous."""
    titles = {sample.path.resolve(): sample.title for sample in list_samples()}
    names = [str(path) if is_hub_address(path) else titles.get(Path(path).resolve(), Path(path).name) for path in paths]
    return [
        name if names.count(name) == 1 or is_hub_address(path) else f"{Path(path).resolve().parent.name}/{name}"
        for path, name in zip(paths, names, strict=True)
    ]


def is_public_data(path: str | Path) -> bool:
    """Return True for public datasets and bundled samples."""
    return is_hub_address(path) or Path(path).resolve() in {sample.path.resolve() for sample in list_samples()}
