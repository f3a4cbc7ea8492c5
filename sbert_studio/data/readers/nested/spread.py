"""Nested values → plain cells: lists of positives become rows, lists of negatives become columns, objects become columns.

The layouts that people train with, as they come: FlagEmbedding's ``{"query", "pos": […], "neg": […]}``, sentence-transformers'
``{"set": […]}``, ``{"query", "pos": […]}`` and ``{"texts": [a, b], "score"}``, ``{"anchor", "positive", "negatives": […]}``, the
Hub's ``{"translation": {"en", "de"}}`` and ``{"row": {…}}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from ...findings import Finding, count
from ...schema.names import NEGATIVE
from ...schema.words import normalize
from .lists import (
    DOCUMENT,
    IGNORED,
    NEGATIVES,
    PAIRS,
    POSITIVES,
    Part,
    are_texts,
    is_conversation,
    labelled_objects,
    parts_of,
    text_of,
    unpacked,
)

Row = dict[str, Any]

_WRAPPER = "row"
_NESTED = (dict, list, tuple)


@dataclass
class Spreading:
    """What became of the nested values of a file, by key: for the notes at the end.

    Attributes:
        rows, columns, objects: keys whose lists became rows, whose lists became columns, whose objects became columns.
        ignored: keys whose lists belong to the lists beside them, such as ``pos_scores``, and were left out.
        parts: what the lists are for whose names do not tell; see :meth:`look`.
        labelled: keys whose lists hold objects of a text and a label or score, with the name of the latter.
        together: keys whose texts were taken to belong together, with the number of lines.
        abreast: keys whose elements belong each to those at the same place of the others.
        kept: keys whose values could not be spread, with the lines on which they stay as JSON text.
        lines: lines that became several rows.
    """

    rows: dict[str, None] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)
    objects: dict[str, None] = field(default_factory=dict)
    ignored: dict[str, None] = field(default_factory=dict)
    kept: dict[str, list[int]] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    labelled: dict[str, str] = field(default_factory=dict)
    together: dict[str, int] = field(default_factory=dict)
    abreast: dict[str, None] = field(default_factory=dict)
    lines: int = 0

    def look(self, values: Sequence[Any]) -> None:
        """Find out by the first values of a file what those of its lists are for whose names do not tell."""
        rows = [Spreading()._flat(_as_row(value)) for value in values]
        self.labelled = labelled_objects(rows)
        self.parts = parts_of([unpacked(row, self.labelled) for row in rows])

    def spread(self, line: int, value: Any) -> Iterator[Row]:
        """The rows, of plain values, that one value of a file stands for."""
        if type(value) is dict and not any(type(cell) in _NESTED for cell in value.values()):
            yield _as_row(value)  # by far the most rows are plain
            return
        row = {key: cell for key, cell in self._flat(_as_row(value)).items() if cell is not None or _squeezed(key) not in IGNORED}
        row = unpacked(row, self.labelled)
        lists = [key for key, cell in row.items() if isinstance(cell, list | tuple)]
        if not lists:
            yield self._plain(line, row)
            return
        many: list[Row] = [{}]
        single: Row = {}
        abreast = [key for key in lists if self.parts.get(key) == "abreast"]
        if abreast:
            self.abreast.update(dict.fromkeys(abreast))
            cells = zip_longest(*(row[key] for key in abreast), fillvalue="")
            many = [dict(zip(abreast, map(_text, part), strict=True)) for part in cells]
            many = many or [{}]
        for key, cell in row.items():
            role = self._role(key, cell, row) if key in lists else "plain"
            if role == "ignored":
                self.ignored[key] = None
            elif role == "rows" and len(many) == 1 and cell:
                self.rows[key] = None
                many = [{key: _text(part)} for part in cell]
                single[key] = ""
            elif role == "star":
                self.rows[key] = None
                many = [{"text1": _text(cell[0]), "text2": _text(part)} for part in cell[1:]]
                single.update({"text1": "", "text2": ""})
            elif role == "together":
                self.together[key] = self.together.get(key, 0) + 1
                many = [{key: _text(cell[0]), f"{key}_2": _text(part)} for part in cell[1:] or [""]]
                single.update({key: "", f"{key}_2": ""})
            elif role in ("rows", "columns", "side"):
                self.columns[key] = None
                single.update(_columns(key, [_text(part) for part in cell], side=role == "side"))
            else:
                single[key] = "" if role == "abreast" else cell
        self.lines += len(many) > 1
        for part in many:
            yield self._plain(line, {**single, **part})

    def notes(self) -> tuple[Finding, ...]:
        """What to tell of it."""
        said = []
        if self.rows and self.lines:
            names = _names(self.rows)
            message = (
                f"each text in a list of {names} became a row of its own ({count(self.lines, 'line')}); rows of one line share its number"
            )
            said.append(Finding("info", message))
        for key, times in self.together.items():
            message = f"the texts in a list of {key!r} are taken to belong together: each makes a pair with the first of its list"
            said.append(Finding("info", f"{message} ({count(times, 'line')}); rows of one line share its number"))
        if self.abreast:
            message = f"the elements of {_names(self.abreast)} at one place make a row"
            said.append(Finding("info", f"{message} ({count(self.lines, 'line')}); rows of one line share its number"))
        if self.columns:
            said.append(Finding("info", f"the lists of {_names(self.columns)} became columns"))
        if self.objects:
            said.append(Finding("info", f"the parts of {_names(self.objects)} became columns"))
        if self.ignored:
            said.append(Finding("info", f"{_names(self.ignored)} belong to the texts of other lists and were left out"))
        for key, lines in self.kept.items():
            message = f"{key!r} holds lists or objects that cannot be spread; they stay as JSON text"
            said.append(Finding("warning", message, tuple(dict.fromkeys(lines))))
        return tuple(said)

    def _flat(self, row: Row) -> Row:
        """The row with its objects taken apart: ``translation: {en, de}`` → ``en``, ``de``, after the object's name if two names clash."""
        if not any(isinstance(cell, Mapping) for cell in row.values()):
            return row
        if isinstance(row.get(_WRAPPER), Mapping) and all(key in (_WRAPPER, "row_idx", "truncated_cells") for key in row):
            return self._flat(_as_row(row[_WRAPPER]))
        flat: Row = {}
        for key, cell in row.items():
            if isinstance(cell, Mapping) and cell:
                self.objects[key] = None
                text = text_of(cell) if len(cell) <= 3 else None
                for name, part in cell.items() if text is None else {key: text}.items():
                    clash = name != key and (name in row or name in flat)
                    flat[f"{key}_{name}" if clash else str(name)] = part
            else:
                flat[key] = "" if isinstance(cell, Mapping) else cell
        return flat

    def _role(self, key: str, cell: Any, row: Mapping[str, Any]) -> str:
        """What the list under ``key`` is for: by what the file's lists are, else by its name; see :func:`_role`."""
        part = self.parts.get(key)
        if part == "abreast":
            return "abreast"
        if is_conversation(cell) or (part and not are_texts(cell)):
            return ""
        if part == "together" and cell:
            return "together"
        return "rows" if part == "each" else _role(key, cell, row)

    def _plain(self, line: int, row: Row) -> Row:
        """The row with texts for the values that are none; what holds more than one stays as it is, and is noted."""
        plain = {key: _single(cell) for key, cell in row.items()}
        for key, cell in plain.items():
            if isinstance(cell, Mapping | list | tuple):
                self.kept.setdefault(key, []).append(line)
        return plain


def _single(cell: Any) -> Any:
    """The one value that a list or object of text holds, ``""`` for an empty one; else the value as it is."""
    if isinstance(cell, Mapping):
        text = text_of(cell) if len(cell) <= 3 else None
        return (cell or "") if text is None else text
    if isinstance(cell, list | tuple):
        return "" if not cell else cell[0] if len(cell) == 1 and not isinstance(cell[0], Mapping | list | tuple) else cell
    return cell


def _as_row(value: Any) -> Row:
    if isinstance(value, Mapping):
        return {str(key).strip() or "column_1": cell for key, cell in value.items()} or {"text": ""}
    if isinstance(value, list | tuple):
        return {f"column_{index}": cell for index, cell in enumerate(value, start=1)} or {"text": ""}
    return {"text": value}


def _role(key: str, cell: Any, row: Mapping[str, Any]) -> str:
    """What the list under ``key`` is for.

    ``rows``: each text a row of its own; ``star``: each but the first a row together with the first; ``columns``: a column
    each; ``side``: columns of texts side by side; ``ignored``; ``""`` where it is no list of texts.
    """
    name = _squeezed(key)
    if name in IGNORED or not are_texts(cell):
        return "ignored" if name in IGNORED else ""
    negative = bool(NEGATIVE.fullmatch(name)) or name in NEGATIVES
    if negative or len(cell) < 2:
        return "columns" if negative else "rows" if name in POSITIVES and len(row) > 1 else ""
    if name in POSITIVES and len(row) > 1:
        return "rows"
    if name in PAIRS or len(row) == 1:
        side = len(cell) == 2 or (len(cell) == 3 and name not in PAIRS)
        return "side" if side else "star" if name in PAIRS - DOCUMENT else "rows"
    return ""


@lru_cache(maxsize=4096)
def _squeezed(key: str) -> str:
    return normalize(key)


def _text(part: Any) -> Any:
    return text_of(part) if isinstance(part, Mapping) else part


def _columns(key: str, cells: Sequence[Any], *, side: bool) -> Row:
    """A column an element: ``text1, text2`` for texts side by side, else ``negatives, negatives_2, …``."""
    if side:
        return {f"text{index}": cell for index, cell in enumerate(cells, start=1)}
    return {(key if index == 1 else f"{key}_{index}"): cell for index, cell in enumerate(cells or [""], start=1)}


def _names(keys: Mapping[str, Any]) -> str:
    return ", ".join(repr(key) for key in keys)
