"""Nested values → plain cells: lists of positives become rows, lists of negatives become columns, objects become columns.

The layouts that people train with, as they come: FlagEmbedding's ``{"query", "pos": […], "neg": […]}``, sentence-transformers'
``{"set": […]}``, ``{"query", "pos": […]}`` and ``{"texts": [a, b], "score"}``, ``{"anchor", "positive", "negatives": […]}``, the
Hub's ``{"translation": {"en", "de"}}`` and ``{"row": {…}}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ...findings import Finding, count
from ...label_words import squeeze
from ...name_lexicon import NEGATIVE, POSITIVE

Row = dict[str, Any]

_POSITIVE = POSITIVE | {"positivepassages", "positivectxs", "poslist", "positivetexts"}
_NEGATIVE = frozenset({"negativepassages", "negativectxs", "hardnegativectxs", "negativetexts", "neglist"})
_PAIRS = frozenset({"texts", "set", "pair", "sentences", "sentencepair", "pairs"})
_DOCUMENT = frozenset({"texts", "sentences"})
_TEXT_KEYS = ("text", "content", "sentence", "passage", "body", "title")
_IGNORED = frozenset({"posscores", "negscores", "posid", "negid", "posids", "negids", "idxs", "type"})
_WRAPPER = "row"
_NESTED = (dict, list, tuple)


@dataclass
class Spreading:
    """What became of the nested values of a file, by key: for the notes at the end.

    Attributes:
        rows, columns, objects: keys whose lists became rows, whose lists became columns, whose objects became columns.
        ignored: keys whose lists belong to the lists beside them, such as ``pos_scores``, and were left out.
        kept: keys whose values could not be spread, with the lines on which they stay as JSON text.
        lines: lines that became several rows.
    """

    rows: dict[str, None] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)
    objects: dict[str, None] = field(default_factory=dict)
    ignored: dict[str, None] = field(default_factory=dict)
    kept: dict[str, list[int]] = field(default_factory=dict)
    lines: int = 0

    def spread(self, line: int, value: Any) -> Iterator[Row]:
        """The rows, of plain values, that one value of a file stands for."""
        if type(value) is dict and not any(type(cell) in _NESTED for cell in value.values()):
            yield _as_row(value)  # by far the most rows are plain
            return
        row = {key: cell for key, cell in self._flat(_as_row(value)).items() if cell is not None or _squeezed(key) not in _IGNORED}
        lists = [key for key, cell in row.items() if isinstance(cell, list | tuple)]
        if not lists:
            yield self._plain(line, row)
            return
        many: list[Row] = [{}]
        single: Row = {}
        for key, cell in row.items():
            role = _role(key, cell, row) if key in lists else "plain"
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
            elif role in ("rows", "columns", "side"):
                self.columns[key] = None
                single.update(_columns(key, [_text(part) for part in cell], side=role == "side"))
            else:
                single[key] = cell
        self.lines += len(many) > 1
        for part in many:
            yield self._plain(line, {**single, **part})

    def notes(self) -> tuple[Finding, ...]:
        """What to tell of it."""
        said = []
        if self.lines:
            names = _names(self.rows)
            message = (
                f"each text in a list of {names} became a row of its own ({count(self.lines, 'line')}); rows of one line share its number"
            )
            said.append(Finding("info", message))
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
                text = _text_of(cell) if len(cell) <= 3 else None
                for name, part in cell.items() if text is None else {key: text}.items():
                    clash = name != key and (name in row or name in flat)
                    flat[f"{key}_{name}" if clash else str(name)] = part
            else:
                flat[key] = "" if isinstance(cell, Mapping) else cell
        return flat

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
        text = _text_of(cell) if len(cell) <= 3 else None
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
    if name in _IGNORED or not _are_texts(cell):
        return "ignored" if name in _IGNORED else ""
    negative = bool(NEGATIVE.fullmatch(name)) or name in _NEGATIVE
    if negative or len(cell) < 2:
        return "columns" if negative else "rows" if name in _POSITIVE and len(row) > 1 else ""
    if name in _POSITIVE and len(row) > 1:
        return "rows"
    if name in _PAIRS or len(row) == 1:
        side = len(cell) == 2 or (len(cell) == 3 and name not in _PAIRS)
        return "side" if side else "star" if name in _PAIRS - _DOCUMENT else "rows"
    return ""


def _are_texts(cell: Any) -> bool:
    return isinstance(cell, list | tuple) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and _text_of(part) is not None) for part in cell
    )


@lru_cache(maxsize=4096)
def _squeezed(key: str) -> str:
    return squeeze(key)


def _text(part: Any) -> Any:
    return _text_of(part) if isinstance(part, Mapping) else part


def _text_of(cell: Mapping[str, Any]) -> str | None:
    """The text of an object that wraps one, such as a passage with its title and id; None if it is no such object."""
    for key in _TEXT_KEYS:
        if isinstance(text := cell.get(key), str):
            return text
    return None


def _columns(key: str, cells: Sequence[Any], *, side: bool) -> Row:
    """A column an element: ``text1, text2`` for texts side by side, else ``negatives, negatives_2, …``."""
    if side:
        return {f"text{index}": cell for index, cell in enumerate(cells, start=1)}
    return {(key if index == 1 else f"{key}_{index}"): cell for index, cell in enumerate(cells or [""], start=1)}


def _names(keys: Mapping[str, Any]) -> str:
    return ", ".join(repr(key) for key in keys)
