"""Who asks, and what of theirs is under way: so that Cancel, or closing the page, ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...data.progress import stoppable


def _request() -> Any:
    from gradio.context import LocalContext

    return LocalContext.request.get(None)


def session() -> str:
    """The name of the page that asks, new on each load and not to be guessed; empty outside a request."""
    return str(getattr(_request(), "session_hash", None) or "")


def address() -> str:
    """Where the request comes from; what stands before the page may have told it on behalf of its own visitors."""
    return str(getattr(getattr(_request(), "client", None), "host", None) or "")


class Visits:
    """The work that goes on, by the session it is done for. A training is none of it: it outlives its page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, str], set[threading.Event]] = {}

    @contextmanager
    def work(self, kind: str = "") -> Iterator[None]:
        """Do the work of the ``with`` for the session that asks; it ends with ``StoppedError`` once that is wished.

        Args:
            kind: what :meth:`stop` names it by.
        """
        key, stop = (session(), kind), threading.Event()
        with self._lock:
            self._under_way.setdefault(key, set()).add(stop)
        try:
            with stoppable(stop.is_set):
                yield
        finally:
            with self._lock:
                self._under_way[key].discard(stop)
                if not self._under_way[key]:
                    del self._under_way[key]

    def stop(self, of: str, kind: str | None = None) -> int:
        """End the work of a session, that of one kind or all; how many pieces of it there are."""
        with self._lock:
            found = [stop for key, stops in self._under_way.items() if key[0] == of and kind in (None, key[1]) for stop in stops]
        for stop in found:
            stop.set()
        return len(found)

    def idle(self, seconds: float) -> bool:
        """Whether nothing is under way, or nothing is left of it after so many seconds."""
        end = time.monotonic() + seconds
        while self._under_way and time.monotonic() < end:
            time.sleep(0.05)
        return not self._under_way


VISITS = Visits()
"""Of this process: a request says which page it is from."""
