"""Nearest-neighbor search over shards: exhaustive for few rows, else with an index on disk.

The index is FAISS's IVF with 8-bit scalar quantization and memory-mapped inverted lists; its candidates are re-ranked with the vectors in
the shards. LanceDB (75 MB, plus 85 MB for pylance) would store a second copy of the data, and FAISS is already a dependency.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StudioError
from ..evaluation.encoding import MEASURES
from ..explore.paraphrase_mining import PairScan, TopPairs, rectangle_tiles, triangle_tiles, unit_rows
from ..explore.products import exact_products
from ..explore.search import ExactSimilaritySearch, Hit
from ..i18n import _
from ..models.io.digests import cached_digest
from ..models.similarity import unit
from ..progress import Progress, checkpoint
from ..workspace import atomic_folder, require_disk_space, write_json
from .jobs import JobFolder, Receipt
from .sources import open_parquet, read_rows

_EXACT_ROWS = 20_000  # up to this number of rows, search is exhaustive: 31 MB at 384 dimensions, a few milliseconds
_TRAIN_VECTORS_PER_LIST = 64
_PART_ROWS = 200_000  # rows indexed in memory before lists are merged on disk: 77 MB at 384 dimensions
_NPROBE = (48, 96, 192, 384)  # candidates for the number of lists probed; the smallest with enough recall is used
_MIN_RECALL = 0.98
_RECALL_AT = (10, 100)  # recall is measured at these k; a larger k is searched exhaustively
_RECALL_QUERIES = 200
_CANDIDATES_PER_HIT = 4  # candidates re-ranked with their full vectors
_TOLERANCE = 1e-6  # single-precision error
_MAX_DIGESTED_BYTES = 1 << 30  # larger lists are checked by size only: hashing takes about a second per GB
_INDEX, _LISTS, _DIGESTS, _REACHES = "ivf.faiss", "lists.bin", "digests.json", "reaches"


class ShardIndex:
    """Nearest-neighbor search over an encoded folder; the index is built on first use.

    Args:
        path: the encoded folder.
        progress: called with the number of rows indexed.

    Attributes:
        bytes: memory used.

    Raises:
        StudioError: the folder contains no vectors or is unfinished, or the index does not fit on the disk.
    """

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.rows = ShardedVectors(path)
        if not len(self.rows):
            raise StudioError(_("{name} contains no texts", name=path.name), "encode files with at least one row of text")
        self._reaches: list[tuple[int, int, float]] = []
        if len(self.rows) <= _EXACT_ROWS:
            self._near = _exact_candidates(np.concatenate(list(self.rows.blocks())))
            self.bytes = len(self.rows) * self.rows.dim * 4
            return
        folder = self.rows.folder.path / f"index-{self.rows.key}"
        if (reaches := _read_reaches(folder)) is None:
            _build(self.rows, folder, progress)
            reaches = _read_reaches(folder) or []
        self._reaches = reaches
        self._near = _approximate_candidates(folder, self.rows, reaches)
        self.bytes = (folder / _INDEX).stat().st_size  # centroids; the lists stay on disk

    def recall(self, k: int) -> float | None:
        """Return the measured share of the ``k`` nearest rows found by a search; ``None`` if it is exact."""
        return next((recall for most, _, recall in self._reaches if k <= most), None)

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows nearest to a (dim,) vector and their cosines, best first, ties by row."""
        wanted = min(k, len(self.rows))
        queries = unit(query[None].astype(np.float32))
        found = self._near(queries, wanted)
        vectors = unit(self.rows.vectors(found)).astype(np.float64)
        scores = np.clip(vectors @ queries[0].astype(np.float64), -1, 1)
        order = np.lexsort((found, -scores))[:wanted]
        return found[order], scores[order]


def search_exhaustively(rows: ShardedVectors, query: np.ndarray, k: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Compare a (dim,) vector with all rows; return the ``k`` most similar rows and their scores, best first.

    Args:
        name: one of :data:`~sbert_studio.models.similarity.SIMILARITIES` without an index.
    """
    hits: list[Hit] = []
    first = 0
    for block in rows.blocks():
        checkpoint()
        hits += [Hit(first + hit.row, hit.score) for hit in ExactSimilaritySearch(block, name).search(query[None], k)[0]]
        hits = sorted(hits, key=lambda hit: (-hit.score, hit.row))[:k]
        first += len(block)
    return np.array([hit.row for hit in hits], np.int64), np.array([hit.score for hit in hits])


def _candidate_count(wanted: int, count: int) -> int:
    return min(count, max(_CANDIDATES_PER_HIT * wanted, 64))


def _exact_candidates(vectors: np.ndarray) -> Callable[[np.ndarray, int], np.ndarray]:
    rows = unit(vectors)

    def near(queries: np.ndarray, wanted: int) -> np.ndarray:
        scores, most = rows @ queries[0], _candidate_count(wanted, len(rows))
        return np.sort(np.argpartition(-scores, most - 1)[:most])

    return near


def _read_reaches(folder: Path) -> list[tuple[int, int, float]] | None:
    """Return (maximum k, lists to probe, recall) of an index verified by its digests; ``None`` if it must be built."""
    try:
        stored = json.loads((folder / _DIGESTS).read_text(encoding="utf-8"))
        reaches = [(int(most), int(lists), float(recall)) for most, lists, recall in stored.pop(_REACHES)]
        return reaches if stored == _digests(folder) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _digests(folder: Path) -> dict[str, Any]:
    size = (folder / _LISTS).stat().st_size
    return {_INDEX: cached_digest(folder / _INDEX), _LISTS: cached_digest(folder / _LISTS) if size <= _MAX_DIGESTED_BYTES else size}


def _open_index(folder: Path) -> Any:
    import faiss

    with _silenced_stdout():
        return faiss.read_index(str(folder / _INDEX), faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_ONDISK_SAME_DIR)


def _approximate_candidates(
    folder: Path, rows: ShardedVectors, reaches: list[tuple[int, int, float]]
) -> Callable[[np.ndarray, int], np.ndarray]:
    index, count = _open_index(folder), len(rows)

    def near(queries: np.ndarray, wanted: int) -> np.ndarray:
        lists = next((lists for most, lists, _ in reaches if wanted <= most), None)
        if lists is None:
            return np.sort(_nearest_rows(rows, queries, wanted)[0][0])
        found: np.ndarray = _probe(index, queries, _candidate_count(wanted, count), lists)[0]
        if found.max(initial=-1) >= count:
            raise StudioError(
                _("the index {name} of {name2} is damaged", name=folder.name, name2=folder.parent.name),
                "delete that folder: the index will be rebuilt",
            )
        return np.sort(found[found >= 0])

    return near


def _probe(index: Any, queries: np.ndarray, count: int, lists: int) -> np.ndarray:
    """Return the rows, (s, count), found for (s, dim) vectors by probing ``lists`` lists; padded with -1."""
    import faiss

    params: Any = faiss.SearchParametersIVF()
    params.nprobe = min(lists, index.nlist)
    found: np.ndarray = index.search(queries, count, params=params)[1]
    return found


def _nearest_rows(rows: ShardedVectors, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and cosines, (s, count) each, nearest to (s, dim) unit vectors by exhaustive search, unordered."""
    numbers, cosines, first = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32), 0
    for block in rows.blocks():
        checkpoint()
        cosines = np.concatenate([cosines, queries @ unit(block).T], 1)
        numbers = np.concatenate([numbers, np.broadcast_to(np.arange(first, first + len(block)), (len(queries), len(block)))], 1)
        first += len(block)
        best = np.argpartition(-cosines, min(count, cosines.shape[1]) - 1, axis=1)[:, :count]
        numbers, cosines = np.take_along_axis(numbers, best, 1), np.take_along_axis(cosines, best, 1)
    return numbers, cosines


def _measure_recall(index: Any, rows: ShardedVectors) -> list[tuple[int, int, float]]:
    """Return (k, lists to probe, recall) for each k of ``_RECALL_AT``; ties with the k-th neighbor count as found."""
    sample = np.sort(np.random.default_rng(13).choice(len(rows), min(len(rows), _RECALL_QUERIES), replace=False))
    queries = unit(_read_vectors(rows, sample))
    numbers, cosines = _nearest_rows(rows, queries, min(len(rows), _candidate_count(_RECALL_AT[-1] + 1, len(rows))))
    cosines[numbers == sample[:, None]] = -2.0  # the row itself
    reaches = []
    for k in _RECALL_AT:
        least = -np.sort(-cosines, axis=1)[:, min(k, cosines.shape[1] - 1) - 1] - _TOLERANCE
        for lists in _NPROBE:
            checkpoint()
            found = _probe(index, queries, _candidate_count(k + 1, len(rows)), lists)
            hit = [np.isin(numbers[at][cosines[at] >= least[at]], found[at]).sum() for at in range(len(sample))]
            recall = float(np.minimum(hit, k).mean() / k)
            if recall >= _MIN_RECALL or lists >= index.nlist:
                break
        reaches.append((k, lists, recall))
    return reaches


@contextmanager
def _silenced_stdout() -> Iterator[None]:
    """Suppress output of FAISS to stdout, which is reserved for results."""
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
    """Build the index in ``folder`` atomically, keeping only one part of the rows in memory."""
    import faiss
    from faiss.contrib.ondisk import merge_ondisk

    require_disk_space(rows.folder.path, 2 * len(rows) * (rows.dim + 8))
    lists = max(1, min(round(4 * math.sqrt(len(rows))), len(rows) // 40))
    drawn = np.sort(np.random.default_rng(12).choice(len(rows), min(len(rows), lists * _TRAIN_VECTORS_PER_LIST), replace=False))
    index = faiss.index_factory(rows.dim, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(unit(_read_vectors(rows, drawn)))
    with _disk_errors(folder), atomic_folder(folder) as part:
        parts: list[str] = []
        done = waiting = 0
        piece = faiss.clone_index(index)
        for block in rows.blocks():
            checkpoint()
            piece.add_with_ids(unit(block), np.arange(done, done + len(block), dtype=np.int64))
            done, waiting = done + len(block), waiting + len(block)
            if waiting >= _PART_ROWS or done == len(rows):
                parts.append(str(part / f"part-{len(parts)}.faiss"))
                faiss.write_index(piece, parts[-1])
                piece, waiting = faiss.clone_index(index), 0
            if progress is not None:
                progress(done, len(rows))
        with _silenced_stdout():
            merge_ondisk(index, parts, str(part / _LISTS))
        faiss.write_index(index, str(part / _INDEX))
        for one in parts:
            Path(one).unlink()
        write_json(part / _DIGESTS, {**_digests(part), _REACHES: _measure_recall(_open_index(part), rows)})


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if "write" not in str(error):
            raise
        why = str(error).splitlines()[0].rpartition(": ")[2]
        raise StudioError(
            _("the index of {name} could not be written: {why}", name=folder.parent.name, why=why), "free disk space, then search again"
        ) from error


def _read_vectors(rows: ShardedVectors, drawn: np.ndarray) -> np.ndarray:
    found, first = [], 0
    for block in rows.blocks():
        low, high = np.searchsorted(drawn, (first, first + len(block)))
        found.append(block[drawn[low:high] - first])
        first += len(block)
    return np.concatenate(found)


def gather_scores(folder: JobFolder, receipts: Sequence[Receipt]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the (n,) targets and the (n,) similarities by measure, in row order."""
    tables = [read_rows(folder.shard(one.number), 0, one.rows, ["target", *MEASURES]) for one in receipts if one.rows]
    columns = {name: np.concatenate([np.empty(0), *(table.column(name).to_numpy() for table in tables)]) for name in ("target", *MEASURES)}
    return columns.pop("target"), columns


def scan_block_pair(best: TopPairs, rows: np.ndarray, first: int, others: np.ndarray, second: int) -> None:
    """Add the best pairs of a row of one block and a row of another, or of the same block, to ``best``.

    Args:
        best: pairs by global row number.
        rows, others: (n, d) and (m, d) float32, of any length.
        first, second: global number of each block's first row; the second block is the same or a later one.

    Raises:
        StoppedError: a stop was requested.
    """
    same = first == second
    both = rows if same else np.concatenate([rows, others])

    def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return exact_products(both, a, b)

    blocks = triangle_tiles(len(rows)) if same else rectangle_tiles(slice(0, len(rows)), slice(len(rows), len(both)))
    for _unused in PairScan(unit_rows(both), None, exact, _GlobalPairs(best, first, second, len(rows))).over(blocks):
        pass


class _GlobalPairs(TopPairs):
    """Adapter to global row numbers for pairs of two concatenated blocks, the first with ``count`` rows."""

    def __init__(self, best: TopPairs, first: int, second: int, count: int) -> None:
        super().__init__(best.count, 1.0)
        self._best, self._starts, self._rows = best, (first, second - count), count

    @property
    def full(self) -> bool:
        return self._best.full

    @property
    def floor(self) -> float:
        return self._best.floor

    @property
    def last(self) -> int | None:
        last = self._best.last
        return None if last is None else last - self._starts[0]

    def add(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray) -> None:
        self._best.add(self._global_rows(a), self._global_rows(b), scores)

    def _global_rows(self, rows: np.ndarray) -> np.ndarray:
        return rows + np.where(rows < self._rows, *self._starts)


_REPAIR_HINT = "encode into this folder again: damaged shards are rewritten"


class ShardedVectors:
    """Vectors and texts of a finished encoding job, numbered from 0 across its shards.

    Raises:
        StudioError: the folder contains something else, or the job is not finished.
    """

    def __init__(self, path: Path | str) -> None:
        self.folder = JobFolder(Path(path))
        self.job = self.folder.job()
        if self.job.work != "encode":
            raise StudioError(
                _("{name} contains no vectors", name=self.folder.path.name), "specify a folder written by sbert-studio encode"
            )
        self.receipts = self.folder.finished(self.job)
        self._starts = np.cumsum([0, *(receipt.rows for receipt in self.receipts)])
        self.dim = int(self.job.settings["model"]["dim"])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def key(self) -> str:
        """Digest of the job, 16 hex digits."""
        return self.job.key

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the vectors of each shard, (n, dim) float32."""
        for receipt in self.receipts:
            yield vectors_of_table(read_rows(self.folder.shard(receipt.number), 0, receipt.rows, ["vector"]), self.dim)

    def paths(self) -> list[Path]:
        """Return the shard files in order."""
        return [self.folder.shard(receipt.number) for receipt in self.receipts]

    def vectors(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of ``rows``, (n, dim) float32; each row group is read once."""
        found = np.empty((len(rows), self.dim), np.float32)
        for places, table in self._groups(np.asarray(rows, np.int64), ["vector"]):
            found[places] = vectors_of_table(table, self.dim)
        return found

    def texts(self, rows: Sequence[int] | np.ndarray) -> list[tuple[Any, str]]:
        """Return (id, text) of ``rows``."""
        found: list[tuple[Any, str]] = [(None, "")] * len(rows)
        for places, table in self._groups(np.asarray(rows, np.int64), ["id", "text"]):
            for place, known, text in zip(places.tolist(), table["id"].to_pylist(), table["text"].to_pylist(), strict=True):
                found[place] = (known, text)
        return found

    def _groups(self, rows: np.ndarray, columns: list[str]) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield (indices into ``rows``, their cells) for each row group."""
        shards = np.searchsorted(self._starts, rows, side="right") - 1
        for shard in np.unique(shards):
            places = np.flatnonzero(shards == shard)
            within = rows[places] - self._starts[shard]
            with open_parquet(self.folder.shard(self.receipts[shard].number), _REPAIR_HINT) as file:
                sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
                starts = np.cumsum([0, *sizes])
                groups = np.searchsorted(starts, within, side="right") - 1
                for group in np.unique(groups):
                    chosen = groups == group
                    yield places[chosen], file.read_row_group(int(group), columns).take(within[chosen] - starts[group])


def vectors_of_table(table: Any, dim: int) -> np.ndarray:
    """Return the column ``vector`` of an Arrow table, (n, dim) float32."""
    column = table.column("vector").combine_chunks()
    return np.asarray(column.flatten()).reshape(-1, dim)
