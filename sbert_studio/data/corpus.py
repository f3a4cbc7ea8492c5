"""A corpus: the texts to explore, with what else the file says about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..errors import StudioError
from ..workspace import digest_texts
from .accounts import LeftOut, RowAccount, account_of
from .findings import Finding, count
from .language import languages_in
from .loading.table import Table
from .schema.content import find_missing, quote_cells
from .schema.profile import ColumnProfile, no_text_error, profile_table

_FEW, _SHARE = 20, 0.5


@dataclass(frozen=True)
class Corpus:
    """Texts in file order.

    Attributes:
        name: what the corpus is called.
        texts: the n texts; none is blank.
        fields: the table's other columns, each n cells, aligned with ``texts``.
        lines: the n row numbers that a spreadsheet would show.
        digest: names the sequence of texts (see :func:`sbert_studio.workspace.digest_texts`).
        notes: what to tell: how the file was read, which rows had no text.
        column: the column that the texts come from; place: how many of the file's columns stand before it.
        account: what became of the file's rows: those with a text are used.
    """

    name: str
    texts: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    lines: tuple[int, ...]
    digest: str
    notes: tuple[Finding, ...] = field(default=(), compare=False)
    column: str = "text"
    account: RowAccount = field(default=RowAccount(0, 0), compare=False)
    place: int = field(default=0, compare=False)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def repeated(self) -> int:
        """How many texts stand further up already; each is kept."""
        return len(self.texts) - len(set(self.texts))

    @cached_property
    def languages(self) -> Counter[str]:
        """How many of a sample of the texts are in each language."""
        return languages_in(self.texts)

    def places(self) -> tuple[np.ndarray, int]:
        """Where each text stands among the file's rows, (n,) int64 from 0, and how many rows there are.

        The rows are those below the header, in order. One that is blank inside the file counts, one that ends it does not.
        """
        return places_in_file(self.lines, self.account)

    def columns(self) -> dict[str, tuple[str, ...]]:
        """The texts and the other columns, in the file's order."""
        others = [(name, cells) for name, cells in self.fields.items() if name != self.column]
        return dict([*others[: self.place], (self.column, self.texts), *others[self.place :]])

    def category_columns(self) -> list[str]:
        """The columns that could hold categories, in the file's order: some of their cells are the same.

        At most 20 of them are different, or half as many as there are texts.
        """
        most = min(len(self) - 1, max(_FEW, len(self) * _SHARE))
        return [name for name, cells in self.fields.items() if 1 < len({cell for cell in cells if cell.strip()}) <= most]

    def part(self, rows: Sequence[int], name: str, why: str) -> Corpus:
        """Some of the texts, called ``name``; in the account the others are left out, because of ``why``.

        Args:
            rows: which stay, from 0, ascending.
        """
        texts, lines = tuple(self.texts[row] for row in rows), tuple(self.lines[row] for row in rows)
        fields = {column: tuple(cells[row] for row in rows) for column, cells in self.fields.items()}
        spared = LeftOut(why, tuple(sorted(set(self.lines) - set(lines))))
        reasons = (*self.account.reasons, spared) if spared.rows else self.account.reasons
        account = replace(self.account, used=len(lines), reasons=reasons)
        return replace(self, name=name, texts=texts, fields=fields, lines=lines, digest=digest_texts(texts), account=account)

    def repeats(self) -> list[str]:
        """How many texts come more than once, in words; nothing where none does."""
        if not self.repeated:
            return []
        verb, stay = ("repeats", "is") if self.repeated == 1 else ("repeat", "are")
        return [f"{count(self.repeated, 'text')} {verb} an earlier one, and {stay} kept."]


def text_columns(table: Table) -> list[str]:
    """The columns that hold sentences, best first; empty if there is none."""
    texts = [(place, profile) for place, profile in enumerate(profile_table(table)) if profile.is_text]
    return [profile.name for _, profile in sorted(texts, key=lambda item: _rank(*item))]


def _rank(place: int, profile: ColumnProfile) -> tuple[bool, float, int]:
    # A known name first; then the wordier column, though a word or two of difference decides nothing.
    return (not profile.is_named_text, 0.0 if profile.is_named_text else -round(profile.words / 5), place)


def corpus_from_table(table: Table, column: str | None = None) -> Corpus:
    """The texts of one column; rows without text are left out and named in the notes.

    Args:
        table: what was read.
        column: the text column; found out if None.

    Raises:
        StudioError: there is no such column, none holds text, or all its cells are blank.
    """
    column, kept, notes, account = rows_with_text(table, column)
    if len(kept) < len(table):
        table = table.select(kept)
    texts = tuple(table.column(column))
    fields = {name: tuple(table.column(name)) for name in table.columns if name != column}
    place, lines = list(table.columns).index(column), tuple(table.lines.tolist())
    return Corpus(table.name, texts, fields, lines, digest_texts(texts), notes, column, account, place)


def rows_with_text(table: Table, column: str | None = None) -> tuple[str, np.ndarray, tuple[Finding, ...], RowAccount]:
    """The column of texts (found out if None); which rows have one, (n,) int64 from 0; what to tell of the others; the account of all.

    Raises:
        StudioError: as :func:`corpus_from_table`.
    """
    if column is None:
        column = next(iter(text_columns(table)), None) or _only_column(table)
    texts = table.texts(column)
    silent = find_missing(texts)
    told = np.zeros(len(texts), dtype=bool)
    told[silent.places] = True
    blank = np.fromiter((not text.strip() for text in texts), bool, len(texts))
    kept = np.flatnonzero(~blank & ~told)
    if not len(kept):
        raise StudioError(f"the column {column!r} of {table.name} is blank in every row", "choose another column", table.lines[:1].tolist())
    notes = (*table.notes, *silent.note(column, table.lines))
    empty, few = count(int(blank.sum()), "row"), count(int(told.sum()), "row")
    for which, what, why in (
        (blank, f"{empty} without text in {column!r}, left out", "no text"),
        (
            told,
            f"{few} that say only {quote_cells(silent.values)} in {column!r}, left out",
            f"the text says that there is none: {quote_cells(silent.values)}",
        ),
    ):
        if which.any():
            notes = (*notes, Finding("warning", what, tuple(table.lines[which].tolist()), left_out=why))
    return column, kept, notes, account_of(table, notes, table.lines[kept])


def places_in_file(lines: Sequence[int] | np.ndarray, account: RowAccount) -> tuple[np.ndarray, int]:
    """Where each of the n rows of these numbers stands among those of a file, (n,) int64 from 0, and how many there are."""
    absent = [row for reason in account.reasons for row in reason.rows]
    numbers = np.concatenate([np.asarray(lines, dtype=np.int64), np.asarray(absent, dtype=np.int64)])
    places = np.empty(len(numbers), dtype=np.int64)
    places[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    return places[: len(lines)], len(numbers)


def _only_column(table: Table) -> str:
    """The one column of a table of short labels or numbers, which its user must mean; an error for any wider table."""
    profiles = profile_table(table)
    if len(table.columns) == 1 and any(profile.filled and not profile.is_number and not profile.is_nested for profile in profiles):
        return table.columns[0]
    raise no_text_error(table, profiles, f"name one of its columns: {', '.join(table.columns[:20])}")
