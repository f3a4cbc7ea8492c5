"""Who is nearest among the rows of shards: all of them looked at while they are few, else an index on disk that points to a few of them.

The index is FAISS's inverted file over vectors of a byte a component (IVF, SQ8), its lists mapped from disk; what it finds is ranked by
the vectors in the shards. Why not LanceDB (Apache-2.0, 75 MB and pylance's 85): it keeps tables of its own beside the shards, and FAISS
(MIT) is here already.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.progress import checkpoint
from ..encoders.storage.digests import digest_of
from ..encoders.unit import unit
from ..errors import StudioError
from ..workspace import atomic_folder, require_disk, write_json
from .vectors import ShardedVectors

if TYPE_CHECKING:
    from ..data.progress import Progress

_EXACT = 20_000  # rows: 31 MB of 384 dimensions, looked through in a few milliseconds
_SAMPLED = 64  # vectors a list from which its centre is learned
_PART = 200_000  # rows whose lists are made in memory before they are joined on disk: 77 MB of 384 dimensions
_LOOKED_AT = 48  # lists a query looks into
_AGAIN = 4  # times as many as are asked for are ranked again by their whole vectors
_READ_WHOLE = 1 << 30  # bytes of lists that are compared with their digest when they are opened, in about a second
_INDEX, _LISTS, _SEAL = "ivf.faiss", "lists.bin", "digests.json"


class ServedVectors:
    """The rows of a folder, and what finds the nearest of them; an index that is not there yet is built.

    Args:
        path: the folder that ``encode`` wrote.
        progress: told how many rows are indexed.

    Raises:
        StudioError: it holds no vectors, or not all of them yet.
    """

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.rows = ShardedVectors(path)
        if not len(self.rows):
            raise StudioError(f"{path.name} holds no texts", "encode files with at least one row of text")
        self._index: Any = None
        if len(self.rows) <= _EXACT:
            self._near = _exact(np.concatenate(list(self.rows.blocks())))
            self.bytes = len(self.rows) * self.rows.dim * 4
            self.notes: tuple[str, ...] = ()
            return
        folder = self.rows.folder.path / f"index-{self.rows.key}"
        if not _whole(folder):
            _build(self.rows, folder, progress)
        self._near = _approximate(folder, len(self.rows))
        self.bytes = (folder / _INDEX).stat().st_size  # the centres; the lists stay on disk
        self.notes = (f"{len(self.rows):,} rows, looked up in an approximate index: a few of the nearest may be missed.",)

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The numbers and the cosines of the ``k`` rows nearest to a (dim,) vector, best first, equal cosines by row."""
        wanted = min(k, len(self.rows))
        asked = unit(query[None].astype(np.float32))
        found = self._near(asked, min(len(self.rows), max(_AGAIN * wanted, 64)))
        vectors = unit(self.rows.vectors(found)).astype(np.float64)
        scores = np.clip(vectors @ asked[0].astype(np.float64), -1, 1)
        order = np.lexsort((found, -scores))[:wanted]
        return found[order], scores[order]


def _exact(vectors: np.ndarray) -> Callable[[np.ndarray, int], np.ndarray]:
    rows = unit(vectors)

    def near(asked: np.ndarray, most: int) -> np.ndarray:
        scores = rows @ asked[0]
        return np.sort(np.argpartition(-scores, most - 1)[:most])

    return near


def _whole(folder: Path) -> bool:
    """Whether an index is there as it was written: to the byte, but for lists that would take long to read, of which the size counts."""
    try:
        sealed = json.loads((folder / _SEAL).read_text(encoding="utf-8"))
        return bool(sealed == _sealed(folder))
    except (OSError, ValueError):
        return False


def _sealed(folder: Path) -> dict[str, Any]:
    size = (folder / _LISTS).stat().st_size
    return {_INDEX: digest_of(folder / _INDEX), _LISTS: digest_of(folder / _LISTS) if size <= _READ_WHOLE else size}


def _approximate(folder: Path, count: int) -> Callable[[np.ndarray, int], np.ndarray]:
    import faiss

    with _no_words():
        index: Any = faiss.read_index(str(folder / _INDEX), faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_ONDISK_SAME_DIR)
    index.nprobe = min(_LOOKED_AT, index.nlist)

    def near(asked: np.ndarray, most: int) -> np.ndarray:
        found = index.search(asked, most)[1][0]
        if found.max(initial=-1) >= count:
            raise StudioError(f"the index {folder.name} of {folder.parent.name} is damaged", "delete that folder: it is made anew")
        return np.sort(found[found >= 0])

    return near


@contextmanager
def _no_words() -> Iterator[None]:
    """Within this, what FAISS prints of its files goes to stderr: stdout is for answers."""
    library, kept = ctypes.CDLL(None if os.name == "posix" else "msvcrt"), os.dup(1)
    library.fflush(None)
    os.dup2(2, 1)
    try:
        yield
    finally:
        library.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def _build(rows: ShardedVectors, folder: Path, progress: Progress | None) -> None:
    """Write the index of all rows to ``folder``, in the memory of one part of them; half an index is never seen."""
    import faiss
    from faiss.contrib.ondisk import merge_ondisk

    require_disk(rows.folder.path, 2 * len(rows) * (rows.dim + 8))
    lists = max(1, min(round(4 * math.sqrt(len(rows))), len(rows) // 40))
    drawn = np.sort(np.random.default_rng(12).choice(len(rows), min(len(rows), lists * _SAMPLED), replace=False))
    index = faiss.index_factory(rows.dim, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(unit(_drawn(rows, drawn)))
    with atomic_folder(folder) as part:
        parts: list[str] = []
        done = waiting = 0
        piece = faiss.clone_index(index)
        for block in rows.blocks():
            checkpoint()
            piece.add_with_ids(unit(block), np.arange(done, done + len(block), dtype=np.int64))
            done, waiting = done + len(block), waiting + len(block)
            if waiting >= _PART or done == len(rows):
                parts.append(str(part / f"part-{len(parts)}.faiss"))
                faiss.write_index(piece, parts[-1])
                piece, waiting = faiss.clone_index(index), 0
            if progress is not None:
                progress(done, len(rows))
        with _no_words():
            merge_ondisk(index, parts, str(part / _LISTS))
        faiss.write_index(index, str(part / _INDEX))
        for one in parts:
            Path(one).unlink()
        write_json(part / _SEAL, _sealed(part))


def _drawn(rows: ShardedVectors, drawn: np.ndarray) -> np.ndarray:
    """The vectors of ascending rows, one shard after the other."""
    found, first = [], 0
    for block in rows.blocks():
        low, high = np.searchsorted(drawn, (first, first + len(block)))
        found.append(block[drawn[low:high] - first])
        first += len(block)
    return np.concatenate(found)
