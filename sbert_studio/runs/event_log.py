"""Event log of a run: JSON Lines, numbered from 1; processes append to it, and pages follow it."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from ..i18n import _, restore_messages, store_messages
from .run import Count, Number, parse_json

EVENTS_FILE = "events.jsonl"
_TAIL = 1 << 16  # bytes
# Fields that the page requires. All others may be missing: earlier versions did not write them.
_REQUIRED = {
    "step": ("step",),
    "evaluated": ("step", "metric"),
    "started": ("dev_rows",),
    "notice": ("message",),
    "phase": ("title",),
    "pinned": ("step", "similarities"),
    "part": ("number", "of", "title"),
    "partended": ("title",),
}


def dump_event(event: Mapping[str, Any]) -> bytes:
    """Return an event as a line of the log, with the current time."""
    return (
        json.dumps({"time": time.time(), **store_messages(event)}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        + b"\n"
    )


def load_event(line: str | bytes) -> dict[str, Any] | None:
    """Return the event of a line, or ``None`` if it is damaged; the file may have been edited by anyone."""
    try:
        event = parse_json(line)
        if not isinstance(event, dict):
            return None
        event = restore_messages(event)
        model = _models().get(event.get("type", 0), _AnyEvent)
        model.model_validate(event)
    except (ValueError, TypeError):
        return None
    return event


class EventLog:
    """Events of one run. Positions of lines are remembered, so that polling reads only new lines.

    Args:
        folder: the run's folder. Nothing is written if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / EVENTS_FILE
        self._guard = threading.Lock()
        self._starts: list[int] = []  # start positions of complete lines
        self._end = 0
        self._damaged: set[int] = set()

    @property
    def damaged(self) -> int:
        return len(self._damaged)

    def append(self, lines: bytes) -> None:
        """Append complete lines, or none if the file cannot be written.

        Raises:
            OSError: the file cannot be written.
        """
        if not self._path.parent.is_dir():
            raise FileNotFoundError(_("{parent} is missing", parent=self._path.parent))
        with self._path.open("ab+", buffering=0) as target:
            if size := target.seek(0, 2):
                target.seek(size - 1)
                if target.read(1) != b"\n":  # a process was killed while it wrote the last line
                    lines = b"\n" + lines
            if target.write(lines) != len(lines):  # the disk is full
                target.truncate(size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def read(self, after: int = 0, limit: int = 100_000) -> list[tuple[int, dict[str, Any]]]:
        """Return the events numbered above ``after``, each with its number. Damaged lines are skipped, but counted."""
        with self._guard:
            self._find_lines()
            after = max(after, 0)
            last = min(after + limit, len(self._starts))
            if after >= last:
                return []
            start, end = self._starts[after], self._end if last == len(self._starts) else self._starts[last]
            with self._path.open("rb") as source:
                source.seek(start)
                lines = source.read(end - start).split(b"\n")
            found = []
            for number, line in enumerate(lines[: last - after], start=after + 1):
                if (event := load_event(line)) is not None:
                    found.append((number, event))
                elif line.strip():
                    self._damaged.add(number)
            return found

    def newest(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open("rb") as source:
                start = max(source.seek(0, 2) - _TAIL, 0)
                source.seek(start)
                lines = source.read().split(b"\n")
        except OSError:
            return
        for line in reversed(lines[1 if start else 0 : -1]):
            if (event := load_event(line)) is not None:
                yield event

    def _find_lines(self) -> None:
        try:
            with self._path.open("rb") as source:
                if source.seek(0, 2) < self._end:  # edited by hand
                    self._starts, self._end, self._damaged = [], 0, set()
                source.seek(self._end)
                added = source.read()
        except OSError:
            self._starts, self._end = [], 0
            return
        for line in added.split(b"\n")[:-1]:
            self._starts.append(self._end)
            self._end += len(line) + 1


class _AnyEvent(BaseModel):
    model_config = ConfigDict(strict=True)

    time: Annotated[float, Field(ge=0, lt=1e11)]
    type: str


@cache
def _models() -> dict[str, type[BaseModel]]:
    from ..training.events import Event

    return {kind.__name__.lower(): _model_of(kind) for kind in get_args(Event)}


def _model_of(kind: type) -> type[BaseModel]:
    # Fields may be null, for example numbers that were NaN.
    name = kind.__name__.lower()
    required = _REQUIRED.get(name, ())
    fields: dict[str, Any] = {}
    for field, hint in get_type_hints(kind).items():
        checked = _checked(hint)
        if name == "partended" and field in ("before", "after"):
            checked = Annotated[checked, AfterValidator(_require_score)]
        fields[field] = (checked, ...) if field in required else (checked | None, None)
    return create_model(kind.__name__, __base__=_AnyEvent, **fields)


def _checked(hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return list[_checked(get_args(hint)[0])]  # type: ignore[misc]
    if get_origin(hint) is not None:
        return dict[str, Any]
    return {int: Count, float: Number}.get(hint, hint)


def _require_score(scores: dict[str, Any]) -> dict[str, Any]:
    score = scores.get("score")
    if scores and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise ValueError("scores without a score")
    return scores
