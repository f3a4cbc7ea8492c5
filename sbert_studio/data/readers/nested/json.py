"""JSON: one value a line, or one array of values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ....errors import StudioError
from ...cells import cell_text
from ...progress import Progress
from ...vocabulary import NEGATIVE, squeeze
from ..columns import Columns
from ..rows import Content, Ledger
from ..text.delimited import encoding_notes
from ..text.encoding import Encoding, detect_encoding
from ..text.lines import Lines, first_lines

_LARGEST_ARRAY = 1 << 28
_HINT = 'write one JSON object a line, such as {"text": "…"}'


def read_json(path: Path, *, progress: Progress | None = None, encoding: Encoding | None = None) -> Content:
    """Read JSON lines (a row's number is its line's) or a JSON array (its place in the array, from 1).

    An object gives a cell a key, an array a cell an element, a text one cell. Numbers stay as they are written; nested
    values become JSON text, but a list of negatives becomes a column an element; a key that a row lacks is an empty cell.

    Raises:
        StudioError: a line is not JSON (the row is named), or there are no rows.
    """
    encoding = encoding or detect_encoding(path)
    start = "".join(first_lines(path, encoding, most=20)).lstrip()
    if not start:
        raise StudioError(f"{path.name} holds no text", _HINT)
    ledger = Ledger()
    with Lines(path, encoding, progress) as lines:
        if _one_document(start, path.suffix.lower() == ".json"):
            if path.stat().st_size > _LARGEST_ARRAY:
                raise StudioError(f"{path.name} is one JSON array of more than 256 MiB", "write one JSON object a line (JSONL) instead")
            content = _collect(enumerate(_array("".join(_quietly(lines)), path.name), start=1))
        else:
            content = _collect(_values(lines, ledger))
    return Content(content.names, content.data, content.lines, (*encoding_notes(encoding), *content.notes, *ledger.findings()))


def looks_like_json_lines(start: list[str]) -> bool:
    """Whether the first lines of a file that is not called JSON are JSON objects nonetheless."""
    filled = [line for line in start[:3] if line.strip()]
    try:
        return bool(filled) and all(isinstance(json.loads(line), dict) for line in filled)
    except (ValueError, RecursionError):
        return False


def _one_document(start: str, named: bool) -> bool:
    """Whether a file is one array or object rather than a value a line; a lone object of lists only if ``named`` as JSON."""
    first = start.split("\n", 1)[0].strip()
    try:
        value = _parse(first)
    except (ValueError, RecursionError):
        return start[0] in "[{"
    if "\n" in start.strip():
        return False
    return _holds_rows(value) or (named and isinstance(value, dict) and any(isinstance(part, list) for part in value.values()))


def _holds_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, (dict, list)) for part in value)


def _parse(text: str) -> Any:
    # Numbers are kept as written: 5.000 stays 5.000, and an id of 30 digits loses none.
    return json.loads(text, parse_float=str, parse_int=str, parse_constant=str)


def _quietly(lines: Lines) -> Iterator[str]:
    for line in lines:
        lines.pending.clear()
        yield line


def _array(text: str, name: str) -> list[Any]:
    try:
        value = _parse(text)
    except (ValueError, RecursionError) as error:
        row = getattr(error, "lineno", None)
        reason = getattr(error, "msg", "nested too deeply")
        raise StudioError(f"{name} is not valid JSON: {reason}", _HINT, [row] if row else []) from None
    if isinstance(value, dict):
        lists = {key: part for key, part in value.items() if isinstance(part, list)}
        if len(lists) > 1 and len({len(part) for part in lists.values()}) == 1:
            return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        if len(lists) == 1:
            key, part = next(iter(lists.items()))
            return part if all(isinstance(row, dict) for row in part) else [{key: row} for row in part]
        return [value]
    return value if isinstance(value, list) else [value]


def _values(lines: Lines, ledger: Ledger) -> Iterator[tuple[int, Any]]:
    blank: list[int] = []
    for number, line in enumerate(lines, start=1):
        lines.report(number, ledger)
        lines.pending.clear()
        if not line.strip():
            blank.append(number)
            continue
        ledger.enter_all("blank", blank)
        try:
            value = _parse(line)
        except ValueError as error:
            raise StudioError(f"a line is not valid JSON: {getattr(error, 'msg', error)}", _HINT, [number]) from None
        except RecursionError:
            raise StudioError("a line of JSON is nested too deeply", _HINT, [number]) from None
        yield number, value


def _collect(values: Iterable[tuple[int, Any]]) -> Content:
    """Columns in the order in which their keys are first seen."""
    places: dict[str, int] = {}
    columns = Columns(0)
    for line, value in values:
        row = _as_row(value)
        if new := [key for key in row if key not in places]:
            for key in new:
                places[key] = len(places)
            columns.widen(len(places))
        cells = [""] * len(places)
        for key, cell in row.items():
            cells[places[key]] = cell_text(cell)
        columns.append(line, cells)
    if not places:
        raise StudioError("the file holds no rows", _HINT)
    names = tuple(places)
    data, lines = columns.finish(names)
    return Content(names, data, lines, ())


def _as_row(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        if lists := [key for key, cell in value.items() if isinstance(cell, list) and NEGATIVE.fullmatch(squeeze(key))]:
            value = _spread(value, lists)
        return {cell_text(key).strip() or "column_1": cell for key, cell in value.items()} or {"text": ""}
    if isinstance(value, list):
        return {f"column_{index}": cell for index, cell in enumerate(value, start=1)} or {"text": ""}
    return {"text": value}


def _spread(row: dict[str, Any], lists: list[str]) -> dict[str, Any]:
    """A row whose lists of negatives have a key an element: ``negatives``, ``negatives_2``, …"""
    spread: dict[str, Any] = {}
    for key, cell in row.items():
        if key in lists:
            spread.update((key if index == 1 else f"{key}_{index}", part) for index, part in enumerate(cell or [""], start=1))
        else:
            spread[key] = cell
    return spread
