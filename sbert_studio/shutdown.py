"""How a program ends when it is asked to, by SIGTERM or Ctrl-C: the request sets a flag, which long work asks for.

Nothing is raised from a signal's handler: it would be raised in the midst of whatever runs, where Python drops it (finalisers, callbacks
of weak references) and libraries catch it. A thread of its own reads which signals came, also while the main thread computes and runs no
Python.
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
_ENDS = {signal.SIGTERM: 143, signal.SIGINT: 130}

TEMPORARY_PATHS: set[Path] = set()
"""Files and folders that are being written under a temporary name; they go where the process cannot wait for their writer."""


class Shutdown:
    """Takes the requests to end, and sees to it that the process does.

    Work that asks at its checkpoints ends by itself. Where the process still runs :data:`PATIENCE` seconds later, as in a library that asks
    nobody, or at a second Ctrl-C, it is ended at once; what was being written is removed, and runs read as interrupted.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._number = 0
        self._waits = True
        self._code: int | None = None
        self._listeners: list[Callable[[], None]] = []
        self._taken = False

    @property
    def asked(self) -> bool:
        """Whether there was a request."""
        return self._asked.is_set()

    def is_asked(self) -> bool:
        """:attr:`asked`, as work that can be stopped asks it."""
        return self._asked.is_set()

    @property
    def code(self) -> int:
        """The exit code of a process that ends by request: 143 for SIGTERM, 130 for Ctrl-C."""
        return _ENDS.get(signal.Signals(self._number), 1) if self._number else 0

    def wait(self) -> None:
        """Return once there was a request."""
        while not self._asked.wait(1.0):  # with a limit, since Windows hears of Ctrl-C between two waits only
            pass

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the requests that come during the ``with``, after which they are forgotten.

        Nothing happens where this is not the main thread, or they are taken already.
        """
        if self._taken or threading.current_thread() is not threading.main_thread():
            yield
            return
        ours, theirs = socket.socketpair()
        for one in (ours, theirs):
            one.setblocking(False)
        self._taken, self._number, self._waits, self._code = True, 0, True, None
        self._asked.clear()
        handlers = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        wakeup = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        watcher = threading.Thread(target=self._watch, args=(ours,), name="sbert-studio-ending", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            if self._taken:
                self._asked.clear()  # whatever this process does next was not asked to end
                signal.set_wakeup_fd(wakeup)
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                self._taken = False
                theirs.close()  # which ends the watcher
                watcher.join(1)

    @contextmanager
    def listened(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call ``listener`` at a request, in another thread than this one."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def patient(self) -> Iterator[None]:
        """Let Ctrl-C wait for the work of the ``with`` however long a step of it takes; a second one does not."""
        self._waits = False
        try:
            yield
        finally:
            self._waits = True

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Have Ctrl-C raise ``KeyboardInterrupt`` during the ``with``, which asks somebody at a terminal and does nothing else."""
        if not self._taken:
            yield
            return
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def leaving_with(self, code: int) -> Iterator[None]:
        """Leave with this exit code where the process cannot wait for the work of the ``with``."""
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
                    self._leave()
                deadline = None
                continue
            with suppress(OSError):
                came = signals.recv(64)
                if not came:
                    signals.close()
                    return
                for number in came:
                    if number not in _SIGNALS:
                        continue
                    if self.asked and number == signal.SIGINT:
                        self._leave()
                    if not self.asked or number == signal.SIGTERM:
                        self._number = number
                    if deadline is None:
                        deadline = time.monotonic() + GRACE_SECONDS
                    if not self.asked:
                        self._asked.set()
                        for listener in list(self._listeners):
                            with suppress(Exception):
                                listener()

    def _leave(self) -> None:
        for path in list(TEMPORARY_PATHS):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()
        os._exit(self.code if self._code is None else self._code)

    def forget(self) -> None:
        """To be called in a process that was forked from the one that takes the requests: what is sent to it is its own."""
        if self._taken:
            self._taken = False
            self._asked.clear()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)


SHUTDOWN = Shutdown()
"""Of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHUTDOWN.forget)
