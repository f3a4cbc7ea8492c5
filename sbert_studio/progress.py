"""Progress reports, cooperative cancellation and locks for long-running work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .errors import StudioError

Progress = Callable[[int, int], None]
"""Called with (done, total) in any unit; a total of 0 means that it is unknown."""

_MAX_SHARE = 0.99


def progress_share(done: float, total: float) -> float | None:
    """Return the share of work that is done, at most 0.99: only its end is 100 %. ``None`` if it is unknown.

    Reading the last row is not the end of opening a file, and the last training step is followed by evaluation and saving.
    """
    return min(_MAX_SHARE, done / total) if total else None


def offset_progress(progress: Progress | None, done: int, total: int) -> Progress | None:
    """Return a callback for the progress of a part, before which ``done`` of ``total`` units were done."""
    if progress is None:
        return None
    whole = progress
    return lambda now, _of_the_part: whole(done + now, total)


ShouldStop = Callable[[], bool]
"""Polled between steps; the work stops early once it returns True."""

_POLL_SECONDS = 0.2
_STOP_CONDITIONS: ContextVar[tuple[ShouldStop, ...]] = ContextVar("stop_conditions", default=())


class StoppedError(StudioError):
    """Raised when work was cancelled."""

    def __init__(self) -> None:
        super().__init__("the work was stopped before it finished")


@contextmanager
def stoppable(should_stop: ShouldStop) -> Iterator[None]:
    """Cancel the work in the ``with`` block at its next :func:`checkpoint` once ``should_stop`` returns True.

    The condition applies to everything called from the block in this thread, as Trio's cancel scopes do, so that it need not be an
    argument of every function between a button and a loop.
    """
    token = _STOP_CONDITIONS.set((*_STOP_CONDITIONS.get(), should_stop))
    try:
        yield
    finally:
        _STOP_CONDITIONS.reset(token)


@contextmanager
def uninterruptible() -> Iterator[None]:
    """Ignore the stop conditions of the callers within the ``with`` block, for work that outlives its caller, such as a training run."""
    token = _STOP_CONDITIONS.set(())
    try:
        yield
    finally:
        _STOP_CONDITIONS.reset(token)


def bind_checkpoint() -> Callable[[], None]:
    """Return a :func:`checkpoint` with the stop conditions of this thread, to be called from another one."""
    conditions = _STOP_CONDITIONS.get()

    def check() -> None:
        if any(should_stop() for should_stop in conditions):
            raise StoppedError

    return check


def checkpoint() -> None:
    """Raise StoppedError if a stop condition is met; called between steps of anything that may take seconds."""
    bind_checkpoint()()


class SharedProgress:
    """Report the progress of one computation to all callers that wait for its result."""

    def __init__(self) -> None:
        self._latest: dict[Hashable, tuple[int, int]] = {}

    @contextmanager
    def publish(self, key: Hashable, progress: Progress | None) -> Iterator[Progress]:
        """Yield a progress callback for the thread that computes ``key``; it calls ``progress`` and informs the waiting threads."""

        def report(done: int, total: int) -> None:
            self._latest[key] = done, total
            if progress is not None:
                progress(done, total)

        try:
            yield report
        finally:
            self._latest.pop(key, None)

    def follow(self, key: Hashable, progress: Progress | None) -> Callable[[], None]:
        """Return a :func:`checkpoint` for a thread that waits for ``key``; it also reports the latest progress to ``progress``."""

        def check() -> None:
            checkpoint()
            latest = self._latest.get(key)
            if progress is not None and latest is not None:
                progress(*latest)

        return check


class KeyLocks:
    """A lock for each key, so that two threads never compute the same thing at once.

    A thread that waits for a lock can be cancelled: by default at a :func:`checkpoint`.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(self, key: Hashable, patience: Callable[[], None] = checkpoint) -> Iterator[None]:
        """Hold the lock of ``key`` within the block; ``patience`` is called while waiting and may raise."""
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = lock, users + 1
        try:
            while not lock.acquire(timeout=_POLL_SECONDS):
                patience()
            try:
                yield
            finally:
                lock.release()
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = lock, users - 1

    __getitem__ = hold
