"""Who has a run: a lock on a file in its folder, which every process on the machine sees, whatever its container or clock.

A lock ends with the process that holds it, however that ends. Process ids and boot marks say less: two containers on one volume
share the boot and not the ids. Where the system or the file system knows no locks, files stand for one: whoever has the run made the
``lock.<n>`` of the highest n, which one process alone can, and keeps changing a counter in it. To take a run is to make the next one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import tempfile
import threading
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment, unused-ignore]

_NAME = "lock"
_FREE = b"free"  # what stands in a file whose owner has let the run go
_BEAT = 5.0  # seconds between two changes of the counter
_SILENCE = 30.0  # seconds without a change, by this process' own clock, after which nobody has the run
_OLD = 60.0  # seconds since the last change, by the clock of the file system, after which nobody has it either
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
        self._beating: dict[str, _Beat] = {}
        self._seen: dict[str, tuple[tuple[int, bytes], float]] = {}

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

    def lost(self, run_id: str) -> bool:
        """Whether another process has taken the run from this object, which had not moved for long, as on a laptop that slept."""
        beat = self._beating.get(run_id)
        return beat is not None and beat.overtaken

    def release(self, run_id: str) -> None:
        """Let a run go; nothing happens where it was not had."""
        with self._guard:
            handle = self._held.pop(run_id, -1)
            beat = self._beating.pop(run_id, None)
        if beat is not None:
            beat.end()
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
            os.close(handle)
            return self._make_next(run_id)
        return handle

    def _make_next(self, run_id: str) -> int | None:
        """An open file of the next number, which is made here and by nobody else; ``None`` where another has the run."""
        folder = self._runs / run_id
        number = 1 + max(_numbers(folder), default=0)
        if number > 1 and not self._silent(run_id, number - 1):
            return None
        mine = folder / f"{_NAME}.{number}"
        try:
            handle = os.open(mine, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError:
            return None
        others = _numbers(folder)
        if number != max(others, default=0):
            # Since the numbers were looked up others have taken the run, and let it go, with this number and a higher one.
            os.close(handle)
            _remove(mine)
            return None
        for other in others:
            if other < number:
                _remove(folder / f"{_NAME}.{other}")
        self._seen.pop(run_id, None)
        self._beating[run_id] = _Beat(folder, number, os.dup(handle))
        return handle

    def _silent(self, run_id: str, number: int) -> bool:
        """Whether the owner of the file has let the run go, or its counter has not moved for long, as seen from here."""
        path = self._runs / run_id / f"{_NAME}.{number}"
        try:
            found = (number, path.read_bytes())
            if found[1].strip() == _FREE or _age(path) > _OLD:
                return True
        except OSError:
            return False  # a later one has just been made
        now = time.monotonic()
        before, since = self._seen.get(run_id, (None, now))
        if found != before:
            self._seen[run_id] = (found, now)
            return False
        return now - since > _SILENCE


def _numbers(folder: Path) -> list[int]:
    """The numbers of the files that stand for locks; none where the folder is gone."""
    try:
        ends = [path.suffix[1:] for path in folder.iterdir() if path.stem == _NAME]
    except OSError:
        return []
    return [int(end) for end in ends if end.isdecimal()]


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # Windows keeps a file that somebody reads
        path.unlink()


def _age(path: Path) -> float:
    """Seconds since a file was written to, by the clock that its file system writes down; 0 where that cannot be told."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".now-") as now:
            return os.fstat(now.fileno()).st_mtime - path.stat().st_mtime
    except OSError:
        return 0.0


class _Beat:
    """Changes the file of a number every few seconds until it is ended, which is then written down."""

    def __init__(self, folder: Path, number: int, handle: int) -> None:
        self._folder, self._number, self._handle = folder, number, handle
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        atexit.register(self.end)

    @property
    def overtaken(self) -> bool:
        """Whether the next number has been made."""
        return max(_numbers(self._folder), default=0) > self._number

    def end(self) -> None:
        """Let the run go."""
        self._ended.set()
        self._thread.join(_WAIT)
        atexit.unregister(self.end)

    def _run(self) -> None:
        count = 0
        try:
            while not self._ended.is_set():
                count += 1
                self._write(f"{os.getpid()}-{time.monotonic_ns()}-{count:012d}".encode())
                self._ended.wait(_BEAT)
            self._write(_FREE)
        finally:
            os.close(self._handle)

    def _write(self, words: bytes) -> None:
        with contextlib.suppress(OSError):
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, words.ljust(64))
