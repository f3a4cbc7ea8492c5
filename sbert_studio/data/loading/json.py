"""JSON: one value per line, an array of rows, or an object that contains rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress
from ..cells import LONGEST_CELL
from .content import Content, RowLog
from .nested import collect_rows
from .source import Lines, TableFile

_HINT = 'write one JSON object per line, such as {"text": "…"}'
_LARGEST_OBJECT = 1 << 26
_LONGEST_ELEMENT = 32 * LONGEST_CELL
_FIRST_CHUNKS = 16
_BLANK = " \t\r\n\ufeff"
_ROW_KEYS = ("rows", "data", "examples", "records", "items", "instances", "pairs", "train")
# Keep numbers as written: 5.000 stays 5.000, and ids of 30 digits stay exact.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)

# Words of the messages of Python's parser, which are not translated → what is wrong.
_REASONS = (
    ("property", "a name in double quotes is missing"),
    ("trailing", "a comma is followed by a closing bracket"),
    ("value", "a value is missing"),
    ("':'", "a colon is missing"),
    ("','", "a comma is missing"),
    ("data", "there is extra text after the value"),
    ("starting", "a string is not closed"),
    ("control", "a string contains a control character, such as a line break"),
    ("escape", "a string contains a backslash that does not start a valid escape sequence"),
)

Refuse = Callable[[str, int], StudioError]
"""Return the error for a reason and the number of the invalid element."""


def read_json(source: TableFile, progress: Progress | None = None) -> Content:
    """Read JSON Lines (rows are numbered by line), or an array or object of rows (numbered from 1).

    An object has one cell per key, an array one cell per element, a text a single cell. Lists and objects are flattened into rows and
    columns (see :mod:`~sbert_studio.data.loading.nested`); missing keys become empty cells.

    Raises:
        StudioError: a line is not valid JSON (with its row), there are no rows, or a value is too long.
    """
    start = "".join(islice(source.chunks(), _FIRST_CHUNKS)).lstrip()
    if not start:
        raise StudioError(_("{name} contains no text", name=source.path.name), _HINT)
    log = RowLog()
    if _is_one_document(start, source.suffix == ".json"):
        content = collect_rows(enumerate(_read_document(source, start[0] == "[", progress), start=1))
    else:
        with Lines(source, progress) as lines:
            content = collect_rows(_read_lines(lines, log))
    return replace(content, notes=(*source.encoding_notes(), *content.notes, *log.findings()), doubts=source.ask_encoding())


def _describe_error(error: ValueError) -> str:
    message = str(getattr(error, "msg", error))
    return next((reason for word, reason in _REASONS if word in message), message)


def are_json_lines(lines: Sequence[str]) -> bool:
    """Return whether the first lines of a file are JSON objects."""
    filled = [line for line in lines if line.strip()]
    try:
        return bool(filled) and all(isinstance(json.loads(line), dict) for line in filled)
    except (ValueError, RecursionError):
        return False


def parse_elements(chunks: Iterable[str], decoder: json.JSONDecoder, refuse: Refuse) -> Iterator[Any]:
    """Yield the elements of a JSON array one at a time, keeping only one in memory.

    ``chunks`` are consecutive parts of its text; ``refuse`` returns the error to raise if it is not an array, or if an element is not
    valid JSON or is too long.
    """
    text = _ArrayText(iter(chunks), refuse)
    text.expect("[", "it is not an array")
    while text.peek() != "]":
        if text.number > 1:
            text.expect(",", "',' or ']' is missing")
        yield text.parse_value(decoder)
        text.number += 1
    text.expect("]", "',' or ']' is missing")
    if text.peek():
        raise refuse("there is data after the array", text.number)


class _ArrayText:
    """Text of an array from the current parse position; more chunks are read as needed."""

    def __init__(self, source: Iterator[str], refuse: Refuse) -> None:
        self.source, self.refuse = source, refuse
        self.buffer, self.at, self.number = "", 0, 1

    def peek(self) -> str:
        while self.at < len(self.buffer) or self._grow(1):
            if self.buffer[self.at] not in _BLANK:
                return self.buffer[self.at]
            self.at += 1
        return ""

    def expect(self, mark: str, otherwise: str) -> None:
        if self.peek() != mark:
            raise self.refuse(otherwise, self.number)
        self.at += 1

    def parse_value(self, decoder: json.JSONDecoder) -> Any:
        """Return the next value. If it may continue in the next chunk, the buffer is doubled and parsed again."""
        self.peek()
        while True:
            reason, end = "the array is not closed", len(self.buffer)
            try:
                value, end = decoder.raw_decode(self.buffer, self.at)
            except json.JSONDecodeError as error:
                reason = _describe_error(error)
            except RecursionError:
                raise self.refuse("it is nested too deeply", self.number) from None
            if end < len(self.buffer):
                self.at = end
                return value
            length = len(self.buffer) - self.at
            if length > _LONGEST_ELEMENT:
                raise self.refuse(
                    _("an element is longer than {longest_element} characters", longest_element=f"{_LONGEST_ELEMENT:,}"), self.number
                )
            if not self._grow(length):
                raise self.refuse(reason, self.number)

    def _grow(self, by: int) -> bool:
        parts, size = [self.buffer[self.at :]], 0
        while size < by and (chunk := next(self.source, None)) is not None:
            parts.append(chunk)
            size += len(chunk)
        self.buffer, self.at = "".join(parts), 0
        return size > 0


def _is_one_document(start: str, named_json: bool) -> bool:
    try:
        value = _DECODER.decode(start.split("\n", 1)[0].strip().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return start[0] in "[{"
    if "\n" in start.strip():
        return False
    if isinstance(value, list):
        return all(isinstance(part, dict | list) for part in value)
    return named_json and isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values())


def _read_document(source: TableFile, array: bool, progress: Progress | None) -> Iterator[Any]:
    name = source.path.name

    def refuse(reason: str, place: int) -> StudioError:
        return StudioError(
            _("{name} is not valid JSON: {reason} (in element {place})", name=name, reason=reason, place=f"{place:,}"), _HINT, [place]
        )

    chunks = source.chunks(progress)
    if array:
        yield from parse_elements(chunks, _DECODER, refuse)
        return
    if source.path.stat().st_size > _LARGEST_OBJECT:
        limit = _LARGEST_OBJECT >> 20
        raise StudioError(
            _("{name} is a single JSON object of more than {limit} MiB", name=name, limit=limit),
            "write one JSON object per line (JSONL) instead",
        )
    try:
        value = _DECODER.decode("".join(chunks).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        row = getattr(error, "lineno", None)
        reason = _describe_error(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise StudioError(_("{name} is not valid JSON: {reason}", name=name, reason=reason), _HINT, [row] if row else []) from None
    yield from _rows_of_document(value, name)


def _read_lines(lines: Lines, log: RowLog) -> Iterator[tuple[int, Any]]:
    for number, line in lines.numbered(log):
        try:
            value = _DECODER.decode(line.removeprefix("\ufeff").rstrip("\r\n"))
        except ValueError as error:
            raise StudioError(_("a line is not valid JSON: {reason}", reason=_describe_error(error)), _HINT, [number]) from None
        except RecursionError:
            raise StudioError("a line of JSON is nested too deeply", _HINT, [number]) from None
        yield number, value


def _rows_of_document(value: Any, name: str) -> Iterable[Any]:
    """Return the rows of a JSON document: an export of the Hub's viewer or of pandas' ``to_json``, or a list of objects under some key.

    ``{"data": […]}`` and similar, among other keys; ``{"rows": [{"row": {…}}], "features": …}``; columns as lists of equal length,
    ``{"a": […], "b": […]}``; ``{"columns", "index", "data"}``, ``{"a": {"0": …}}`` and ``{"0": {"a": …}}``. Any other object is one row.

    Raises:
        StudioError: more than one list could contain the rows.
    """
    if not isinstance(value, Mapping) or not value:
        return [value]
    if all(isinstance(part, Mapping) for part in value.values()):
        return _rows_of_objects(value)
    if isinstance(columns := value.get("columns"), list) and isinstance(data := value.get("data"), list):
        return (dict(zip(map(str, columns), row, strict=False)) if isinstance(row, list) else row for row in data)
    return _rows_of_lists(value, name)


def _rows_of_lists(value: Mapping[str, Any], name: str) -> Iterable[Any]:
    lists = {key: part for key, part in value.items() if isinstance(part, list)}
    keys = [key for key, part in lists.items() if part and all(isinstance(row, Mapping) for row in part)]
    if keys:
        usual = [key for key in _ROW_KEYS if key in keys]
        if len(keys) > 1 and not {"rows", "data"} & set(usual):
            raise StudioError(
                _("{name} contains several lists of rows: {keys}", name=name, keys=", ".join(keys)), "put each list into a separate file"
            )
        return lists[(usual or keys)[0]]
    if len(lists) < len(value) or len(set(map(len, lists.values()))) > 1:
        return [value]
    parts = list(lists.values())
    if len(parts) == 1 and parts[0] and all(isinstance(row, list) for row in parts[0]):
        return parts[0]
    return (dict(zip(lists, row, strict=True)) for row in zip(*parts, strict=True))


def _rows_of_objects(value: Mapping[str, Any]) -> Iterable[Any]:
    inner = dict.fromkeys(key for part in value.values() for key in part)
    if inner and all(str(key).isdecimal() for key in inner):
        return ({column: part.get(key, "") for column, part in value.items()} for key in inner)
    return value.values() if all(str(key).isdecimal() for key in value) else [value]
