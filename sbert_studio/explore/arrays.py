"""Arrays kept on disk: written whole or not at all, believed only when their shape and type are right."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..data.progress import checkpoint
from ..workspace import atomic_file

_PATIENCE = 0.25  # seconds between two questions whether what is waited for is still wanted
_STALE = 24 * 3600  # seconds after which a half-written file belongs to a process that died


def load_array(path: Path, shape: tuple[int, ...], dtype: type = np.float32, *, mapped: bool = False) -> np.ndarray | None:
    """The array in ``path``, read-only, or ``None`` where it is missing, damaged, or of another shape or type.

    Args:
        mapped: leave it on disk and map it into memory.
    """
    try:
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
        return None
    os.utime(path)  # the least recently used file goes first
    if not mapped:
        array.flags.writeable = False
    return array


def store_array(path: Path, array: np.ndarray) -> None:
    """Write ``array`` to ``path``, atomically."""
    with atomic_file(path) as part, part.open("wb") as target:
        np.save(target, np.ascontiguousarray(array), allow_pickle=False)


def keep_below(folder: Path, max_bytes: int, keep: Path, pattern: str = "*.npy") -> list[Path]:
    """Delete the least recently used files (of vectors, unless ``pattern`` says otherwise) of ``folder`` until they fit; ``keep`` stays.

    Returns:
        The files that went. A file that another program holds open (Windows) stays too.
    """
    files = []
    now = time.time()
    for path in folder.glob(pattern):
        try:
            state = path.stat()
        except FileNotFoundError:
            continue
        if not path.name.startswith(".part-"):
            files.append((state.st_mtime, state.st_size, path))
        elif now - state.st_mtime > _STALE:
            path.unlink(missing_ok=True)
    total = sum(size for _, size, _ in files)
    gone = []
    for _, size, path in sorted(files):
        if total <= max_bytes:
            break
        if path == keep:
            continue
        try:
            path.unlink(missing_ok=True)
        except PermissionError:
            continue
        total -= size
        gone.append(path)
    return gone


class KeyLocks:
    """One lock a key, so that the same thing is never computed twice at once, and different things are.

    Who waits for a lock stops waiting when their work is asked to end (see :func:`sbert_studio.data.progress.checkpoint`).
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
