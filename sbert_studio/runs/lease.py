"""Locks between processes: on a run, which only one process executes, and on a file, which only one process changes at a time."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, SoftFileLease, Timeout

from ..errors import StudioError

LOCK_FILE = "lock"
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_POLL = 0.02  # seconds
LEASE_SECONDS = 30.0  # seconds without a heartbeat after which a lease counts as abandoned
SHORT = 2.0  # seconds to wait for another process


class RunLeases:
    """Locks on runs, one file in each run's folder, visible to every process regardless of container or clock.

    The operating system frees a lock when its process ends for any reason. If the file system has no locks, a lease with a heartbeat is
    used instead: another process takes it over once its holder is dead or silent, and the holder can detect this (:meth:`is_lost`).
    """

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._guard = threading.Lock()
        self._held: dict[str, BaseFileLock] = {}
        # A contender's lease object remembers how long the holder has been silent.
        self._soft: dict[str, SoftFileLease] = {}

    def try_acquire(self, run_id: str, timeout: float = 0.0) -> bool:
        """Try to acquire a run's lock. Return False if another process or this object holds it, or if the run has no folder."""
        folder = self._runs / run_id
        if self.is_held(run_id) or not folder.is_dir():
            return False
        lock = self._acquire(run_id, folder, timeout)
        if lock is None:
            return False
        with self._guard:
            self._held[run_id] = lock
        return True

    def is_held(self, run_id: str) -> bool:
        return run_id in self._held

    def is_lost(self, run_id: str) -> bool:
        """Return True if another process took over the lease held by this object, for example while a laptop was asleep."""
        lock = self._held.get(run_id)
        if not isinstance(lock, SoftFileLease):
            return False
        return lock.compromise is not None or lock.owner is None or lock.owner.token != lock.token

    def release(self, run_id: str) -> None:
        with self._guard:
            lock = self._held.pop(run_id, None)
        if lock is not None:
            lock.release()

    def release_all(self) -> None:
        for run_id in list(self._held):
            self.release(run_id)

    def _acquire(self, run_id: str, folder: Path, timeout: float) -> BaseFileLock | None:
        lock = _file_lock(folder / LOCK_FILE, timeout)
        try:
            lock.acquire()
        except Timeout:
            return None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                return None
        else:
            return lock
        return self._acquire_lease(run_id, folder, timeout)

    def _acquire_lease(self, run_id: str, folder: Path, timeout: float) -> SoftFileLease | None:
        with self._guard:
            if run_id not in self._soft:
                self._soft[run_id] = SoftFileLease(folder / f"{LOCK_FILE}.lease", lease_duration=LEASE_SECONDS, thread_local=False)
            lease = self._soft[run_id]
        until = time.monotonic() + timeout
        while True:
            with self._guard:  # a lease is reentrant, but must not be shared by two threads of this process
                if not lease.is_locked:
                    with suppress(Timeout, OSError):
                        lease.acquire(timeout=0)
                        return lease
            if time.monotonic() >= until:
                return None
            time.sleep(_POLL)


class WriteLock:
    """Lock that serializes changes of a file by threads and processes; only by threads if the file system has no locks.

    If another process holds it for too long, a ``StudioError`` with ``message`` is raised.
    """

    def __init__(self, path: Path, message: str) -> None:
        self._message = message
        self._threads = threading.RLock()
        self._processes = _file_lock(path, SHORT)

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._threads, ExitStack() as stack:
            try:
                stack.enter_context(self._processes.acquire())
            except Timeout:
                raise StudioError(self._message, "close the other program, or wait, then try again") from None
            except OSError:  # no locks here, or no permission; the write then reports the error
                pass
            yield


def _file_lock(path: Path, timeout: float) -> BaseFileLock:
    return FileLock(path, timeout=timeout, poll_interval=_POLL, thread_local=False, fallback_to_soft=False, preserve_lock_file=True)
