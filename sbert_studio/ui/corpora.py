"""The visitor's corpus: opened from a file, a sample or a link, with the edits made on its map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ..errors import StudioError
from .sessions import map_edits
from .sessions.file_store import CORPUS, EditConflictError, FileStore
from .sessions.memory_store import MemoryStore, TypedStore
from .sessions.tasks import session_id
from .state import DrawnMap, SelectedCorpus

if TYPE_CHECKING:
    from ..progress import Progress
    from ..services import Studio

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

    def read(self, path: Path, column: str | None = None, name: str | None = None, progress: Progress | None = None) -> SelectedCorpus:
        """Read a corpus from a file."""
        from ..data.corpus import find_text_columns

        table = self._studio.data.read_table(path, name, progress)
        columns = tuple(find_text_columns(table)) or table.columns
        return SelectedCorpus(self._studio.data.read_corpus(table, column), path, columns, column or columns[0])

    def sample(self, sample_id: str | None = None, *, language: str = "en") -> SelectedCorpus:
        """Return a sample corpus, by default the first one in ``language``. Samples are read once."""
        from ..data.samples import default_sample, get_sample

        found = default_sample(language, CORPUS) if sample_id is None else get_sample(sample_id)
        if found is None:
            raise StudioError("there is no sample corpus", "install the program again")
        if found.id not in self._samples:
            self._samples[found.id] = replace(self.read(found.path, name=found.title), id=f"{SAMPLE}{found.id}")
        return self._samples[found.id]

    def choices(self, owner: object) -> list[tuple[str, str]]:
        """Return (title, id) of the visitor's files, last used first, and of the samples."""
        from ..data.samples import list_samples

        own = [(file.name, f"{FILE}{file.id}") for file in self._files.list_files(self._visitor(owner)) if file.use == CORPUS]
        return [*own, *((item.title, f"{SAMPLE}{item.id}") for item in list_samples() if item.kind == "corpus")]

    def open(self, owner: object, corpus_id: object, progress: Progress | None = None) -> str:
        """Open the corpus with an id from a chooser or a link and return its key.

        Raises:
            StudioError: no such sample, or no such file of this visitor.
        """
        from ..data.samples import list_samples

        name = corpus_id if isinstance(corpus_id, str) else ""
        if name.startswith(FILE):
            file = self._files.get(self._visitor(owner), name.removeprefix(FILE))
            corpus = self.read(file.path, file.column or None, file.name, progress)
            self._files.touch(self._visitor(owner), file.id, corpus.column)
            return self._put_with_edits(owner, replace(corpus, id=name))
        if name.removeprefix(SAMPLE) not in {item.id for item in list_samples() if item.kind == "corpus"}:
            raise StudioError("there is no such sample", "choose one of the list")
        return self._put_with_edits(owner, self.sample(name.removeprefix(SAMPLE)))

    def open_file(
        self, owner: object, path: Path, column: str | None = None, name: str | None = None, progress: Progress | None = None
    ) -> str:
        """Open an uploaded file, save it for the next visit if it fits, and return the key of its corpus."""
        corpus = self.read(path, column, name, progress)
        file = self._files.save(self._visitor(owner), path, corpus.corpus.name, corpus.column)
        if file is None:
            gr.Info("There is no room to keep this file: after a reload you will have to choose it again.", duration=8)
        return self._put_with_edits(owner, corpus if file is None else replace(corpus, path=file.path, id=f"{FILE}{file.id}"))

    def open_column(self, owner: object, corpus: SelectedCorpus, column: str) -> str:
        """Open the same file with another text column and return the key of the new corpus."""
        if corpus.id.startswith(FILE):
            return self.open_file(owner, corpus.path, column, corpus.corpus.name)
        return self._put_with_edits(owner, replace(self.read(corpus.path, column, corpus.corpus.name), id=corpus.id))

    def current(self, key: str | None, owner: object = None) -> tuple[str, SelectedCorpus]:
        """Return the key and the corpus; the first sample if ``key`` is ``None``, so that every button does something.

        Args:
            owner: if given, the sample is opened with this visitor's map edits.
        """
        if key is None and owner is not None:
            key = self.open(owner, self.sample().id)
        if key is None:
            corpus = self.sample()
            return self.put(corpus), corpus
        return key, self.get(key)

    def save_map(self, owner: object, drawn: DrawnMap) -> None:
        """Save the edits of a map for the visitor's next visit; if that is impossible, say so once."""
        reason = "What you do on this map lasts until the page is closed: download what you want to keep."
        try:
            saved = map_edits.save_edits(self._files, self._visitor(owner), drawn)
        except EditConflictError:
            saved, reason = (
                False,
                "This map was changed in another tab. What is done here is not kept: reload the page to go on from there.",
            )
        place = (session_id(), drawn.chosen.id or drawn.corpus.name)
        if not saved and place not in self._unsaved_maps:
            gr.Info(reason, duration=8)
        (self._unsaved_maps.discard if saved else self._unsaved_maps.add)(place)

    def discard_map_edits(self, owner: object, key: str | None) -> str:
        """Delete the edits of the corpus' map and return the key of the corpus as its file has it.

        Raises:
            StudioError: the corpus has no file here.
        """
        _, corpus = self.current(key)
        if not corpus.id:
            raise StudioError("this corpus is not that of a file", "choose the file once more")
        map_edits.delete_edits(self._files, self._visitor(owner), corpus)
        if corpus.id.startswith(FILE):
            return self.open(owner, corpus.id)
        return self.open_column(owner, corpus, corpus.column)

    def close_session(self, session: str) -> None:
        """Forget which maps of a closed page could not be saved."""
        self._unsaved_maps = {place for place in self._unsaved_maps if place[0] != session}

    def user_names(self, corpus: SelectedCorpus | None) -> list[str]:
        """Return the names in a corpus that the visitor chose and no language translates; samples have none."""
        return [] if corpus is None or corpus.id.startswith(SAMPLE) else [corpus.corpus.name]

    def _put_with_edits(self, owner: object, corpus: SelectedCorpus) -> str:
        restored, warning = map_edits.restore_edits(self._files, self._visitor(owner), corpus)
        if warning:
            gr.Warning(warning, duration=12, title="Not all is as you left it")
        return self.put(restored)
