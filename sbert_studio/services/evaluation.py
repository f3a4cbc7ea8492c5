"""Evaluate models on files, folders and suites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..data.loading.hub import is_hub_address
from ..errors import StudioError, with_full_stop
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
from .leaderboard import LOCAL_OWNER, Leaderboard
from .questions import OpenQuestionsError
from .resources import Service
from .results import AvailableSuite, EvaluationResult, ModelSummary, SkippedFile
from .static_embeddings import list_static_models
from .training_history import describe_overlap, find_base_model, find_trained_rows

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..data.schema.evidence import SimilarityFunction
    from ..data.schema.overrides import SchemaOverrides
    from ..data.schema.roles import Roles
    from ..datasets.suites import FoundPart, MissingPart, Suite
    from ..evaluation.comparison import EvaluationFile, SuiteAverage
    from ..evaluation.encoding import CachingEncoder
    from ..evaluation.evaluate import EvaluatedModel
    from ..evaluation.report import Report
    from ..models.base import Encoder
    from ..progress import Progress
    from .data import DataService
    from .jobs import BeginPhase
    from .resources import Resources

    _Read = tuple[EvaluationFile, Table, Roles | None]


INFLATES_SCORE = "flatters it"
"""The end of the note that a model was tuned on rows that it is judged by."""


class _OldJudging(Service):
    """Models → scores.

    Attributes:
        board: the scores that are kept.
    """

    def __init__(self, services: Resources, read: DataService) -> None:
        super().__init__(services)
        self.read = read
        self.board = Leaderboard(services)

    def _given(
        self,
        path: str | Path | Table,
        task: str,
        asked: SchemaOverrides | None,
        known: str | Path | Table | None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> EvaluationInput:
        """What is judged. A task that learns is given a known set as its authors split it, unless something else was said."""
        if known is None and not asked and (found := find_benchmark(path, task)) is not None:
            return found
        others = None if known is None else self.read.table(known, asked=asked)
        return EvaluationInput(self.read.table(path, name, progress, asked=asked), others)

    def _roles_of(
        self, given: EvaluationInput, task: str, asked: SchemaOverrides | None, evidence: Callable[[], SimilarityFunction]
    ) -> tuple[Roles | None, list[str]]:
        return (given.roles, []) if given.roles is not None else self._roles_to_judge_by(given.table, task, asked, evidence)

    def models(self, owner: str | None = None) -> list[ModelSummary]:
        """The models at hand, the finished runs and the tables of words (of one owner), newest first; none of them is loaded.

        One that is damaged says so in its card.
        """
        done = [
            run for run in self.store.runs(owner) if run.model_path is not None and (run.status == "finished" or run.model_path.is_dir())
        ]
        return (
            self._at_hand()
            + [self._model_card(run.id, "run", run.name, {"before": dict(run.before), "after": dict(run.after)}) for run in done]
            + self._fitted_cards(owner)
        )

    def models_at_hand(self, owner: str | None = None) -> tuple[list[ModelSummary], list[str]]:
        """(:meth:`models`, notices): where the list of runs cannot be read, the runs' folders that hold a model, and a notice of why.

        A folder does not tell whose it is: of one owner among many only the bundled models are left.
        """
        try:
            return self.models(owner), []
        except StudioError as error:
            if owner not in (None, "local"):
                return self._at_hand() + self._fitted_cards(owner), [
                    f"{error.message}; your own models are listed again once it can be read"
                ]
            folders = sorted(self.workspace.home.glob("runs/run-*/model"))
            cards = self._at_hand()
            cards += [self._model_card(folder.parent.name, "run", folder.parent.name) for folder in folders]
            return cards + self._fitted_cards(owner), [f"{error.message}; the runs are listed by their folders"]

    def _at_hand(self) -> list[ModelSummary]:
        """The models that came with the program, and the encoders and tables of words whose packages are installed."""
        kinds = {"bundled": self.catalog.bundled(), "foreign": self.catalog.external(), "table": self.catalog.tables()}
        return [self._model_card(name, kind, name) for kind, names in kinds.items() for name in names]

    def _fitted_cards(self, owner: str | None) -> list[ModelSummary]:
        """The tables of words (of one owner) that were made here."""
        found = list_static_models(self.workspace, owner)
        return [
            replace(
                self._model_card(one.id, "fitted", one.name),
                note=" ".join(with_full_stop(f"{note[:1].upper()}{note[1:]}") for note in one.notes),
            )
            for one in found
        ]

    def _of_model(self, model: str, table: Table, roles: Roles | None = None) -> list[str]:
        """What is to be known of a model on a table: a language that it was not trained on, words that it does not know, rows that it
        was tuned on."""
        from ..data.corpus import find_text_columns
        from ..data.language import count_languages
        from ..models.base import Encoder
        from ..models.similarity import evaluation_similarity_note

        columns = find_text_columns(table)[:3] if roles is None else roles.texts
        texts = [text for column in columns for text in table.column(column) if text.strip()]
        found = self.catalog.load_any(model)
        unknown = unknown_word_notes(found.coverage(texts), len(texts))
        by = evaluation_similarity_note(found.similarity_name) if isinstance(found, Encoder) else ()
        return [
            *by,
            *language_mismatch_notes(self.catalog, model, count_languages(texts), at_hand=self.multilingual),
            *unknown,
            *self._learned(model, table),
        ]

    def _roles_to_judge_by(
        self, table: Table, task: str, asked: SchemaOverrides | None, evidence: Callable[[], SimilarityFunction]
    ) -> tuple[Roles | None, list[str]]:
        """What the columns are, ``None`` where a task of texts finds its own; and what was left open with ``as_read``.

        Args:
            evidence: gives what tells how alike texts are, once it is needed.
        """
        from ..data.schema.inference import infer_schema
        from ..data.schema.overrides import SchemaOverrides
        from ..evaluation.evaluate import task_kinds

        kinds, asked = task_kinds(task), asked or SchemaOverrides()
        if kinds == ("labelled_texts",) and not replace(asked, as_read=False):
            return None, []
        similar = evidence()
        said = replace(asked, as_read=False)
        try:
            reading = infer_schema(table, said, (), similar)
            if kinds and said.kind is None and reading.roles.kind not in kinds:
                reading = infer_schema(table, replace(said, kind=kinds[0]), (), similar)
        except StudioError:
            if said or kinds:
                raise
            return None, []  # neither pairs nor triplets
        # Texts with a category are judged either way, whether or not they should lie together.
        of_texts = reading.roles.kind in ("labelled_texts", "sentences")
        open_ = [one for one in reading.questions if not (of_texts and one.name == "kind")]
        if open_ and not asked.as_read:
            raise OpenQuestionsError.of_file(table.name, open_)
        return reading.roles, [f"read as it stands, though uncertain: {one.text} {one.why}".rstrip() for one in open_]

    def _learned(self, model: str, table: Table) -> list[str]:
        """A note where rows of the table lie in the file that a run was tuned on, or a run that it began from."""
        found = find_trained_rows(lambda: self.store, self.workspace, model, table)
        return [f"{describe_overlap(rows, table, run)}, so its score here {INFLATES_SCORE}." for run, rows in found]

    def _model_card(self, name: str, kind: str, title: str, scores: Mapping[str, Any] | None = None) -> ModelSummary:
        from ..models.io.sources import describe_source, read_model_info

        try:
            info = describe_source(self.catalog.resolve(name))
        except StudioError:
            info = read_model_info(None)
        note = "Frozen: it is used and judged as it is, and cannot be tuned." if kind == "foreign" else ""
        return ModelSummary(name=name, kind=kind, title=title, note=note, scores=scores or {}, **asdict(info))


def reading_notes(table: Table) -> list[str]:
    """What reading a file brought up that is more than a remark."""
    return [note.describe() for note in table.notes if note.severity != "info"]


class EvaluationService(_OldJudging):
    """Models × files → scores, and which model is better."""

    def evaluate(
        self,
        model: str | None,
        path: str | Path | Table,
        task: str = "auto",
        progress: Progress | None = None,
        asked: SchemaOverrides | None = None,
        known: str | Path | Table | None = None,
        owner: str = LOCAL_OWNER,
    ) -> Report:
        """A model judged on a file of pairs, triplets or labelled texts; a note says where it was tuned on the same rows.

        Args:
            asked: what was said of the file and its columns; the rest is found out, as for a training.
            known: a file of other rows whose answers are known: ``senteval`` learns from them, ``categories`` lays the judged texts
                beside them. A file of a set of the literature that has its own train split needs none.
            owner: whose entry of the leaderboard it becomes.

        Raises:
            Unanswered: the file can be read in more than one way, such as a scale that looks reversed.
            StudioError: the file cannot be read, or does not hold what the task needs.
        """
        from ..evaluation.comparison import evaluate_model

        name = model or self.settings.default_model
        source = path if isinstance(path, str | Path) else None
        task, title = match_split_classes(path, task)
        given = self._given(path, task, asked, known, None if source is None else title or display_names([source])[0])
        encoders = self._encoders(name)
        judged = encoders.of(name)
        file, table, roles = self._judged_file(given.table.name, given, task, asked, encoders)
        file = replace(
            file, public=source is not None and known is None and is_public_data(source), notes=(*split_notes(path), *file.notes)
        )
        scores = evaluate_model(name, judged, [file], progress=progress)
        kept = self.board.keep(EvaluationResult((file,), (), (), (scores,), ()), owner)
        return replace(scores.reports[0], notes=(*file.notes, *self._of_model(name, table, roles), *kept), account=file.rows.account)

    def evaluate_all(
        self,
        models: Sequence[str] = (),
        data: Sequence[str | Path] = (),
        task: str = "auto",
        suite: str = "",
        progress: Progress | None = None,
        asked: SchemaOverrides | None = None,
        known: str | Path | Table | None = None,
        owner: str = LOCAL_OWNER,
        begin: BeginPhase | None = None,
    ) -> EvaluationResult:
        """Every model on the same rows of every file, the files taken together, and every two models compared.

        Args:
            models: the default model where none is named.
            data: files, folders whose tables are meant, or public sets (``hf://datasets/…``); with a suite, where its files lie
                (``suites`` in the home folder otherwise).
            task: one for all files; ``auto`` finds it for each.
            suite: judge by the files of this suite (see :mod:`sbert_studio.datasets.suites`).
            asked: what was said of the files' columns.
            known: see :meth:`evaluate`; one for all files.
            owner: whose entries of the leaderboard they become.
            begin: told each phase, in place of ``progress``.

        Raises:
            Unanswered: a file can be read in more than one way.
            StudioError: there is nothing to judge by, a file that was named cannot be read, or a model cannot be judged by its task.
        """
        from ..evaluation.comparison import compare_models, evaluate_model, group_files
        from ..models.base import PairScorer

        told = begin or (lambda phase, unit: progress)
        names = tuple(dict.fromkeys(name for name in models if name)) or (self.settings.default_model,)
        encoders = self._encoders(names[0])
        missing: tuple[MissingPart, ...] = ()
        left_out: tuple[SkippedFile, ...] = ()
        if suite and known is not None:
            raise StudioError("a suite has its own rows to learn from", "leave --reference out")
        told("reading what to judge by", "texts")
        if suite:
            files, averages, missing = self._suite(suite, data, asked)
        else:
            others = None if known is None else self.read.table(known, asked=asked)
            files, left_out = self._files(data, task, asked, encoders, others, begin)
            averages = []
        judged = [file for file, _, _ in files]
        groups = group_files(judged)
        scores = []
        for number, name in enumerate(names, start=1):
            many = len(names) > 1
            told(f"loading model {number} of {len(names)}" if many else "loading the model", "texts")
            model = encoders.of(name)
            phase = f"judging model {number} of {len(names)}" if many else "judging the model"
            show = told(phase, "pairs" if isinstance(model, PairScorer) else "texts")
            found = evaluate_model(name, model, judged, groups, averages, show)
            scores.append(replace(found, notes=tuple(tuple(self._of_model(name, table, roles)) for _, table, roles in files)))
        if len(names) > 1:
            told("comparing the models", "pairs")
        comparisons = compare_models(judged, groups, averages, scores)
        evaluation = EvaluationResult(tuple(judged), tuple(groups), tuple(averages), tuple(scores), tuple(comparisons), missing, left_out)
        return replace(evaluation, notes=self.board.keep(evaluation, owner))

    def suites_here(self) -> list[AvailableSuite]:
        """The suites of which files lie in ``suites`` in the home folder, by their names and what is there of them."""
        from ..datasets.suites import SUITES, expand_suite, find_parts, get_suite

        place = self.workspace.home / "suites"
        found: list[AvailableSuite] = []
        for name in SUITES if place.is_dir() else ():
            suite = get_suite(name)
            with suppress(StudioError):
                parts, _ = find_parts(expand_suite(suite), [place], self.read.table)
                wanted = sum(len(one.parts) for one in expand_suite(suite))
                found.append(AvailableSuite(suite.name, suite.title, len(parts), wanted))
        return found

    def _encoders(self, first: str) -> _Encoders:
        return _Encoders(self.catalog.load_any, lambda: self._witness(first))

    def _witness(self, first: str) -> tuple[str, Encoder]:
        found = find_base_model(lambda: self.store, self.workspace, self.catalog, first)
        return found or (self.settings.default_model, self.catalog.load(self.settings.default_model))

    def _files(
        self,
        data: Sequence[str | Path],
        task: str,
        asked: SchemaOverrides | None,
        encoders: _Encoders,
        known: Table | None,
        begin: BeginPhase | None,
    ) -> tuple[list[_Read], tuple[SkippedFile, ...]]:
        """What there is to judge by in files and folders. A table of a folder that holds nothing of the kind is left out."""
        files: list[_Read] = []
        left_out: list[SkippedFile] = []
        paths = [path for one in data for path in find_tables(one, task)]
        if not paths:
            raise StudioError("there is nothing to judge by", "give files or a folder of tables, or name a suite")
        for (path, alone), name in zip(paths, display_names([path for path, _ in paths]), strict=True):
            try:
                show = begin("fetching the set", "bytes") if begin is not None and is_hub_address(path) else None
                own, title = match_split_classes(path, task)
                given = self._given(path, own, asked, known, title or name, show)
                called = given.table.name if is_hub_address(path) else title or name
                file, table, roles = self._judged_file(called, given, own, asked, encoders)
                noted = (*split_notes(path, [one for one, _ in paths]), *file.notes)
                files.append((replace(file, public=is_public_data(path) and known is None, notes=noted), table, roles))
            except OpenQuestionsError:
                raise
            except StudioError as error:
                if alone:
                    raise
                left_out.append(SkippedFile(name, error.message))
        if not files:
            raise StudioError(
                f"no table there can be judged by: {left_out[0].file}: {left_out[0].why}",
                "give pairs with a score or a label, triplets, or texts with a label",
            )
        return files, tuple(left_out)

    def _judged_file(self, name: str, given: EvaluationInput, task: str, asked: SchemaOverrides | None, encoders: _Encoders) -> _Read:
        from ..evaluation.comparison import EvaluationFile
        from ..evaluation.evaluate import choose_task, with_reference

        table = given.table
        roles, open_ = self._roles_of(given, task, asked, encoders.similar)
        chosen, columns = choose_task(table, task, roles)
        rows = chosen.read(table, columns)
        if given.known is not None:
            rows = with_reference(rows, chosen, given.known, given.dev, columns)
        return EvaluationFile(name, rows, chosen, task == "auto", notes=(*open_, *reading_notes(table), *rows.notes)), table, roles

    def _suite(
        self, name: str, data: Sequence[str | Path], asked: SchemaOverrides | None
    ) -> tuple[list[_Read], list[SuiteAverage], tuple[MissingPart, ...]]:
        """The files of a suite, the averages over suites, and what is missing."""
        from ..datasets.suites import expand_suite, find_parts, get_suite
        from ..evaluation.comparison import SuiteAverage

        suite = get_suite(name)
        home = self.workspace.home / "suites"
        if not data and self.settings.shared and not home.is_dir():  # where it lies is nothing for strangers
            raise StudioError("there are no suites on this machine", "give the suite's files")
        places = [require_path(one) for one in data] or [require_path(home)]
        parts, missing = find_parts(expand_suite(suite), places, lambda path: self.read.table(path, asked=asked))
        files = [self._part(part, asked, not data) for part in parts]
        there = tuple(dict.fromkeys(part.suite.name for part in parts))
        averages = [SuiteAverage(suite.name, there, len(suite.suites))] if suite.suites else []
        return files, averages, tuple(missing)

    def _part(self, found: FoundPart, asked: SchemaOverrides | None, public: bool) -> _Read:
        from ..evaluation.comparison import EvaluationFile
        from ..evaluation.evaluate import with_reference
        from ..evaluation.tasks import get_task

        suite, part = found.suite, found.part
        table = found.read()
        task = get_task(suite.task)
        roles = found.roles or _roles(table, suite, asked)
        rows = task.read(table, roles)
        if found.train is not None:
            rows = with_reference(rows, task, found.train(), None if found.dev is None else found.dev(), roles)
        notes = [*reading_notes(table), *rows.notes]
        if len(rows.examples) != part.rows and not found.substitute:
            notes.append(f"{len(rows.examples):,} rows are judged; the published figures are of {part.rows:,}")
        if rows.reference is not None and len(rows.reference) != part.train_rows:
            notes.append(f"{len(rows.reference):,} rows are learned from; those of the published figures were {part.train_rows:,}")
        # The only part of a suite is told by the suite's name, and one of several by its own.
        name = found.substitute or (suite.name if len(suite.parts) == 1 else part.name)
        return EvaluationFile(name, rows, task, suite=suite.name, notes=tuple(notes), public=public), table, roles


class _Encoders:
    """The models by name. The one that tells what columns mean remembers the texts that it was shown, so that none is encoded twice."""

    def __init__(self, load: Callable[[str], Any], witness: Callable[[], tuple[str, Encoder]]) -> None:
        self._load, self._witness = load, witness
        self._called = ""
        self._shown: CachingEncoder | None = None

    def similar(self) -> SimilarityFunction:
        """How alike texts are by the first model before it was tuned."""
        from ..data.schema.evidence import EncoderSimilarity
        from ..evaluation.encoding import CachingEncoder

        if self._shown is None:
            self._called, encoder = self._witness()
            self._shown = CachingEncoder(encoder)
        return EncoderSimilarity(self._shown.for_role("symmetric").encode, PurePath(self._called).name)

    def of(self, name: str) -> EvaluatedModel:
        """The model of that name."""
        model = self._load(name)
        return self._shown if self._shown is not None and self._shown.encoder is model else model


def _roles(table: Table, suite: Suite, asked: SchemaOverrides | None) -> Roles:
    """What the columns of a suite's file are: its task and its scale are known, and names tell the rest."""
    from ..data.schema.inference import infer_schema
    from ..data.schema.overrides import SchemaOverrides
    from ..evaluation.tasks import get_task

    asked = asked or SchemaOverrides()
    group = suite.group if asked.group is None and suite.group in table.columns else asked.group
    said = replace(asked, kind=suite.kind or get_task(suite.task).kinds[0], scale=suite.scale, group=group, as_read=True)
    return infer_schema(table, said).roles
