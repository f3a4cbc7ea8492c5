"""Verbs by which models are judged and listed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cards import describe_folder
from .reading import Reading
from .results import ModelCard

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..evaluation.report import Report


class Judging(Reading):
    """Models → scores."""

    def evaluate(self, model: str | None, path: str | Path | Table, task: str = "auto", progress: Progress | None = None) -> Report:
        """A model judged on a file of pairs, triplets or labelled texts."""
        from ..evaluation.suite import evaluate

        return evaluate(self.catalog.load(model or self.settings.default_model), self._table(path), task, progress)

    def models(self, owner: str | None = None) -> list[ModelCard]:
        """The bundled models and the finished runs (of one owner), newest first; none of them is loaded."""
        bundled = [self._model_card(name, "bundled", name) for name in self.catalog.bundled()]
        done = [run for run in self.store.runs(owner) if run.model_path is not None and run.model_path.is_dir()]
        return bundled + [self._model_card(run.id, "run", run.name, {"before": dict(run.before), "after": dict(run.after)}) for run in done]

    def _model_card(self, name: str, kind: str, title: str, scores: Mapping[str, Any] | None = None) -> ModelCard:
        folder = self.catalog.resolve(name).path
        facts = describe_folder(folder) if folder is not None else {}
        return ModelCard(name=name, kind=kind, title=title, scores=scores or {}, **facts)
