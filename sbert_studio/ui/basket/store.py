"""Baskets of all visitors: in memory, and on disk for the next visit."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...explore.vector_store import evict_files
from ...workspace import validate_key, write_json
from .pairs import MAX_PAIRS, Basket, LabelledPair

if TYPE_CHECKING:
    from ...workspace import Workspace
    from ..sessions.memory_store import TypedStore

NOT_SAVED = "The disk is full: these pairs last until the app is closed. Download them."
DAMAGED = "The saved pairs can no longer be read. Their file was set aside, and this basket starts empty."
_DAY = 86_400


class BasketStore:
    """One basket for each visitor.

    Args:
        memory: baskets with their undo history.
        quota: bytes of all files; the least recently changed ones are deleted first.
        days: after which an unchanged file is deleted; 0 for never.
    """

    def __init__(self, workspace: Workspace, memory: TypedStore[Basket], quota: int, days: int = 0) -> None:
        self._workspace, self._memory, self._quota, self._days = workspace, memory, quota, days
        self._lock = threading.RLock()
        self._warnings: dict[str, str] = {}

    def of(self, visitor: str) -> Basket:
        """Return a visitor's basket, empty at first."""
        with self._lock:
            name = _memory_key(visitor)
            return self._memory.get(name) if name in self._memory else Basket(self._read(visitor))

    def warning(self, visitor: str) -> str:
        """Return a message if a visitor's basket is not saved; otherwise an empty text."""
        return self._warnings.get(visitor, "")

    def change(self, visitor: str, change: Callable[[Basket], Basket]) -> Basket:
        """Apply a change and save the basket. If the disk is full, it lasts as long as the app.

        Raises:
            StudioError: raised by ``change``; the basket then stays as it is.
        """
        with self._lock:
            before = self.of(visitor)
            after = change(before)
            if after is not before:
                self._memory.put(after, _memory_key(visitor))
                self._write(visitor, after)
            return after

    def sweep(self, now: float | None = None) -> None:
        """Delete files that were not changed for longer than they are stored."""
        if not self._days:
            return
        now = time.time() if now is None else now
        for path in self._workspace.baskets.glob("*.*"):
            with suppress(OSError):  # changed meanwhile, or held by another program
                if now - path.stat().st_mtime > self._days * _DAY:
                    path.unlink()

    def _path(self, visitor: str) -> Path:
        return self._workspace.baskets / f"{validate_key(visitor)}.json"

    def _read(self, visitor: str) -> tuple[LabelledPair, ...]:
        """Return the saved pairs; none if the file is missing, or damaged and set aside."""
        path = self._path(visitor)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            pairs = [LabelledPair(str(a), str(b), bool(together), str(source)) for a, b, together, source in content[:MAX_PAIRS]]
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            aside = path.with_suffix(".damaged")
            with suppress(OSError):
                path.replace(aside)
            self._warnings[visitor] = f"{DAMAGED} ({aside})" if visitor == "local" else DAMAGED
            return ()
        return Basket().add(pairs).pairs

    def _write(self, visitor: str, basket: Basket) -> None:
        path = self._path(visitor)
        try:
            if not basket.pairs:
                path.unlink(missing_ok=True)
                self._warnings.pop(visitor, None)
                return
            write_json(path, [[pair.a, pair.b, pair.together, pair.source] for pair in basket.pairs])
            evict_files(path.parent, self._quota, path, "*.json")
            self._warnings.pop(visitor, None)
        except (OSError, ValueError):  # a lone surrogate, as a page may send, is a ValueError
            self._warnings[visitor] = NOT_SAVED


def _memory_key(visitor: str) -> str:
    return f"basket of {visitor}"
