"""JSON: one value a line, or one array of values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....errors import StudioError
from ...progress import Progress
from ..rows import Content, Ledger
from ..text.delimited import encoding_notes
from ..text.doubts import encoding_doubts
from ..text.encoding import Encoding, detect_encoding
from ..text.lines import Lines, first_text, pieces
from .collect import HINT, collect
from .documents import rows_of
from .stream import elements

_LARGEST_DOCUMENT = 1 << 26
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def read_json(path: Path, *, progress: Progress | None = None, encoding: Encoding | None = None) -> Content:
    """Read JSON lines (a row's number is its line's), or a JSON array or object of rows (its place among them, from 1).

    An object gives a cell a key, an array a cell an element, a text one cell. Numbers stay as they are written; lists and
    objects are spread (see :mod:`~sbert_studio.data.readers.nested.spread`); a key that a row lacks is an empty cell.

    Raises:
        StudioError: a line is not JSON (the row is named), there are no rows, or a value is beyond all bounds.
    """
    encoding = encoding or detect_encoding(path)
    start = first_text(path, encoding).lstrip()
    if not start:
        raise StudioError(f"{path.name} holds no text", HINT)
    ledger = Ledger()
    if _one_document(start, path.suffix.lower() == ".json"):
        content = collect(enumerate(_document(path, encoding, start[0] == "[", progress), start=1))
    else:
        with Lines(path, encoding, progress) as lines:
            content = collect(_values(lines, ledger))
    notes = (*encoding_notes(encoding), *content.notes, *ledger.findings())
    return replace(content, notes=notes, doubts=encoding_doubts(path, encoding))


def _document(path: Path, encoding: Encoding, array: bool, progress: Progress | None) -> Iterator[Any]:
    """The rows of a file that is one array, element by element, or of one that is a single object."""

    def refuse(reason: str, place: int) -> StudioError:
        return StudioError(f"{path.name} is not valid JSON: {reason} (in element {place:,})", HINT, [place])

    parts = pieces(path, encoding, progress)
    if array:
        yield from elements(parts, _DECODER, refuse)
        return
    if path.stat().st_size > _LARGEST_DOCUMENT:
        limit = _LARGEST_DOCUMENT >> 20
        raise StudioError(f"{path.name} is one JSON object of more than {limit} MiB", "write one JSON object a line (JSONL) instead")
    try:
        value = _parse("".join(parts))
    except (ValueError, RecursionError) as error:
        row = getattr(error, "lineno", None)
        reason = getattr(error, "msg", "nested too deeply")
        raise StudioError(f"{path.name} is not valid JSON: {reason}", HINT, [row] if row else []) from None
    yield from rows_of(value, path.name)


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
    return _holds_rows(value) or (named and isinstance(value, dict) and any(isinstance(part, (list, dict)) for part in value.values()))


def _holds_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, (dict, list)) for part in value)


def _parse(text: str) -> Any:
    # Numbers are kept as written: 5.000 stays 5.000, and an id of 30 digits loses none.
    return _DECODER.decode(text.removeprefix("\ufeff"))


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
            raise StudioError(f"a line is not valid JSON: {getattr(error, 'msg', error)}", HINT, [number]) from None
        except RecursionError:
            raise StudioError("a line of JSON is nested too deeply", HINT, [number]) from None
        yield number, value
