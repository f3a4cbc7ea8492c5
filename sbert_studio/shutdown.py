"""Graceful shutdown on SIGTERM or Ctrl-C: a signal sets a flag that long-running work polls.

Signal handlers do not raise: an exception could surface anywhere, including where Python ignores it (finalizers, weak-reference
callbacks) or a library catches it. A dedicated thread reads the signals, even while the main thread executes native code.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

GRACE_SECONDS = 8.0  # seconds
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_EXIT_CODES = {signal.SIGTERM: 143, signal.SIGINT: 130}

TEMPORARY_PATHS: set[Path] = set()
"""Files and folders being written under a temporary name; deleted if the process must exit without waiting for the writer."""


class Shutdown:
    """Handler of requests to end the process.

    Work that polls for stop requests ends by itself. If the process is still running :data:`GRACE_SECONDS` later, or at a second Ctrl-C, it
    exits immediately: temporary files are deleted, and its runs count as interrupted.
    """

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._number = 0
        self._waits = True
        self._code: int | None = None
        self._listeners: list[Callable[[], None]] = []
        self._handling = False

    def is_requested(self) -> bool:
        """Return True once a shutdown was requested; polled by long-running work."""
        return self._requested.is_set()

    @property
    def code(self) -> int:
        """Exit code for the request: 143 for SIGTERM, 130 for Ctrl-C, 0 for none."""
        return _EXIT_CODES.get(signal.Signals(self._number), 1) if self._number else 0

    def wait(self) -> None:
        """Block until a shutdown is requested."""
        while not self._requested.wait(1.0):  # with a timeout, because Windows delivers Ctrl-C only between two waits
            pass

    @contextmanager
    def handling(self) -> Iterator[None]:
        """Handle signals within the block. Does nothing outside the main thread or when nested."""
        if self._handling or threading.current_thread() is not threading.main_thread():
            yield
            return
        ours, theirs = socket.socketpair()
        for one in (ours, theirs):
            one.setblocking(False)
        self._handling, self._number, self._waits, self._code = True, 0, True, None
        self._requested.clear()
        handlers = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        wakeup = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        watcher = threading.Thread(target=self._watch, args=(ours,), name="sbert-studio-ending", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            if self._handling:
                self._requested.clear()  # the request ends with the block
                signal.set_wakeup_fd(wakeup)
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                self._handling = False
                theirs.close()  # ends the watcher
                watcher.join(1)

    @contextmanager
    def listened(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call ``listener`` in another thread when a shutdown is requested within the block."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def patient(self) -> Iterator[None]:
        """Let Ctrl-C wait for the work in the block without a time limit; a second Ctrl-C does not wait."""
        self._waits = False
        try:
            yield
        finally:
            self._waits = True

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let Ctrl-C raise ``KeyboardInterrupt`` within the block, which must only prompt at a terminal."""
        if not self._handling:
            yield
            return
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def leaving_with(self, code: int) -> Iterator[None]:
        """Use this exit code if the process has to exit before the block finishes."""
        self._code = code
        try:
            yield
        finally:
            self._code = None

    def _watch(self, signals: socket.socket) -> None:
        deadline: float | None = None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([signals], [], [], left)
            if not ready:
                if self._number == signal.SIGTERM or self._waits:
                    self._exit_now()
                deadline = None
                continue
            with suppress(OSError):
                received = signals.recv(64)
                if not received:
                    signals.close()
                    return
                for number in received:
                    if number not in _SIGNALS:
                        continue
                    if self.is_requested() and number == signal.SIGINT:
                        self._exit_now()
                    if not self.is_requested() or number == signal.SIGTERM:
                        self._number = number
                    if deadline is None:
                        deadline = time.monotonic() + GRACE_SECONDS
                    if not self.is_requested():
                        self._requested.set()
                        for listener in list(self._listeners):
                            with suppress(Exception):
                                listener()

    def _exit_now(self) -> None:
        for path in list(TEMPORARY_PATHS):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()
        os._exit(self.code if self._code is None else self._code)

    def forget(self) -> None:
        """Reset signal handling in a forked child."""
        if self._handling:
            self._handling = False
            self._requested.clear()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)


SHUTDOWN = Shutdown()
"""The shutdown handler of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHUTDOWN.forget)
