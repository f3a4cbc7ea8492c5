"""Loading of documents from a folder, a zip archive, a BEIR folder, a table, or one or several files.

Nothing outside of what was given is read: symbolic links and paths that leave an archive are skipped, and the members of an archive are
read one at a time, through a temporary file with a name of our own.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path, PurePosixPath

from ...errors import StudioError, is_machine_error
from ...i18n import _
from ...progress import Progress, checkpoint
from ...settings import temporary_prefix
from ...workspace import existing_path
from ..cells import cell_text
from ..corpus import find_text_columns
from ..loading.excel import is_workbook
from ..loading.source import LONGEST_LINE
from ..loading.table import Table, read_table
from ..schema.names import IDENTIFIER, TITLE, normalize
from .document import Document, Documents, Section, SkippedFile
from .extraction import EXTRACTORS
from .reader import MEMORY_BYTES, SECONDS, DocumentReader
from .sections import ExtractionError

DOCUMENT_SUFFIXES = tuple(EXTRACTORS)
"""Extensions of files that are one document each."""

_TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx")
_ARCHIVES = (".zip", ".gz", ".bz2", ".xz", ".7z", ".rar", ".tar", ".tgz", ".zst")
_BEIR_CORPUS = "corpus.jsonl"
_HIDDEN = (".", "~$", "__MACOSX")
_BLOCK = 1 << 20
_UTF8_NAME, _ENCRYPTED = 0x800, 0x1  # flags of a zip member
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError)  # RuntimeError: encrypted, unknown compression


Row = tuple[int, str, str, str, Mapping[str, str]]
"""Number, id, title, text and other cells of a row."""


@dataclass(frozen=True)
class DocumentLimits:
    """Limits of reading documents; sizes in bytes, of unpacked files.

    Attributes:
        file_bytes: size of a file.
        total_bytes: size of all files together.
        files: number of files.
        characters: number of characters of all documents together.
        seconds: processor time of reading one file.
        memory_bytes: address space of the process that reads the files.
    """

    file_bytes: int = 512 << 20
    total_bytes: int = 4 << 30
    files: int = 100_000
    characters: int = 500_000_000
    seconds: float = SECONDS
    memory_bytes: int = MEMORY_BYTES


@dataclass(frozen=True)
class _Entry:
    """A file to read: its display path, its extension, its declared size, and how to get its path on this disk."""

    source: str
    suffix: str
    size: int
    open: Callable[[], AbstractContextManager[Path]]


def load_documents(
    paths: str | Path | Sequence[str | Path],
    *,
    name: str | None = None,
    text_column: str | None = None,
    limits: DocumentLimits | None = None,
    progress: Progress | None = None,
) -> Documents:
    """Read documents, in the order of their paths. Files that cannot be read are skipped and listed in the result.

    Args:
        paths: a folder, a zip archive, a BEIR folder, a table with a column of texts and perhaps titles and ids, a file of
            :data:`DOCUMENT_SUFFIXES`, a pattern such as ``docs/*.md``, or several of these.
        name: display name; by default that of the first path.
        text_column: of tables, the column of the texts; detected by default.
        progress: called with (files read, files).

    Raises:
        StudioError: there is no such path, or no document can be read.
    """
    found = [path for one in ([paths] if isinstance(paths, str | Path) else paths) for path in _expand(one)]
    if not found:
        raise StudioError("no file was specified", "specify a folder, a zip archive, or files")
    limits = limits or DocumentLimits()
    with DocumentReader(limits.seconds, limits.memory_bytes) as reader:
        loader = _Loader(limits, reader, text_column)
        with _OpenArchives(loader) as archives:
            entries = [entry for path in found for entry in archives.entries(path, is_alone=len(found) == 1)]
            for number, entry in enumerate(entries[: limits.files]):
                checkpoint()
                if progress:
                    progress(number, len(entries))
                loader.load(entry)
        for entry in entries[limits.files :]:
            loader.skip(entry.source, "too_many")
    if progress:
        progress(len(entries), len(entries))
    return loader.result(name or found[0].name).require_documents()


def is_document_source(path: str | Path) -> bool:
    """Return True for what is read as documents rather than as a table: a folder, a document, an archive of several files, a pattern.

    A plain text file is a table of lines, unless it is one of several files.
    """
    path = Path(path)
    if path.is_dir() or (not path.exists() and any(sign in str(path) for sign in "*?")):
        return True
    suffix = path.suffix.lower()
    if suffix == ".zip" and path.is_file():
        try:
            with zipfile.ZipFile(path) as archive:
                members = [entry.filename for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
        except _DAMAGE as error:
            if is_machine_error(error):
                raise
            return False  # the reader of tables says that it is damaged
        return len(members) > 1 or any(PurePosixPath(member).suffix.lower() in _ALWAYS_DOCUMENTS for member in members)
    return suffix in _ALWAYS_DOCUMENTS


_ALWAYS_DOCUMENTS = tuple(suffix for suffix in DOCUMENT_SUFFIXES if suffix not in (".txt", ".text"))


def _expand(path: str | Path) -> list[Path]:
    if (existing := existing_path(path)) is not None:
        return [existing]
    pattern, folder = Path(path).name, existing_path(Path(path).parent)
    if folder is not None and any(sign in pattern for sign in "*?[") and (matches := sorted(folder.glob(pattern))):
        return matches
    raise StudioError(
        _("there is no file or folder {path}", path=repr(str(path)[:200])), "check the path, or quote it if it contains spaces"
    )


@dataclass
class _Loader:
    """Documents and skipped files so far, within the limits."""

    limits: DocumentLimits
    reader: DocumentReader
    text_column: str | None = None
    documents: list[Document] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    scanned_pages: dict[str, int] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)
    trimmed: list[str] = field(default_factory=list)
    blank_rows: int = 0
    bytes: int = 0
    characters: int = 0
    ids: dict[str, int] = field(default_factory=dict)  # id → number of the last document that wanted it

    def skip(self, source: str, reason: str) -> None:
        self.skipped.append(SkippedFile(source, reason))

    def result(self, name: str) -> Documents:
        parts = tuple(self.documents), tuple(self.skipped), self.scanned_pages, tuple(self.repaired), self.blank_rows, tuple(self.trimmed)
        return Documents(name, *parts)

    def load(self, entry: _Entry) -> None:
        """Read the documents of one file, or skip it."""
        try:
            if entry.size > self.limits.file_bytes:
                raise ExtractionError("too_large")
            if self.bytes + entry.size > self.limits.total_bytes or self.characters > self.limits.characters:
                raise ExtractionError("too_many")
            with entry.open() as path:
                self.bytes += path.stat().st_size
                if entry.suffix in _TABLES:
                    self._load_table(path, entry.source)
                else:
                    self._load_file(path, entry)
        except ExtractionError as error:
            self.skip(entry.source, str(error))
        except FileNotFoundError:
            self.skip(entry.source, "gone")
        except OSError:  # such as a network drive that was disconnected
            self.skip(entry.source, "unreadable")

    def _load_file(self, path: Path, entry: _Entry) -> None:
        found = self.reader.read(path, entry.suffix)
        sections = tuple(Section(tuple(headings), text, page or None) for headings, text, page in found.sections)
        title = found.title or PurePosixPath(entry.source).stem
        self._add(Document(self._unique(entry.source), title, sections, entry.source))
        if found.scanned_pages:
            self.scanned_pages[entry.source] = found.scanned_pages
        if found.repaired:
            self.repaired.append(entry.source)
        if found.trimmed:
            self.trimmed.append(entry.source)

    def _load_table(self, path: Path, source: str) -> None:
        try:
            for line, identifier, title, text, cells in self._rows(path, source):
                if not text.strip():
                    self.blank_rows += 1
                    continue
                place = identifier.strip() or f"{source}:{line}"
                self._add(Document(self._unique(place), title.strip(), (Section((), text.strip()),), source, cells))
        except StudioError as error:
            if self.text_column:
                raise
            raise ExtractionError("table") from error

    def _rows(self, path: Path, source: str) -> Iterator[Row]:
        if _is_beir(path) and self.text_column is None:
            return _read_beir(path)
        return _read_rows(path, source, self.limits.file_bytes, self.text_column)

    def _add(self, document: Document) -> None:
        self.characters += sum(len(section.text) for section in document.sections)
        if self.characters > self.limits.characters:
            raise ExtractionError("too_many")
        self.documents.append(document)

    def _unique(self, name: str) -> str:
        candidate, number = name, self.ids.get(name, 1)
        while candidate in self.ids:
            number += 1
            candidate = f"{name} ({number})"
        self.ids[name] = number  # so that a column with few distinct ids takes linear time
        self.ids.setdefault(candidate, 1)
        return candidate


def _is_beir(path: Path) -> bool:
    """Return whether a file is a corpus in the layout of BEIR, whose titles the reader of tables would join with the texts."""
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    with path.open("rb") as file:
        try:
            first = json.loads(file.readline(LONGEST_LINE))
        except (ValueError, RecursionError):
            return False
    return isinstance(first, dict) and "text" in first and ("_id" in first or "title" in first)


def _read_beir(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), start=1):
            if not raw.strip():
                continue
            try:
                row = json.loads(raw)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):  # counted among the rows without text: the other documents are read
                row = {}
            identifier, title, text = (cell_text(row.pop(key, None)) for key in ("_id", "title", "text"))
            yield number, identifier, title, text, {key: cell_text(value) for key, value in row.items() if value not in (None, {}, [])}


def _read_rows(path: Path, source: str, max_bytes: int, text_column: str | None) -> Iterator[Row]:
    table = read_table(path, name=source, max_bytes=max_bytes)
    text, title, identifier = _document_columns(table, text_column)
    titles, ids = (table.texts(name) if name else repeat("", len(table)) for name in (title, identifier))
    others = [name for name in table.columns if name not in (text, title)]
    columns = [table.texts(name) for name in others]
    cells = ({name: column[row] for name, column in zip(others, columns, strict=True)} for row in range(len(table)))
    yield from zip(table.lines.tolist(), ids, titles, table.texts(text), cells, strict=True)


def _document_columns(table: Table, text_column: str | None) -> tuple[str, str | None, str | None]:
    """Return the columns of the texts, of the titles and of the ids."""
    names = {normalize(name): name for name in reversed(table.columns)}
    title = next((names[name] for name in names if name in TITLE), None)
    text = text_column or names.get("text") or next((name for name in find_text_columns(table) if name != title), title)
    if text_column:
        table.require(text_column)
    if text is None:
        raise StudioError(_("{name} has no column of texts", name=table.name), "specify one of its columns")
    identifier = next((name for key in ("id", "docid") if (name := names.get(key))), None)
    return text, title if title != text else None, identifier or next((names[name] for name in names if name in IDENTIFIER), None)


class _OpenArchives:
    """List the files below a path; archives stay open until the end of the block."""

    def __init__(self, loader: _Loader) -> None:
        self._loader = loader
        self._opened: list[zipfile.ZipFile] = []

    def __enter__(self) -> _OpenArchives:
        return self

    def __exit__(self, *_: object) -> None:
        for archive in self._opened:
            archive.close()

    def entries(self, path: Path, *, is_alone: bool) -> Iterator[_Entry]:
        """Yield the files to read; skip those that are none."""
        if path.is_dir():
            yield from self._from_folder(path)
        elif path.suffix.lower() == ".zip" and not is_workbook(path):
            yield from self._from_archive(path, "" if is_alone else f"{path.name}/")
        elif not path.is_file():
            self._loader.skip(path.name, "link")
        else:
            yield from self._entry(path.name, path.stat().st_size, _local(path))

    def _from_folder(self, folder: Path) -> Iterator[_Entry]:
        path = folder / _BEIR_CORPUS
        corpus = _BEIR_CORPUS if path.is_file() and not path.is_symlink() else None
        pending = [folder]
        while pending:
            checkpoint()
            found = pending.pop()
            try:
                children = sorted(os.scandir(found), key=lambda child: child.name)
            except OSError:
                self._loader.skip(found.relative_to(folder).as_posix(), "unreadable")
                continue
            folders = []
            for child in children:
                path = Path(child.path)
                source = path.relative_to(folder).as_posix()
                if child.is_symlink():
                    self._loader.skip(source, "link")
                elif _is_hidden(child.name):
                    self._loader.skip(source, "hidden")
                elif child.is_dir():
                    folders.append(path)
                elif not child.is_file():
                    self._loader.skip(source, "link")
                else:
                    yield from self._entry(source, child.stat().st_size, _local(path), corpus)
            pending += reversed(folders)

    def _from_archive(self, path: Path, prefix: str) -> Iterator[_Entry]:
        try:
            archive = zipfile.ZipFile(path)
        except _DAMAGE as error:
            if is_machine_error(error):
                raise
            self._loader.skip(path.name, "damaged")
            return
        self._opened.append(archive)
        members = sorted(((_member_name(member), member) for member in archive.infolist() if not member.is_dir()), key=lambda item: item[0])
        found = _find_corpus([PurePosixPath(name) for name, member in members if not _member_problem(name, member)])
        corpus = None if found is None else f"{prefix}{found}"
        for name, member in members:
            if problem := _member_problem(name, member):
                self._loader.skip(f"{prefix}{name}", problem)
            else:
                yield from self._entry(f"{prefix}{name}", member.file_size, partial(self._unpacked, archive, member), corpus)

    def _entry(
        self, source: str, size: int, open_file: Callable[[], AbstractContextManager[Path]], corpus: str | None = None
    ) -> Iterator[_Entry]:
        """Yield the file if it is read: by its type, and of a BEIR data set only its ``corpus``."""
        suffix = PurePosixPath(source).suffix.lower()
        if corpus is not None and source != corpus:
            if not _is_beir_part(source, corpus):
                self._loader.skip(source, "beside_corpus")
        elif suffix in DOCUMENT_SUFFIXES or suffix in _TABLES:
            yield _Entry(source, suffix, size, open_file)
        else:
            self._loader.skip(source, "archive" if suffix in _ARCHIVES else "unsupported")

    @contextmanager
    def _unpacked(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[Path]:
        """Unpack a member of an archive to a temporary file; its declared size is not trusted."""
        if member.flag_bits & _ENCRYPTED:
            raise ExtractionError("encrypted")
        limits, size = self._loader.limits, 0
        with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as folder:
            path = Path(folder) / f"document{PurePosixPath(member.filename).suffix.lower()[:16]}"
            try:
                with archive.open(member) as packed, path.open("wb") as out:
                    while block := packed.read(_BLOCK):
                        checkpoint()
                        size += len(block)
                        if size > limits.file_bytes:
                            raise ExtractionError("too_large")
                        if self._loader.bytes + size > limits.total_bytes:
                            raise ExtractionError("too_many")
                        out.write(block)
            except _DAMAGE as error:
                if is_machine_error(error):
                    raise
                raise ExtractionError("damaged") from error
            yield path


def _local(path: Path) -> Callable[[], AbstractContextManager[Path]]:
    return lambda: nullcontext(path)


def _member_name(member: zipfile.ZipInfo) -> str:
    """Return the path of a member; names that are UTF-8 without saying so, as some programs write them, are decoded."""
    name = member.filename
    if not member.flag_bits & _UTF8_NAME and not name.isascii():
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _member_problem(name: str, member: zipfile.ZipInfo) -> str | None:
    """Return the reason to skip a member of an archive by its path, if any."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or ":" in parts[0]:
        return "unsafe"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "link"
    return "hidden" if any(map(_is_hidden, parts)) else None


def _find_corpus(paths: Sequence[PurePosixPath]) -> PurePosixPath | None:
    """Return the corpus of a BEIR data set in an archive: at its top, or beside queries or judgments."""
    folders = {path.parent for path in paths}
    top = min(folders, key=lambda folder: len(folder.parts), default=PurePosixPath())
    tops = {top} if all(folder.is_relative_to(top) for folder in folders) else set()
    tops |= {path.parent for path in paths if path.name == "queries.jsonl"} | {
        folder.parent for folder in folders if folder.name == "qrels"
    }
    return next((path for path in paths if path.name == _BEIR_CORPUS and path.parent in tops), None)


def _is_beir_part(source: str, corpus: str) -> bool:
    """Return whether a file is the queries or the relevance judgments of the BEIR data set whose documents are in ``corpus``."""
    folder, path = PurePosixPath(corpus).parent, PurePosixPath(source)
    return path == folder / "queries.jsonl" or path.parent == folder / "qrels"


def _is_hidden(name: str) -> bool:
    return name.startswith(_HIDDEN)
