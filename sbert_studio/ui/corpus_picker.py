"""Choosing the corpus in Search and Map: upload, samples, text column. Both tabs show the same choice."""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ..errors import StudioError
from .components import sample_picker, samples_of, start_task, upload
from .corpora import FILE, SAMPLE
from .handlers import progress_callback
from .panel import Panel
from .views import UNCHANGED, Unchanged, Update, Value, facts, props, view

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from .page import Page
    from .panel import Selection
    from .state import OtherTexts

_COUNTER = itertools.count(1)


@dataclass(frozen=True)
class PickedCorpus:
    """A corpus that was opened, and a model for its language.

    Attributes:
        opened: different each time.
    """

    corpus: str
    model: Update
    opened: int


@dataclass(frozen=True)
class CorpusDescription:
    """The column chooser and a summary of the file."""

    column: Update
    summary: Value | None


@dataclass(frozen=True)
class CorpusPicker:
    """The picker's upload, and a state that changes whenever a file, sample or column was opened with it."""

    file: gr.File
    opened: gr.State

    def then(
        self,
        task: str,
        handler: Callable[..., object],
        inputs: list[gr.components.Component],
        outputs: object,
        **options: object,
    ) -> list[gr.events.Dependency]:
        """Run a handler after a corpus was opened (for tabs that do not use :class:`.panel.Panel` yet)."""
        return [start_task(self.opened.change, task, handler, inputs, outputs, **options)]  # type: ignore[arg-type]


def open_file(page: Page, path: str | None, owner: object = None, progress: gr.Progress | None = None) -> str | None:
    """Open an uploaded file as the visitor's corpus and return its key; ``None`` without a file."""
    if path is None:
        return None
    return page.corpora.open_file(owner, Path(path), progress=progress_callback(progress, "Reading"))


def open_sample(page: Page, sample_id: object, owner: object = None) -> str:
    """Open a sample as the visitor's corpus and return its key."""
    return page.corpora.open(owner, f"{SAMPLE}{sample_id}")


def open_column(page: Page, corpus: str | None, column: str, owner: object = None) -> str | None:
    """Open another text column of the selected file and return the key of the new corpus; ``None`` without a corpus."""
    if corpus is None:
        return None
    selected = page.corpora.get(corpus)
    return corpus if column == selected.column else page.corpora.open_column(owner, selected, column)


def delete_file(page: Page, corpus: str | None, owner: object, language: str = "en") -> str:
    """Delete the visitor's stored file and return the key of the first sample, which replaces it.

    Raises:
        StudioError: the file is gone or another visitor's.
    """
    selected = page.corpora.get(corpus)
    page.files.remove(page.visitor(owner), selected.id.removeprefix(FILE))
    if corpus is not None:
        page.corpora.remove(corpus)
    gr.Info("Your file is deleted here.", duration=6, title=html.escape(selected.corpus.name))
    return page.corpora.put(page.corpora.sample(language=language))


def pick_file(
    page: Page,
    file: str | None,
    owner: object,
    model: str | None,
    saved_model: object,
    other_texts: OtherTexts | None,
    progress: gr.Progress | None = None,
) -> PickedCorpus | None:
    """Open the uploaded file."""
    return _picked(page, open_file(page, file, owner, progress), model, saved_model, other_texts)


def pick_sample(
    page: Page, selection: Selection, owner: object, model: str | None, saved_model: object, other_texts: OtherTexts | None
) -> PickedCorpus | None:
    """Open the sample that was clicked."""
    return _picked(page, open_sample(page, selection.item, owner), model, saved_model, other_texts)


def pick_column(
    page: Page, corpus: str | None, column: str, owner: object, model: str | None, saved_model: object, other_texts: OtherTexts | None
) -> PickedCorpus | None:
    """Open another text column."""
    return _picked(page, open_column(page, corpus, column, owner), model, saved_model, other_texts)


def _picked(page: Page, corpus: str | None, model: str | None, saved_model: object, other_texts: OtherTexts | None) -> PickedCorpus | None:
    if corpus is None:
        return None
    # The model for the corpus' language is selected before anything is asked of both.
    _, update = page.select_fitting_model(corpus, model, saved_model, other_texts)
    return PickedCorpus(corpus, update, next(_COUNTER))


@dataclass(frozen=True)
class ReplacedCorpus:
    """The sample that replaces a deleted file, and a model for its language."""

    corpus: str | Unchanged
    model: Update | Unchanged = UNCHANGED


def delete_selected(
    page: Page, corpus: str | None, owner: object, language: str, model: str | None, saved_model: object, other_texts: OtherTexts | None
) -> ReplacedCorpus:
    """Delete the selected file and open the first sample."""
    key = delete_file(page, corpus, owner, language)
    return ReplacedCorpus(key, page.select_fitting_model(key, model, saved_model, other_texts)[1])


def show_delete_button(page: Page, corpus: str | None) -> Update:
    """Show the button that deletes the visitor's stored file, if the selected corpus is one."""
    return props(visible=corpus is not None and corpus in page.corpora and page.corpora.get(corpus).id.startswith(FILE))


def describe_corpus(page: Page, corpus: str | None, model: str | None = None) -> CorpusDescription:
    """Describe the selected file: its columns, how many rows were read, and whether the model knows their language."""
    if corpus is None:
        return CorpusDescription(props(visible=False), None)
    selected = page.corpora.get(corpus)
    texts, account = selected.corpus, selected.corpus.account
    numbers = [("Corpus", texts.name), ("Rows read", f"{account.read:,}"), ("Texts", f"{len(texts.texts):,}")]
    numbers += [("Skipped", f"{account.skipped:,}")] if account.skipped else []
    notes = [*(note.describe() for note in texts.notes), *texts.repeat_notes(), *_language_notes(page, texts, model)]
    column = props(choices=list(selected.columns), value=selected.column, visible=len(selected.columns) > 1)
    return CorpusDescription(column, facts(numbers, notes=notes))


def _language_notes(page: Page, corpus: Corpus, model: str | None) -> tuple[str, ...]:
    try:
        return page.studio.languages.language_notes(corpus, model or None)
    except StudioError:
        return ()  # no such model; the handler that needs it says so


def corpus_picker(page: Page, elem_id: str) -> CorpusPicker:
    """Draw the picker.

    Args:
        elem_id: prefix of the ids; also the task that a Cancel button stops.
    """
    file = upload("Your texts: CSV, TSV, TXT, JSONL, XLSX or Parquet. They stay here for your next visit.", f"{elem_id}-file")
    samples = sample_picker(samples_of("corpus"), elem_id)
    column = gr.Dropdown(label="Column with the texts", choices=[], visible=False, elem_id=f"{elem_id}-column", elem_classes=["sb-data"])
    summary = view("facts", elem_id=f"{elem_id}-summary")
    delete = gr.Button("Delete this file here", size="sm", visible=False, elem_id=f"{elem_id}-forget")
    picker = CorpusPicker(file, gr.State(None))
    panel = Panel(page, file=file, column=column, summary=summary, delete=delete, opened=picker.opened)
    panel.on(file.upload, pick_file, task=elem_id)
    panel.on(samples.select, pick_sample, each=True)
    panel.on(column.input, pick_column)
    for trigger in (page.corpus.change, page.model.change):
        panel.on(trigger, describe_corpus, quiet=True)
    panel.on(delete.click, delete_selected)
    panel.on(page.corpus.change, show_delete_button, output="delete", quiet=True)
    return picker
