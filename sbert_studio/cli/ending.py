"""How the page ends when it is asked to: by Ctrl-C or SIGTERM, at whatever moment it is asked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 1.0  # seconds


class Ending:
    """Takes SIGTERM as Ctrl-C, and repeats either until it is heeded.

    Python drops an exception that a signal handler raises inside a finaliser or the callback of a weak reference, and libraries
    that are being imported may catch it: a request that is made once could be lost, and the page would stay open for ever.

    Attributes:
        asked: whether there was a request.
    """

    def __init__(self) -> None:
        # Plain values: the handler may interrupt a thread that holds the lock of an event.
        self.asked = False
        self._heeded = self._held_back = False

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Raise ``KeyboardInterrupt`` in the main thread at a request, each second anew until :meth:`heed` is called."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        if hasattr(signal, "SIGALRM"):
            # By way of SIGTERM, whose handler the window replaces by its own.
            handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
        try:
            with self.heeded():
                yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Let what comes after the block, the closing, be interrupted no more.

        An error in the block after a request is one of what the request tore, and becomes ``KeyboardInterrupt``; one of the closing stays.
        """
        try:
            yield
        except Exception as error:
            if self.asked and not self._heeded:
                raise KeyboardInterrupt from error
            raise
        finally:
            self.heed()

    def heed(self) -> None:
        """Repeat the request no more, and pass over further ones but those of Ctrl-C."""
        self._heeded = True
        if self.asked and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)

    def after(self, work: Callable[[], None]) -> None:
        """Do what would lose an exception that is raised in it, such as a garbage collection; a request is heeded after it."""
        self._held_back = True
        try:
            work()
        finally:
            self._held_back = False
        self.check()

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` where there was a request."""
        if self.asked and not self._heeded:
            raise KeyboardInterrupt

    def _end(self, number: int, _frame: FrameType | None) -> None:
        if self._heeded:
            if number == signal.SIGINT:  # somebody at a terminal does not want to wait for the closing
                raise KeyboardInterrupt
            return
        if not self.asked and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        self.asked = True
        if not self._held_back:
            raise KeyboardInterrupt
