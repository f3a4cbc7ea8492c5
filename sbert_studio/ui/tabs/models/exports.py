"""Export of the selected model for another runtime: the formats, and the visitor's latest export, which is a job."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import StudioError
from ....i18n import _
from ....runs.runner import lower_priority
from ....serialization import to_plain
from ...page import Page
from ...panel import Selection
from ...task_list import job_view
from ...views import UNCHANGED, Unchanged, Update, Value, props

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....models.export import ExportedModel
    from ....services.jobs import BeginPhase, JobView
    from ....services.results import ModelSummary


_SIZES = (1024, 768, 512, 384, 256, 128, 64, 32)  # numbers of components to choose from


@dataclass(frozen=True)
class FinishedExport:
    """Result of the job."""

    file: ExportedModel
    model: str = ""

    def describe(self) -> str:
        """Return how the export was compared with the original."""
        found = self.file.verified
        return _(
            "opened with {runtime} and compared with the original on {n} texts ({source})",
            runtime=found.runtime,
            n=found.texts,
            source=found.source,
        )


@dataclass(frozen=True)
class ExportUpdate:
    exports: Value | None
    export_file: Update | Unchanged = UNCHANGED


def show_exports(page: Page, owner: object, chosen: str) -> Value | None:
    """Return the value of an ``exports`` view: the formats of the selected model, and the latest export; ``None`` without either."""
    job = page.studio.export_jobs.latest(page.visitor(owner))
    card = _exportable(page, owner, chosen)
    if job is None and card is None:
        return None
    formats = [] if card is None else page.studio.exports.list_formats(chosen, Path(tempfile.gettempdir()) / "export")
    rows = [
        {
            "name": one.name,
            "title": one.title,
            "readers": one.readers,
            "cost": one.cost,
            "size": _("about {megabytes} MB", megabytes=_megabytes(one.bytes)) if one.bytes else "",
            "missing": _("{names} not installed: {hint}", names=", ".join(one.missing), hint=one.install) if one.missing else "",
        }
        for one in formats
    ]
    sizes = [size for size in _SIZES if card is not None and size < card.dim]
    value = {
        "formats": rows,
        "sizes": sizes,
        "model": chosen,
        "job": job_view(job, "export"),
        "id": job.id if job else "",
        "facts": _figures(job),
    }
    return to_plain(value)  # type: ignore[no-any-return]


def act(page: Page, owner: object, chosen: str, corpus: str | None, selection: Selection) -> ExportUpdate:
    """Start, stop or download an export, or show how far it is."""
    item = selection.item if isinstance(selection.item, Mapping) else {}
    if selection.action == "start":
        size = item.get("size")
        data = page.corpora.chosen(corpus).corpus if item.get("own") else None
        shown = str(item.get("model") or chosen)  # another model may have been selected a moment ago
        start_export(page, owner, shown, str(item.get("format")), data, size if isinstance(size, int) and size in _SIZES else 0)
    elif selection.action == "stop":
        page.studio.export_jobs.stop(page.visitor(owner), str(item.get("id")))
    elif selection.action == "download":
        path = _finished(page, owner).file.path
        # The view downloads the file as soon as its link is there.
        return ExportUpdate((show_exports(page, owner, chosen) or {}) | {"ready": True}, props(value=str(path)))
    return ExportUpdate(show_exports(page, owner, chosen))


def start_export(page: Page, owner: object, model: str, format_name: str, data: Corpus | None = None, truncate_dim: int = 0) -> JobView:
    """Queue the export of a model into a temporary zip.

    Args:
        data: texts to compare it with the original on; by default those of the run, or a sample.
        truncate_dim: number of components to keep; 0 for all.

    Raises:
        StudioError: the visitor has no such model, or the format is unknown or lacks a package.
    """
    studio, visitor = page.studio, page.visitor(owner)
    card = _exportable(page, owner, model)
    if card is None:
        raise StudioError("this model cannot be exported", "choose a sentence encoder from the list")
    target = page.downloads.path(f"{card.title.rsplit('/', 1)[-1]}-{format_name}.zip")
    studio.exports.require_ready(format_name, target)
    title = next(one.title for one in studio.exports.list_formats() if one.name == format_name)

    def work(begin: BeginPhase) -> FinishedExport:
        lower_priority()
        begin("loading the model", "")
        return FinishedExport(studio.exports.export(model, format_name, target, data=data, truncate_dim=truncate_dim, begin_phase=begin))

    return studio.export_jobs.submit(visitor, _("{name} as {format}", name=card.title, format=title), work)


def _exportable(page: Page, owner: object, name: str) -> ModelSummary | None:
    cards = page.studio.models.list_available(page.visitor(owner))[0] if name else []
    return next(
        (card for card in cards if card.name == name and card.reads == "texts" and card.kind != "foreign" and not card.damaged), None
    )


def _finished(page: Page, owner: object) -> FinishedExport:
    job = page.studio.export_jobs.latest(page.visitor(owner))
    if job is None or not isinstance(job.result, FinishedExport) or not job.result.file.path.is_file():
        raise StudioError("the exported file is no longer available", "export the model again")
    return job.result


def _figures(job: JobView | None) -> list[tuple[str, object]]:
    if job is None or not isinstance(job.result, FinishedExport):
        return []
    file, found = job.result.file, job.result.file.verified
    rate, original = f"{found.sentences_per_second:,.0f}", f"{found.original_sentences_per_second:,.0f}"
    return [
        ("Size", f"{_megabytes(file.bytes)} MB"),
        ("Minimum cosine", f"{found.cosine:.4f}"),
        ("Equal top-10 hits", f"{found.top10:.1%}"),
        ("Sentences per second", _("{rate} (original: {original})", rate=rate, original=original)),
    ]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}" if size < 10_000_000 else f"{size / 1e6:,.0f}"
