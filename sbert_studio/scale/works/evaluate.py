"""Pairs with a score or label → what people said of each, and how alike the model finds it by four measures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.examples import build_examples
from ...data.schema.roles import Roles
from ...data.tables import table_from_columns
from ...errors import StudioError
from ...evaluation.similarity import MEASURES, encode_columns, similarities
from ...workspace import digest_texts
from ..job import Shard
from ..models import load_described
from ..sources import read_rows
from .base import WORKS, Do, Work

if TYPE_CHECKING:
    from ...encoders.base import Encoder


@WORKS.register("evaluate")
class Evaluate(Work):
    """Settings: ``{model, task, roles, threads}``, the roles as :meth:`~sbert_studio.data.schema.roles.Roles.to_json` gives them."""

    def bytes_of(self, rows: int) -> int:
        """See :meth:`Work.bytes_of`."""
        return rows * 8 * (1 + len(MEASURES))

    def _ready(self) -> Do:
        encoder = load_described(self.job.settings["model"])
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
