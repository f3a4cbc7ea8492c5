"""Inverted-file index with int8 vectors (FAISS), stored on disk, with measured recall."""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..models.similarity import unit
from ..progress import StoppedError, checkpoint, stoppable
from ..workspace import Workspace, atomic_file
from .search import ExactSearch, Hit
from .vector_store import TextKeys, append_digest, content_length, evict_files, find_keys, is_intact, latest_files, mark_used

log = logging.getLogger(__name__)
_JOIN_SECONDS = 5.0


class BackgroundJobs:
    """Background jobs by key, each run only once; failures are logged and not retried."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scheduled: set[str] = set()
        self._pending: set[str] = set()
        self._waiting: queue.SimpleQueue[tuple[str, Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def want(self, key: str, work: Callable[[], None]) -> bool:
        """Schedule ``work`` unless its key was scheduled before.

        Returns:
            True if it is pending or running.
        """
        with self._lock:
            if key in self._scheduled or self._closing.is_set():
                return key in self._pending
            self._scheduled.add(key)
            self._pending.add(key)
            self._waiting.put((key, work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="indexes", daemon=True)
                self._thread.start()
            return True

    def forget(self, key: str) -> None:
        with self._lock:
            self._scheduled.discard(key)

    def close(self) -> None:
        """Stop the running job at its next stop check and start no more jobs."""
        with self._lock:
            self._closing.set()
            thread = self._thread
        self._waiting.put(None)
        if thread is not None:
            thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        while (job := self._waiting.get()) is not None and not self._closing.is_set():
            key, work = job
            try:
                with stoppable(self._closing.is_set):
                    work()
            except StoppedError:
                return
            except Exception:
                log.exception("an index could not be built; search stays exact")
            finally:
                with self._lock:
                    self._pending.discard(key)


_CENTROID_BLOCK = 4096
_ROUNDS = 8


def train_centroids(sample: np.ndarray, count: int, seed: int = 12) -> np.ndarray:
    """Return (count, d) unit centroids of (m, d) unit vectors (spherical k-means); an empty cluster takes a member of the largest one."""
    rng = np.random.default_rng(seed)
    found = sample[rng.choice(len(sample), count, replace=False)].astype(np.float32)
    for _ in range(_ROUNDS):
        cells = assign_to_centroids(sample, found)
        sizes = np.bincount(cells, minlength=count)
        order = np.argsort(cells, kind="stable")
        filled = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[filled])[:-1]])
        sums = np.add.reduceat(sample[order], starts, axis=0)
        found[filled] = unit(sums)
        empty = np.flatnonzero(sizes == 0)
        if len(empty):
            largest = np.flatnonzero(np.isin(cells, np.argsort(-sizes)[: max(1, len(empty) // 4)]))
            found[empty] = sample[rng.choice(largest, len(empty), replace=len(largest) < len(empty))]
    return found


def assign_to_centroids(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the nearest centroid of each of (n, d) rows, (n,) int64."""
    found = np.empty(len(rows), np.int64)
    for start in range(0, len(rows), _CENTROID_BLOCK):
        checkpoint()
        found[start : start + _CENTROID_BLOCK] = (rows[start : start + _CENTROID_BLOCK] @ centres.T).argmax(1)
    return found


_BLOCK = 8192
_TRAINING_ROWS = 40  # training rows per list
_LISTS = 4  # number of lists, as a multiple of √n
_SEED = 12
_PARALLEL_LISTS = 1  # FAISS parallelizes over the lists of one query, not over queries


@dataclass(frozen=True)
class IVFIndex:
    """Inverted-file index of a corpus.

    Attributes:
        index: the FAISS index; its ids are row numbers.
        trained: number of rows when the lists were trained.
    """

    index: Any
    trained: int

    def __len__(self) -> int:
        return int(self.index.ntotal)

    @property
    def count(self) -> int:
        return int(self.index.nlist)

    def candidates(self, queries: np.ndarray, count: int, probes: int) -> np.ndarray:
        """Return approximately the nearest ``count`` rows of (q, d) queries, (q, count) int64, from ``probes`` lists; padded with -1."""
        import faiss

        params: Any = faiss.SearchParametersIVF()
        params.nprobe = probes
        found: np.ndarray = self.index.search(unit(queries), count, params=params)[1]
        return found

    @classmethod
    def build(cls, vectors: np.ndarray) -> IVFIndex:
        """Build the index of (n, d) vectors of any length, n at least 10,000."""
        rows = len(vectors)
        count = 1 << round(np.log2(_LISTS * rows**0.5))
        chosen = np.sort(np.random.default_rng(_SEED).permutation(rows)[: count * _TRAINING_ROWS])
        sample = unit(vectors[chosen])
        index = _empty(train_centroids(sample, count))
        index.train(sample[:: max(1, len(sample) // 50_000)])  # the centroids are given; this only learns the range of each component
        found = cls(index, rows)
        found._take(vectors, np.arange(rows))
        return found

    def extend(self, vectors: np.ndarray, earlier: np.ndarray) -> IVFIndex:
        """Build the index of another corpus that shares rows with this one; only its new rows are assigned to lists.

        Args:
            vectors: (m, d), all vectors of the other corpus.
            earlier: (m,) int64, the row of each vector in this index, each at most once; -1 for new rows.
        """
        import faiss

        old = self.index
        index = _empty(old.quantizer.reconstruct_n(0, old.nlist))
        faiss.copy_array_to_vector(faiss.vector_to_array(old.sq.trained).copy(), index.sq.trained)
        index.is_trained = True
        now = np.full(len(self), -1, np.int64)
        now[earlier[earlier >= 0]] = np.flatnonzero(earlier >= 0)
        source = old.invlists
        for cell in range(old.nlist):
            size = source.list_size(cell)
            if not size:
                continue
            ids = now[faiss.rev_swig_ptr(source.get_ids(cell), size)]
            codes = faiss.rev_swig_ptr(source.get_codes(cell), size * old.code_size).reshape(size, -1)[ids >= 0]
            ids = np.ascontiguousarray(ids[ids >= 0])
            if len(ids):
                codes = np.ascontiguousarray(codes)
                index.invlists.add_entries(cell, len(ids), faiss.swig_ptr(ids), faiss.swig_ptr(codes))
                index.ntotal += len(ids)
        found = IVFIndex(index, self.trained)
        found._take(vectors, np.flatnonzero(earlier < 0))
        return found

    def write(self, path: Path) -> None:
        """Write the FAISS file.

        Raises:
            OSError: the disk is full or not writable.
        """
        import faiss

        try:
            faiss.write_index(self.index, str(path))
        except RuntimeError as error:
            raise OSError(f"the index was not written: {str(error).splitlines()[0]}") from error

    @classmethod
    def read(cls, path: Path, trained: int) -> IVFIndex:
        """Open a file written by :meth:`write`, memory-mapped where supported."""
        import faiss

        index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        index.parallel_mode = _PARALLEL_LISTS
        return cls(index, trained)

    def _take(self, vectors: np.ndarray, rows: np.ndarray) -> None:
        for start in range(0, len(rows), _BLOCK):
            checkpoint()
            part = rows[start : start + _BLOCK]
            self.index.add_with_ids(unit(vectors[part]), np.ascontiguousarray(part, np.int64))


def _empty(centres: np.ndarray) -> Any:
    import faiss

    count, width = centres.shape
    quantizer: Any = faiss.IndexFlatIP(width)
    quantizer.add(centres)
    index: Any = faiss.IndexIVFScalarQuantizer(quantizer, width, count, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.own_fields, index.parallel_mode = True, _PARALLEL_LISTS
    quantizer.this.disown()
    return index


TARGET, LEAST = 0.98, 0.95
"""Target recall, and the recall that suffices if more than :data:`_READ` rows would have to be read."""
BANDS = (10, 100)
"""Numbers of neighbors for which the search depth is measured; more than the last are searched exactly."""
_SAMPLE = 1000
_Z_95 = 1.645  # standard errors below the mean
_MAX_PROBE_SHARE = 4  # at most one in this many lists is read; beyond that, brute force is as fast
_READ = 60_000
_TIE = 1e-6  # float32 rounding error
_QUERY_BLOCK = 100
_RECALL_SEED = 7


@dataclass(frozen=True)
class SearchDepth:
    """Search depth: probing ``probes`` lists achieves ``recall`` for up to ``k`` neighbors."""

    k: int
    probes: int
    recall: float


@dataclass(frozen=True)
class ApproximateSearch:
    """An index and the depths at which it is searched.

    Attributes:
        reaches: depths by ascending ``k``; empty if too many lists would have to be read.
    """

    cells: IVFIndex
    reaches: tuple[SearchDepth, ...]

    def reach(self, k: int) -> SearchDepth | None:
        """Return the depth for ``k`` rows; None if the search must be exact."""
        return next((reach for reach in self.reaches if reach.k >= k), None)

    def search(self, exact: ExactSearch, query: np.ndarray, k: int, probes: int) -> list[Hit]:
        """Return approximately the ``k`` nearest rows of a (d,) query, best first, ties by row; cosines are exact."""
        rows = self.cells.candidates(query[None], _search_depth(k), probes)[0]
        return exact.rank(query, rows[rows >= 0], k)


def measure_recall(cells: IVFIndex, exact: ExactSearch, target: float = TARGET, sample: int = _SAMPLE) -> ApproximateSearch:
    """Find the number of lists that achieves the target recall on sampled rows.

    Half of the sample chooses the number of lists, the other half measures recall.
    """
    rows = np.random.default_rng(_RECALL_SEED).choice(len(exact), min(sample, len(exact)), replace=False)
    queries = exact.vectors[np.sort(rows)]
    rows = np.sort(rows)
    truth = [_without_self(hits, int(row)) for hits, row in zip(exact.search(queries, BANDS[-1] + 1), rows, strict=True)]
    reaches: list[SearchDepth] = []
    probes = 1
    for k in BANDS:
        enough: SearchDepth | None = None
        while probes * _MAX_PROBE_SHARE <= cells.count:
            shares = _recall_by_query(cells, exact, queries, rows, truth, k, probes)
            choosing, measuring = shares[::2], shares[1::2]
            lower = choosing.mean() - _Z_95 * choosing.std() / np.sqrt(len(choosing))
            if lower >= target or (enough is None and lower >= min(target, LEAST)):
                enough = SearchDepth(k, probes, float(measuring.mean()))
            if lower >= target or (enough is not None and probes * len(cells) > _READ * cells.count):
                break
            probes = max(probes + 1, probes * 5 // 4)
        if enough is None:
            break
        reaches.append(enough)
        probes = enough.probes
    return ApproximateSearch(cells, tuple(reaches))


def _recall_by_query(
    cells: IVFIndex, exact: ExactSearch, queries: np.ndarray, rows: np.ndarray, truth: list[list[Hit]], k: int, probes: int
) -> np.ndarray:
    shares = np.empty(len(rows))
    for start in range(0, len(rows), _QUERY_BLOCK):
        checkpoint()
        part = slice(start, start + _QUERY_BLOCK)
        block = unit(queries[part])
        found = cells.candidates(block, _search_depth(k) + 1, probes)
        near = unit(exact.vectors[found.ravel()]).reshape(*found.shape, -1)
        cosines = np.einsum("scd,sd->sc", near, block)
        cosines[(found < 0) | (found == rows[part, None])] = -np.inf
        for place, hits in enumerate(truth[part]):
            wanted = min(k, len(hits))
            reached = int((cosines[place] >= hits[wanted - 1].score - _TIE).sum())
            shares[start + place] = min(reached, wanted) / wanted
    return shares


def _without_self(hits: list[Hit], row: int) -> list[Hit]:
    found = [hit for hit in hits if hit.row != row]
    return found[: len(hits) - 1]


def _search_depth(k: int) -> int:
    return 2 * k + 20


_SUFFIX = ".cells"
_LENGTH = 8  # bytes of the length field before the metadata
_PARENTS = 4  # most recent indexes considered for adaptation
_MIN_SHARED, _MAX_NEW, _MAX_GROWTH = 0.5, 0.25, 2.0  # shares of the parent's rows and of the new rows; growth since training
_VERSION = 1


class IVFIndexStore:
    """Indexes on disk, one file per corpus and encoder; least recently used files are evicted beyond ``max_bytes``."""

    def __init__(self, workspace: Workspace, max_bytes: int) -> None:
        self._workspace, self._max_bytes = workspace, max_bytes
        self._keys = TextKeys(workspace)

    def load(self, digest: str, fingerprint: str, rows: int, width: int) -> ApproximateSearch | None:
        """Return the index of (rows, width) vectors; None if it is missing or damaged."""
        path = self._workspace.cells(digest, fingerprint)
        found = _read(path)
        if found is None or (len(found.cells), found.cells.index.d) != (rows, width):
            return None
        mark_used(path)
        return found

    def make(self, digest: str, fingerprint: str, texts: Sequence[str], exact: ExactSearch) -> ApproximateSearch | None:
        """Build the index, or adapt that of a similar corpus; None if the disk is full."""
        cells = self._from_another(digest, fingerprint, texts, exact.vectors) or IVFIndex.build(exact.vectors)
        found = measure_recall(cells, exact)
        path = self._workspace.cells(digest, fingerprint)
        if not _write(path, found):
            return None
        evict_files(path.parent, self._max_bytes, path, f"*{_SUFFIX}")
        return self.load(digest, fingerprint, *exact.vectors.shape)

    def _from_another(self, digest: str, fingerprint: str, texts: Sequence[str], vectors: np.ndarray) -> IVFIndex | None:
        keys = self._keys.get(texts, digest)
        folder = self._workspace.cells(digest, fingerprint).parent
        for path in latest_files(folder, f"*-{fingerprint}{_SUFFIX}")[:_PARENTS]:
            before = self._keys.load(path.name.split("-")[0])
            if before is None or not len(before):
                continue
            earlier = find_keys(keys, before)
            first = np.flatnonzero(earlier >= 0)[np.unique(earlier[earlier >= 0], return_index=True)[1]]
            single = np.full(len(earlier), -1, np.int64)
            single[first] = earlier[first]
            shared = len(first)
            if shared < _MIN_SHARED * len(before) or shared < (1 - _MAX_NEW) * len(keys):
                continue
            parent = _read(path)
            if parent is None or len(parent.cells) != len(before) or not 1 / _MAX_GROWTH <= len(keys) / parent.cells.trained <= _MAX_GROWTH:
                continue
            return parent.cells.extend(vectors, single)
        return None


def _write(path: Path, search: ApproximateSearch) -> bool:
    reaches = [[reach.k, reach.probes, reach.recall] for reach in search.reaches]
    raw = json.dumps({"version": _VERSION, "trained": search.cells.trained, "reaches": reaches}).encode()
    try:
        with atomic_file(path) as part:
            search.cells.write(part)
            with part.open("r+b") as target:
                target.seek(0, os.SEEK_END)
                target.write(raw + len(raw).to_bytes(_LENGTH, "little"))
                append_digest(target)
    except OSError as error:
        log.warning("%s could not be kept: search stays exact: %s", path.name, error.strerror or error)
        return False
    return True


def _read(path: Path) -> ApproximateSearch | None:
    try:
        if not is_intact(path):
            return None
        with path.open("rb") as source:
            end = content_length(path) - _LENGTH
            source.seek(end)
            length = int.from_bytes(source.read(_LENGTH), "little")
            source.seek(end - length)
            meta = json.loads(source.read(length))
        if meta["version"] != _VERSION:
            return None
        return ApproximateSearch(IVFIndex.read(path, int(meta["trained"])), tuple(SearchDepth(*reach) for reach in meta["reaches"]))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None
