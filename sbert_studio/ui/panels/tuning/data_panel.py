"""The file of examples on the page: upload or sample, preview, kind and columns, findings with their fixes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....data.schema.overrides import SchemaOverrides
from ...components import cancel_button, download_button, sample_buttons, samples_of, start_task, upload
from ...handlers import PROGRESS, handle_errors, progress_callback
from ...handover import FINE_TUNE, TrainingTable
from ...page import Page
from ...views import Value, column, placeholder, table, view
from . import changes, drafts
from . import told as words
from .drafts import KIND_WORDS, Draft

if TYPE_CHECKING:
    from ....data.samples import Sample

FIRST = placeholder(
    "Choose a file or a sample. Its columns, its kind and its faults are found at once; nothing trains until you press Start."
)
_EXACT = (
    "Exact, cell for cell: choose it here or train on it from a terminal, and it is these very rows. "
    "It is not made for a spreadsheet, which runs a cell that begins with = as a formula."
)
_PREVIEW = 4
_TELLING = "bank_messages"
_NO_GROUP = [("none", "")]
_WITH_TARGET = ("scored_pairs", "labelled_pairs", "labelled_texts")


def samples(language: str = "en") -> list[Sample]:
    """The sample sets that can be trained on, those in another language than English first where the page speaks it.

    Of the others the one comes first by which a short training shows what it can do.
    """
    foreign = "" if language == "en" else language
    return sorted(samples_of(*KIND_WORDS), key=lambda item: (item.language != foreign, item.id != _TELLING))


def take(page: Page, path: Path, model: str | None, name: str | None = None, progress: Any = None) -> Draft:
    """A file as a draft."""
    reading, checking = (
        (progress_callback(progress, "Reading"), progress_callback(progress, "Checking")) if progress is not None else (None, None)
    )
    return drafts.open_draft(page.studio, path, model, name=name, reading=reading, checking=checking)


def take_fitting(
    page: Page, path: Path, model: str | None, kept: Any, name: str | None = None, progress: Any = None
) -> tuple[Draft, str, list[Any]]:
    """Return a file as a draft, the model that fits its language, and what the model's chooser and ``page.other_texts`` become.

    Args:
        model, kept: see :meth:`~sbert_studio.ui.page.Page.fit_model`.
    """
    reading, checking = (
        (progress_callback(progress, "Reading"), progress_callback(progress, "Checking")) if progress is not None else (None, None)
    )
    table = page.studio.read.table(path, name, reading)
    fitting, update = page.fit_model(model, kept, name or path.name, page.studio.read.languages(table))
    return drafts.open_draft(page.studio, path, fitting, name=name, table=table, checking=checking), fitting, update.values()


def preview(draft: Draft) -> Value:
    """The first rows of the file."""
    names = list(draft.table.columns)
    rows = [[int(line), *cells] for line, cells in zip(draft.table.lines, draft.table.head(_PREVIEW), strict=False)]
    notes = " ".join(note.message for note in draft.table.notes)
    return table(
        [column("Row", "row"), *(column(name, theirs=True) for name in names)],
        rows,
        caption=f"{draft.name} · {len(draft.table):,} rows",
        note=notes,
    )


def write_changed_file(page: Page, key: str | None) -> Path:
    """The mended or converted file as a CSV, cell for cell: chosen again, it is the same rows."""
    draft = page.drafts.get(key)
    target = page.downloads.path(draft.saved_as)
    draft.table.to_csv(target, guarded=False)
    return target


def asked(kind: Any, columns: Any, target: Any, low: Any, high: Any, group: Any) -> SchemaOverrides:
    """The values of :attr:`DataPanel.parts` as one."""
    scale = (float(low), float(high)) if isinstance(low, int | float) and isinstance(high, int | float) else None
    return SchemaOverrides(kind or None, tuple(columns or ()) or None, target or None, group or "", scale)


class DataPanel:
    """The panel's components; ``draft`` is the ``gr.State`` with the key of the visitor's draft."""

    def __init__(self, page: Page, draft: Any) -> None:
        self.page, self.draft = page, draft
        with gr.Column(elem_classes=["sb-panel"]):
            self.file = upload(
                "Examples: pairs, triplets, texts with a category or sentences in a CSV, TSV, JSONL, XLSX or Parquet", "tune-file"
            )
            self.samples = samples()
            self.buttons = sample_buttons(self.samples, "tune")
            cancel_button("tune")
            self.preview = view("table", FIRST, elem_id="tune-preview")
            with gr.Row(visible=False) as self.roles:
                kinds = [(words, kind) for kind, words in KIND_WORDS.items()]
                self.kind = gr.Dropdown(kinds, value=None, label="What the rows are", elem_id="tune-kind", min_width=200)
                self.columns = gr.Dropdown(
                    [], multiselect=True, label="Text columns, in order", elem_id="tune-columns", elem_classes=["sb-data"], min_width=200
                )
                self.target = gr.Dropdown(
                    [], label="Score, label or category", elem_id="tune-target", elem_classes=["sb-data"], min_width=140
                )
                self.low = gr.Number(label="Lowest score", elem_id="tune-low", min_width=110)
                self.high = gr.Number(label="Highest score", elem_id="tune-high", min_width=110)
                self.group = gr.Dropdown(
                    _NO_GROUP, value="", label="Topic or group", elem_id="tune-group", elem_classes=["sb-data"], min_width=140
                )
            self.findings = view("findings", elem_id="tune-findings")
            with gr.Column(visible=False, elem_classes=["sb-tight"]) as self.changed:
                download_button("Download the changed file", partial(write_changed_file, page), [draft], elem_id="tune-mended")
                view("note", {"text": _EXACT})
            with gr.Accordion("Judge by a file of my own", open=False):
                self.dev = upload("Held-out examples with the same columns; otherwise a part of the rows is held out", "tune-dev")
            with gr.Accordion("Teach it from another file first", open=False):
                self.first = upload("A first stage with rows of any kind, such as inference labels before scored pairs", "tune-first")

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`show` updates."""
        return [self.draft, self.preview, self.roles, *self.parts, self.findings, self.changed]

    @property
    def parts(self) -> list[Any]:
        """The controls by which a person chooses the columns, as :func:`asked` takes their values."""
        return [self.kind, self.columns, self.target, self.low, self.high, self.group]

    def show(self, key: str, draft: Draft) -> list[Any]:
        """Updates of :attr:`outputs`."""
        roles = draft.diagnosis.roles if draft.diagnosis else None
        names = list(draft.table.columns)
        tried = draft.asked
        kind, texts, target = (roles.kind, roles.texts, roles.target) if roles else (tried.kind, tried.columns or (), tried.target)
        low, high = (roles.low, roles.high) if roles else tried.scale or (None, None)
        group = (roles.group if roles else tried.group) or ""
        return [
            key,
            preview(draft),
            gr.update(visible=True),
            gr.update(value=kind),
            gr.update(choices=names, value=list(texts)),
            gr.update(choices=names, value=target, visible=kind in _WITH_TARGET),
            gr.update(value=low, visible=low is not None),
            gr.update(value=high, visible=high is not None),
            gr.update(choices=[*_NO_GROUP, *names], value=group, visible=bool(roles or group)),
            words.findings(draft),
            gr.update(visible=bool(draft.changes)),
        ]

    def _take_lessons(self, plan: Any, plan_outputs: list[Any]) -> None:
        """What another tab hands over: the tab opens at once, and the file is read as an upload is."""
        page, outputs = self.page, [*self.outputs, *plan_outputs, self.page.model, self.page.other_texts]
        quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        opened = page.training_table.change(lambda: gr.Tabs(selected=FINE_TUNE), None, page.tabs, **quiet)

        def on_lesson(lesson: TrainingTable | None, model: str, kept: Any, progress: Any = PROGRESS) -> Any:
            if lesson is None:
                return gr.skip()
            draft, fitting, updates = take_fitting(page, lesson.path, model, kept, lesson.name, progress)
            return [*self.show(page.drafts.put(draft), draft), *plan(draft, fitting), *updates]

        shown = start_task(
            opened.then, "tune", on_lesson, [page.training_table, page.model, page.saved_model], outputs, show_progress_on=self.preview
        )
        shown.success(None, js="() => SB.reveal('tune-preview')")

    def listen(self, plan: Any, plan_outputs: list[Any]) -> None:
        """Bind the events; ``plan(draft, model)`` gives the updates of ``plan_outputs``."""
        page, model = self.page, self.page.model
        common = {"outputs": [*self.outputs, *plan_outputs], "api_visibility": "private", "show_progress_on": self.preview}

        def shown(draft: Draft, model: str) -> list[Any]:
            return [*self.show(page.drafts.put(draft), draft), *plan(draft, model)]

        def fitting(path: Path, model: str, kept: Any, progress: Any = None) -> list[Any]:
            draft, fitting, updates = take_fitting(page, path, model, kept, progress=progress)
            return [*shown(draft, fitting), *updates]

        def on_file(path: str | None, model: str, kept: Any, progress: Any = PROGRESS) -> Any:
            if path is None:
                return [
                    None,
                    FIRST,
                    gr.update(visible=False),
                    *[gr.skip()] * len(self.parts),
                    None,
                    gr.update(visible=False),
                    *[gr.skip()] * (len(plan_outputs) + 2),
                ]
            return fitting(Path(path), model, kept, progress)

        def on_sample(sample: Sample, model: str, kept: Any) -> Any:
            return fitting(sample.path, model, kept)

        def on_parts(key: str, model: str, *values: Any) -> Any:
            draft, chosen = page.drafts.get(key), asked(*values)
            return gr.skip() if drafts.shows(draft, chosen) else shown(drafts.with_columns(page.studio, draft, chosen, model), model)

        def on_button(key: str, model: str, event: gr.SelectData) -> Any:
            return shown(changes.changed(page.studio, page.drafts.get(key), event.value, event.index, model), model)

        def on_dev(key: str | None, path: str | None, model: str) -> Any:
            if key is None:
                return gr.skip()
            held = page.drafts.get(key).asking(dev=Path(path) if path else None)
            return shown(drafts.checked(page.studio, held, model), model)

        def on_first(key: str | None, path: str | None, model: str) -> Any:
            if key is None:
                return gr.skip()
            return shown(drafts.with_first(page.studio, page.drafts.get(key), Path(path) if path else None, model), model)

        self._take_lessons(plan, plan_outputs)
        models, filled = [model, page.saved_model], [*common["outputs"], model, page.other_texts]
        start_task(self.file.change, "tune", on_file, [self.file, *models], filled, show_progress_on=self.preview)
        for item, button in zip(self.samples, self.buttons, strict=True):
            button.click(handle_errors(partial(on_sample, item)), models, **{**common, "outputs": filled})
        chosen = handle_errors(on_parts), [self.draft, model, *self.parts]
        for control in (self.kind, self.columns, self.target, self.group):
            control.input(*chosen, **common)
        for number in (self.low, self.high):
            number.submit(*chosen, **common)
            number.blur(*chosen, **common)
        self.findings.select(handle_errors(on_button), [self.draft, model], **common)
        self.dev.change(handle_errors(on_dev), [self.draft, self.dev, model], **common)
        self.first.change(handle_errors(on_first), [self.draft, self.first, model], **common)
