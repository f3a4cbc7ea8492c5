"""Cache of embeddings on disk, memory-mapped and keyed by text digest and model fingerprint."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from ..caches import register_mapped_array
from ..models.base import require_finite_vectors
from ..progress import KeyLocks, offset_progress
from ..workspace import Workspace, atomic_file

if TYPE_CHECKING:
    from ..models.base import Encoder
    from ..progress import Progress, ShouldStop


log = logging.getLogger(__name__)
_MARK = b"sha256::"
_TRAILER = len(_MARK) + 32
_BLOCK = 1 << 20
_verified: dict[Path, tuple[int, int, int]] = {}  # files with a valid digest, by size, time and inode
_STALE = 24 * 3600  # seconds after which an unfinished file is deleted
_UNFINISHED = "unfinished-"  # prefix of the files of a part of an encoding


def load_array(path: Path, shape: tuple[int, ...] | None, dtype: DTypeLike = np.float32, *, mapped: bool = False) -> np.ndarray | None:
    """Return the array in ``path``, read-only, or ``None`` if it is missing, damaged, or has another shape or type.

    The digest is verified once per process and file version.

    Args:
        shape: expected shape; None accepts any one-dimensional array.
        mapped: memory-map the file.
    """
    try:
        if not is_intact(path):
            return None
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if not isinstance(array, np.ndarray) or array.dtype != dtype or not array.flags.c_contiguous:
        return None
    if array.ndim != 1 if shape is None else array.shape != shape:
        return None
    mark_used(path)
    if isinstance(array, np.memmap):
        register_mapped_array(array)
    else:
        array.flags.writeable = False
    return array


def store_array(path: Path, array: np.ndarray) -> bool:
    """Write ``array`` atomically with its digest.

    Returns:
        True if it was written. A full disk is not an error: the array is computed again next time.
    """
    try:
        with atomic_file(path) as part, part.open("w+b") as target:
            np.save(target, np.ascontiguousarray(array), allow_pickle=False)
            append_digest(target)
    except OSError as error:
        log.warning("%s could not be kept, and is computed again when it is needed: %s", path.name, error.strerror or error)
        return False
    return True


def append_digest(target: BinaryIO) -> None:
    """Append the digest of an open file's content to the file."""
    target.flush()
    target.seek(0)
    target.write(_MARK + _digest(target))


def content_length(path: Path) -> int:
    """Return the number of bytes before the digest."""
    return path.stat().st_size - _TRAILER


def is_intact(path: Path) -> bool:
    """Return True if the digest at the end of the file matches its content.

    Raises:
        OSError: the file cannot be read.
    """
    state = path.stat()
    known = (state.st_size, state.st_mtime_ns, state.st_ino)
    if _verified.get(path) == known:
        return True
    with path.open("rb") as source:
        source.seek(-min(state.st_size, _TRAILER), os.SEEK_END)
        trailer = source.read()
        source.seek(0)
        if len(trailer) < _TRAILER or not trailer.startswith(_MARK):
            return False
        whole = _digest(source, state.st_size - _TRAILER) == trailer[len(_MARK) :]
    if whole:
        _verified[path] = known
    return whole


def _digest(source: BinaryIO, length: int | None = None) -> bytes:
    found, left = hashlib.sha256(), float("inf") if length is None else length
    while block := source.read(int(min(_BLOCK, left))):
        found.update(block)
        left -= len(block)
    return found.digest()


def mark_used(path: Path) -> None:
    """Update the modification time of the file, which determines the least recently used files."""
    with contextlib.suppress(OSError):
        os.utime(path)
        state = path.stat()
        _verified[path] = (state.st_size, state.st_mtime_ns, state.st_ino)


def latest_files(folder: Path, pattern: str) -> list[Path]:
    """Return the visible files of ``folder`` that match, most recently used first."""
    ages = []
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):
            if not path.name.startswith("."):
                ages.append((-path.stat().st_mtime, path))
    return [path for _, path in sorted(ages)]


def evict_files(folder: Path, max_bytes: int, keep: Path, pattern: str = "*.npy") -> list[Path]:
    """Delete the least recently used files of ``folder`` until they fit, except ``keep``.

    Returns:
        The deleted files; files open elsewhere (Windows) are skipped.
    """
    files = []
    now = time.time()
    for path in folder.glob(pattern):
        try:
            state = path.stat()
        except OSError:
            continue
        if not path.name.startswith((".part-", _UNFINISHED)):
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


KEY = np.dtype("S16")
_KEY_BYTES = 256 << 20


def text_keys(texts: Sequence[str]) -> np.ndarray:
    """Return 16-byte BLAKE2 keys of (n,) texts."""
    found = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY.itemsize).digest() for text in texts)
    return np.frombuffer(found, KEY)


def find_keys(wanted: np.ndarray, have: np.ndarray) -> np.ndarray:
    """Return the first position of each of (n,) keys among (m,) others, (n,) int64; -1 if absent."""
    if not len(have):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(have, kind="stable")
    place = np.minimum(np.searchsorted(have, wanted, sorter=order), len(have) - 1)
    return np.where(have[order[place]] == wanted, order[place], -1)


class TextKeys:
    """Text keys of corpora, stored on disk by corpus digest."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def get(self, texts: Sequence[str], digest: str) -> np.ndarray:
        """Return the (n,) keys of the texts with this digest, computing them if needed."""
        path = self._path(digest)
        found = load_array(path, (len(texts),), KEY, mapped=True)
        if found is None:
            found = text_keys(texts)
            if store_array(path, found):
                evict_files(path.parent, _KEY_BYTES, path)
        return found

    def repair(self, texts: Sequence[str], digest: str) -> None:
        """Rewrite the keys of the texts with this digest if their file is damaged."""
        if self._path(digest).is_file():
            self.get(texts, digest)

    def load(self, digest: str) -> np.ndarray | None:
        """Return the keys of a known corpus, or None if they are no longer on disk."""
        with contextlib.suppress(ValueError):
            return load_array(self._path(digest), None, KEY, mapped=True)
        return None

    def _path(self, digest: str) -> Path:
        return self._workspace.cache("texts") / f"{digest}.npy"


_VECTOR_BYTES = 8 << 30
_MAX_OTHER_FILES = 8  # number of recently used corpora searched for known texts
_PART, _GPU_PART = 2_048, 50_000  # texts encoded at once
_LONG = 1.0  # seconds from which on the vectors of these texts are stored before the others are encoded


class VectorStore:
    """Embeddings on disk, shared by all processes; least recently used files are evicted beyond ``max_bytes``."""

    def __init__(self, workspace: Workspace, max_bytes: int = _VECTOR_BYTES) -> None:
        self._workspace, self._max_bytes = workspace, max_bytes
        self._locks, self._keys = KeyLocks(), TextKeys(workspace)

    def get(
        self,
        texts: Sequence[str],
        digest: str,
        encoder: Encoder,
        progress: Progress | None = None,
        should_stop: ShouldStop | None = None,
    ) -> np.ndarray:
        """Return the vectors of ``texts``: (n, dim) float32, read-only.

        Concurrent callers share one encoding. Damaged files are encoded again; texts known from other corpora are reused. Encoding that
        takes long is stored in parts, so that a call that was killed or stopped goes on where it was.

        Args:
            texts: n texts.
            digest: their :func:`~sbert_studio.workspace.digest_texts`.

        Raises:
            StudioError: the model returns vectors that are not finite.
        """
        shape = (len(texts), encoder.dim)
        if not texts:
            return np.zeros(shape, np.float32)
        path = self._workspace.vectors(digest, encoder.fingerprint)
        with self._locks[path.name]:
            found = load_array(path, shape, mapped=True)
            if found is not None:
                self._keys.repair(texts, digest)
                return found
            vectors = self._compute(texts, digest, encoder, progress, should_stop)
            stored, kept = None, store_array(path, vectors)
            if self._remove_parts(path) and not kept:  # they may have filled the disk
                kept = store_array(path, vectors)
            if kept:
                evict_files(path.parent, self._max_bytes, path)
                stored = load_array(path, shape, mapped=True)
        if stored is None:
            vectors.flags.writeable = False
        return vectors if stored is None else stored

    def _compute(
        self, texts: Sequence[str], digest: str, encoder: Encoder, progress: Progress | None, should_stop: ShouldStop | None
    ) -> np.ndarray:
        """Encode each distinct text once, so that equal texts have equal vectors, and store long work in parts."""
        known, found = self._find_known(texts, digest, encoder)
        if known.all():
            return found
        first: dict[str, int] = {}
        origins = np.fromiter((first.setdefault(text, row) for row, text in enumerate(texts)), np.int64, len(texts))
        distinct = np.fromiter(first.values(), np.int64, len(first))
        path, at_once = self._workspace.vectors(digest, encoder.fingerprint), _PART if encoder.uses_cpu else _GPU_PART
        for start in range(0, len(distinct), at_once):
            rows = distinct[start : start + at_once]
            new = rows[~known[rows]]
            if not len(new):
                continue
            part, is_last = path.with_name(f"{_UNFINISHED}{path.stem}-{start}.npy"), start + at_once >= len(distinct)
            stored = None if is_last else load_array(part, (len(rows), encoder.dim))
            if stored is not None:
                found[rows] = stored
                continue
            missing, began = [texts[row] for row in new.tolist()], time.monotonic()
            report = offset_progress(progress, start + len(rows) - len(new), len(distinct))
            found[new] = require_finite_vectors(encoder.encode(missing, progress=report, should_stop=should_stop))
            if not is_last and time.monotonic() - began > _LONG:
                store_array(part, found[rows])
        copies = np.flatnonzero(origins != np.arange(len(texts)))
        found[copies] = found[origins[copies]]
        return found

    def _remove_parts(self, path: Path) -> bool:
        """Delete the parts of an encoding; return whether there were any."""
        parts = list(path.parent.glob(f"{_UNFINISHED}{path.stem}-*.npy"))
        for part in parts:
            with contextlib.suppress(OSError):  # cannot be deleted now: evicted later
                part.unlink()
        return bool(parts)

    def _find_known(self, texts: Sequence[str], digest: str, encoder: Encoder) -> tuple[np.ndarray, np.ndarray]:
        keys, known = self._keys.get(texts, digest), np.zeros(len(texts), bool)
        found = np.empty((len(texts), encoder.dim), np.float32)
        folder = self._workspace.vectors(digest, encoder.fingerprint).parent
        for path in latest_files(folder, f"*-{encoder.fingerprint}.npy")[:_MAX_OTHER_FILES]:
            if known.all():
                break
            have = self._keys.load(path.name.split("-")[0])
            if have is None:
                continue
            left = np.flatnonzero(~known)
            places = find_keys(keys[left], have)
            if not (places >= 0).any():
                continue
            others = load_array(path, (len(have), encoder.dim), mapped=True)
            if others is None:
                continue
            rows = left[places >= 0]
            found[rows] = others[places[places >= 0]]
            known[rows] = True
        return known, found
