"""Operations on a shard: encode, evaluate, mine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..data.examples import build_examples
from ..data.loading.table import table_from_columns
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..evaluation.encoding import MEASURES, encode_columns, similarities
from ..explore.paraphrase_mining import TopPairs
from ..models.base import Encoder, require_finite_vectors
from ..progress import checkpoint
from ..registry import Registry
from ..workspace import digest_texts
from .jobs import Job, JobFolder, Shard, load_job_model
from .serving import scan_block_pair, vectors_of_table
from .sources import read_rows

ProcessShard = Callable[[Shard, Callable[[int], None]], None]
"""Processes a shard and writes its receipt; reports the number of rows done."""

_ROW_BYTES = 160  # bytes of text, id and receipt for a sentence of twenty words, with a margin


class Operation(ABC):
    """The work of a job, which is sent to every worker process.

    Args:
        job: settings and sources.
        folder: output folder.
    """

    name: ClassVar[str]

    def __init__(self, job: Job, folder: JobFolder) -> None:
        self.job, self.folder = job, folder

    @property
    def threads(self) -> int:
        """Threads per shard. Part of the job, because the order of floating-point sums depends on it."""
        return int(self.job.settings["threads"])

    @contextmanager
    def prepared(self) -> Iterator[ProcessShard]:
        """Load the data that every shard needs and yield the processing function; the thread count is set inside the block."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            yield self._prepare()
        finally:
            torch.set_num_threads(before)

    @abstractmethod
    def _prepare(self) -> ProcessShard:
        """Load the data that every shard needs.

        Raises:
            StudioError: it is missing, or differs from what the job was started with.
        """

    @abstractmethod
    def estimate_bytes(self, rows: int) -> int:
        """Estimate the size on disk of the result for ``rows`` rows."""


OPERATIONS: Registry[Operation] = Registry("work")


@OPERATIONS.register("encode")
class EncodeOperation(Operation):
    """Encodes texts to id, text and vector. Settings: ``{model, text, id, threads}``; ``id`` is null if rows are numbered."""

    def estimate_bytes(self, rows: int) -> int:
        """See :meth:`Operation.estimate_bytes`."""
        return rows * (4 * int(self.job.settings["model"]["dim"]) + _ROW_BYTES)

    def _prepare(self) -> ProcessShard:
        encoder = load_job_model(self.job.settings["model"])
        return lambda shard, report: self._encode(encoder, shard, report)

    def _encode(self, encoder: Encoder, shard: Shard, report: Callable[[int], None]) -> None:
        import pyarrow as pa

        text, id_column = self.job.settings["text"], self.job.settings["id"]
        rows = read_rows(shard.path, shard.start, shard.rows, [text] if id_column is None else [text, id_column])
        self.job.source(shard).require_unchanged()
        cells = ["" if cell is None else cell for cell in rows.column(text).to_pylist()]
        kept = np.flatnonzero([bool(cell.strip()) for cell in cells])
        texts = [cells[row] for row in kept.tolist()]
        if id_column is None:
            ids = pa.array(shard.first + kept)
        else:
            ids = pa.chunked_array(rows.column(id_column)).combine_chunks().take(pa.array(kept))
        vectors = np.zeros((0, encoder.dim), np.float32)
        if texts:
            vectors = require_finite_vectors(encoder.encode(texts, progress=lambda done, total: report(done)))
        flat = pa.array(np.ascontiguousarray(vectors, np.float32).reshape(-1))
        columns = {"id": ids, "text": pa.array(texts, pa.string()), "vector": pa.FixedSizeListArray.from_arrays(flat, encoder.dim)}
        self.folder.write_shard(self.job, shard, pa.table(columns), shard.rows - len(texts), {"texts": digest_texts(texts)})


@OPERATIONS.register("evaluate")
class EvaluateOperation(Operation):
    """Computes the target and similarities of pairs.

    Settings: ``{model, task, roles, threads}``, the roles as from :meth:`~sbert_studio.data.schema.roles.Roles.to_json`.
    """

    def estimate_bytes(self, rows: int) -> int:
        """See :meth:`Operation.estimate_bytes`."""
        return rows * 8 * (1 + len(MEASURES))

    def _prepare(self) -> ProcessShard:
        encoder = load_job_model(self.job.settings["model"])
        roles = Roles.from_json(self.job.settings["roles"])
        return lambda shard, report: self._compare(encoder, roles, shard, report)

    def _compare(self, encoder: Encoder, roles: Roles, shard: Shard, report: Callable[[int], None]) -> None:
        import pyarrow as pa

        names = [*roles.texts, *(name for name in (roles.target,) if name)]
        rows = read_rows(shard.path, shard.start, shard.rows, names)
        self.job.source(shard).require_unchanged()
        lines = np.arange(shard.first, shard.first + shard.rows) + 2
        table = table_from_columns(Path(shard.path).name, {name: rows.column(name).to_pylist() for name in names}, lines)
        texts: list[tuple[str, ...]] = []
        found: dict[str, np.ndarray] = {"target": np.empty(0), **{name: np.empty(0) for name in MEASURES}}
        try:
            examples, _ = build_examples(table, roles)
        except StudioError:  # no usable row in this shard
            examples = None
        if examples is not None:
            texts = list(zip(*examples.texts, strict=True))
            left, right = encode_columns(encoder, examples.texts, lambda done, total: report(shard.rows * done // max(total, 1)))
            found = {"target": np.asarray(examples.targets, np.float64), **similarities(left, right)}
        digest = digest_texts(text for pair in texts for text in pair)
        self.folder.write_shard(self.job, shard, pa.table(found), shard.rows - len(texts), {"texts": digest})


@OPERATIONS.register("mine")
class MineOperation(Operation):
    """Finds the most similar pairs of a shard with itself and all later shards.

    Settings: ``{of, top, dim, threads}``: key of the encoding job whose shards are the sources, and number of pairs.
    """

    def estimate_bytes(self, rows: int) -> int:
        """See :meth:`Operation.estimate_bytes`."""
        return len(self.job.shards) * int(self.job.settings["top"]) * 24

    def _prepare(self) -> ProcessShard:
        return self._mine

    def _mine(self, shard: Shard, report: Callable[[int], None]) -> None:
        import pyarrow as pa

        vectors = self._vectors(shard)
        best = TopPairs(int(self.job.settings["top"]), 1.0)
        later = self.job.shards[shard.number :]
        for place, other in enumerate(later):
            checkpoint()
            others = vectors if other.number == shard.number else self._vectors(other)
            scan_block_pair(best, vectors, shard.first, others, other.first)
            report(shard.rows * (place + 1) // len(later))
        a, b, scores = best.columns()
        self.folder.write_shard(self.job, shard, pa.table({"a": a, "b": b, "score": scores}), 0, {})

    def _vectors(self, shard: Shard) -> np.ndarray:
        return vectors_of_table(read_rows(shard.path, shard.start, shard.rows, ["vector"]), int(self.job.settings["dim"]))
