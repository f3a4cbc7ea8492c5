"""Visitors' values in memory, by key: pages store only keys, and each visitor has a quota."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from ...caches import estimate_bytes
from ...errors import StudioError
from ...i18n import _
from .tasks import client_address, session_id

T = TypeVar("T")
_CLOSED_SECONDS = 600.0  # seconds for which a closed page's values are kept, because a lost connection looks the same
_MAX_REMOVED = 4096  # number of evicted keys remembered for the error message
# Reasons why a value was removed.
_CROWDED, _OVER_QUOTA, _ON_REQUEST, _CLOSED = range(4)


@dataclass
class _Item:
    value: object
    size: int
    session: str
    address: str
    kind: str
    number: int


class MemoryStore:
    """Least recently used cache of the values of all pages.

    A page that exceeds its quota loses its own oldest values. Only if all pages together exceed the total, values are evicted from the
    address with the largest total, starting with closed pages.

    Args:
        total, each: quotas in bytes. The newest value is kept even if it alone exceeds them.
    """

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        self._items: OrderedDict[str, _Item] = OrderedDict()
        self._closed: dict[str, float] = {}
        self._removed: OrderedDict[str, int] = OrderedDict()
        self._numbers = itertools.count()
        self._lock = threading.RLock()

    @property
    def bytes(self) -> int:
        with self._lock:
            return sum(item.size for item in self._items.values())

    def put(self, value: object, key: str | None, kind: str = "") -> str:
        """Store a value for the calling page, replacing that of ``key``, and return its key. The same object keeps its key."""
        session, size = session_id(), estimate_bytes(value)
        with self._lock:
            self.sweep()
            self._closed.pop(session, None)  # only the connection was lost
            replaced = self._items.get(key) if key else None
            key = key or self._find(value, session) or secrets.token_urlsafe(16)
            number = next(self._numbers) if replaced is None else replaced.number
            self._items[key] = _Item(value, size, session, client_address(), kind, number)
            self._items.move_to_end(key)
            self._make_room(key, session)
        return key

    def get(self, key: object, kind: str) -> object:
        with self._lock:
            if not isinstance(key, str) or key not in self._items:
                reason = self._removed.get(key) if isinstance(key, str) else None
                raise StudioError(_describe_removal(kind, reason), "choose it again")
            if kind and self._items[key].kind not in ("", kind):
                raise StudioError(_("this is not a {kind}", kind=kind), "choose one")
            self._items.move_to_end(key)
            return self._items[key].value

    def is_of_session(self, key: str, session: str) -> bool:
        """Return whether a page with this session id stored the value of ``key``."""
        with self._lock:
            item = self._items.get(key)
        return item is not None and bool(session) and secrets.compare_digest(item.session.encode(), session.encode())

    def last(self, kind: str) -> str | None:
        """Return the key of the newest value of a kind that the calling page has stored, whichever was read or replaced last."""
        session = session_id()
        with self._lock:
            own = [(item.number, key) for key, item in self._items.items() if (item.kind, item.session) == (kind, session)]
        return max(own)[1] if own else None

    def remove(self, key: str) -> None:
        with self._lock:
            if key in self._items:
                self._drop(key, _ON_REQUEST)

    def close(self, session: str) -> None:
        """Record that a page was closed or lost its connection. Its values are removed after ten minutes, or when memory is needed."""
        with self._lock:
            self._closed[session] = time.monotonic()

    def sweep(self) -> None:
        """Remove the values of pages that were closed a while ago."""
        with self._lock:
            over = {session for session, closed in self._closed.items() if time.monotonic() - closed > _CLOSED_SECONDS}
            for key in [key for key, item in self._items.items() if item.session in over]:
                self._drop(key, _CLOSED)
            for session in over:
                del self._closed[session]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def _find(self, value: object, session: str) -> str | None:
        return next((key for key, item in self._items.items() if item.value is value and item.session == session), None)

    def _make_room(self, newest: str, session: str) -> None:
        while self._usage().get(session, 0) > self._each and self._drop_oldest(newest, session, _OVER_QUOTA):
            pass
        while sum((usage := self._usage()).values()) > self._total:
            # Closed pages first, then those of the address with the largest total.
            by_address = self._usage(lambda item: item.address)
            address = {item.session: item.address for item in self._items.values()}
            order = sorted(usage, key=lambda one: (one not in self._closed, -by_address[address[one]], -usage[one]))
            if not any(self._drop_oldest(newest, one, _CROWDED) for one in order):
                break

    def _usage(self, of: Callable[[_Item], str] = lambda item: item.session) -> dict[str, int]:
        usage: dict[str, int] = {}
        for item in self._items.values():
            usage[of(item)] = usage.get(of(item), 0) + item.size
        return usage

    def _drop_oldest(self, newest: str, session: str, reason: int) -> bool:
        key = next((key for key, item in self._items.items() if key != newest and item.session == session), None)
        if key is not None:
            self._drop(key, reason)
        return key is not None

    def _drop(self, key: str, reason: int) -> None:
        del self._items[key]
        self._removed[key] = reason
        while len(self._removed) > _MAX_REMOVED:
            self._removed.popitem(last=False)


def _describe_removal(kind: str, reason: int | None) -> str:
    if reason == _CROWDED:
        return _("this {kind} was unloaded to free memory, because too much was open at the same time", kind=kind)
    if reason == _OVER_QUOTA:
        return _("this {kind} was unloaded to free memory for a newer selection", kind=kind)
    if reason == _ON_REQUEST:
        return _("this {kind} was removed, as you asked", kind=kind)
    return _("this {kind} is no longer in memory", kind=kind)


class TypedStore(Generic[T]):
    """Values of one type in a :class:`MemoryStore`; ``kind`` is a noun for messages."""

    def __init__(self, kind: str, memory: MemoryStore) -> None:
        self._kind, self._memory = kind, memory

    def put(self, value: T, key: str | None = None) -> str:
        return self._memory.put(value, key, self._kind)

    def get(self, key: str | None) -> T:
        return cast(T, self._memory.get(key, self._kind))

    def is_of_session(self, key: str, session: str) -> bool:
        return self._memory.is_of_session(key, session)

    def last(self) -> str | None:
        return self._memory.last(self._kind)

    def remove(self, key: str) -> None:
        self._memory.remove(key)

    def __contains__(self, key: object) -> bool:
        return key in self._memory
