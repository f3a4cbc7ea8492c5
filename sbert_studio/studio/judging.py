"""Verbs by which models are judged and listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from .cards import describe_folder
from .languages import foreign_notes
from .reading import Reading
from .results import ModelCard

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..evaluation.report import Report


class Judging(Reading):
    """Models → scores."""

    def evaluate(self, model: str | None, path: str | Path | Table, task: str = "auto", progress: Progress | None = None) -> Report:
        """A model judged on a file of pairs, triplets or labelled texts; a note says where it was tuned on the same rows."""
        from ..data.corpus import text_columns
        from ..data.language import languages_in
        from ..evaluation.suite import evaluate

        name, table = model or self.settings.default_model, self._table(path)
        report = evaluate(self.catalog.load_either(name), table, task, progress)
        read = [note.in_words() for note in table.notes if note.severity != "info"]
        texts = [text for column in text_columns(table)[:3] for text in table.column(column)]
        foreign = foreign_notes(self.catalog, name, languages_in(texts))
        return replace(report, notes=(*read, *report.notes, *foreign, *self._learned(name, table)))

    def models(self, owner: str | None = None) -> list[ModelCard]:
        """The bundled models and the finished runs (of one owner), newest first; none of them is loaded.

        One that is damaged says so in its card.
        """
        bundled = [self._model_card(name, "bundled", name) for name in self.catalog.bundled()]
        done = [
            run for run in self.store.runs(owner) if run.model_path is not None and (run.status == "finished" or run.model_path.is_dir())
        ]
        return bundled + [self._model_card(run.id, "run", run.name, {"before": dict(run.before), "after": dict(run.after)}) for run in done]

    def models_at_hand(self) -> tuple[list[ModelCard], list[str]]:
        """(:meth:`models`, notices): where the list of runs cannot be read, the runs' folders that hold a model, and a notice of why."""
        try:
            return self.models(), []
        except StudioError as error:
            folders = sorted(self.workspace.home.glob("runs/run-*/model"))
            cards = [self._model_card(name, "bundled", name) for name in self.catalog.bundled()]
            cards += [self._model_card(folder.parent.name, "run", folder.parent.name) for folder in folders]
            return cards, [f"{error.message}; the runs are listed by their folders"]

    def _learned(self, model: str, table: Table) -> list[str]:
        """A note where rows of the table lie in the file that a run was tuned on, or a run that it began from."""
        from ..runs.materials import Materials

        notes: list[str] = []
        known = {run.id: run for run in self.store.runs()} if model.startswith("run-") else {}
        while (run := known.pop(model, None)) is not None:
            materials, model = Materials(self.workspace.run(run.id)), run.model
            try:
                files = materials.learned()
            except StudioError:
                continue  # Its folder was tidied by hand; what it learned can no longer be told.
            for names, learned in files:
                if not set(names) <= set(table.columns):
                    continue
                seen = sum(row in learned for row in zip(*(table.column(name) for name in names), strict=True))
                if seen:
                    rows = f"{seen:,} of these {len(table):,} rows are" if len(table) > 1 else "This row is"
                    notes.append(f"{rows} in the file that {run.name} was tuned on, so its score here flatters it.")
        return notes

    def _model_card(self, name: str, kind: str, title: str, scores: Mapping[str, Any] | None = None) -> ModelCard:
        try:
            facts = describe_folder(self.catalog.resolve(name).path)
        except StudioError:
            facts = describe_folder(None)
        return ModelCard(name=name, kind=kind, title=title, scores=scores or {}, **facts)
