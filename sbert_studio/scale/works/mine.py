"""Vectors → the most similar pairs: of each shard the best of its rows with one another and with those of all later shards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...data.progress import checkpoint
from ...explore.mining.best import Best
from ..job import Shard
from ..pairs import look_between
from ..sources import read_rows
from .base import WORKS, Do, Work


@WORKS.register("mine")
class Mine(Work):
    """Settings: ``{of, top, dim, threads}``: the key of the job whose shards are the sources, and how many pairs are wanted."""

    def bytes_of(self, rows: int) -> int:
        """See :meth:`Work.bytes_of`."""
        return len(self.job.shards) * int(self.job.settings["top"]) * 24

    def _ready(self) -> Do:
        return self._mine

    def _mine(self, shard: Shard, tell: Callable[[int], None]) -> None:
        import pyarrow as pa

        vectors = self._vectors(shard)
        best = Best(int(self.job.settings["top"]), 1.0)
        later = self.job.shards[shard.number :]
        for place, other in enumerate(later):
            checkpoint()
            look_between(best, vectors, shard.first, vectors if other.number == shard.number else self._vectors(other), other.first)
            tell(shard.rows * (place + 1) // len(later))
        a, b, scores = best.columns()
        self.folder.keep(self.job, shard, pa.table({"a": a, "b": b, "score": scores}), 0, {})

    def _vectors(self, shard: Shard) -> np.ndarray:
        column = read_rows(shard.path, shard.start, shard.rows, ["vector"]).column("vector").combine_chunks()
        return np.asarray(column.flatten()).reshape(-1, int(self.job.settings["dim"]))
