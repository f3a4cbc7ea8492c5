"""What the database knows of a run, once more as files in the run's folder, so that a lost database loses nothing.

``run.json`` is the row, ``events.jsonl`` the events. They are also where the end of a run is noted while the database takes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...workspace import atomic_file
from .sound import event_of, parsed, row_is_sound

_ROW, _EVENTS = "run.json", "events.jsonl"
# The file is filled up with blanks to whole blocks of a disk: on a full one it can still be written over.
_BLOCK = 4096
_GUARD = threading.Lock()


class Mirror:
    """The two files of one run. Nothing here raises for a disk that takes nothing: the database comes first.

    Args:
        folder: the run's; where it does not exist, nothing is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Whether there is a row."""
        return (self.folder / _ROW).is_file()

    def read(self) -> dict[str, Any] | None:
        """The row; ``None`` where there is none, or it is damaged."""
        try:
            row = parsed((self.folder / _ROW).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return row if row is not None and row.get("id") == self.folder.name and row_is_sound(row) else None

    def write(self, row: Mapping[str, Any]) -> bool:
        """Write the whole row; whether it now stands there."""
        if not self.folder.is_dir():
            return False
        text = json.dumps(dict(row), ensure_ascii=False, indent=1).encode("utf-8", "replace")
        text = text.ljust(-(-(len(text) + 1) // _BLOCK) * _BLOCK - 1) + b"\n"
        with _GUARD:
            try:
                with atomic_file(self.folder / _ROW) as part:
                    part.write_bytes(text)
            except OSError:
                return self._over(text)
        return True

    def change(self, changes: Mapping[str, Any]) -> bool:
        """Change some of the row's values; whether they now stand there."""
        row = self.read()
        return row is not None and self.write({**row, **changes})

    def append(self, event: Mapping[str, Any]) -> None:
        """Add an event."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            line = json.dumps({"time": time.time(), **event}, ensure_ascii=False, separators=(",", ":"))
            if self.folder.is_dir():
                with (self.folder / _EVENTS).open("a", encoding="utf-8", errors="replace") as target:
                    target.write(line + "\n")

    def events(self) -> Iterator[tuple[float, dict[str, Any]] | None]:
        """The time and the values of each event, in order; ``None`` for one that is damaged. A last line that was cut off is left out."""
        try:
            text = (self.folder / _EVENTS).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        lines = text.split("\n")
        for number, line in enumerate(lines, start=1):
            event = event_of(line) if line.strip() else None
            if event is not None or (line.strip() and number < len(lines)):
                yield event

    def forget(self) -> None:
        """Remove the row: what it says is no longer so, and it cannot be written anew."""
        with contextlib.suppress(OSError):
            (self.folder / _ROW).unlink(missing_ok=True)

    def _over(self, text: bytes) -> bool:
        """Write in the place of the old text, for which no new block of the disk is needed."""
        path = self.folder / _ROW
        try:
            if not path.is_file() or path.stat().st_size < len(text):
                return False
            with path.open("r+b") as target:
                target.write(text)
                target.truncate()
                target.flush()
                os.fsync(target.fileno())
        except OSError:
            return False
        return True
