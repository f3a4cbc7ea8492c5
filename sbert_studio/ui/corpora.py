"""The visitor's data: opened from a file, a sample or a link, with the edits made on its map, and selected for all tabs."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StudioError
from .handlers import progress_callback
from .sessions import map_edits
from .sessions.file_store import CORPUS, EditConflictError, FileStore
from .sessions.language import notify_info, notify_warning
from .sessions.memory_store import MemoryStore, TypedStore
from .sessions.tasks import session_id
from .state import DOCUMENTS, PASSAGES, DrawnMap, JobTopic, SelectedCorpus

if TYPE_CHECKING:
    import gradio as gr

    from ..data.column_types import ColumnType
    from ..data.corpus import Corpus
    from ..data.loading.table import Table
    from ..progress import Progress
    from ..services import Studio
    from .page import Page
    from .sessions.file_store import StoredFile

SAMPLE, FILE = "sample:", "file:"


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
        self._table: tuple[object, Table] | None = None

    def table(self, path: Path, name: str | None = None, progress: Progress | None = None) -> Table:
        """Read a file, of documents the passages; the last one is kept, because the dialog reads it again with other columns."""
        try:
            state = path.stat()
        except OSError:
            return self._studio.data.read_texts_table(path, name, progress)  # which says what is wrong with the file
        key = (path, name, state.st_size, state.st_mtime_ns)
        kept = self._table
        if kept is not None and kept[0] == key:
            return kept[1]
        found = self._studio.data.read_texts_table(path, name, progress)
        self._table = (key, found)
        return found

    def read(
        self,
        path: Path,
        columns: Sequence[str] = (),
        name: str | None = None,
        progress: Progress | None = None,
        types: Mapping[str, ColumnType] | None = None,
        unit: str = PASSAGES,
    ) -> SelectedCorpus:
        """Read a file; its texts are those of ``columns``, combined in this order, by default of the best one.

        Args:
            types: types of columns that the visitor has set.
            unit: what a text is if the file has documents: one of :data:`~sbert_studio.ui.state.UNITS`.
        """
        from ..data.corpus import combine_columns, corpus_from_table, find_text_columns, group_passages
        from ..services.data_overview import choose_text_columns

        table = self.table(path, name, progress)
        used = tuple(columns) or choose_text_columns(table)
        combined, column = combine_columns(table, used)
        corpus = corpus_from_table(combined, column)
        corpus = group_passages(corpus) if corpus.places and unit == DOCUMENTS else corpus
        corpus = replace(corpus, types=dict(types or {}))
        possible = tuple(find_text_columns(table)) or table.columns
        return SelectedCorpus(corpus, path, possible, column, text_columns=used if len(used) > 1 else ())

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
        from ..data.samples import list_samples

        own = [(file.name, f"{FILE}{file.id}") for file in self._files.list_files(self._visitor(owner)) if file.use == CORPUS]
        return [*own, *((item.title, f"{SAMPLE}{item.id}") for item in list_samples())]

    def open(self, owner: object, corpus_id: object, progress: Progress | None = None) -> str:
        """Open the corpus with an id from a selector or a link and return its key.

        Raises:
            StudioError: this visitor has no such file.
        """
        from ..data.samples import list_samples

        name = corpus_id if isinstance(corpus_id, str) else ""
        if name.startswith(FILE):
            file = self._files.get(self._visitor(owner), name.removeprefix(FILE))
            columns, types = _stored_layout(file)
            corpus = self.read(file.path, columns, file.name, progress, types, str(file.layout.get("unit", "")))
            self._files.touch(self._visitor(owner), file.id, file.column)
            return self._put_with_edits(owner, replace(corpus, id=name))
        if name.removeprefix(SAMPLE) not in {item.id for item in list_samples()}:
            raise StudioError("this sample does not exist", "choose one from the list")
        return self._put_with_edits(owner, self.sample(name.removeprefix(SAMPLE)))

    def is_stored(self, owner: object, corpus_id: str) -> bool:
        """Return whether this visitor has a file with an id from a selector or a link."""
        try:
            return self._files.get(self._visitor(owner), corpus_id.removeprefix(FILE)).path.is_file()
        except StudioError:
            return False

    def open_file(
        self, owner: object, path: Path, column: str | None = None, name: str | None = None, progress: Progress | None = None
    ) -> str:
        return self.keep(owner, self.read(path, [column] if column else (), name, progress))

    def keep(self, owner: object, corpus: SelectedCorpus) -> str:
        """Store the file of a corpus with the visitor's files, unless it is a sample, and return the key of the corpus."""
        if corpus.id.startswith(SAMPLE):
            return self._put_with_edits(owner, corpus)
        layout = {"columns": list(corpus.text_columns or (corpus.column,)), "types": dict(corpus.corpus.types), "unit": corpus.unit}
        visitor, column = self._visitor(owner), (corpus.text_columns or (corpus.column,))[0]
        if corpus.id.startswith(FILE):
            self._files.touch(visitor, corpus.id.removeprefix(FILE), column, layout)
            return self._put_with_edits(owner, corpus)
        file = self._files.save(visitor, corpus.path, corpus.corpus.name, column, layout=layout)
        if file is None:
            notify_info("There is not enough space to store this file: after a reload you will have to upload it again.", duration=8)
        return self._put_with_edits(owner, corpus if file is None else replace(corpus, path=file.path, id=f"{FILE}{file.id}"))

    def open_column(self, owner: object, corpus: SelectedCorpus, column: str) -> str:
        return self.keep(owner, self.read_again(corpus, (column,), corpus.corpus.types))

    def read_again(
        self, corpus: SelectedCorpus, columns: Sequence[str], types: Mapping[str, ColumnType], unit: str | None = None
    ) -> SelectedCorpus:
        """Read the file of a corpus with other text columns, types or unit, without the edits of its map."""
        return replace(self.read(corpus.path, columns, corpus.corpus.name, types=types, unit=unit or corpus.unit), id=corpus.id)

    def current(self, key: str | None, owner: object = None) -> tuple[str, SelectedCorpus]:
        """Return the key and the corpus; by default the first sample, with the map edits of ``owner``, so that every button works."""
        if key is None and owner is not None:
            key = self.open(owner, self.sample().id)
        if key is None:
            corpus = self.sample()
            return self.put(corpus), corpus
        return key, self.get(key)

    def selected(self, key: str | None) -> SelectedCorpus:
        """Return the corpus of a key; the first sample without one, and for one that is no longer in memory."""
        return self.get(key) if key is not None and key in self else self.sample()

    def chosen(self, key: str | None) -> SelectedCorpus:
        """Return the corpus of a key, never another one; the first sample without a key.

        Raises:
            StudioError: it is no longer in memory.
        """
        return self.get(key) if key else self.sample()

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


def _stored_layout(file: StoredFile) -> tuple[tuple[str, ...], dict[str, ColumnType]]:
    """Return the text columns and the types that were stored with a file, perhaps by another version."""
    from ..data.column_types import COLUMN_TYPES

    columns, types = file.layout.get("columns"), file.layout.get("types")
    names = tuple(name for name in columns if isinstance(name, str)) if isinstance(columns, list) else ()
    known = types.items() if isinstance(types, dict) else ()
    return names or ((file.column,) if file.column else ()), {str(name): kind for name, kind in known if kind in COLUMN_TYPES}


def open_file(page: Page, path: str, owner: object = None, progress: gr.Progress | None = None) -> str:
    return page.corpora.open_file(owner, Path(path), progress=progress_callback(progress, "Reading"))


def open_column(page: Page, corpus: str, column: str, owner: object = None) -> str:
    selected = page.corpora.get(corpus)
    return corpus if column == selected.column else page.corpora.open_column(owner, selected, column)


def delete_file(page: Page, corpus: str, owner: object, language: str = "en") -> str:
    """Delete the visitor's file with what was made from it, and return the key of the sample that is selected instead.

    Jobs that make more from it are stopped.
    """
    selected, visitor = page.corpora.get(corpus), page.visitor(owner)
    page.files.remove(visitor, selected.id.removeprefix(FILE))
    keys = f"{selected.id} "  # how each data_key of the file begins, with any columns
    for job in page.studio.document_jobs.list_active(visitor):
        if isinstance(job.about, JobTopic) and job.about.data.startswith(keys):
            page.studio.document_jobs.stop(visitor, job.id)
    for file in page.files.list_files(visitor):
        if str(file.layout.get("data", "")).startswith(keys):
            page.files.remove(visitor, file.id)
    page.corpora.remove(corpus)
    notify_info("Your file was deleted here.", duration=6, title=html.escape(selected.corpus.name))
    return page.corpora.put(page.corpora.sample(language=language))


def describe_corpus(page: Page, corpus: SelectedCorpus, model: str | None = None) -> tuple[list[tuple[str, str]], list[str]]:
    """Return facts on how a file was read, and notes on its rows and on whether the model supports their language."""
    texts, account, passages = corpus.corpus, corpus.corpus.account, corpus.passages
    if passages is not None:
        documents = len({place.number for place in passages.places})
        numbers = [("Documents", f"{documents:,}"), ("Passages", f"{len(passages):,}")]
    else:
        numbers = [("Rows read", f"{account.read:,}"), ("Texts", f"{len(texts.texts):,}")]
    numbers += [("Skipped", f"{account.skipped:,}")] if account.skipped else []
    return numbers, [*(note.describe() for note in texts.notes), *texts.repeat_notes(), *_language_notes(page, texts, model)]


def _language_notes(page: Page, corpus: Corpus, model: str | None) -> tuple[str, ...]:
    try:
        return page.studio.languages.language_notes(corpus, model or None)
    except StudioError:
        return ()  # the model does not exist; the handler that needs it reports it
