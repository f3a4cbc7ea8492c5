"""Arrays kept on disk: written whole or not at all, believed only when their shape and type are right."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import time
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from ..caches import note_mapped
from ..workspace import atomic_file

log = logging.getLogger(__name__)
_MARK = b"sha256::"
_TRAILER = len(_MARK) + 32
_BLOCK = 1 << 20
_whole: dict[Path, tuple[int, int, int]] = {}  # files whose digest was right, by size, time and inode
_STALE = 24 * 3600  # seconds after which a half-written file belongs to a process that died


def load_array(path: Path, shape: tuple[int, ...] | None, dtype: DTypeLike = np.float32, *, mapped: bool = False) -> np.ndarray | None:
    """The array in ``path``, read-only, or ``None`` where it is missing, damaged, or of another shape or type.

    Its digest is compared once a process, and again when the file has changed.

    Args:
        shape: any of one dimension, where it is None.
        mapped: leave it on disk and map it into memory.
    """
    try:
        if not is_whole(path):
            return None
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if not isinstance(array, np.ndarray) or array.dtype != dtype or not array.flags.c_contiguous:
        return None
    if array.ndim != 1 if shape is None else array.shape != shape:
        return None
    touch(path)
    if isinstance(array, np.memmap):
        note_mapped(array)
    else:
        array.flags.writeable = False
    return array


def store_array(path: Path, array: np.ndarray) -> bool:
    """Write ``array`` to ``path``, atomically, with its digest behind it.

    Returns:
        Whether it stands there. It is only a cache: where the disk takes nothing, it is computed again the next time.
    """
    try:
        with atomic_file(path) as part, part.open("w+b") as target:
            np.save(target, np.ascontiguousarray(array), allow_pickle=False)
            seal(target)
    except OSError as error:
        log.warning("%s could not be kept, and is computed again when it is needed: %s", path.name, error.strerror or error)
        return False
    return True


def seal(target: BinaryIO) -> None:
    """Write behind a file that can be read and written the digest of all that stands in it."""
    target.flush()
    target.seek(0)
    digest = _digest(target).digest()
    target.write(_MARK + digest)


def sealed_part(path: Path) -> int:
    """How many bytes stand before the digest."""
    return path.stat().st_size - _TRAILER


def is_whole(path: Path) -> bool:
    """Whether the digest at the file's end is that of what stands before it. Nothing that was written without one is believed.

    Raises:
        OSError: it cannot be read.
    """
    state = path.stat()
    known = (state.st_size, state.st_mtime_ns, state.st_ino)
    if _whole.get(path) == known:
        return True
    with path.open("rb") as source:
        source.seek(-min(state.st_size, _TRAILER), os.SEEK_END)
        trailer = source.read()
        source.seek(0)
        if len(trailer) < _TRAILER or not trailer.startswith(_MARK):
            return False
        whole = _digest(source, state.st_size - _TRAILER).digest() == trailer[len(_MARK) :]
    if whole:
        _whole[path] = known
    return whole


def _digest(source: BinaryIO, length: int = -1) -> hashlib._Hash:
    found = hashlib.sha256()
    while block := source.read(_BLOCK if length < 0 else min(_BLOCK, length)):
        found.update(block)
        length -= len(block) if length > 0 else 0
    return found


def touch(path: Path) -> None:
    """The least recently used file goes first. Another program may have removed it meanwhile, or it may be another's."""
    with contextlib.suppress(OSError):
        os.utime(path)
        state = path.stat()
        _whole[path] = (state.st_size, state.st_mtime_ns, state.st_ino)


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
        except OSError:
            continue
        if not path.name.startswith(".part-"):
            files.append((state.st_mtime, state.st_size, path))
        elif now - state.st_mtime > _STALE:
            with contextlib.suppress(OSError):
                path.unlink()
    total = sum(size for _, size, _ in files)
    gone = []
    for _, size, path in sorted(files):
        if total <= max_bytes:
            break
        if path == keep:
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError:
            continue
        total -= size
        gone.append(path)
    return gone
