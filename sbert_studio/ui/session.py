"""What a visitor has chosen: a bounded shelf on the server, of which the visitor's session holds only the key."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import StudioError
from ..workspace import file_name

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..studio.results import MapView

T = TypeVar("T")
_AN_HOUR = 3600.0
_OWNER = re.compile(r"visitor-[0-9a-f]{16}")


class Shelf(Generic[T]):
    """Values under keys that nobody guesses; the one not used for longest makes room.

    Args:
        what: what lies here, in the singular; the message for a value that is gone says so.
        room: how many values stay.
    """

    def __init__(self, what: str, room: int) -> None:
        self._what = what
        self._room = room
        self._items: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, value: T, key: str | None = None) -> str:
        """Keep ``value``, in the place of what ``key`` stood for if that is given; the key to it."""
        key = key or secrets.token_urlsafe(16)
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self._room:
                self._items.popitem(last=False)
        return key

    def get(self, key: str | None) -> T:
        """The value of ``key``.

        Raises:
            StudioError: it made room for others, or the app was restarted.
        """
        with self._lock:
            if not isinstance(key, str) or key not in self._items:
                raise StudioError(f"this {self._what} is no longer in memory", "choose it once more")
            self._items.move_to_end(key)
            return self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items


@dataclass(frozen=True)
class Chosen:
    """A visitor's corpus, the file it came from and the columns it could have been."""

    corpus: Corpus
    path: Path
    columns: tuple[str, ...]
    column: str


@dataclass(frozen=True)
class Drawn:
    """A map on a visitor's page and what it was drawn from."""

    corpus: Corpus
    view: MapView
    model: str | None


class Downloads:
    """Files made for one visitor, in the system's temporary folder; those older than an hour go when another is made."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sbert-studio-"))

    def path(self, name: str) -> Path:
        """A path for a new file of that name, in a folder of its own."""
        for old in self._folder.iterdir():
            if time.time() - old.stat().st_mtime > _AN_HOUR:
                shutil.rmtree(old, ignore_errors=True)
        return Path(tempfile.mkdtemp(dir=self._folder)) / file_name(name)


def new_owner() -> str:
    """A name for a visitor on a shared page: it tells their runs from others', and protects nothing by itself."""
    return f"visitor-{secrets.token_hex(8)}"


def is_owner(name: object) -> bool:
    """Whether ``name`` could be one of :func:`new_owner`; the browser sends it, and may send any other ("local", "api")."""
    return isinstance(name, str) and _OWNER.fullmatch(name) is not None
