"""Records of any format → columns: the frame of the table, and what did not fit into it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile
from typing import NoReturn

from ...errors import StudioError
from ..cells import LONGEST_CELL
from ..schema.numbers import parse_number
from .columns import Columns, refuse_long
from .headers import familiar_name, looks_like_names
from .layout import Layout, lay_out
from .rows import MOST_COLUMNS, Content, Ledger, Record, glued

_SAMPLE = 200
_MOST_BLANK = 1 << 21
_MOST_HELD = 1 << 25
_NEAR = 4


def gather(records: Iterable[Record], ledger: Ledger, *, header: bool | None = None, joiner: str = ",", aligned: bool = False) -> Content:
    """Turn records into columns.

    Args:
        records: row numbers and cells, in order; blank rows have no cells.
        ledger: what the reader notes as it goes; read once the records are spent.
        header: whether the first record names the columns; None: found out from the first 200 rows that hold anything.
        joiner: what stands between the surplus cells of a row that is too long.
        aligned: cells stand in their columns whatever their number, as in a workbook.

    Raises:
        StudioError: there is no row at all, or only a header; there are two tables, or a cell beyond all bounds.
    """
    source = iter(records)
    sample, filled = take_filled(source)
    if not filled:
        raise StudioError("the file holds no text", "give a file with at least one row of text")
    if header is None and len(filled) == 1 and len(filled[0][1]) > 1 and looks_like_names(filled[0][1]):
        raise StudioError("the file holds a header but no rows", "add rows below the header", [filled[0][0]])
    layout = lay_out(filled, header, aligned=aligned)
    columns = Columns(len(layout.names))
    if columns.width > MOST_COLUMNS:
        columns.widen(columns.width)
    _fill(columns, dropwhile(lambda record: record[0] < layout.first, chain(sample, source)), ledger, joiner, layout)
    data, lines = columns.finish(layout.names)
    if not len(lines):
        raise StudioError("the file holds a header but no rows", "add rows below the header", [filled[0][0]])
    return Content(layout.names, data, lines, (*layout.notes, *ledger.findings()), layout.doubts)


def take_filled(source: Iterator[Record]) -> tuple[list[Record], list[tuple[int, list[str]]]]:
    """(the first records, those among them that hold anything): 200 of the latter, or all there are."""
    sample: list[Record] = []
    filled: list[tuple[int, list[str]]] = []
    held = 0
    for line, cells in source:
        if (size := sum(map(len, cells))) > LONGEST_CELL:
            refuse_long(max(map(len, cells)), line)
        held += size
        sample.append((line, cells))
        if any(cell.strip() for cell in cells):
            filled.append((line, list(cells)))
            if len(filled) >= _SAMPLE or held > _MOST_HELD:
                break
        elif len(sample) - len(filled) > _MOST_BLANK:
            break
    return sample, filled


def _fill(columns: Columns, records: Iterable[Record], ledger: Ledger, joiner: str, layout: Layout) -> None:
    """Take every record, cut to the columns' width; blank rows are left out, and noted unless they end the file."""
    append, width = columns.append, columns.width
    names = frozenset(cell for cell in layout.header if cell.strip()) if width > 1 else frozenset()
    gap = range(0)  # the blank rows just before; a list of them could grow without end
    watch = _Watch(layout, names)
    for line, cells in records:
        if not cells or (len(cells) == 1 and not cells[0].strip()):
            gap = range(gap.start if gap else line, line + 1)
            continue
        if gap:
            ledger.enter_all("blank", list(gap))
            watch.after_gap()
            gap = range(0)
        if names and (cells[0] in names or watch.near) and watch.repeats_header(line, cells):
            ledger.enter("header", line)
        else:
            append(line, cells if len(cells) == width else _fit(line, list(cells), width, ledger, joiner))


class _Watch:
    """Looks for a second table: a header anywhere, and other names or another width soon after a blank row."""

    def __init__(self, layout: Layout, names: frozenset[str]) -> None:
        self.layout, self.names = layout, names
        self.near = 0
        self.before = (0, 0)

    def after_gap(self) -> None:
        """A blank row was seen."""
        self.near, self.before = _NEAR, (0, 0)

    def repeats_header(self, line: int, cells: Sequence[str]) -> bool:
        """Whether a row is the header once more.

        Raises:
            StudioError: it begins a table of its own.
        """
        filled = [cell for cell in cells if cell.strip()]
        if len(self.names) > 1 and set(filled) == self.names:
            if filled != [cell for cell in self.layout.header if cell.strip()]:
                _refuse_second_table(line, cells)
            return True
        if self.near:
            self.near -= 1
            if _begins_table(cells, self.layout):
                _refuse_second_table(line, cells)
            if not self.layout.aligned and 1 < len(cells) == self.before[0] != len(self.layout.names):
                _refuse_second_table(self.before[1], cells)
            self.before = (len(cells), line)
        return False


def _begins_table(cells: Sequence[str], layout: Layout) -> bool:
    """Whether a row soon after a blank one names the columns of a second table: well-known names, or names in every cell.

    A word where a number stood is a missing score, not a header: without well-known names every cell must be a word where
    numbers stood, or far shorter than the texts of its column.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    if len(filled) < 2 or not looks_like_names(cells):
        return False
    if sum(map(familiar_name, filled)) >= 2:
        return True
    places = [place for place in layout.numeric if place < len(cells)]
    if not places or len(filled) < len(cells) or any(not math.isnan(parse_number(cells[place])) for place in places):
        return False
    texts = [place for place in range(min(len(cells), len(layout.names))) if place not in places]
    return all(_short_for_its_column(cells[place], place, layout) for place in texts)


def _short_for_its_column(cell: str, place: int, layout: Layout) -> bool:
    """Whether a cell has half the words or half the letters of its column's texts at most, as a name above them has."""
    texts = [row[place].strip() for _, row in layout.body if place < len(row) and row[place].strip()]
    cell = cell.strip()
    return any(texts and 2 * size(cell) <= sorted(map(size, texts))[len(texts) // 2] for size in (len, lambda text: len(text.split())))


def _refuse_second_table(line: int, cells: Sequence[str]) -> NoReturn:
    words = ", ".join(cell.strip() for cell in cells if cell.strip())
    raise StudioError(f"a second table seems to begin within the file ({words[:80]})", "give each table a file of its own", [line])


def _fit(line: int, cells: list[str], width: int, ledger: Ledger, joiner: str) -> list[str]:
    if len(cells) < width:
        ledger.enter("short", line)
        return cells + [""] * (width - len(cells))
    if any(cell.strip() for cell in cells[width:]):
        if width > 1 and len(whole := glued(cells, joiner)) == width:
            ledger.enter("glued", line)
            return whole
        if width > 1:
            ledger.enter("long", line)
        return [*cells[: width - 1], joiner.join(cells[width - 1 :])]
    return cells[:width]
