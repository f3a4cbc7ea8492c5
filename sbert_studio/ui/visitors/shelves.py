"""What visitors have chosen, on the server: each page holds only keys, and each visitor has room of their own."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from ...caches import bytes_of
from ...errors import StudioError
from .visits import address, session

T = TypeVar("T")
_LINGER = 600.0  # seconds that a closed page's things stay: a lost connection looks the same
_REMEMBERED = 4096
_CROWDED = "had to make room, because too much was chosen here at the same time"
_OWN = "made room for what you chose after it"


@dataclass
class _Item:
    value: Any
    size: int
    visitor: str
    address: str
    kind: str


class Shelves:
    """Room for everybody, of which each visitor has a part that others cannot push them out of.

    What one visitor has chosen gives way to what they choose next; only where all together want more than there is, those at the
    address that holds most give way, the one of them who holds most first, and a page that was closed before any other.

    Args:
        everybody, each: bytes; what was chosen last stays even where it alone is larger.
    """

    def __init__(self, everybody: int, each: int) -> None:
        self._everybody, self._each = everybody, each
        self._items: OrderedDict[str, _Item] = OrderedDict()
        self._closed: dict[str, float] = {}
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.RLock()

    @property
    def bytes(self) -> int:
        """What lies here now."""
        with self._lock:
            return sum(item.size for item in self._items.values())

    def put(self, value: Any, key: str | None, kind: str = "") -> str:
        """Keep ``value``, of a kind, for the visitor who asks, in the place of what ``key`` stood for if that is given; the key to it."""
        visitor, size = session(), bytes_of(value)
        with self._lock:
            self.sweep()
            self._closed.pop(visitor, None)  # it was only a lost connection
            key = key or self._same(value, visitor) or secrets.token_urlsafe(16)
            self._items[key] = _Item(value, size, visitor, address(), kind)
            self._items.move_to_end(key)
            self._make_room(key, visitor)
        return key

    def get(self, key: object, what: str) -> Any:
        """The value of ``key``.

        Raises:
            StudioError: it had to make room, its page was closed, or the app was restarted.
        """
        with self._lock:
            if not isinstance(key, str) or key not in self._items:
                why = self._gone.get(key) if isinstance(key, str) else None
                raise StudioError(f"this {what} {why}" if why else f"this {what} is no longer in memory", "choose it once more")
            if what and self._items[key].kind not in ("", what):
                raise StudioError(f"this is no {what}", "choose one")
            self._items.move_to_end(key)
            return self._items[key].value

    def last(self, kind: str) -> str | None:
        """The key of what the page that asks put there, or asked for, last."""
        with self._lock:
            return next((key for key, item in reversed(self._items.items()) if (item.kind, item.visitor) == (kind, session())), None)

    def remove(self, key: str) -> None:
        """Let go of what ``key`` stands for, as its owner asked."""
        with self._lock:
            if key in self._items:
                self._drop(key, "was removed, as you asked")

    def close(self, visitor: str) -> None:
        """A page was closed, or lost its connection; what it chose goes after ten minutes, or when the room is needed."""
        with self._lock:
            self._closed[visitor] = time.monotonic()

    def sweep(self) -> None:
        """Let go of what pages chose that were closed a while ago."""
        with self._lock:
            over = {visitor for visitor, when in self._closed.items() if time.monotonic() - when > _LINGER}
            for key in [key for key, item in self._items.items() if item.visitor in over]:
                self._drop(key, "is no longer in memory")
            for visitor in over:
                del self._closed[visitor]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def _same(self, value: Any, visitor: str) -> str | None:
        """The key under which the visitor has this very thing, such as a sample that was chosen before."""
        return next((key for key, item in self._items.items() if item.value is value and item.visitor == visitor), None)

    def _make_room(self, newest: str, visitor: str) -> None:
        while self._held().get(visitor, 0) > self._each and self._drop_oldest(newest, visitor, _OWN):
            pass
        while sum((held := self._held()).values()) > self._everybody:
            # Pages that are open give way only when nobody else can; the rest in the order of what they hold.
            at = self._held(lambda item: item.address)
            where = {item.visitor: item.address for item in self._items.values()}
            order = sorted(held, key=lambda one: (one not in self._closed, -at[where[one]], -held[one]))
            if not any(self._drop_oldest(newest, one, _CROWDED) for one in order):
                break

    def _held(self, of: Callable[[_Item], str] = lambda item: item.visitor) -> dict[str, int]:
        """The bytes of each visitor, or of each address."""
        held: dict[str, int] = {}
        for item in self._items.values():
            held[of(item)] = held.get(of(item), 0) + item.size
        return held

    def _drop_oldest(self, newest: str, visitor: str, why: str) -> bool:
        """Let go of what a visitor has not used for longest, never of what was chosen just now; whether there was any."""
        key = next((key for key, item in self._items.items() if key != newest and item.visitor == visitor), None)
        if key is not None:
            self._drop(key, why)
        return key is not None

    def _drop(self, key: str, why: str) -> None:
        del self._items[key]
        self._gone[key] = why
        while len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)


class Shelf(Generic[T]):
    """The things of one kind on the shelves, under keys that nobody guesses.

    Args:
        what: what they are, in the singular; the message for a value that is gone says so.
        shelves: where they lie, beside those of other kinds.
    """

    def __init__(self, what: str, shelves: Shelves) -> None:
        self._what, self._shelves = what, shelves

    def put(self, value: T, key: str | None = None) -> str:
        """See :meth:`Shelves.put`."""
        return self._shelves.put(value, key, self._what)

    def get(self, key: str | None) -> T:
        """See :meth:`Shelves.get`.

        Raises:
            StudioError: it is no longer there.
        """
        return cast(T, self._shelves.get(key, self._what))

    def last(self) -> str | None:
        """See :meth:`Shelves.last`."""
        return self._shelves.last(self._what)

    def remove(self, key: str) -> None:
        """See :meth:`Shelves.remove`."""
        self._shelves.remove(key)

    def __contains__(self, key: object) -> bool:
        return key in self._shelves
