"""A corpus: the texts to explore, and the other columns of their file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..workspace import digest_texts
from .column_types import ColumnType, detect_type
from .findings import Finding, count
from .language import count_languages
from .loading.table import Table, TextColumn
from .row_report import RowReport, SkippedRows, report_rows
from .schema.content import ColumnProfile, find_missing, no_text_error, profile_table, quote_cells
from .schema.names import TITLE, unique_name

if TYPE_CHECKING:
    from .documents.passages import PassagePlace

_MAX_CATEGORIES, _MAX_CATEGORY_SHARE = 20, 0.5


@dataclass(frozen=True, repr=False)
class Corpus:
    """Texts in file order.

    Attributes:
        name: the display name.
        texts: the n texts; never blank.
        fields: the other columns of the table, n cells each.
        lines: the n spreadsheet row numbers.
        digest: identifies the sequence of texts (see :func:`sbert_studio.workspace.digest_texts`).
        notes: notes on how the file was read and on rows without text.
        column: the column of the texts.
        account: the row report of the file; rows with a text count as used.
        column_index: the index of ``column`` among the file's columns.
        types: types of columns that the user has set; those of the others are detected (:mod:`.column_types`).
        places: of passages, the place of each in its document; empty for other texts.
        passages: of documents, the passages whose mean vectors are their vectors, in the same order (:func:`group_passages`).
        frame: the DataFrame that a notebook has passed, whose cells keep their types; ``None`` for other data.
    """

    name: str
    texts: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    lines: tuple[int, ...]
    digest: str
    notes: tuple[Finding, ...] = field(default=(), compare=False)
    column: str = "text"
    account: RowReport = field(default=RowReport(0, 0), compare=False)
    column_index: int = field(default=0, compare=False)
    types: Mapping[str, ColumnType] = field(default_factory=dict, compare=False)
    places: tuple[PassagePlace, ...] = field(default=(), compare=False)
    passages: Corpus | None = field(default=None, compare=False)
    frame: Any = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        """Return one line, since the texts may be millions."""
        return f"<Corpus {self.name!r}: {len(self):,} {'passages' if self.places else 'texts'} in the column {self.column!r}>"

    @cached_property
    def languages(self) -> Counter[str]:
        return count_languages(self.texts)

    def positions(self) -> tuple[np.ndarray, int]:
        return positions_in_file(self.lines, self.account)

    def columns(self) -> dict[str, tuple[str, ...]]:
        """Return the texts and the other columns in the file's order."""
        others = [(name, cells) for name, cells in self.fields.items() if name != self.column]
        return dict([*others[: self.column_index], (self.column, self.texts), *others[self.column_index :]])

    def category_columns(self) -> list[str]:
        """Return the columns that may be categories: at most 20 distinct values, or at most half as many as there are texts."""
        limit = min(len(self) - 1, max(_MAX_CATEGORIES, len(self) * _MAX_CATEGORY_SHARE))
        return [name for name, cells in self.fields.items() if 1 < len({cell for cell in cells if cell.strip()}) <= limit]

    def column_type(self, column: str) -> ColumnType:
        """Return the type of a column other than the texts: the one that the user has set, otherwise the detected one."""
        return self.types.get(column) or detect_type(column, self.fields[column])

    def default_category(self) -> str | None:
        """Return the first column of categories; dates, numbers and lists are only chosen by the user."""
        return next((name for name in self.category_columns() if self.column_type(name) == "category"), None)

    def subset(self, rows: Sequence[int], name: str, why: str) -> Corpus:
        """Return a corpus called ``name`` with a subset of the texts.

        Args:
            rows: indices of the texts to keep, ascending.
            why: the reason for skipping the others, for the row report.
        """
        texts, lines = tuple(self.texts[row] for row in rows), tuple(self.lines[row] for row in rows)
        fields = {column: tuple(cells[row] for row in rows) for column, cells in self.fields.items()}
        skipped = SkippedRows(why, tuple(sorted(set(self.lines) - set(lines))))
        reasons = (*self.account.reasons, skipped) if skipped.rows else self.account.reasons
        account = replace(self.account, used=len(lines), reasons=reasons)
        places = tuple(self.places[row] for row in rows) if self.places else ()
        digest, passages = digest_texts(texts), self.passages
        if passages is not None:
            starts, kept = passages.document_starts(), set(rows)
            parts = np.repeat(np.isin(np.arange(len(self)), list(kept)), np.diff([*starts, len(passages)]))
            passages = passages.subset(np.flatnonzero(parts).tolist(), name, why)
            digest = _documents_digest(passages)
        made = replace(self, name=name, texts=texts, fields=fields, lines=lines, digest=digest, account=account)
        return replace(made, places=places, passages=passages, frame=None)

    def document_starts(self) -> np.ndarray:
        """Return the row of the first passage of each document, (m,) int64; the passages of a document are adjacent."""
        numbers = np.array([place.number for place in self.places], np.int64)
        return np.flatnonzero(np.diff(numbers, prepend=-1))

    def reading_notes(self) -> list[str]:
        """Return how documents were read: the number of passages, and the files that were skipped."""
        return [note.describe() for note in self.notes] if self.places or self.passages else []

    def repeat_notes(self) -> list[str]:
        """Return a sentence on the number of repeated texts, or nothing if all are distinct."""
        repeated = len(self.texts) - len(set(self.texts))
        if repeated == 0:
            return []
        return [
            _("{repeated} texts repeat earlier ones and are kept.", repeated=f"{repeated:,}")
            if repeated > 1
            else "1 text repeats an earlier one and is kept."
        ]


def find_text_columns(table: Table) -> list[str]:
    """Return the columns that contain sentences, best first."""

    def rank(place: int, profile: ColumnProfile) -> tuple[bool, float, int]:
        # Prefer known names, then longer texts; differences of a word or two are ignored. A title stands for a longer text beside it.
        is_named = profile.is_named_text and profile.key not in TITLE
        return not is_named, 0.0 if is_named else -round(profile.words / 5), place

    texts = [(place, profile) for place, profile in enumerate(profile_table(table)) if profile.is_text]
    return [profile.name for _, profile in sorted(texts, key=lambda item: rank(*item))]


def combine_columns(table: Table, columns: Sequence[str]) -> tuple[Table, str]:
    """Return the table with a column of combined texts, and its name; a single column is used as it is.

    The filled cells of a row are joined by line breaks, in the order of ``columns``.
    """
    table.require(*columns)
    if len(columns) == 1:
        return table, columns[0]
    name = " + ".join(columns)
    while name in table.columns:
        name += " +"
    rows = zip(*(table.texts(column) for column in columns), strict=True)
    return table.with_column(name, ["\n".join(text for cell in cells if (text := cell.strip())) for cells in rows]), name


def corpus_from_table(table: Table, column: str | None = None) -> Corpus:
    """Build a corpus from one column, by default the best one. Rows without text are skipped and listed in the notes.

    Raises:
        StudioError: the column does not exist, no column contains text, or all its cells are blank.
    """
    column, kept, notes, account = find_text_rows(table, column)
    if len(kept) < len(table):
        table = table.select(kept)
    texts = tuple(table.column(column))
    fields = {name: tuple(table.column(name)) for name in table.columns if name != column}
    index, lines = list(table.columns).index(column), tuple(table.lines.tolist())
    places = tuple(table.places[line - 2] for line in lines) if table.places else ()
    return Corpus(table.name, texts, fields, lines, digest_texts(texts), notes, column, account, index, places=places)


def group_passages(corpus: Corpus) -> Corpus:
    """Return the corpus of the documents that passages belong to, with the number of passages as a column.

    The text of a document is its title and its passages, without what they repeat; its vector is the mean of theirs.
    """
    starts = corpus.document_starts().tolist()
    texts, rows = [], list(pairwise([*starts, len(corpus)]))
    for first, last in rows:
        parts, end = [corpus.places[first].title], 0
        for text, place in zip(corpus.texts[first:last], corpus.places[first:last], strict=True):
            parts.append(text[place.context + max(0, end - place.start) :].strip())
            end = place.end
        texts.append("\n".join(part for part in parts if part))
    firsts = [corpus.places[row] for row in starts]
    columns = {"title": [place.title for place in firsts], "file": [place.file for place in firsts]}
    fields = {name: tuple(cells) for name, cells in columns.items() if any(cells) and len(set(cells)) > 1}
    # Columns of passages, unless they are those of the table that the documents are rows of.
    of_places = [name for name in ("title", "heading", "page") if any(getattr(place, name) for place in corpus.places)]
    of_passages = {*fields, *of_places, corpus.column}
    fields |= {name: tuple(cells[row] for row in starts) for name, cells in corpus.fields.items() if name not in of_passages}
    fields[unique_name("passages", fields)] = tuple(str(last - first) for first, last in rows)
    lines, digest = tuple(range(2, len(texts) + 2)), _documents_digest(corpus)
    account = RowReport(len(texts), len(texts))
    return Corpus(corpus.name, tuple(texts), fields, lines, digest, corpus.notes, "text", account, passages=corpus)


def _documents_digest(passages: Corpus) -> str:
    # Not that of the texts, whose vectors are different ones.
    return digest_texts(["documents", passages.digest, *(str(row) for row in passages.document_starts().tolist())])


def find_text_rows(table: Table, column: str | None = None) -> tuple[str, np.ndarray, tuple[Finding, ...], RowReport]:
    """Return the text column, the indices of the rows with a text (n,) int64, notes on the other rows, and the row report."""
    if column is None:
        column = next(iter(find_text_columns(table)), None) or _only_column(table)
    texts = table.texts(column)
    placeholders = find_missing(texts)
    is_placeholder = np.zeros(len(texts), dtype=bool)
    is_placeholder[placeholders.places] = True
    is_blank = np.fromiter((not text.strip() for text in texts), bool, len(texts))
    kept = np.flatnonzero(~is_blank & ~is_placeholder)
    if not len(kept):
        raise StudioError(
            _("the column {column} of {name} is blank in every row", column=repr(column), name=table.name),
            "choose another column",
            table.lines[:1].tolist(),
        )
    notes = (*table.notes, *placeholders.note(column, table.lines))
    if is_blank.any():
        message = _("{rows} without text in {column}, skipped", rows=count(int(is_blank.sum()), "row"), column=repr(column))
        notes = (*notes, Finding("warning", message, tuple(table.lines[is_blank].tolist()), skip_reason="no text"))
    if is_placeholder.any():
        cells = quote_cells(placeholders.values)
        message = _(
            "{rows} with only {cells} in {column}, skipped", rows=count(int(is_placeholder.sum()), "row"), cells=cells, column=repr(column)
        )
        why = _("a placeholder for a missing text: {cells}", cells=cells)
        notes = (*notes, Finding("warning", message, tuple(table.lines[is_placeholder].tolist()), skip_reason=why))
    return column, kept, notes, report_rows(table, notes, table.lines[kept])


def positions_in_file(lines: Sequence[int] | np.ndarray, account: RowReport) -> tuple[np.ndarray, int]:
    """Return the index of each of n spreadsheet row numbers within the file, (n,) int64, and the number of rows in the file.

    The rows of the file are those below the header, including the skipped rows listed in ``account``.
    """
    skipped = [row for reason in account.reasons for row in reason.rows]
    numbers = np.concatenate([np.asarray(lines, dtype=np.int64), np.asarray(skipped, dtype=np.int64)])
    positions = np.empty(len(numbers), dtype=np.int64)
    positions[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    return positions[: len(lines)], len(numbers)


def _only_column(table: Table) -> str:
    profiles = profile_table(table)
    if len(table.columns) == 1 and any(profile.filled and not profile.is_number and not profile.is_nested for profile in profiles):
        return table.columns[0]  # a column of short labels has to be chosen by the user
    raise no_text_error(table, profiles, _("specify one of its columns: {columns}", columns=", ".join(table.columns[:20])))


@dataclass(frozen=True)
class FileTexts:
    """Texts of one column and their positions, stored compactly even for millions of rows.

    Attributes:
        texts: the n texts that are not blank, in file order.
        places: (n,) int64, ascending: the row index of each text, from 0; see :meth:`Corpus.positions`.
        rows: the number of rows of the file, including those without text.
        account: the row report of the file.
    """

    texts: TextColumn
    places: np.ndarray
    rows: int
    account: RowReport

    def digest(self) -> str:
        places = hashlib.sha256(self.places.astype("<i8").tobytes()).hexdigest()
        return digest_texts((f"{self.rows}", places, digest_texts(self.texts)))


def texts_of_table(table: Table, column: str | None = None) -> FileTexts:
    """Return the texts of one column (the best one if None), without loading the other columns."""
    column, kept, _, account = find_text_rows(table, column)
    places, rows = positions_in_file(table.lines[kept], account)
    order = np.argsort(places, kind="stable")
    return FileTexts(table.texts(column).at(kept[order]), places[order], rows, account)
