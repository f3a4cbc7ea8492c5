"""How far each text moved from one model's space to another's.

Two spaces cannot be laid beside each other number by number: any turn of a space leaves every cosine as it is, and a tuned model often
spreads or shrinks all cosines at once, without a change in who is near whom. What search, map and clusters live on is who the nearest are.
So a text moved as far as its nearest texts are others: the share of its k nearest that are no longer among them, the complement of the
mutual k-nearest-neighbour overlap (Huh et al. 2024, "The Platonic Representation Hypothesis"). It is measured in the full spaces, never on
the maps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit

if TYPE_CHECKING:
    from ...data.progress import Progress

NEAREST = 10
_AT_ONCE = 1024
_MARGIN = 1e-5  # cosines that lie as close are a tie: single precision does not tell them apart


@dataclass(frozen=True)
class Movement:
    """The nearest texts of each of n texts, before and after.

    Attributes:
        before, after: (n, k) int32 rows, the nearest first, itself left out.
        lost: (n, k) bool, which of ``before`` are farther than the k-th nearest after. Of texts that are as near none is lost.
        gained: (n, k) bool, which of ``after`` were farther before.
    """

    before: np.ndarray
    after: np.ndarray
    lost: np.ndarray
    gained: np.ndarray

    @property
    def moved(self) -> np.ndarray:
        """(n,) float32: the share of a text's nearest that were lost, from 0 (all are the same) to 1 (all are others)."""
        return np.asarray(self.lost.mean(axis=1), np.float32)


def movement(before: np.ndarray, after: np.ndarray, k: int = NEAREST, progress: Progress | None = None) -> Movement:
    """Who is nearest to each text in two spaces.

    Args:
        before, after: (n, d) and (n, e) vectors of the same n texts, n at least 2.
        k: how many are looked at; n - 1 at most.
        progress: told the texts done in both spaces, and twice their number.
    """
    k = min(k, len(before) - 1)
    spaces = [unit(np.asarray(found)) for found in (before, after)]
    rows, farthest = zip(*(_nearest(space, k, place, progress) for place, space in enumerate(spaces)), strict=True)
    lost = _farther(spaces[1], rows[0], farthest[1])
    gained = _farther(spaces[0], rows[1], farthest[0])
    return Movement(rows[0], rows[1], lost, gained)


def _nearest(rows: np.ndarray, k: int, place: int, progress: Progress | None) -> tuple[np.ndarray, np.ndarray]:
    """The k rows of largest cosine with each, (n, k) int32, and the k-th largest cosine, (n,) float32."""
    import faiss

    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    total = len(rows)
    found, least = np.empty((total, k), np.int32), np.empty(total, np.float32)
    for start in range(0, total, _AT_ONCE):
        checkpoint()
        own = np.arange(start, min(start + _AT_ONCE, total))
        cosines, near = index.search(rows[own], k + 1)
        # Among copies another may come first, and the row itself not at all: then the last one goes.
        others = near != own[:, None]
        others[others.all(axis=1), k] = False
        found[own], least[own] = near[others].reshape(-1, k), cosines[others].reshape(-1, k)[:, -1]
        if progress is not None:
            progress(place * total + int(own[-1]) + 1, 2 * total)
    return found, least


def _farther(rows: np.ndarray, near: np.ndarray, least: np.ndarray) -> np.ndarray:
    """(n, k) bool: which of the rows ``near[i]`` have a smaller cosine with row ``i`` than ``least[i]``."""
    found = np.empty(near.shape, bool)
    for start in range(0, len(rows), _AT_ONCE):
        checkpoint()
        part = slice(start, start + _AT_ONCE)
        cosines = np.einsum("nd,nkd->nk", rows[part], rows[near[part]])
        found[part] = cosines < least[part, None] - _MARGIN
    return found
