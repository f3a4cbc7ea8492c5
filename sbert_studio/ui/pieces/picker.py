"""Choosing a file or a sample: the same few controls wherever a tab takes text in."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...errors import StudioError
from ..page import FILE, FILE_TYPES, SAMPLE, Page
from .controls import long_work
from .handlers import PROGRESS, guarded, told
from .views import Value, facts, view

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...data.samples import Sample


@dataclass(frozen=True)
class Picked:
    """The events after which a new file or sample is there, each with ``.success``; and the upload itself."""

    events: tuple[Any, ...]
    file: Any

    def then(self, work: str, handler: Callable[..., Any], inputs: list[Any], outputs: Any, **more: Any) -> list[Any]:
        """Run ``handler``, as the ``work`` of a cancel button, after any of them went well; the events of these runs."""
        return [long_work(event.success, work, handler, inputs, outputs, **more) for event in self.events]


def upload(label: str, elem_id: str) -> Any:
    """The drop zone for one file, its label above it."""
    with gr.Column(elem_classes=["sb-tight"]):
        caption(label)
        return gr.File(label=label, show_label=False, file_types=FILE_TYPES, height=96, elem_id=elem_id, elem_classes=["sb-upload"])


def caption(words: str) -> None:
    """A label of the page's own."""
    gr.HTML(f'<span class="sb-label">{words}</span>', padding=False)


def sample_buttons(chosen: list[Sample], elem_id: str, label: str = "Or try one of ours") -> list[Any]:
    """A row of small buttons, one a sample set."""
    with gr.Column(elem_classes=["sb-tight"]):
        caption(label)
        with gr.Row(elem_classes=["sb-samples"]):
            # On a page in their language they come first.
            return [
                gr.Button(item.title, size="sm", elem_id=f"{elem_id}-{item.id}", elem_classes=[f"sb-in-{item.language}"]) for item in chosen
            ]


def samples_of(*kinds: str) -> list[Sample]:
    """The sample sets of some kinds, in their order."""
    from ...data.samples import list_samples

    return [item for item in list_samples() if item.kind in kinds]


def take_file(page: Page, path: str | None, owner: Any = None, progress: Any = None) -> str | None:
    """An uploaded file as the visitor's corpus: its key."""
    if path is None:
        return None
    return page.take_in(owner, Path(path), progress=told(progress, "Reading") if progress is not None else None)


def take_sample(page: Page, sample_id: str, owner: Any = None) -> str:
    """A sample as the visitor's corpus: its key."""
    return page.open_corpus(owner, f"{SAMPLE}{sample_id}")


def take_column(page: Page, key: str | None, column: str, owner: Any = None) -> str | None:
    """The same file with another column as its texts: the key of the new corpus."""
    if key is None:
        return None
    chosen = page.corpora.get(key)
    if column == chosen.column:
        return key
    return page.other_column(owner, chosen, column)


def forget(page: Page, key: str | None, owner: Any, language: str = "en") -> str:
    """Delete the visitor's file that is kept here; the key of the first sample, which takes its place.

    Raises:
        StudioError: it is no longer kept, or somebody else's.
    """
    chosen = page.corpora.get(key)
    page.kept.remove(page.visitor(owner), chosen.id.removeprefix(FILE))
    if key is not None:
        page.corpora.remove(key)
    gr.Info("Your file is deleted here.", duration=6, title=html.escape(chosen.corpus.name))
    return page.corpora.put(page.sample_corpus(language=language))


def is_kept(page: Page, key: str | None) -> Any:
    """Whether the button shows that deletes the visitor's file: where there is one of theirs."""
    return gr.update(visible=key is not None and key in page.corpora and page.corpora.get(key).id.startswith(FILE))


def describe(page: Page, key: str | None, model: str | None = None) -> tuple[Any, Value | None]:
    """The column chooser, and what became of the file's rows and whether the model knows their language; hidden while there is none."""
    if key is None:
        return gr.update(visible=False), None
    chosen = page.corpora.get(key)
    corpus = chosen.corpus
    account = corpus.account
    known = [("Corpus", corpus.name), ("Rows read", f"{account.read:,}"), ("Texts", f"{len(corpus.texts):,}")]
    known += [("Skipped", f"{account.skipped:,}")] if account.skipped else []
    notes = [*(note.describe() for note in corpus.notes), *corpus.repeat_notes(), *_foreign(page, corpus, model)]
    shown = facts(known, notes=notes)
    return gr.update(choices=list(chosen.columns), value=chosen.column, visible=len(chosen.columns) > 1), shown


def _foreign(page: Page, corpus: Corpus, model: str | None) -> tuple[str, ...]:
    try:
        return page.studio.explore.language_notes(corpus, model or None)
    except StudioError:
        return ()  # The model that is typed there is none; the verb that needs it says so.


def corpus_picker(page: Page, elem_id: str) -> Picked:
    """The corpus of Search and Map: an upload, samples, the column; both tabs show the same choice."""
    file = upload("Your texts: CSV, TSV, TXT, JSONL, XLSX or Parquet. They stay here for your next visit.", f"{elem_id}-file")
    samples = samples_of("corpus")
    buttons = sample_buttons(samples, elem_id)
    column = gr.Dropdown(label="Column with the texts", choices=[], visible=False, elem_id=f"{elem_id}-column", elem_classes=["sb-data"])
    summary = view("facts", elem_id=f"{elem_id}-summary")
    away = gr.Button("Delete this file here", size="sm", visible=False, elem_id=f"{elem_id}-forget")

    # A corpus in another language brings a model along, before anything is asked of both.
    models, both = [page.model, page.kept_model, page.brought], [page.corpus, page.model]

    def on_file(path: str | None, owner: Any, model: str, kept: Any, brought: Any, progress: Any = PROGRESS) -> Any:
        return page.bring(take_file(page, path, owner, progress), model, kept, brought)

    def on_sample(sample_id: str, owner: Any, *models: Any) -> Any:
        return page.bring(take_sample(page, sample_id, owner), *models)

    def on_column(key: str | None, column: str, owner: Any, *models: Any) -> Any:
        return page.bring(take_column(page, key, column, owner), *models)

    def on_forget(key: str | None, owner: Any, language: str, *models: Any) -> Any:
        return page.bring(forget(page, key, owner, language), *models)

    events = [long_work(file.upload, elem_id, on_file, [file, page.owner, *models], both, stop=True)]
    for item, button in zip(samples, buttons, strict=True):
        taken = guarded(partial(on_sample, item.id), stop=True)
        events.append(button.click(taken, [page.owner, *models], both, api_visibility="private"))
    there = [page.corpus, column, page.owner, *models]
    events.append(column.input(guarded(on_column, stop=True), there, both, api_visibility="private"))
    for event in (page.corpus.change, page.model.change):
        event(
            guarded(partial(describe, page)),
            [page.corpus, page.model],
            [column, summary],
            api_visibility="private",
            show_progress="hidden",
        )
    away.click(guarded(on_forget), [page.corpus, page.owner, page.language, *models], both, api_visibility="private")
    page.corpus.change(guarded(partial(is_kept, page)), page.corpus, away, api_visibility="private", show_progress="hidden")
    return Picked(tuple(events), file)
