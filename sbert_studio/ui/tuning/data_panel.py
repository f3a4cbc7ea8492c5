"""The file of examples on the page: upload or sample, preview, kind and columns, findings with their mends."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..page import PROGRESS, Page, download_button, guarded, told
from ..picker import sample_buttons, samples_of, upload
from ..views import Value, column, nothing, table, view
from . import drafts
from .drafts import KIND_WORDS, Draft

if TYPE_CHECKING:
    from ...data.samples import Sample

FIRST = nothing("Choose a file or a sample. Its columns, its kind and its faults are found at once; nothing trains until you press Start.")
_PREVIEW = 4


def samples() -> list[Sample]:
    """The sample sets that can be trained on."""
    return samples_of(*KIND_WORDS)


def take(page: Page, path: Path, model: str | None, name: str | None = None, progress: Any = None) -> Draft:
    """A file as a draft."""
    return drafts.open_draft(page.studio, path, model, name=name, progress=told(progress, "Reading") if progress else None)


def preview(draft: Draft) -> Value:
    """The first rows of the file."""
    names = list(draft.table.columns)
    rows = [[int(line), *cells] for line, cells in zip(draft.table.lines, draft.table.head(_PREVIEW), strict=False)]
    notes = " ".join(note.message for note in draft.table.notes)
    return table(
        [column("Row", "row"), *(column(name) for name in names)], rows, caption=f"{draft.name} · {len(draft.table):,} rows", note=notes
    )


def write_mended(page: Page, key: str | None) -> Path:
    """The mended file as a CSV without live formulas."""
    draft = page.drafts.get(key)
    target = page.downloads.path(f"{Path(draft.name).stem}-mended.csv")
    draft.table.to_csv(target)
    return target


class DataPanel:
    """The panel's components; ``draft`` is the ``gr.State`` with the key of the visitor's draft."""

    def __init__(self, page: Page, draft: Any) -> None:
        self.page, self.draft = page, draft
        with gr.Column(elem_classes=["sb-panel"]):
            self.file = upload("Examples: pairs, triplets or sentences in a CSV, TSV, JSONL, XLSX or Parquet", "tune-file")
            self.samples = samples()
            self.buttons = sample_buttons(self.samples, "tune")
            self.preview = view("table", FIRST, elem_id="tune-preview")
            with gr.Row(visible=False) as self.roles:
                kinds = [(words, kind) for kind, words in KIND_WORDS.items()]
                self.kind = gr.Dropdown(kinds, value=None, label="What the rows are", elem_id="tune-kind", min_width=200)
                self.columns = gr.Dropdown([], multiselect=True, label="Text columns, in order", elem_id="tune-columns", min_width=200)
                self.target = gr.Dropdown([], label="Score or label", elem_id="tune-target", min_width=140)
            self.findings = view("findings", elem_id="tune-findings")
            self.save = download_button(
                "Download the mended file", partial(write_mended, page), [draft], elem_id="tune-mended", visible=False
            )
            with gr.Accordion("Judge by a file of my own", open=False):
                self.dev = upload("Held-out examples with the same columns; otherwise a part of the rows is held out", "tune-dev")
            with gr.Accordion("Teach it from another file first", open=False):
                self.first = upload("A first stage with rows of any kind, such as inference labels before scored pairs", "tune-first")

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`show` updates."""
        return [self.draft, self.preview, self.roles, self.kind, self.columns, self.target, self.findings, self.save]

    def show(self, key: str, draft: Draft) -> list[Any]:
        """Updates of :attr:`outputs`."""
        roles = draft.diagnosis.roles if draft.diagnosis else None
        names = list(draft.table.columns)
        kind, texts, target = (roles.kind, list(roles.texts), roles.target) if roles else (draft.asked[0], [], None)
        return [
            key,
            preview(draft),
            gr.update(visible=True),
            gr.update(value=kind),
            gr.update(choices=names, value=texts),
            gr.update(choices=names, value=target, visible=kind in ("scored_pairs", "labelled_pairs")),
            drafts.findings(draft),
            gr.update(visible=draft.mended),
        ]

    def listen(self, plan: Any, plan_outputs: list[Any]) -> None:
        """Bind the events; ``plan(draft, model)`` gives the updates of ``plan_outputs``."""
        page, model = self.page, self.page.model
        common = {"outputs": [*self.outputs, *plan_outputs], "api_visibility": "private", "show_progress_on": self.preview}

        def shown(draft: Draft, model: str) -> list[Any]:
            return [*self.show(page.drafts.put(draft), draft), *plan(draft, model)]

        def on_file(path: str | None, model: str, progress: Any = PROGRESS) -> Any:
            if path is None:
                return [
                    None,
                    FIRST,
                    gr.update(visible=False),
                    *[gr.skip()] * 3,
                    None,
                    gr.update(visible=False),
                    *[gr.skip()] * len(plan_outputs),
                ]
            return shown(take(page, Path(path), model, progress=progress), model)

        def on_sample(sample: Sample, model: str) -> Any:
            return shown(take(page, sample.path, model), model)

        def on_roles(key: str, kind: str, columns: list[str], target: str, model: str) -> Any:
            return shown(drafts.with_roles(page.studio, page.drafts.get(key), kind, columns, target, model), model)

        def on_mend(key: str, model: str, event: gr.SelectData) -> Any:
            return shown(drafts.mended(page.studio, page.drafts.get(key), event.index, model), model)

        def on_dev(key: str | None, path: str | None, model: str) -> Any:
            if key is None:
                return gr.skip()
            held = replace(page.drafts.get(key), dev=Path(path) if path else None)
            return shown(drafts.checked(page.studio, held, model), model)

        def on_first(key: str | None, path: str | None, model: str) -> Any:
            if key is None:
                return gr.skip()
            return shown(drafts.with_first(page.studio, page.drafts.get(key), Path(path) if path else None), model)

        self.file.change(guarded(on_file), [self.file, model], **common)
        for item, button in zip(self.samples, self.buttons, strict=True):
            button.click(guarded(partial(on_sample, item)), model, **common)
        for control in (self.kind, self.columns, self.target):
            control.input(guarded(on_roles), [self.draft, self.kind, self.columns, self.target, model], **common)
        self.findings.select(guarded(on_mend), [self.draft, model], **common)
        self.dev.change(guarded(on_dev), [self.draft, self.dev, model], **common)
        self.first.change(guarded(on_first), [self.draft, self.first, model], **common)
