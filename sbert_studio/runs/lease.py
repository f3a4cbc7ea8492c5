"""Who has a run: a lock on a file in its folder, which every process on the machine sees, whatever its container or clock.

A lock ends with the process that holds it, however that ends. Process ids and boot marks say less: two containers on one volume
share the boot and not the ids. Where the file system knows no locks, a counter in the file that keeps changing stands for one.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment, unused-ignore]

_NAME = "lock"
_BEAT = 5.0  # seconds between two changes of the counter
_SILENCE = 30.0  # seconds without a change, by this process' own clock, after which nobody has the run
_WAIT = 2.0  # seconds in which a lock that is only being looked at, or let go, comes free


class Leases:
    """The runs that this process has, by their ids, and whether another has one.

    Args:
        runs: the folder that holds one folder a run. A run without a folder has no lock.
    """

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._guard = threading.Lock()
        self._held: dict[str, int] = {}
        self._beating: dict[str, threading.Event] = {}
        self._seen: dict[str, tuple[bytes, float]] = {}

    def take(self, run_id: str, wait: float = _WAIT) -> bool:
        """Have a run until :meth:`release`, or the end of this process; whether nobody else has it.

        A run without a folder is had by whoever asks.
        """
        until = time.monotonic() + wait
        while True:
            with self._guard:
                if run_id not in self._held:
                    handle = self._lock(run_id)
                    if handle is not None:
                        if handle >= 0:
                            self._held[run_id] = handle
                        return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)

    def has(self, run_id: str) -> bool:
        """Whether this object has the run."""
        return run_id in self._held

    def release(self, run_id: str) -> None:
        """Let a run go; nothing happens where it was not had."""
        with self._guard:
            handle = self._held.pop(run_id, -1)
            beat = self._beating.pop(run_id, None)
        if beat is not None:
            beat.set()
        if handle >= 0:
            os.close(handle)  # which lets the lock go

    def release_all(self) -> None:
        """Let every run go."""
        for run_id in list(self._held):
            self.release(run_id)

    def free(self, run_id: str) -> bool | None:
        """Whether nobody has the run; ``None`` where no lock was ever made for it, as before there were locks.

        Where it is free, it is had by this object from then on, so that what is written of it next is true.
        """
        with self._guard:
            if run_id in self._held:
                return False
            if not (self._runs / run_id / _NAME).is_file():
                return None
            handle = self._lock(run_id)
            if handle is None:
                return False
            self._held[run_id] = handle
            return True

    def _lock(self, run_id: str) -> int | None:
        """An open, locked file; -1 where there is no folder, ``None`` where another has it."""
        path = self._runs / run_id / _NAME
        if not path.parent.is_dir():
            return -1
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return None
        try:
            if fcntl is None:
                raise OSError("no locks here")
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            if not self._silent(run_id, handle):
                os.close(handle)
                return None
            self._beating[run_id] = threading.Event()
            threading.Thread(target=_beat, args=(os.dup(handle), self._beating[run_id]), daemon=True).start()
        return handle

    def _silent(self, run_id: str, handle: int) -> bool:
        """Whether the counter in the file has not moved for long, as seen from here; an empty file was never counted in."""
        found, now = os.pread(handle, 64, 0) if hasattr(os, "pread") else os.read(handle, 64), time.monotonic()
        if not found:
            return True
        before, since = self._seen.get(run_id, (b"", now))
        if found != before:
            self._seen[run_id] = (found, now)
            return False
        return now - since > _SILENCE


def _beat(own: int, ended: threading.Event) -> None:
    """Change the file every few seconds until the run is let go, then empty it."""
    count = 0
    try:
        while True:
            count += 1
            with contextlib.suppress(OSError):
                os.lseek(own, 0, os.SEEK_SET)
                os.write(own, f"{os.getpid()}-{time.monotonic_ns()}-{count:012d}".encode().ljust(64))
            if ended.wait(_BEAT):
                break
        with contextlib.suppress(OSError):
            os.truncate(own, 0)
    finally:
        os.close(own)
