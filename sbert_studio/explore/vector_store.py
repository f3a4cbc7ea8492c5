"""Cache of embeddings on disk, memory-mapped, keyed by text digest and model fingerprint."""

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

from ..caches import note_mapped
from ..data.progress import KeyLocks
from ..models.base import finite
from ..workspace import Workspace, atomic_file

if TYPE_CHECKING:
    from ..data.progress import Progress, ShouldStop
    from ..models.base import Encoder


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


KEY = np.dtype("S16")
_MAX_BYTES = 256 << 20


def keys_of(texts: Sequence[str]) -> np.ndarray:
    """(n,) of 16 bytes: BLAKE2 of each text."""
    found = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY.itemsize).digest() for text in texts)
    return np.frombuffer(found, KEY)


def places_of(wanted: np.ndarray, have: np.ndarray) -> np.ndarray:
    """Where each of (n,) keys first stands among (m,) others, (n,) int64; -1 where it does not."""
    if not len(have):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(have, kind="stable")
    place = np.minimum(np.searchsorted(have, wanted, sorter=order), len(have) - 1)
    return np.where(have[order[place]] == wanted, order[place], -1)


class TextKeys:
    """The keys of corpora by their digest, kept on disk.

    Args:
        workspace: where the files lie.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def get(self, texts: Sequence[str], digest: str) -> np.ndarray:
        """(n,) keys of the texts with this digest, made where they are not kept."""
        path = self._path(digest)
        found = load_array(path, (len(texts),), KEY, mapped=True)
        if found is None:
            found = keys_of(texts)
            if store_array(path, found):
                keep_below(path.parent, _MAX_BYTES, path)
        return found

    def repair(self, texts: Sequence[str], digest: str) -> None:
        """Write the keys of the texts with this digest anew where their file is damaged."""
        if self._path(digest).is_file():
            self.get(texts, digest)

    def known(self, digest: str) -> np.ndarray | None:
        """The keys of a corpus that was seen before, if they are still there."""
        with contextlib.suppress(ValueError):
            return load_array(self._path(digest), None, KEY, mapped=True)
        return None

    def _path(self, digest: str) -> Path:
        return self._workspace.cache("texts") / f"{digest}.npy"


_MAX_BYTES_VECTORS = 8 << 30
_OTHERS = 8  # other corpora whose texts are looked through, those used last


class VectorStore:
    """Vectors that were computed once stay computed, for every tab, process and restart.

    Args:
        workspace: where the files lie.
        max_bytes: how much they may take; beyond it the least recently used go.
    """

    def __init__(self, workspace: Workspace, max_bytes: int = _MAX_BYTES_VECTORS) -> None:
        self._workspace = workspace
        self._max_bytes = max_bytes
        self._locks = KeyLocks()
        self._keys = TextKeys(workspace)

    def get(
        self,
        texts: Sequence[str],
        digest: str,
        encoder: Encoder,
        progress: Progress | None = None,
        should_stop: ShouldStop | None = None,
    ) -> np.ndarray:
        """The vectors of ``texts``: (n, dim) float32, read-only, row i for text i.

        Callers that ask for the same vectors at once wait for one encoding. A damaged file is encoded again.
        Texts that stood in another corpus are not.

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
            vectors = self._made(texts, digest, encoder, progress, should_stop)
            stored = None
            if store_array(path, vectors):
                keep_below(path.parent, self._max_bytes, path)
                stored = load_array(path, shape, mapped=True)
        if stored is None:
            vectors.flags.writeable = False
        return vectors if stored is None else stored

    def _made(
        self, texts: Sequence[str], digest: str, encoder: Encoder, progress: Progress | None, should_stop: ShouldStop | None
    ) -> np.ndarray:
        """The vectors of texts of which there is no file: those that another corpus has, and the others encoded."""
        vectors = self._known(texts, digest, encoder)
        if vectors is None:
            return finite(encoder.encode(texts, progress=progress, should_stop=should_stop)).astype(np.float32, copy=False)
        known, found = vectors
        new = np.flatnonzero(~known)
        if len(new):
            found[new] = finite(encoder.encode([texts[row] for row in new.tolist()], progress=progress, should_stop=should_stop))
        return found

    def _known(self, texts: Sequence[str], digest: str, encoder: Encoder) -> tuple[np.ndarray, np.ndarray] | None:
        """Which of the texts stand in other corpora, (n,) bool, and their vectors, (n, dim); None where none does."""
        keys = self._keys.get(texts, digest)
        found: np.ndarray | None = None
        known = np.zeros(len(texts), bool)
        for path in self._others(encoder.fingerprint):
            if known.all():
                break
            have = self._keys.known(path.name.split("-")[0])
            if have is None:
                continue
            left = np.flatnonzero(~known)
            places = places_of(keys[left], have)
            if not (places >= 0).any():
                continue
            others = load_array(path, (len(have), encoder.dim), mapped=True)
            if others is None:
                continue
            found = np.empty((len(texts), encoder.dim), np.float32) if found is None else found
            rows = left[places >= 0]
            found[rows] = others[places[places >= 0]]
            known[rows] = True
        return None if found is None else (known, found)

    def _others(self, fingerprint: str) -> list[Path]:
        """The files of other corpora by the same encoder, those used last first."""
        ages = []
        for path in self._workspace.vectors("0", fingerprint).parent.glob(f"*-{fingerprint}.npy"):
            with contextlib.suppress(OSError):
                if not path.name.startswith("."):
                    ages.append((-path.stat().st_mtime, path))
        return [path for _, path in sorted(ages)][:_OTHERS]
