"""Product-quantized codes in inverted lists (FAISS), stored on disk, with measured recall; exact vectors rank what they find."""

from __future__ import annotations

import functools
import json
import logging
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..models.similarity import unit
from ..progress import StoppedError, checkpoint, stoppable
from ..workspace import Workspace, atomic_file
from .search import ExactSearch, Hit
from .vector_store import append_digest, content_length, evict_files, is_intact, mark_used

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
_LIST_ROWS = 1_500  # rows of a list, unless there would be more than √n lists; shorter ones save less than choosing among them takes
_SEED = 12
_CODEBOOK_ROWS = 20_000  # rows that the codebooks are trained on
_CODE_BITS = 4  # what FAISS's fast scan reads: sixteen centroids, whose products with the query fit a register


@dataclass(frozen=True)
class IVFIndex:
    """Inverted-file index of a corpus, each row a product-quantized code of about half a byte for four components.

    Attributes:
        index: the FAISS index; its ids are row numbers.
    """

    index: Any

    def __len__(self) -> int:
        return int(self.index.ntotal)

    @property
    def count(self) -> int:
        return int(self.index.nlist)

    @property
    def bytes(self) -> int:
        """Memory of the codes, the row numbers and the centroids."""
        return len(self) * (int(self.index.code_size) + 8) + self.count * int(self.index.d) * 4

    def candidates(self, queries: np.ndarray, count: int, probes: int) -> np.ndarray:
        """Return approximately the nearest ``count`` rows of (q, d) queries of length one, (q, count) int64, from ``probes`` lists.

        They are padded with -1.
        """
        found: np.ndarray = self.index.search(_padded(queries, self.index.d), count, params=_search_parameters(probes))[1]
        return found

    @classmethod
    def build(cls, vectors: np.ndarray) -> IVFIndex:
        """Build the index of (n, d) vectors of any length, n at least 1,000."""
        import faiss

        rows, width = vectors.shape
        count = 1 << max(0, round(np.log2(min(rows / _LIST_ROWS, rows**0.5))))
        each = _components_per_code(width)
        width = _padded_width(width)
        order = np.random.default_rng(_SEED).permutation(rows)
        quantizer: Any = faiss.IndexFlatIP(width)
        quantizer.add(train_centroids(_padded(unit(vectors[np.sort(order[: max(count * _TRAINING_ROWS, _BLOCK)])]), width), count))
        index: Any = faiss.IndexIVFPQFastScan(quantizer, width, count, width // each, _CODE_BITS, faiss.METRIC_INNER_PRODUCT)
        index.own_fields = True
        quantizer.this.disown()
        index.train(_padded(unit(vectors[np.sort(order[:_CODEBOOK_ROWS])]), width))  # the centroids are given; this learns the codebooks
        for start in range(0, rows, _BLOCK):
            checkpoint()
            index.add(_padded(unit(vectors[start : start + _BLOCK]), width))
        return cls(index)

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
    def read(cls, path: Path) -> IVFIndex:
        """Open a file written by :meth:`write`."""
        import faiss

        return cls(faiss.read_index(str(path)))


@functools.lru_cache(maxsize=64)
def _search_parameters(probes: int) -> Any:
    import faiss

    params: Any = faiss.SearchParametersIVF()
    params.nprobe = probes
    return params


def _components_per_code(width: int) -> int:
    """Return how many components share four bits: fewer of narrow vectors, whose neighbors differ in fewer components."""
    return min(4, max(1, width // 64))


def _padded_width(width: int) -> int:
    each = _components_per_code(width)
    return -(-width // each) * each


def _padded(vectors: np.ndarray, width: int) -> np.ndarray:
    """Return vectors with zeros appended up to ``width`` components, which changes no product."""
    return vectors if vectors.shape[1] == width else np.pad(vectors, ((0, 0), (0, width - vectors.shape[1])))


TARGET, LEAST = 0.98, 0.95
"""Target recall, and the recall that suffices if more than :data:`_READ` rows would have to be read."""
BANDS = (10, 100)
"""Numbers of neighbors for which the search depth is measured; more than the last are searched exactly."""
_SAMPLE = 1000
_Z_95 = 1.645  # standard errors below the mean
_READ = 250_000  # codes, about a millisecond
_RANKED_SHARE = 50  # at most one in this many rows is re-ranked; beyond that, brute force is as fast
_TIE = 1e-6  # float32 rounding error
_GATHERED = 50_000  # rows compared at once
_RECALL_SEED = 7


@dataclass(frozen=True)
class SearchDepth:
    """Search depth: re-ranking ``candidates`` rows of ``probes`` lists achieves ``recall`` for up to ``k`` neighbors."""

    k: int
    probes: int
    candidates: int
    recall: float


@dataclass(frozen=True)
class ApproximateSearch:
    """An index and the depths at which it is searched.

    Attributes:
        reaches: depths by ascending ``k``; empty if the codes do not tell the rows apart.
    """

    cells: IVFIndex
    reaches: tuple[SearchDepth, ...]

    def reach(self, k: int) -> SearchDepth | None:
        """Return the depth for ``k`` rows; None if the search must be exact."""
        return next((reach for reach in self.reaches if reach.k >= k), None)

    def search(self, exact: ExactSearch, query: np.ndarray, k: int, depth: SearchDepth) -> list[Hit]:
        """Return approximately the ``k`` nearest rows of a (d,) query, best first, ties by row; cosines are exact."""
        rows = self.cells.candidates(unit(query[None]), depth.candidates, depth.probes)[0]
        return exact.rank(query, rows[rows >= 0], k)


def measure_recall(cells: IVFIndex, exact: ExactSearch, target: float = TARGET, sample: int = _SAMPLE) -> ApproximateSearch:
    """Find the numbers of candidates and of lists that achieve the target recall on sampled rows.

    Half of the sample chooses them, the other half measures recall. Where there are several lists, the candidates of all lists may miss
    half as many neighbors as the target allows, and choosing lists the other half.
    """
    rows = np.sort(np.random.default_rng(_RECALL_SEED).choice(len(exact), min(sample, len(exact)), replace=False))
    queries = exact.vectors[rows]
    truth = [_without_self(hits, int(row)) for hits, row in zip(exact.search(queries, BANDS[-1] + 1), rows, strict=True)]

    def recall(k: int, count: int, probes: int) -> tuple[float, float]:
        """Return a lower bound of the first half, and the mean of the second."""
        shares = _recall_by_query(cells, exact, queries, rows, truth, k, count, probes)
        choosing, measuring = shares[::2], shares[1::2]
        return float(choosing.mean() - _Z_95 * choosing.std() / np.sqrt(len(choosing))), float(measuring.mean())

    reaches: list[SearchDepth] = []
    bound, probes = target if cells.count == 1 else (1 + target) / 2, 1
    for k in BANDS:
        enough: SearchDepth | None = None
        count = 2 * k + 20
        while 3 * count * _RANKED_SHARE <= 2 * len(exact) and recall(k, count, cells.count)[0] < bound:
            count = count * 3 // 2
        while probes <= cells.count:
            lower, measured = recall(k, count, probes)
            if lower >= target or (enough is None and lower >= min(target, LEAST)):
                enough = SearchDepth(k, probes, count, measured)
            if lower >= target or (enough is not None and probes * len(cells) > _READ * cells.count):
                break
            probes = max(probes + 1, probes * 5 // 4)
        if enough is None:
            break
        reaches.append(enough)
        probes = enough.probes
    return ApproximateSearch(cells, tuple(reaches))


def _recall_by_query(
    cells: IVFIndex, exact: ExactSearch, queries: np.ndarray, rows: np.ndarray, truth: list[list[Hit]], k: int, count: int, probes: int
) -> np.ndarray:
    shares = np.empty(len(rows))
    step = max(1, _GATHERED // count)
    for start in range(0, len(rows), step):
        checkpoint()
        part = slice(start, start + step)
        block = unit(queries[part])
        found = cells.candidates(block, count + 1, probes)
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


_SUFFIX = ".cells"
_LENGTH = 8  # bytes of the length field before the metadata
_VERSION = 2


class IVFIndexStore:
    """Indexes on disk, one file per corpus and encoder; least recently used files are evicted beyond ``max_bytes``."""

    def __init__(self, workspace: Workspace, max_bytes: int) -> None:
        self._workspace, self._max_bytes = workspace, max_bytes

    def load(self, digest: str, fingerprint: str, rows: int, width: int) -> ApproximateSearch | None:
        """Return the index of (rows, width) vectors; None if it is missing or damaged."""
        path = self._workspace.cells(digest, fingerprint)
        found = _read(path)
        if found is None or (len(found.cells), found.cells.index.d) != (rows, _padded_width(width)):
            return None
        mark_used(path)
        return found

    def make(self, digest: str, fingerprint: str, exact: ExactSearch) -> ApproximateSearch | None:
        """Build the index and measure its recall; None if the disk is full."""
        found = measure_recall(IVFIndex.build(exact.vectors), exact)
        path = self._workspace.cells(digest, fingerprint)
        if not _write(path, found):
            return None
        evict_files(path.parent, self._max_bytes, path, f"*{_SUFFIX}")
        return self.load(digest, fingerprint, *exact.vectors.shape)


def _write(path: Path, search: ApproximateSearch) -> bool:
    reaches = [[reach.k, reach.probes, reach.candidates, reach.recall] for reach in search.reaches]
    raw = json.dumps({"version": _VERSION, "reaches": reaches}).encode()
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
        return ApproximateSearch(IVFIndex.read(path), tuple(SearchDepth(*reach) for reach in meta["reaches"]))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None
