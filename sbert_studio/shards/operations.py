"""Operations on a shard: encode, evaluate, mine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..data.examples import build_examples
from ..data.loading.table import table_from_columns
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..evaluation.encoding import MEASURES, encode_columns, similarities
from ..explore.paraphrase_mining import TopPairs
from ..models.base import require_finite_vectors
from ..progress import checkpoint
from ..registry import Registry
from ..workspace import digest_texts
from .job_model import load_job_model
from .jobs import Job, JobFolder, Shard
from .reader import scan_block_pair
from .sources import read_rows

if TYPE_CHECKING:
    from ..models.base import Encoder


ProcessShard = Callable[[Shard, Callable[[int], None]], None]
"""Does a shard, writes its receipt, and tells how many of its rows are done on the way."""


class Operation(ABC):
    """The work of one job; it is sent to every process that takes part.

    Args:
        job: what is done.
        folder: where the shards go.
    """

    name: ClassVar[str]

    def __init__(self, job: Job, folder: JobFolder) -> None:
        self.job, self.folder = job, folder

    @property
    def threads(self) -> int:
        """How many threads a shard is computed in: part of the job, for sums are added in another order with more of them."""
        return int(self.job.settings["threads"])

    @contextmanager
    def prepared(self) -> Iterator[ProcessShard]:
        """What does a shard in this process, with as many threads as the job says until the end of the ``with``."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            yield self._ready()
        finally:
            torch.set_num_threads(before)

    @abstractmethod
    def _ready(self) -> ProcessShard:
        """Load what every shard needs.

        Raises:
            StudioError: it is not here, or not what the job was begun with.
        """

    @abstractmethod
    def bytes_of(self, rows: int) -> int:
        """About how large the result of so many rows is on disk."""


OPERATIONS: Registry[Operation] = Registry("work")


_BESIDE = 160  # bytes a row of text, id and receipt: what a sentence of twenty words takes, with room


@OPERATIONS.register("encode")
class EncodeOperation(Operation):
    """Settings: ``{model, text, id, threads}``, the last but one null where rows are numbered."""

    def bytes_of(self, rows: int) -> int:
        """See :meth:`Work.bytes_of`."""
        return rows * (4 * int(self.job.settings["model"]["dim"]) + _BESIDE)

    def _ready(self) -> ProcessShard:
        encoder = load_job_model(self.job.settings["model"])
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
            vectors = require_finite_vectors(encoder.encode(texts, progress=lambda done, total: tell(done)))
        flat = pa.array(np.ascontiguousarray(vectors, np.float32).reshape(-1))
        columns = {"id": ids, "text": pa.array(texts, pa.string()), "vector": pa.FixedSizeListArray.from_arrays(flat, encoder.dim)}
        self.folder.keep(self.job, shard, pa.table(columns), shard.rows - len(texts), {"texts": digest_texts(texts)})


@OPERATIONS.register("evaluate")
class EvaluateOperation(Operation):
    """Settings: ``{model, task, roles, threads}``, the roles as :meth:`~sbert_studio.data.schema.roles.Roles.to_json` gives them."""

    def bytes_of(self, rows: int) -> int:
        """See :meth:`Work.bytes_of`."""
        return rows * 8 * (1 + len(MEASURES))

    def _ready(self) -> ProcessShard:
        encoder = load_job_model(self.job.settings["model"])
        roles = Roles.from_json(self.job.settings["roles"])
        return lambda shard, tell: self._judge(encoder, roles, shard, tell)

    def _judge(self, encoder: Encoder, roles: Roles, shard: Shard, tell: Callable[[int], None]) -> None:
        import pyarrow as pa

        names = [*roles.texts, *(name for name in (roles.target,) if name)]
        read = read_rows(shard.path, shard.start, shard.rows, names)
        self.job.source(shard).require_unchanged()
        lines = np.arange(shard.first, shard.first + shard.rows) + 2
        table = table_from_columns(Path(shard.path).name, {name: read.column(name).to_pylist() for name in names}, lines)
        texts: list[tuple[str, ...]] = []
        found: dict[str, np.ndarray] = {"target": np.empty(0), **{name: np.empty(0) for name in MEASURES}}
        try:
            examples, _ = build_examples(table, roles)
        except StudioError:  # no row of this shard can be judged
            examples = None
        if examples is not None:
            texts = list(zip(*examples.texts, strict=True))
            left, right = encode_columns(encoder, examples.texts, lambda done, total: tell(shard.rows * done // max(total, 1)))
            found = {"target": np.asarray(examples.targets, np.float64), **similarities(left, right)}
        said = digest_texts(text for pair in texts for text in pair)
        self.folder.keep(self.job, shard, pa.table(found), shard.rows - len(texts), {"texts": said})


@OPERATIONS.register("mine")
class MineOperation(Operation):
    """Settings: ``{of, top, dim, threads}``: the key of the job whose shards are the sources, and how many pairs are wanted."""

    def bytes_of(self, rows: int) -> int:
        """See :meth:`Work.bytes_of`."""
        return len(self.job.shards) * int(self.job.settings["top"]) * 24

    def _ready(self) -> ProcessShard:
        return self._mine

    def _mine(self, shard: Shard, tell: Callable[[int], None]) -> None:
        import pyarrow as pa

        vectors = self._vectors(shard)
        best = TopPairs(int(self.job.settings["top"]), 1.0)
        later = self.job.shards[shard.number :]
        for place, other in enumerate(later):
            checkpoint()
            scan_block_pair(best, vectors, shard.first, vectors if other.number == shard.number else self._vectors(other), other.first)
            tell(shard.rows * (place + 1) // len(later))
        a, b, scores = best.columns()
        self.folder.keep(self.job, shard, pa.table({"a": a, "b": b, "score": scores}), 0, {})

    def _vectors(self, shard: Shard) -> np.ndarray:
        column = read_rows(shard.path, shard.start, shard.rows, ["vector"]).column("vector").combine_chunks()
        return np.asarray(column.flatten()).reshape(-1, int(self.job.settings["dim"]))
