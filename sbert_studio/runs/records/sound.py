"""Whether what a file in a run's folder tells can have been written by this program: a file is data, and anybody may have written it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, get_args

from ...errors import is_text
from .record import Run, Status

DEEPEST = 40  # lists in lists; what a run tells of itself has five
_LARGEST = 1 << 53
_LARGEST_PROCESS = (1 << 31) - 1
_LATEST = 1e11  # seconds since 1970
_PARTS = ("spec", "before", "after")
_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST,
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300,
    "str": lambda value: isinstance(value, str) and is_text(value),
    "bool": lambda value: isinstance(value, bool),
}
_COLUMNS: dict[str, str] = {
    **{item.name: str(item.type) for item in fields(Run) if item.type in ("int", "float", "str")},
    "model_path": "str",
    "birth": "str",
    "rowid": "int",
    "process": "int",
    "stop": "int",
}
_EACH = re.compile(r"tuple\[(int|float|str), \.\.\.\]")
# What must stand in an event of a type, for the page reads it.
_NEEDED = {
    "step": ("step",),
    "evaluated": ("step",),
    "started": ("dev_rows",),
    "notice": ("message",),
    "phase": ("title",),
    "pinned": ("step", "similarities"),
    "part": ("number", "of", "title"),
    "partended": ("title",),
}


def parsed(text: str) -> dict[str, Any] | None:
    """The JSON object ``text``; ``None`` where it is none, or holds what no run tells: half characters, depths without end."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_plain(value) else None


def row_is_sound(row: Mapping[str, Any]) -> bool:
    """Whether each value of a run's row is of its column's type and can be kept in it."""
    for name, value in row.items():
        if name in _PARTS:
            known = parsed(value) if isinstance(value, str) else None
            if known is None or (name != "spec" and not _scores_are_sound(known)):
                return False
        elif name == "model_path" and value is None:
            continue
        elif name == "status":
            if value not in get_args(Status):
                return False
        elif name in _COLUMNS and not _KINDS[_COLUMNS[name]](value):
            return False
    return row.get("process", 0) <= _LARGEST_PROCESS and ("created" not in row or _is_moment(row["created"]))


def event_of(text: str) -> tuple[float, dict[str, Any]] | None:
    """The time and the rest of an event that was written as a line of JSON; ``None`` where it is damaged."""
    event = parsed(text)
    moment = event.pop("time", None) if event is not None else None
    if event is None or moment is None or not _KINDS["float"](moment) or not 0 <= moment < _LATEST:
        return None
    return (float(moment), event) if _event_is_sound(event) else None


def _event_is_sound(event: Mapping[str, Any]) -> bool:
    from ...training.events import event_fields

    kind = event.get("type")
    if not isinstance(kind, str) or any(event.get(name) is None for name in _NEEDED.get(kind, ())):
        return False
    if kind == "evaluated" and event.get("score") is not None and not isinstance(event.get("metric"), str):
        return False
    if kind == "partended" and event.get("after") and not all(_has_score(event.get(name)) for name in ("before", "after")):
        return False
    for name, type_of in event_fields(kind).items():
        value = event.get(name)
        if value is None:  # a number that was none is written so
            continue
        if not _is_of(type_of, value):
            return False
    return True


def _is_of(type_of: str, value: Any) -> bool:
    """Whether a value of an event can be of a type, as it is written in :mod:`~sbert_studio.training.events`."""
    if each := _EACH.fullmatch(type_of):
        return isinstance(value, list) and all(map(_KINDS[each[1]], value))
    if type_of.startswith("Mapping"):
        return isinstance(value, dict)
    return type_of not in _KINDS or _KINDS[type_of](value)


def _scores_are_sound(scores: Mapping[str, Any]) -> bool:
    return not scores or scores.get("score") is None or _has_score(scores)


def _has_score(scores: Any) -> bool:
    score = scores.get("score") if isinstance(scores, dict) else None
    return isinstance(score, float) or _KINDS["float"](score)


def _is_moment(text: Any) -> bool:
    try:
        datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return False
    return True


def _is_plain(value: Any, depth: int = 0) -> bool:
    if depth > DEEPEST:
        return False
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, dict):
        return all(is_text(name) and _is_plain(item, depth + 1) for name, item in value.items())
    if isinstance(value, list):
        return all(_is_plain(item, depth + 1) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 1 << 63
    return True
