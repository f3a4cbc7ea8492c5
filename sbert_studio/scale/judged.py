"""What the works of an evaluation wrote, put together: 40 bytes a pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evaluation.similarity import MEASURES
from .folder import JobFolder, Receipt
from .sources import read_rows


def gathered(folder: JobFolder, receipts: Sequence[Receipt]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(n,) targets, and the (n,) similarities by each measure, in the order of the rows."""
    tables = [read_rows(folder.shard(one.number), 0, one.rows, ["target", *MEASURES]) for one in receipts if one.rows]
    columns = {name: np.concatenate([np.empty(0), *(table.column(name).to_numpy() for table in tables)]) for name in ("target", *MEASURES)}
    return columns.pop("target"), columns
