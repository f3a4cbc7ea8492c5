"""Verbs by which models are judged and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError, ended
from ..fitting.fitted import fitted_models
from ..languages import foreign_notes, unknown_notes
from ..learned import rows_learned, said_of
from ..part import Part
from ..results import ModelCard
from ..tuning.questions import Unanswered
from .given import Given, as_known_set
from .leaderboard import Leaderboard

if TYPE_CHECKING:
    from ...data.progress import Progress
    from ...data.schema.evidence import SimilarityFunction
    from ...data.schema.overrides import SchemaOverrides
    from ...data.schema.roles import Roles
    from ...data.tables import Table
    from ..reading import Reading
    from ..services import Services

FLATTERS = "flatters it"
"""The end of the note that a model was tuned on rows that it is judged by."""


class Judging(Part):
    """Models → scores.

    Attributes:
        board: the scores that are kept.
    """

    def __init__(self, services: Services, read: Reading) -> None:
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
    ) -> Given:
        """What is judged. A task that learns is given a known set as its authors split it, unless something else was said."""
        if known is None and not asked and (found := as_known_set(path, task)) is not None:
            return found
        others = None if known is None else self.read.table(known, asked=asked)
        return Given(self.read.table(path, name, progress, asked=asked), others)

    def _roles_of(
        self, given: Given, task: str, asked: SchemaOverrides | None, evidence: Callable[[], SimilarityFunction]
    ) -> tuple[Roles | None, list[str]]:
        return (given.roles, []) if given.roles is not None else self._roles_to_judge_by(given.table, task, asked, evidence)

    def models(self, owner: str | None = None) -> list[ModelCard]:
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

    def models_at_hand(self, owner: str | None = None) -> tuple[list[ModelCard], list[str]]:
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

    def _at_hand(self) -> list[ModelCard]:
        """The models that came with the program, and the encoders and tables of words whose packages are installed."""
        kinds = {"bundled": self.catalog.bundled(), "foreign": self.catalog.foreign(), "table": self.catalog.tables()}
        return [self._model_card(name, kind, name) for kind, names in kinds.items() for name in names]

    def _fitted_cards(self, owner: str | None) -> list[ModelCard]:
        """The tables of words (of one owner) that were made here."""
        found = fitted_models(self.workspace, owner)
        return [
            replace(
                self._model_card(one.id, "fitted", one.name), note=" ".join(ended(f"{note[:1].upper()}{note[1:]}") for note in one.notes)
            )
            for one in found
        ]

    def _of_model(self, model: str, table: Table, roles: Roles | None = None) -> list[str]:
        """What is to be known of a model on a table: a language that it was not trained on, words that it does not know, rows that it
        was tuned on."""
        from ...data.corpus import text_columns
        from ...data.language import languages_in
        from ...encoders.base import Encoder
        from ...encoders.similarity import similarity_note

        columns = text_columns(table)[:3] if roles is None else roles.texts
        texts = [text for column in columns for text in table.column(column) if text.strip()]
        found = self.catalog.load_either(model)
        unknown = unknown_notes(found.coverage(texts), len(texts))
        by = similarity_note(found.similarity_name) if isinstance(found, Encoder) else ()
        return [
            *by,
            *foreign_notes(self.catalog, model, languages_in(texts), at_hand=self.multilingual),
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
        from ...data.schema.inference import infer_schema
        from ...data.schema.overrides import SchemaOverrides
        from ...evaluation.evaluate import kinds_of_task

        kinds, asked = kinds_of_task(task), asked or SchemaOverrides()
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
            raise Unanswered.of_file(table.name, open_)
        return reading.roles, [f"read as it stands, though uncertain: {one.text} {one.why}".rstrip() for one in open_]

    def _learned(self, model: str, table: Table) -> list[str]:
        """A note where rows of the table lie in the file that a run was tuned on, or a run that it began from."""
        found = rows_learned(lambda: self.store, self.workspace, model, table)
        return [f"{said_of(rows, table, run)}, so its score here {FLATTERS}." for run, rows in found]

    def _model_card(self, name: str, kind: str, title: str, scores: Mapping[str, Any] | None = None) -> ModelCard:
        from ...encoders.storage.peek import peek, peek_at

        try:
            info = peek_at(self.catalog.resolve(name))
        except StudioError:
            info = peek(None)
        note = "Frozen: it is used and judged as it is, and cannot be tuned." if kind == "foreign" else ""
        return ModelCard(name=name, kind=kind, title=title, note=note, scores=scores or {}, **asdict(info))


def of_reading(table: Table) -> list[str]:
    """What reading a file brought up that is more than a remark."""
    return [note.in_words() for note in table.notes if note.severity != "info"]
