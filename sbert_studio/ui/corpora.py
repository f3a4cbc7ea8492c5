"""The visitor's corpus: opened from a file, a sample or a link, with the edits made on its map, and selected in Search and Map."""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ..errors import StudioError
from .components import sample_picker, samples_of, upload
from .handlers import progress_callback
from .panel import Panel
from .sessions import map_edits
from .sessions.file_store import CORPUS, EditConflictError, FileStore
from .sessions.language import notify_info, notify_warning
from .sessions.memory_store import MemoryStore, TypedStore
from .sessions.tasks import session_id
from .state import DrawnMap, Header, OpenedCorpus, SelectedCorpus
from .views import Update, Value, facts, props, view

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..progress import Progress
    from ..services import Studio
    from .page import Page
    from .panel import Selection

SAMPLE, FILE = "sample:", "file:"
_COUNTER = itertools.count(1)


class CorpusStore(TypedStore[SelectedCorpus]):
    """Corpora in memory, by key, and the ways to open one.

    Args:
        files: uploads on disk.
        visitor: the visitor's id for the value of ``page.owner``.
    """

    def __init__(self, studio: Studio, memory: MemoryStore, files: FileStore, visitor: Callable[[object], str]) -> None:
        super().__init__("corpus", memory)
        self._studio, self._files, self._visitor = studio, files, visitor
        self._samples: dict[str, SelectedCorpus] = {}
        self._unsaved_maps: set[tuple[str, str]] = set()

    def read(self, path: Path, column: str | None = None, name: str | None = None, progress: Progress | None = None) -> SelectedCorpus:
        from ..data.corpus import find_text_columns

        table = self._studio.data.read_table(path, name, progress)
        columns = tuple(find_text_columns(table)) or table.columns
        return SelectedCorpus(self._studio.data.read_corpus(table, column), path, columns, column or columns[0])

    def sample(self, sample_id: str | None = None, *, language: str = "en") -> SelectedCorpus:
        """Return a sample corpus, by default the first one in ``language``. Samples are read once."""
        from ..data.samples import default_sample, get_sample

        found = default_sample(language, CORPUS) if sample_id is None else get_sample(sample_id)
        if found is None:
            raise StudioError("there is no sample corpus", "reinstall the program")
        if found.id not in self._samples:
            self._samples[found.id] = replace(self.read(found.path, name=found.title), id=f"{SAMPLE}{found.id}")
        return self._samples[found.id]

    def choices(self, owner: object) -> list[tuple[str, str]]:
        """Return (title, id) of the visitor's files, most recently used first, and of the samples."""
        own = [(file.name, f"{FILE}{file.id}") for file in self._files.list_files(self._visitor(owner)) if file.use == CORPUS]
        return [*own, *((item.title, f"{SAMPLE}{item.id}") for item in samples_of(CORPUS))]

    def open(self, owner: object, corpus_id: object, progress: Progress | None = None) -> str:
        """Open the corpus with an id from a selector or a link and return its key.

        Raises:
            StudioError: this visitor has no such file.
        """
        name = corpus_id if isinstance(corpus_id, str) else ""
        if name.startswith(FILE):
            file = self._files.get(self._visitor(owner), name.removeprefix(FILE))
            corpus = self.read(file.path, file.column or None, file.name, progress)
            self._files.touch(self._visitor(owner), file.id, corpus.column)
            return self._put_with_edits(owner, replace(corpus, id=name))
        if name.removeprefix(SAMPLE) not in {item.id for item in samples_of(CORPUS)}:
            raise StudioError("this sample does not exist", "choose one from the list")
        return self._put_with_edits(owner, self.sample(name.removeprefix(SAMPLE)))

    def open_file(
        self, owner: object, path: Path, column: str | None = None, name: str | None = None, progress: Progress | None = None
    ) -> str:
        corpus = self.read(path, column, name, progress)
        file = self._files.save(self._visitor(owner), path, corpus.corpus.name, corpus.column)
        if file is None:
            notify_info("There is not enough space to store this file: after a reload you will have to upload it again.", duration=8)
        return self._put_with_edits(owner, corpus if file is None else replace(corpus, path=file.path, id=f"{FILE}{file.id}"))

    def open_column(self, owner: object, corpus: SelectedCorpus, column: str) -> str:
        if corpus.id.startswith(FILE):
            return self.open_file(owner, corpus.path, column, corpus.corpus.name)
        return self._put_with_edits(owner, replace(self.read(corpus.path, column, corpus.corpus.name), id=corpus.id))

    def current(self, key: str | None, owner: object = None) -> tuple[str, SelectedCorpus]:
        """Return the key and the corpus; by default the first sample, with the map edits of ``owner``, so that every button works."""
        if key is None and owner is not None:
            key = self.open(owner, self.sample().id)
        if key is None:
            corpus = self.sample()
            return self.put(corpus), corpus
        return key, self.get(key)

    def selected(self, key: str | None) -> SelectedCorpus:
        return self.get(key) if key is not None and key in self else self.sample()

    def save_map(self, owner: object, drawn: DrawnMap) -> None:
        """Save the edits of a map for the visitor's next visit; if that fails, warn once."""
        reason = "Changes to this map are lost when the page is closed: download what you want to keep."
        try:
            saved = map_edits.save_edits(self._files, self._visitor(owner), drawn)
        except EditConflictError:
            saved = False
            reason = "This map was changed in another tab. Changes made here are not saved: reload the page to continue from there."
        place = (session_id(), drawn.chosen.id or drawn.corpus.name)
        if not saved and place not in self._unsaved_maps:
            notify_info(reason, duration=8)
        (self._unsaved_maps.discard if saved else self._unsaved_maps.add)(place)

    def discard_map_edits(self, owner: object, key: str | None) -> str:
        _, corpus = self.current(key)
        if not corpus.id:
            raise StudioError("this corpus does not belong to a file", "upload the file again")
        map_edits.delete_edits(self._files, self._visitor(owner), corpus)
        return self.open(owner, corpus.id) if corpus.id.startswith(FILE) else self.open_column(owner, corpus, corpus.column)

    def close_session(self, session: str) -> None:
        self._unsaved_maps = {place for place in self._unsaved_maps if place[0] != session}

    def user_names(self, corpus: SelectedCorpus | None) -> list[str]:
        """Return the names in a corpus that were chosen by the visitor and must not be translated; samples have none."""
        return [] if corpus is None or corpus.id.startswith(SAMPLE) else [corpus.corpus.name]

    def _put_with_edits(self, owner: object, corpus: SelectedCorpus) -> str:
        restored, warning = map_edits.restore_edits(self._files, self._visitor(owner), corpus)
        if warning:
            notify_warning(warning, duration=12, title="Some of your work could not be restored")
        return self.put(restored)


@dataclass(frozen=True)
class PickedCorpus:
    chosen: OpenedCorpus
    opened: int  # different each time


def open_file(page: Page, path: str, owner: object = None, progress: gr.Progress | None = None) -> str:
    return page.corpora.open_file(owner, Path(path), progress=progress_callback(progress, "Reading"))


def open_sample(page: Page, sample_id: object, owner: object = None) -> str:
    return page.corpora.open(owner, f"{SAMPLE}{sample_id}")


def open_column(page: Page, corpus: str, column: str, owner: object = None) -> str:
    selected = page.corpora.get(corpus)
    return corpus if column == selected.column else page.corpora.open_column(owner, selected, column)


def delete_file(page: Page, corpus: str, owner: object, language: str = "en") -> str:
    selected = page.corpora.get(corpus)
    page.files.remove(page.visitor(owner), selected.id.removeprefix(FILE))
    page.corpora.remove(corpus)
    notify_info("Your file was deleted here.", duration=6, title=html.escape(selected.corpus.name))
    return page.corpora.put(page.corpora.sample(language=language))


def pick_file(page: Page, file: str | None, header: Header, progress: gr.Progress | None = None) -> PickedCorpus | None:
    return None if file is None else _picked(page, open_file(page, file, header.owner, progress), header)


def pick_sample(page: Page, selection: Selection, header: Header) -> PickedCorpus:
    return _picked(page, open_sample(page, selection.item, header.owner), header)


def pick_column(page: Page, column: str, header: Header) -> PickedCorpus | None:
    return None if header.corpus is None else _picked(page, open_column(page, header.corpus, column, header.owner), header)


def _picked(page: Page, key: str, header: Header) -> PickedCorpus:
    # Select the model for the corpus' language before both are used.
    return PickedCorpus(page.fit_corpus(key, header), next(_COUNTER))


def delete_selected(page: Page, header: Header, language: str) -> OpenedCorpus:
    return page.fit_corpus(delete_file(page, str(header.corpus), header.owner, language), header)


def show_delete_button(page: Page, corpus: str | None) -> Update:
    return props(visible=page.corpora.selected(corpus).id.startswith(FILE))


def describe_corpus(page: Page, corpus: str | None, model: str | None = None) -> tuple[Update, Value | None]:
    """Return the column selector, and a summary of the file: how many rows were read, and whether the model supports their language."""
    if corpus is None:
        return props(visible=False), None
    selected = page.corpora.get(corpus)
    texts, account = selected.corpus, selected.corpus.account
    numbers = [("Corpus", texts.name), ("Rows read", f"{account.read:,}"), ("Texts", f"{len(texts.texts):,}")]
    numbers += [("Skipped", f"{account.skipped:,}")] if account.skipped else []
    notes = [*(note.describe() for note in texts.notes), *texts.repeat_notes(), *_language_notes(page, texts, model)]
    column = props(choices=list(selected.columns), value=selected.column, visible=len(selected.columns) > 1)
    return column, facts(numbers, notes=notes)


def _language_notes(page: Page, corpus: Corpus, model: str | None) -> tuple[str, ...]:
    try:
        return page.studio.languages.language_notes(corpus, model or None)
    except StudioError:
        return ()  # the model does not exist; the handler that needs it reports it


def corpus_picker(page: Page, elem_id: str) -> gr.State:
    """Draw the corpus selector, and return a state that changes whenever a file, sample or column was opened with it.

    All selectors show the same choice. ``elem_id`` is the prefix of the element ids and the name of the task for Cancel buttons.
    """
    file = upload("Your texts: CSV, TSV, TXT, JSONL, XLSX or Parquet. They are stored here for your next visit.", f"{elem_id}-file")
    samples = sample_picker(samples_of(CORPUS), elem_id)
    column = gr.Dropdown(label="Column with the texts", choices=[], visible=False, elem_id=f"{elem_id}-column", elem_classes=["sb-data"])
    summary = view("facts", elem_id=f"{elem_id}-summary")
    delete = gr.Button("Delete this file here", size="sm", visible=False, elem_id=f"{elem_id}-forget")
    panel = Panel(page, file=file, column=column, summary=summary, delete=delete, opened=gr.State(None))
    panel.on(file.upload, pick_file, task=elem_id)
    panel.on(samples.select, pick_sample, each=True)
    panel.on(column.input, pick_column)
    for trigger in (page.corpus.change, page.model.change):
        panel.on(trigger, describe_corpus, output=("column", "summary"), quiet=True)
    panel.on(delete.click, delete_selected)
    panel.on(page.corpus.change, show_delete_button, output="delete", quiet=True)
    return panel["opened"]
