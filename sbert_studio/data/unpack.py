"""Unpacking of cells with several texts: the two lines of a pair, or the chats of preference data."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .findings import Finding
from .schema.names import is_negative_name

if TYPE_CHECKING:
    from .loading.table import Table

_SAMPLE_ROWS = 200
_LEAST_ROWS = 5
_TEXT_KEYS = ("content", "value", "text")
_SPEAKER_KEYS = ("role", "from")


def unpack_cells(table: Table) -> Table:
    """Return the table with a separate column for each text, and a note on each unpacked column."""
    if len(table) < _LEAST_ROWS:
        return table
    for name in table.columns:
        names = (f"{name}_1", f"{name}_2")
        if not set(names) & set(table.columns) and (rows := _parse_column(table, name, _two_lines)):
            table = _replace(table, name, names, rows, "two lines")
    if not any(map(is_negative_name, table.columns)):
        return table  # chats without a rejected answer are not training examples
    for name in table.columns:
        if rows := _parse_column(table, name, _turns):
            # "chosen" and "rejected" repeat the prompt before their last turn.
            parts = ("prompt", name) if any(len(turns) > 1 for turns in rows) else ("prompt",)
            cells = [("\n".join(turns[:-1]) or turns[0], turns[-1]) for turns in rows]
            table = _replace(table, name, parts, cells, "the turns of a chat")
    return table


def _parse_column(table: Table, name: str, parse: Callable[[str], list[str]]) -> list[list[str]]:
    """Return the texts of each cell; empty unless every cell can be parsed, so that no text is lost."""
    if not all(parse(cell) for cell in table.texts(name)[:_SAMPLE_ROWS]):
        return []
    rows = [parse(cell) for cell in table.column(name)]
    return rows if all(rows) else []


def _replace(table: Table, name: str, names: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> Table:
    table = table.without_column(name)
    for place, new in enumerate(names):
        if new not in table.columns:
            table = table.with_column(new, [row[place] for row in rows])
    made = " and ".join(map(repr, names))
    return replace(table, notes=(*table.notes, Finding("info", f"each cell of {name!r} holds {what}, which became {made}")))


def _two_lines(cell: str) -> list[str]:
    lines = [line.strip() for line in cell.splitlines() if line.strip()]
    return lines if len(lines) == 2 else []


def _turns(cell: str) -> list[str]:
    """Return the texts of a JSON list of chat turns; empty if the cell is something else."""
    if not cell.startswith("[{"):
        return []
    try:
        turns = json.loads(cell)
    except ValueError:
        return []
    if not all(isinstance(turn, dict) and any(key in turn for key in _SPEAKER_KEYS) for turn in turns):
        return []
    texts = [next((turn[key] for key in _TEXT_KEYS if isinstance(turn.get(key), str)), "") for turn in turns]
    return texts if all(texts) else []
