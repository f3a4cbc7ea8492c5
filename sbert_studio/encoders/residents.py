"""The last few models used, in memory, each loaded once however many threads ask for it at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Residents(Generic[T]):
    """At most ``capacity`` values by key; the one that was asked for longest ago leaves first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = max(1, capacity)
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of ``key``, made by ``make`` where it is not in memory; other keys can be had meanwhile."""
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
            value = make()
            with self._lock:
                self._kept[key] = value
                while len(self._kept) > self.capacity:
                    gone, _ = self._kept.popitem(last=False)
                    self._turns.pop(gone, None)
        return value
