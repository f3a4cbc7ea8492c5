"""The search indexes of the corpora used of late, so that the second query does not build them again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")
_KEPT = 4


class Indexes:
    """A small cache by use: what was not asked for longest goes first. One build at a time for each key.

    Args:
        kept: how many indexes stay; each holds about as much memory as its corpus' vectors.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._items: OrderedDict[Hashable, object] = OrderedDict()

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """The index of ``key``, built if it is not here."""
        with self._lock:
            own = self._locks.setdefault(key, threading.Lock())
        with own:
            with self._lock:
                if key in self._items:
                    self._items.move_to_end(key)
                    return self._items[key]  # type: ignore[return-value]
            made = build()
            with self._lock:
                self._items[key] = made
                while len(self._items) > self._kept:
                    old, _ = self._items.popitem(last=False)
                    self._locks.pop(old, None)
            return made
