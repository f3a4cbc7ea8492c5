"""Columns of retrieval sets by their names, and files of judgments (qrels) with and without a header, as in BEIR and TREC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace

from ..errors import StudioError
from ..i18n import _
from .loading.table import Table, table_from_columns
from .schema.names import normalize, word_lists, word_set

NAMES = {role: word_set(words) for role, words in word_lists("retrieval").items()}
"""Column names by role, and grades in words."""
_ROLES = ("query_id", "document_id", "grade")
_WIDTHS = range(2, 5)


def find_column(table: Table, role: str, *, required: bool = True) -> str:
    """Return the column of a table for a role by its name; empty if there is none and it is not required."""
    ordered = str(word_lists("retrieval")[role]).split()  # the more specific names first
    found = next((name for word in ordered for name in table.columns if normalize(name) == word), "")
    if not found and required:
        raise StudioError(
            _("{name} has no column for {role}", name=table.name, role=role.replace("_", " ")),
            _("its columns are: {columns}; rename one to {role}", columns=", ".join(table.columns[:20]), role=role),
        )
    return found


def split_judgments(table: Table, query_ids: Container[str]) -> Table:
    """Return judgments with a column for each part: those that are separated by spaces, as TREC writes them, are split.

    Args:
        query_ids: ids of the queries. A first row that begins with one is no header, and one that names ids is.

    Raises:
        StudioError: rows have different numbers of parts.
    """
    is_split = len(table.columns) > 1
    header = list(table.columns) if is_split else table.columns[0].split()
    if _names_ids(header) and is_split:
        return table
    rows, lines = [list(row) if is_split else row[0].split() for row in table.head(len(table))], table.lines.tolist()
    first = header[0] if header else ""
    if first in query_ids:
        header, rows, lines = [], [header, *rows], [1, *lines]
    elif first in ("", "column_1"):
        header = []
        if rows and _names_ids(rows[0]):
            header, rows, lines = rows[0], rows[1:], lines[1:]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    if width not in _WIDTHS:
        return table
    other = [line for line, row in zip(lines, rows, strict=True) if len(row) != width]
    if other or (header and len(header) != width):
        message = _("rows of {name} do not have {width} parts as the others have", name=table.name, width=width)
        raise StudioError(message, "write query id, document id and grade in each row, separated by tabs", other or [1])
    names = header or [f"column_{place + 1}" for place in range(width)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return replace(table_from_columns(table.name, columns, lines), notes=table.notes)


def judgment_cells(table: Table) -> tuple[list[list[str]], bool]:
    """Return query ids, document ids and grades, and whether the table has grades; of two columns, each row is relevant with grade 1.

    Without a header, the columns are known by position, as in BEIR (3 columns) and TREC (4 columns, of which the second is unused).
    """
    width = len(table.columns)
    if width in _WIDTHS and not any(find_column(table, role, required=False) for role in _ROLES):
        has_grades = width > 2
        names = [table.columns[place] for place in ((0, width - 2, width - 1) if has_grades else (0, 1))]
    else:
        has_grades = width > 2 or bool(find_column(table, "grade", required=False))
        names = [find_column(table, role) for role in (_ROLES if has_grades else _ROLES[:2])]
    cells = [table.column(name) for name in names]
    return (cells if has_grades else [*cells, ["1"] * len(table)]), has_grades


def _names_ids(cells: Sequence[str]) -> bool:
    return bool({normalize(cell) for cell in cells} & (NAMES["query_id"] | NAMES["document_id"]))
