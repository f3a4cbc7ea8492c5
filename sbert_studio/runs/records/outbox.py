"""What was told of runs and is not in the database yet, for runs go on though the database takes nothing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import StudioError
from .database import Database
from .statements import write

SHORT = 2.0  # seconds that a run waits for the database
_AGAIN = 15.0  # seconds between two tries to write what the database did not take
_MOST = 20_000
log = logging.getLogger(__name__)


class Outbox:
    """Events and changes of runs in the order in which they were told. Safe for several threads.

    Args:
        let_go: called with a run that is done with, once all that was told of it is written.
    """

    def __init__(self, database: Database, let_go: Callable[[str], None]) -> None:
        self._database, self._let_go = database, let_go
        self._items: list[tuple[str, str | None, float, dict[str, Any]]] = []
        self._done: set[str] = set()  # runs to be let go when what waits is written
        self._troubled, self._next_try = False, 0.0
        self._guard = threading.RLock()

    def add(self, run_id: str, body: str | None, row: dict[str, Any]) -> None:
        """Keep an event, as its body, and changed columns until they are written."""
        with self._guard:
            self._items.append((run_id, body, time.time(), row))
            if len(self._items) > _MOST:  # curves may have gaps; how a run ended may not
                self._items = [item for item in self._items[: _MOST // 2] if item[3]] + self._items[_MOST // 2 :]

    def changes(self, run_id: str) -> Mapping[str, Any]:
        """The columns of a run as they will be."""
        with self._guard:
            return {name: value for item in self._items if item[0] == run_id for name, value in item[3].items()}

    def keeps(self, run_id: str) -> bool:
        """Whether anything waits of a run that is done with; it is let go once that is written."""
        with self._guard:
            waits = any(item[0] == run_id for item in self._items)
            if waits:
                self._done.add(run_id)
            return waits

    def write(self, at_once: bool = False) -> None:
        """Write what waits, all or none; runs that are done with are let go. After a refusal the next try comes a while later.

        Args:
            at_once: try, however short ago the last refusal was.
        """
        with self._guard:
            if not self._items or (not at_once and time.monotonic() < self._next_try):
                return
            items, self._items = self._items, []
            try:
                self._database.change(lambda db: [write(db, *item) for item in items], SHORT)
                self._troubled = False
                while self._done:
                    self._let_go(self._done.pop())
            except StudioError as error:
                self._items = items + self._items
                self._next_try = time.monotonic() + _AGAIN
                if not self._troubled:
                    self._troubled = True
                    log.warning("%s; runs go on, and what they tell is written later", error.message)
            except Exception:
                # One of them is at fault; the others are written.
                for item in items:
                    try:
                        self._database.change(lambda db, item=item: write(db, *item), SHORT)  # type: ignore[misc]
                    except Exception:
                        log.warning("an event of run %s could not be written", item[0], exc_info=True)
