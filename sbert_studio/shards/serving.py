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

from ..errors import StudioError
from ..explore.exact_search import ExactSimilaritySearch, Hit
from ..models.io.digests import cached_digest
from ..models.similarity import unit
from ..progress import checkpoint
from ..workspace import atomic_folder, require_disk_space, write_json
from .reader import ShardedVectors

if TYPE_CHECKING:
    from ..progress import Progress

_EXACT = 20_000  # rows: 31 MB of 384 dimensions, looked through in a few milliseconds
_SAMPLED = 64  # vectors a list from which its centre is learned
_PART = 200_000  # rows whose lists are made in memory before they are joined on disk: 77 MB of 384 dimensions
_LOOKED_AT = (48, 96, 192, 384)  # lists a query looks into: the fewest by which enough is found
_ENOUGH = 0.98  # of the nearest rows
_BANDS = (10, 100)  # for so many nearest rows that is measured; who asks for more is answered by looking at all of them
_ASKED = 200  # rows whose neighbours it is measured by
_AGAIN = 4  # times as many as are asked for are ranked again by their whole vectors
_ALIKE = 1e-6  # what single precision loses
_READ_WHOLE = 1 << 30  # bytes of lists that are compared with their digest when they are opened, in about a second
_INDEX, _LISTS, _SEAL, _REACHES = "ivf.faiss", "lists.bin", "digests.json", "reaches"


class ShardIndex:
    """The rows of a folder, and what finds the nearest of them; an index that is not there yet is built.

    Args:
        path: the folder that ``encode`` wrote.
        progress: told how many rows are indexed.

    Attributes:
        bytes: what of it is held in memory.

    Raises:
        StudioError: it holds no vectors, or not all of them yet; the disk does not take the index.
    """

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.rows = ShardedVectors(path)
        if not len(self.rows):
            raise StudioError(f"{path.name} holds no texts", "encode files with at least one row of text")
        self._reaches: list[tuple[int, int, float]] = []
        if len(self.rows) <= _EXACT:
            self._near = _exact(np.concatenate(list(self.rows.blocks())))
            self.bytes = len(self.rows) * self.rows.dim * 4
            return
        folder = self.rows.folder.path / f"index-{self.rows.key}"
        if (reaches := _whole(folder)) is None:
            _build(self.rows, folder, progress)
            reaches = _whole(folder) or []
        self._reaches = reaches
        self._near = _approximate(folder, self.rows, reaches)
        self.bytes = (folder / _INDEX).stat().st_size  # the centres; the lists stay on disk

    def recall(self, k: int) -> float | None:
        """The share of the ``k`` nearest rows that a search finds, measured on rows of the folder; None: all, it is exact."""
        return next((recall for most, _, recall in self._reaches if k <= most), None)

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The numbers and the cosines of the ``k`` rows nearest to a (dim,) vector, best first, equal cosines by row."""
        wanted = min(k, len(self.rows))
        asked = unit(query[None].astype(np.float32))
        found = self._near(asked, wanted)
        vectors = unit(self.rows.vectors(found)).astype(np.float64)
        scores = np.clip(vectors @ asked[0].astype(np.float64), -1, 1)
        order = np.lexsort((found, -scores))[:wanted]
        return found[order], scores[order]


def search_exhaustively(rows: ShardedVectors, query: np.ndarray, k: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the ``k`` rows most similar to a (dim,) vector, best first, and their scores; all rows are looked at.

    Args:
        name: one of :data:`~sbert_studio.models.similarity.SIMILARITIES` that no index is made for.
    """
    hits: list[Hit] = []
    first = 0
    for block in rows.blocks():
        checkpoint()
        hits += [Hit(first + hit.row, hit.score) for hit in ExactSimilaritySearch(block, name).search(query[None], k)[0]]
        hits = sorted(hits, key=lambda hit: (-hit.score, hit.row))[:k]
        first += len(block)
    return np.array([hit.row for hit in hits], np.int64), np.array([hit.score for hit in hits])


def _depth(wanted: int, count: int) -> int:
    """How many rows are looked at again for so many that are wanted."""
    return min(count, max(_AGAIN * wanted, 64))


def _exact(vectors: np.ndarray) -> Callable[[np.ndarray, int], np.ndarray]:
    rows = unit(vectors)

    def near(asked: np.ndarray, wanted: int) -> np.ndarray:
        scores, most = rows @ asked[0], _depth(wanted, len(rows))
        return np.sort(np.argpartition(-scores, most - 1)[:most])

    return near


def _whole(folder: Path) -> list[tuple[int, int, float]] | None:
    """How an index is asked, where it is as it was written: to the byte, but for lists that would take long to read, of which the size
    counts; None: it is to be made."""
    try:
        sealed = json.loads((folder / _SEAL).read_text(encoding="utf-8"))
        reaches = [(int(most), int(lists), float(recall)) for most, lists, recall in sealed.pop(_REACHES)]
        return reaches if sealed == _sealed(folder) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _sealed(folder: Path) -> dict[str, Any]:
    size = (folder / _LISTS).stat().st_size
    return {_INDEX: cached_digest(folder / _INDEX), _LISTS: cached_digest(folder / _LISTS) if size <= _READ_WHOLE else size}


def _opened(folder: Path) -> Any:
    import faiss

    with _no_words():
        return faiss.read_index(str(folder / _INDEX), faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_ONDISK_SAME_DIR)


def _approximate(folder: Path, rows: ShardedVectors, reaches: list[tuple[int, int, float]]) -> Callable[[np.ndarray, int], np.ndarray]:
    index, count = _opened(folder), len(rows)

    def near(asked: np.ndarray, wanted: int) -> np.ndarray:
        lists = next((lists for most, lists, _ in reaches if wanted <= most), None)
        if lists is None:
            return np.sort(_nearest(rows, asked, wanted)[0][0])
        found: np.ndarray = _looked_up(index, asked, _depth(wanted, count), lists)[0]
        if found.max(initial=-1) >= count:
            raise StudioError(f"the index {folder.name} of {folder.parent.name} is damaged", "delete that folder: it is made anew")
        return np.sort(found[found >= 0])

    return near


def _looked_up(index: Any, asked: np.ndarray, count: int, lists: int) -> np.ndarray:
    """The numbers, (s, count), of the rows that an index finds for (s, dim) vectors in so many of its lists; -1 where there are fewer."""
    import faiss

    how: Any = faiss.SearchParametersIVF()
    how.nprobe = min(lists, index.nlist)
    found: np.ndarray = index.search(asked, count, params=how)[1]
    return found


def _nearest(rows: ShardedVectors, asked: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers and cosines, (s, count) each, of the rows nearest to (s, dim) vectors of length one, by looking at all; in no order."""
    numbers, cosines, first = np.empty((len(asked), 0), np.int64), np.empty((len(asked), 0), np.float32), 0
    for block in rows.blocks():
        checkpoint()
        cosines = np.concatenate([cosines, asked @ unit(block).T], 1)
        numbers = np.concatenate([numbers, np.broadcast_to(np.arange(first, first + len(block)), (len(asked), len(block)))], 1)
        first += len(block)
        best = np.argpartition(-cosines, min(count, cosines.shape[1]) - 1, axis=1)[:, :count]
        numbers, cosines = np.take_along_axis(numbers, best, 1), np.take_along_axis(cosines, best, 1)
    return numbers, cosines


def _measured(index: Any, rows: ShardedVectors) -> list[tuple[int, int, float]]:
    """For each band how many lists are looked into, and what share of the nearest rows is found so; any of equally near ones counts."""
    asked = np.sort(np.random.default_rng(13).choice(len(rows), min(len(rows), _ASKED), replace=False))
    queries = unit(_drawn(rows, asked))
    numbers, cosines = _nearest(rows, queries, min(len(rows), _depth(_BANDS[-1] + 1, len(rows))))
    cosines[numbers == asked[:, None]] = -2.0  # nobody asks for the row itself
    reaches = []
    for k in _BANDS:
        least = -np.sort(-cosines, axis=1)[:, min(k, cosines.shape[1] - 1) - 1] - _ALIKE
        for lists in _LOOKED_AT:
            checkpoint()
            found = _looked_up(index, queries, _depth(k + 1, len(rows)), lists)
            hit = [np.isin(numbers[at][cosines[at] >= least[at]], found[at]).sum() for at in range(len(asked))]
            recall = float(np.minimum(hit, k).mean() / k)
            if recall >= _ENOUGH or lists >= index.nlist:
                break
        reaches.append((k, lists, recall))
    return reaches


@contextmanager
def _no_words() -> Iterator[None]:
    """Within this, what FAISS prints of its files, such as where they lie now, is not shown: stdout is for answers."""
    library, kept = ctypes.CDLL(None if os.name == "posix" else "msvcrt"), os.dup(1)
    library.fflush(None)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
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

    require_disk_space(rows.folder.path, 2 * len(rows) * (rows.dim + 8))
    lists = max(1, min(round(4 * math.sqrt(len(rows))), len(rows) // 40))
    drawn = np.sort(np.random.default_rng(12).choice(len(rows), min(len(rows), lists * _SAMPLED), replace=False))
    index = faiss.index_factory(rows.dim, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(unit(_drawn(rows, drawn)))
    with _taken(folder), atomic_folder(folder) as part:
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
        write_json(part / _SEAL, {**_sealed(part), _REACHES: _measured(_opened(part), rows)})


@contextmanager
def _taken(folder: Path) -> Iterator[None]:
    """Say in words what the disk does not take.

    Raises:
        StudioError: FAISS could not write.
    """
    try:
        yield
    except RuntimeError as error:
        if "write" not in str(error):
            raise
        why = str(error).splitlines()[0].rpartition(": ")[2]
        raise StudioError(
            f"the index of {folder.parent.name} could not be written: {why}", "make room on the disk, then ask again"
        ) from error


def _drawn(rows: ShardedVectors, drawn: np.ndarray) -> np.ndarray:
    """The vectors of ascending rows, one shard after the other."""
    found, first = [], 0
    for block in rows.blocks():
        low, high = np.searchsorted(drawn, (first, first + len(block)))
        found.append(block[drawn[low:high] - first])
        first += len(block)
    return np.concatenate(found)
