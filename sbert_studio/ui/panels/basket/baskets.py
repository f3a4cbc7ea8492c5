"""The baskets of all visitors: in memory among what they have chosen, and on disk so that a reload finds them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ....explore.vector_store import evict_files
from ....workspace import key, write_json
from .pairs import MOST, Basket, Pair

if TYPE_CHECKING:
    from ....workspace import Workspace
    from ...visitors.shelves import Shelf


NOT_KEPT = "The disk takes nothing more: these pairs last until the app is closed. Download them."
DAMAGED = "The pairs that were here can no longer be read. Their file was set aside, and this basket begins anew."


class Baskets:
    """A basket a visitor.

    Args:
        shelf: where they lie in memory, with what can be undone.
        room: bytes that the files of all may take; the one that was not used for longest goes first.
        days: how long a file stays that is not used; 0: for ever.
    """

    def __init__(self, workspace: Workspace, shelf: Shelf[Basket], room: int, days: int = 0) -> None:
        self._workspace, self._shelf, self._room, self._days = workspace, shelf, room, days
        self._lock = threading.RLock()
        self._trouble: dict[str, str] = {}

    def of(self, visitor: str) -> Basket:
        """A visitor's basket; empty before anything was put there."""
        with self._lock:
            name = _name(visitor)
            if name in self._shelf:
                return self._shelf.get(name)
            return Basket(self._read(visitor))

    def trouble(self, visitor: str) -> str:
        """What has to be said of a visitor's basket; empty where it is kept as it is."""
        return self._trouble.get(visitor, "")

    def change(self, visitor: str, act: Callable[[Basket], Basket]) -> Basket:
        """The basket after ``act``, kept. Where the disk takes nothing it lasts as long as the page.

        Raises:
            StudioError: what ``act`` raises; nothing is changed then.
        """
        with self._lock:
            before = self.of(visitor)
            now = act(before)
            if now is not before:
                self._shelf.put(now, _name(visitor))
                self._write(visitor, now)
            return now

    def sweep(self, now: float | None = None) -> None:
        """Delete the files that were not used for longer than they are kept."""
        if not self._days:
            return
        now = time.time() if now is None else now
        for path in self._workspace.baskets.glob("*.*"):
            try:
                if now - path.stat().st_mtime > self._days * 86_400:
                    path.unlink()
            except OSError:
                continue  # its owner has changed it, or another program holds it

    def _file(self, visitor: str) -> Path:
        return self._workspace.baskets / f"{key(visitor)}.json"

    def _read(self, visitor: str) -> tuple[Pair, ...]:
        """The pairs in a visitor's file; none where it is missing, or damaged and set aside."""
        path = self._file(visitor)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            pairs = [Pair(str(a), str(b), bool(together), str(source)) for a, b, together, source in found[:MOST]]
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            aside = path.with_suffix(".damaged")
            with suppress(OSError):
                path.replace(aside)
            self._trouble[visitor] = f"{DAMAGED} ({aside})" if visitor == "local" else DAMAGED
            return ()
        return Basket().add(pairs).pairs

    def _write(self, visitor: str, basket: Basket) -> None:
        path = self._file(visitor)
        try:
            if not basket.pairs:
                path.unlink(missing_ok=True)
                self._trouble.pop(visitor, None)
                return
            write_json(path, [[pair.a, pair.b, pair.together, pair.source] for pair in basket.pairs])
            evict_files(path.parent, self._room, path, "*.json")
            self._trouble.pop(visitor, None)
        except (OSError, ValueError):  # half a letter, as a page may send, is a ValueError
            self._trouble[visitor] = NOT_KEPT


def _name(visitor: str) -> str:
    return f"basket of {visitor}"
