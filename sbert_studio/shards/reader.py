"""Readers of finished jobs: vectors and texts by row, evaluation scores, and the best pairs of two blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StudioError
from ..evaluation.encoding import MEASURES
from ..explore.paraphrase_mining import PairScan, TopPairs, rectangle_tiles, triangle_tiles, unit_rows
from ..explore.products import exact_products
from ..i18n import _
from .jobs import JobFolder, Receipt
from .sources import open_parquet, read_rows


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
