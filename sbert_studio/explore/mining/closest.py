"""The most similar pairs of a corpus: exact, in bounded memory (paraphrase mining; SBERT paper, section 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...encoders.unit import unit
from ...errors import StudioError
from ..products import exact_products
from .best import Pair
from .products import Rows, UnitRows
from .scan import top_pairs

if TYPE_CHECKING:
    from ...data.progress import Progress

_MOST = 100_000
_WHOLE = 1 << 28  # bytes of rows that may stand in memory a second time, at length one


def most_similar_pairs(vectors: np.ndarray, top: int = 10, progress: Progress | None = None, *, eight: bool | None = None) -> list[Pair]:
    """The ``top`` pairs of different rows with the largest cosine, best first; equal cosines by row numbers.

    Every pair is looked at once.

    Args:
        vectors: (n, d), of any length.
        top: how many; all pairs where there are fewer.
        progress: told of pairs.
        eight: see :func:`.scan.top_pairs`.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000.
    """
    require_top(top)
    return top_pairs(unit_rows(vectors), None, lambda a, b: exact_products(vectors, a, b), top, progress, eight=eight)


def unit_rows(vectors: np.ndarray) -> Rows:
    """``vectors`` at length one: at once, or, where they are large, a part at a time."""
    return UnitRows(vectors) if vectors.shape[0] * vectors.shape[1] * 4 > _WHOLE else unit(vectors)


def require_top(top: int) -> None:
    """Raises:
    StudioError: ``top`` is not between 1 and 100,000.
    """
    if not 1 <= top <= _MOST:
        raise StudioError(f"top is {top}", f"choose a number between 1 and {_MOST:,}")
