"""Texts → their vectors: shards of ``id``, ``text`` and ``vector``, one row for each text that is not blank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.base import finite
from ...workspace import digest_texts
from ..job import Shard
from ..models import load_described
from ..sources import read_rows
from .base import WORKS, Do, Work

if TYPE_CHECKING:
    from ...encoders.base import Encoder

_BESIDE = 160  # bytes a row of text, id and receipt: what a sentence of twenty words takes, with room


@WORKS.register("encode")
class Encode(Work):
    """Settings: ``{model, text, id, threads}``, the last but one null where rows are numbered."""

    def bytes_of(self, rows: int) -> int:
        """See :meth:`Work.bytes_of`."""
        return rows * (4 * int(self.job.settings["model"]["dim"]) + _BESIDE)

    def _ready(self) -> Do:
        encoder = load_described(self.job.settings["model"])
        return lambda shard, tell: self._encode(encoder, shard, tell)

    def _encode(self, encoder: Encoder, shard: Shard, tell: Callable[[int], None]) -> None:
        import pyarrow as pa

        text, known = self.job.settings["text"], self.job.settings["id"]
        read = read_rows(shard.path, shard.start, shard.rows, [text] if known is None else [text, known])
        self.job.source(shard).require_unchanged()
        texts = ["" if cell is None else cell for cell in read.column(text).to_pylist()]
        kept = np.flatnonzero([bool(cell.strip()) for cell in texts])
        texts = [texts[row] for row in kept.tolist()]
        ids = pa.array(shard.first + kept) if known is None else pa.chunked_array(read.column(known)).combine_chunks().take(pa.array(kept))
        vectors = np.zeros((0, encoder.dim), np.float32)
        if texts:
            vectors = finite(encoder.encode(texts, progress=lambda done, total: tell(done)))
        flat = pa.array(np.ascontiguousarray(vectors, np.float32).reshape(-1))
        columns = {"id": ids, "text": pa.array(texts, pa.string()), "vector": pa.FixedSizeListArray.from_arrays(flat, encoder.dim)}
        self.folder.keep(self.job, shard, pa.table(columns), shard.rows - len(texts), {"texts": digest_texts(texts)})
