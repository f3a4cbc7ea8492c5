"""Background queue of runs: one worker thread, a stop flag per run, and restart of interrupted runs.

The worker executes each run with :mod:`sbert_studio.runs.execution`.
"""

from __future__ import annotations

import atexit
import contextvars
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from ..errors import StudioError
from ..i18n import _
from ..identity import current_address
from ..progress import uninterruptible
from ..workspace import Workspace

if TYPE_CHECKING:
    from ..models.catalog import Catalog
    from .run import Run, Status
    from .store import RunStore

T = TypeVar("T")
log = logging.getLogger(__name__)
_NICE = 10


class Runner:
    """Executes submitted runs one at a time on the studio's device, in a thread that is started for the first run.

    Network addresses that submit runs take turns, so that one with many runs does not block the others.

    Args:
        catalog: called when a run begins, so that an unused runner loads nothing.
    """

    def __init__(self, store: RunStore, workspace: Workspace, catalog: Callable[[], Catalog]) -> None:
        self._store = store
        self._workspace = workspace
        self._catalog = catalog
        self._changed = threading.Condition()
        self._queue: dict[str, str] = {}  # run → network address, in the order of submission
        self._current: str | None = None
        self._last_turn: dict[str, int] = {}  # turn of each address, counted in runs
        self._turn = 0
        self._stops: dict[str, threading.Event] = {}
        self._contexts: dict[str, contextvars.Context] = {}  # a GPU is allocated to the visitor who made the request
        self._closing = False
        self._thread: threading.Thread | None = None
        self._training = threading.Lock()  # held while a run or a rehearsal is training

    def rehearse(self, work: Callable[[], T]) -> T:
        """Call ``work``, which trains a few steps, in a low-priority thread; runs submitted in the meantime wait.

        It ends at its next checkpoint if the caller is to stop.

        Raises:
            StudioError: a run is training. It would slow down the rehearsal, and both would use the same random generator.
        """
        if not self._training.acquire(blocking=False):
            raise StudioError("a training run is in progress, so nothing can be measured now", "estimate again when it has finished")
        try:
            with ThreadPoolExecutor(1, "sbert-studio-rehearsal", lower_priority) as pool:
                return pool.submit(contextvars.copy_context().run, work).result()
        finally:
            self._training.release()

    def submit(self, run_id: str) -> None:
        try:
            self._enqueue(run_id)
        except BaseException:  # the thread could not be started
            with self._changed:
                self._stops.pop(run_id, None)
                self._queue.pop(run_id, None)
            self._end(run_id, "interrupted", "the program could not start it; resume it to try again")
            raise

    def _enqueue(self, run_id: str) -> None:
        with self._changed:
            self._stops[run_id] = threading.Event()
            self._contexts[run_id] = contextvars.copy_context()
            self._queue[run_id] = current_address()
            if self._thread is None or not self._thread.is_alive():
                self._closing = False
                self._thread = threading.Thread(target=self._work, name="sbert-studio-runner", daemon=True)
                self._thread.start()
                _close_at_exit(self)
            self._changed.notify_all()

    def stop(self, run_id: str) -> Run:
        """Request that a run stop, in whichever process executes it; a run that is still queued here is stopped immediately."""
        run = self._store.get(run_id)
        if not run.active:
            return run
        refused: StudioError | None = None
        try:
            self._store.request_stop(run_id)
        except StudioError as error:  # not needed for a run of this process
            refused = error
        with self._changed:
            is_queued, is_here = self._queue.pop(run_id, None) is not None, run_id in self._stops
            if is_queued:
                self._stops.pop(run_id, None)
            elif is_here:
                self._stops[run_id].set()
            self._changed.notify_all()
        if is_queued:
            self._end(run_id, "stopped", "stopped before it started")
        elif refused is not None and not is_here:
            raise refused
        return self._store.get(run_id)

    def position(self, run_id: str) -> int:
        """Return the number of runs ahead of this one in the queue; 0 if it is training or not in this queue."""
        with self._changed:
            order = self._in_turn()
            return order.index(run_id) + (self._current is not None) if run_id in order else 0

    def count_queued(self, address: str) -> int:
        with self._changed:
            return list(self._queue.values()).count(address)

    def _in_turn(self) -> list[str]:
        """Return the queue in order of execution; the next run is the oldest of the address that has waited longest for its turn."""
        last, turn = dict(self._last_turn), self._turn
        left, found = list(self._queue), []
        while left:
            found.append(min(left, key=lambda one: last.get(self._queue[one], 0)))
            left.remove(found[-1])
            turn += 1
            last[self._queue[found[-1]]] = turn
        return found

    def wait(self, run_id: str, timeout: float | None = None) -> bool:
        """Block until this runner has finished a run. Return False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: run_id not in self._stops, timeout)

    def close(self, timeout: float = 20.0) -> None:
        """Stop: the running run keeps its checkpoint, queued runs become interrupted.

        Args:
            timeout: seconds to wait for the current step to end.
        """
        with self._changed:
            thread, self._closing = self._thread, True
            queued = list(self._queue)
            self._queue.clear()
            for run_id in queued:
                self._stops.pop(run_id, None)
            for stop in self._stops.values():
                stop.set()
            self._changed.notify_all()
        for run_id in queued:
            self._end(run_id, "interrupted", "the program was closed before this run started")
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _work(self) -> None:
        lower_priority()
        try:
            while (run_id := self._next()) is not None:
                self._execute(run_id)
        finally:
            with self._changed:
                self._thread = None

    def _next(self) -> str | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._queue) or self._closing)
            self._current = None if self._closing else self._in_turn()[0]
            if self._current is not None:
                self._turn += 1
                self._last_turn[self._queue.pop(self._current)] = self._turn
            return self._current

    def _execute(self, run_id: str) -> None:
        try:
            with self._changed:
                stop = self._stops.setdefault(run_id, threading.Event())
                context = self._contexts.pop(run_id, contextvars.copy_context())
            with self._training:
                context.run(_train, run_id, self._store, self._workspace, self._catalog, stop.is_set)
            if self._closing and self._store.get(run_id).status == "stopped":
                self._store.try_record(run_id, status="interrupted", message="the program was closed; resume the run to continue")
        except BaseException as error:
            # Exceptions that usually end a program must not end this thread: queued runs would wait forever.
            log.exception("run %s ended in a way that was not foreseen", run_id)
            what = _("the run ended with an unexpected error ({name})", name=type(error).__name__)
            self._store.try_record(run_id, status="failed", message=what, hint="resume it to continue from its last checkpoint")
        finally:
            with self._changed:
                self._current = None
                self._stops.pop(run_id, None)
                self._changed.notify_all()
            self._store.release(run_id)

    def _end(self, run_id: str, status: Status, message: str) -> None:
        self._contexts.pop(run_id, None)
        self._store.try_record(run_id, status=status, message=message)
        self._store.release(run_id)


def _train(run_id: str, store: RunStore, workspace: Workspace, catalog: Callable[[], Catalog], should_stop: Callable[[], bool]) -> None:
    from .execution import execute_run  # deferred: the page imports this module long before anything is trained

    with uninterruptible():  # closing a page must not stop training
        execute_run(run_id, store, workspace, catalog, should_stop)


def lower_priority() -> None:
    """Lower the priority of this thread, so that searches stay fast. On Linux, threads it starts inherit the priority."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _close_at_exit(runner: Runner) -> None:
    """Stop the thread before the interpreter shuts down, because a computing thread could crash."""
    reference = weakref.ref(runner)

    def close() -> None:
        if (alive := reference()) is not None:
            alive.close()

    atexit.register(close)
