"""Tasks that pages wait for: who requested them, their progress, and how Cancel or closing the page stops them."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ...identity import Identity, current_identity, signed_in, use_address, use_identity
from ...progress import StoppedError, checkpoint, stoppable
from .middleware import is_disconnected

_KEEP_SECONDS = 120.0  # seconds for which an ended task is listed
_MAX_ENDED = 1000
_MAX_STOPPED = 1000  # stopped events that may not have started yet


def _request() -> Any:
    from gradio.context import LocalContext

    return LocalContext.request.get(None)


def _event() -> str:
    from gradio.context import LocalContext

    return LocalContext.event_id.get(None) or ""


def _scope() -> Mapping[str, Any]:
    request = _request()
    return getattr(getattr(request, "request", request), "scope", None) or {}


def session_id() -> str:
    """Return the id of the calling page, which is new on each load and cannot be guessed; empty outside a request."""
    return str(getattr(_request(), "session_hash", None) or "")


def request_headers() -> dict[str, str]:
    """Return the headers of the current request, in lower case; empty outside a request."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in _scope().get("headers", ())}


def client_address() -> str:
    """Return the address of the request, possibly reported by a trusted proxy."""
    return str(getattr(getattr(_request(), "client", None), "host", None) or "")


def caller_identity() -> Identity | None:
    """Return the Hugging Face identity signed in on the calling page; otherwise the current identity, if any."""
    info = (_scope().get("session") or {}).get("oauth_info") or {}
    is_valid = (info.get("expires_at") or math.inf) > time.time()
    return signed_in(info["access_token"]) if info.get("access_token") and is_valid else current_identity()


@dataclass
class PageTask:
    number: int  # unique in this process
    session: str  # the page that waits
    kind: str  # name by which a Cancel button stops it; empty for background work such as polling a run
    event: str = ""  # id of the call in Gradio's queue; empty for a call outside the queue
    status: str = "running"  # running, finished, stopped or failed
    phase: str = ""  # description of the current step
    done: int = 0  # done, total: progress; a total of 0 is unknown
    total: int = 0
    started: float = field(default_factory=time.monotonic)  # started, ended: seconds of :func:`time.monotonic`
    ended: float = 0.0
    superseded: bool = False  # whether the same page has started a newer task of this kind (:meth:`TaskRegistry.supersede_earlier`)
    stop: threading.Event = field(default_factory=threading.Event)
    is_replaced: bool = False  # what stopped it begins at once, so that the visitor is not told of its end
    _phase_start: tuple[float, int] = (0.0, 0)

    def report(self, phase: str, done: int, total: int) -> None:
        if phase != self.phase or done < self.done or not self._phase_start[0]:
            self._phase_start = (time.monotonic(), done)
        self.phase, self.done, self.total = phase, done, total

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started

    @property
    def rate(self) -> float:
        """Items per second in this phase; 0 during its first second."""
        moment, first = self._phase_start
        elapsed = time.monotonic() - moment
        return (self.done - first) / elapsed if moment and elapsed > 1 else 0.0


_CURRENT: ContextVar[PageTask | None] = ContextVar("task", default=None)


class TaskRegistry:
    """Running tasks by session. Training runs are not tasks, because they continue when their page is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._running: dict[int, PageTask] = {}
        self._ended: list[PageTask] = []
        self._stopped_events: deque[str] = deque(maxlen=_MAX_STOPPED)

    @contextmanager
    def run(self, kind: str = "") -> Iterator[PageTask]:
        """Run the body of the ``with`` statement as a task of the calling page; ``kind`` is its name for :meth:`stop`.

        Raises:
            StoppedError: the task was stopped, or the connection waiting for its response was closed.
        """
        task, scope = PageTask(next(self._numbers), session_id(), kind, _event()), _scope()
        with self._lock:
            self._running[task.number] = task
            if task.event and task.event in self._stopped_events:
                task.stop.set()
        token, status = _CURRENT.set(task), "failed"
        try:
            is_stopped = lambda: task.stop.is_set() or is_disconnected(scope)  # noqa: E731
            with stoppable(is_stopped), use_identity(caller_identity()), use_address(client_address()):
                checkpoint()
                yield task
            status = "finished"
        except StoppedError:
            status = "stopped"
            raise
        finally:
            _CURRENT.reset(token)
            with self._lock:
                task.status, task.ended = status, time.monotonic()
                del self._running[task.number]
                if kind:
                    recent = [other for other in self._ended if task.ended - other.ended < _KEEP_SECONDS]
                    self._ended = [*recent[1 - _MAX_ENDED :], task]

    def supersede_earlier(self) -> None:
        """Mark the page's earlier tasks of the same kind as superseded, so that their results are discarded."""
        task = _CURRENT.get()
        if task is None:
            return
        with self._lock:
            for other in self._running.values():
                other.superseded |= (other.session, other.kind) == (task.session, task.kind) and other.number < task.number

    def current(self) -> PageTask | None:
        return _CURRENT.get()

    def for_session(self, session: str) -> list[PageTask]:
        """Return a session's named tasks, running or recently ended, oldest first."""
        now = time.monotonic()
        with self._lock:
            tasks = [*self._ended, *self._running.values()]
        own = [task for task in tasks if task.session == session and task.kind and not (task.ended and now - task.ended > _KEEP_SECONDS)]
        return sorted(own, key=lambda task: task.number)

    def stop(self, session: str, kind: str | None = None, number: int | None = None, *, replaced: bool = False) -> int:
        """Stop a session's tasks: all, those of one kind, or one by number with those that it superseded. Return how many.

        Args:
            replaced: the visitor is not told of their end.
        """
        with self._lock:
            own = [task for task in self._running.values() if task.session == session]
        stopped = [task for task in own if kind in (None, task.kind) and number in (None, task.number)]
        kinds = {task.kind for task in stopped}
        for task in own:
            if task in stopped or (task.superseded and task.kind in kinds):
                task.is_replaced = replaced
                task.stop.set()
        return len(stopped)

    def stop_event(self, event: str, *, also_later: bool = True) -> None:
        """Stop the task of a call in Gradio's queue, even if it has not started yet, for instance because its file is being uploaded."""
        with self._lock:
            if also_later:
                self._stopped_events.append(event)
            for task in self._running.values():
                if task.event and task.event == event:
                    task.stop.set()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until nothing is running. Return whether that is the case."""
        end = time.monotonic() + seconds
        while self._running and time.monotonic() < end:
            time.sleep(0.05)
        return not self._running


TASKS = TaskRegistry()
"""Task registry of this process."""
