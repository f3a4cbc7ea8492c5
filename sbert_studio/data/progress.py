"""How long work tells how far it is, and asks whether to go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import StudioError

Progress = Callable[[int, int], None]
"""Called with (done, total) in whatever unit the work counts; a total of 0 means that it is not known."""

ShouldStop = Callable[[], bool]
"""Asked between steps; the work ends early once it answers true."""

_PATIENCE = 0.2  # seconds between two checkpoints of whoever waits for a lock
_WISHES: ContextVar[tuple[ShouldStop, ...]] = ContextVar("wishes", default=())


class StoppedError(StudioError):
    """Work was asked to end before it was done."""

    def __init__(self) -> None:
        super().__init__("this was stopped before its end")


@contextmanager
def stoppable(should_stop: ShouldStop) -> Iterator[None]:
    """Let the work of the ``with``, in this thread and however deep, end at the next :func:`checkpoint` once ``should_stop`` is true.

    A scope around the caller, as Trio's cancel scopes are, rather than an argument of every function between a button and a loop.

    Raises:
        StoppedError: it was.
    """
    token = _WISHES.set((*_WISHES.get(), should_stop))
    try:
        yield
    finally:
        _WISHES.reset(token)


@contextmanager
def unasked() -> Iterator[None]:
    """Let the work of the ``with`` go on whatever is wished of the caller: it outlives what began it, as a training does its page."""
    token = _WISHES.set(())
    try:
        yield
    finally:
        _WISHES.reset(token)


def stop_wish() -> Callable[[], None]:
    """:func:`checkpoint` for another thread: it raises once the caller's work is to end."""
    wishes = _WISHES.get()

    def ask() -> None:
        if any(wished() for wished in wishes):
            raise StoppedError

    return ask


def checkpoint() -> None:
    """Called between the steps of whatever may take seconds.

    Raises:
        StoppedError: somebody wishes that the work end.
    """
    stop_wish()()


class Together:
    """How far works are that several wait for: one of them does each, and all are told."""

    def __init__(self) -> None:
        self._far: dict[Hashable, tuple[int, int]] = {}

    @contextmanager
    def doing(self, key: Hashable, progress: Progress | None) -> Iterator[Progress]:
        """``progress`` of whoever does the work ``key``, from which those who wait for it hear as well."""

        def tell(done: int, total: int) -> None:
            self._far[key] = done, total
            if progress is not None:
                progress(done, total)

        try:
            yield tell
        finally:
            self._far.pop(key, None)

    def waiting(self, key: Hashable, progress: Progress | None) -> Callable[[], None]:
        """A :func:`checkpoint` for whoever waits for the work ``key``, which tells ``progress`` how far it is."""

        def wait() -> None:
            checkpoint()
            far = self._far.get(key)
            if progress is not None and far is not None:
                progress(*far)

        return wait


class KeyLocks:
    """A lock for each key, so that two threads never compute the same thing at once.

    A thread that waits for a lock stops waiting when its work is asked to end (see :func:`checkpoint`).
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def __getitem__(self, key: str) -> Iterator[None]:
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = lock, users + 1
        try:
            while not lock.acquire(timeout=_PATIENCE):
                checkpoint()
            try:
                yield
            finally:
                lock.release()
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = lock, users - 1
