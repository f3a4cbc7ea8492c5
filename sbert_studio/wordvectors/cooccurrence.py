"""How often words stand near each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.progress import Progress, checkpoint
from ..errors import StudioError

_PLACES = 2_000_000  # word pairs of a block: some 100 MB while it is counted
_MOST = 50_000_000  # cells of the matrix: some 2 GB with all that is learned from them


def cooccurrences(ids: np.ndarray, starts: np.ndarray, size: int, window: int = 10, progress: Progress | None = None) -> Any:
    """X, where X_ij sums 1 / distance over all places where word j stands at most ``window`` words before or after word i in one text.

    Pennington et al. 2014, sections 3 and 4.2. The distance counts known words alone. The words are taken block by block, so that the
    memory needed is that of the matrix, for a while twice over, and of one block.

    Args:
        ids: (n,) int32 rows of words, text after text.
        starts: (texts + 1,) where each text begins in ``ids``.
        size: V, the number of words.
        window: words on either side.
        progress: told the words that are done, of n.

    Returns:
        A symmetric scipy ``csr_array`` (V, V) float64 with sorted rows.

    Raises:
        StudioError: some 50 million pairs of words occur.
    """
    from scipy.sparse import coo_array, csr_array

    text_of = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    step = max(1, _PLACES // window)
    parts = [csr_array((size, size), dtype=np.float64)]
    for begin in range(0, len(ids), step):
        checkpoint()
        end = min(len(ids), begin + step)
        rows, columns, weights = [], [], []
        for distance in range(1, window + 1):
            # A pair belongs to the block of its first word; the second may lie in the next one.
            last = min(end, len(ids) - distance)
            if last <= begin:
                break
            same = text_of[begin:last] == text_of[begin + distance : last + distance]
            rows.append(ids[begin:last][same])
            columns.append(ids[begin + distance : last + distance][same])
            weights.append(np.full(len(rows[-1]), 1 / distance))
        if rows:
            cells = (np.concatenate(rows), np.concatenate(columns))
            parts.append(coo_array((np.concatenate(weights), cells), shape=(size, size)).tocsr())
        # Sums of like size are added up, so that the whole is not copied for every block.
        while len(parts) > 1 and parts[-2].nnz <= 2 * parts[-1].nnz:
            smaller = parts.pop()
            parts[-1] = parts[-1] + smaller
        if 2 * parts[0].nnz > _MOST:
            raise StudioError("there are too many pairs of words to count", "keep fewer words, or choose a narrower window")
        if progress is not None:
            progress(end, len(ids))
    total = sum(parts[1:], parts[0])
    symmetric = csr_array(total + total.T)
    symmetric.sort_indices()
    return symmetric
