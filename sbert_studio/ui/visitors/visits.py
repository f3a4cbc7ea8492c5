"""Who asks, and what of theirs is under way: how far it is, and so that Cancel, or closing the page, ends it."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ...identity import Identity, current_identity, signed_in, use_address, use_identity
from ...progress import StoppedError, checkpoint, stoppable
from .disconnects import is_gone

_KEPT = 120.0  # seconds that work which has ended can still be looked at
_MOST_KEPT = 1000
_MOST_STOPPED = 1000  # events whose work may not have begun when it was stopped


def _request() -> Any:
    from gradio.context import LocalContext

    return LocalContext.request.get(None)


def _event() -> str:
    """Return the id that Gradio's queue gave to the call which is answered; empty outside the queue."""
    from gradio.context import LocalContext

    return LocalContext.event_id.get(None) or ""


def _scope() -> Any:
    """Return the ASGI scope of the request which is answered; empty outside a request."""
    request = _request()
    return getattr(getattr(request, "request", request), "scope", None) or {}


def session() -> str:
    """The name of the page that asks, new on each load and not to be guessed; empty outside a request."""
    return str(getattr(_request(), "session_hash", None) or "")


def address() -> str:
    """Where the request comes from; what stands before the page may have told it on behalf of its own visitors."""
    return str(getattr(getattr(_request(), "client", None), "host", None) or "")


def identity() -> Identity | None:
    """The visitor whose request this is, where they have signed in with Hugging Face; else who has been acting until now, if anybody."""
    info = (_scope().get("session") or {}).get("oauth_info") or {}
    in_time = (info.get("expires_at") or math.inf) > time.time()
    return signed_in(info["access_token"]) if info.get("access_token") and in_time else current_identity()


@dataclass
class Work:
    """A piece of work that a page waits for.

    Attributes:
        number: by which it is named, of all work of this process; session: of the page it is done for.
        kind: what a cancel button names it by; empty of what a page does besides, such as looking after a run.
        event: id of the call in Gradio's queue; empty of a call that is answered outside it.
        status: running, finished, stopped or failed.
        phase: what goes on, in words; done, total: how far that is, a total of 0 is not known.
        began, ended: seconds of :func:`time.monotonic`.
        overtaken: whether the same page asked for something else by work of this kind meanwhile; see :meth:`Visits.overtake`.
    """

    number: int
    session: str
    kind: str
    event: str = ""
    status: str = "running"
    phase: str = ""
    done: int = 0
    total: int = 0
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    overtaken: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    _since: tuple[float, int] = (0.0, 0)

    def tell(self, phase: str, done: int, total: int) -> None:
        """It is so far."""
        if phase != self.phase or done < self.done or not self._since[0]:
            self._since = (time.monotonic(), done)
        self.phase, self.done, self.total = phase, done, total

    @property
    def seconds(self) -> float:
        """Since it began, or of the whole of it."""
        return (self.ended or time.monotonic()) - self.began

    @property
    def rate(self) -> float:
        """What is counted, a second, in this phase; 0 before it can be told."""
        moment, first = self._since
        elapsed = time.monotonic() - moment
        return (self.done - first) / elapsed if moment and elapsed > 1 else 0.0


_CURRENT: ContextVar[Work | None] = ContextVar("work", default=None)


class Visits:
    """The work that goes on, by the session it is done for. A training is none of it: it outlives its page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._under_way: dict[int, Work] = {}
        self._over: list[Work] = []
        self._stopped: deque[str] = deque(maxlen=_MOST_STOPPED)

    @contextmanager
    def work(self, kind: str = "") -> Iterator[Work]:
        """Do the work of the ``with`` for the session that asks; it ends with ``StoppedError`` once that is wished.

        Args:
            kind: what :meth:`stop` names it by.

        Raises:
            StoppedError: the work was stopped, or the connection was closed on which its answer is waited for.
        """
        work, scope = Work(next(self._numbers), session(), kind, _event()), _scope()
        with self._lock:
            self._under_way[work.number] = work
            if work.event and work.event in self._stopped:
                work.stop.set()
        token, status = _CURRENT.set(work), "failed"
        try:
            with stoppable(lambda: work.stop.is_set() or is_gone(scope)), use_identity(identity()), use_address(address()):
                checkpoint()
                yield work
            status = "finished"
        except StoppedError:
            status = "stopped"
            raise
        finally:
            _CURRENT.reset(token)
            with self._lock:
                work.status, work.ended = status, time.monotonic()
                del self._under_way[work.number]
                if kind:
                    fresh = [one for one in self._over if work.ended - one.ended < _KEPT]
                    self._over = [*fresh[1 - _MOST_KEPT :], work]

    def overtake(self) -> None:
        """What the page of the caller asked for earlier by work of the same kind is not waited for any more."""
        work = _CURRENT.get()
        if work is None:
            return
        with self._lock:
            for one in self._under_way.values():
                one.overtaken |= (one.session, one.kind) == (work.session, work.kind) and one.number < work.number

    def current(self) -> Work | None:
        """The work that the caller is part of."""
        return _CURRENT.get()

    def of(self, session: str) -> list[Work]:
        """The work of a session that a cancel button can name, what has ended a while ago left out, in the order in which it began."""
        now = time.monotonic()
        with self._lock:
            found = [*self._over, *self._under_way.values()]
        own = [work for work in found if work.session == session and work.kind and not (work.ended and now - work.ended > _KEPT)]
        return sorted(own, key=lambda work: work.number)

    def stop(self, of: str, kind: str | None = None, number: int | None = None) -> int:
        """End the work of a session: all, that of one kind, or the one piece of a number; how many pieces it is."""
        with self._lock:
            own = [work for work in self._under_way.values() if work.session == of]
        found = [work for work in own if kind in (None, work.kind) and number in (None, work.number)]
        for work in found:
            work.stop.set()
        return len(found)

    def stop_event(self, event: str, *, also_later: bool = True) -> None:
        """End the work of a call in Gradio's queue.

        Args:
            also_later: also if it has not begun, as where a file is still on its way to it.
        """
        with self._lock:
            if also_later:
                self._stopped.append(event)
            for work in self._under_way.values():
                if work.event and work.event == event:
                    work.stop.set()

    def idle(self, seconds: float) -> bool:
        """Whether nothing is under way, or nothing is left of it after so many seconds."""
        end = time.monotonic() + seconds
        while self._under_way and time.monotonic() < end:
            time.sleep(0.05)
        return not self._under_way


VISITS = Visits()
"""Of this process: a request says which page it is from."""
