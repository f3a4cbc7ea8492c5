"""Approximate paraphrase mining for very large corpora, with measured recall.

Rows are assigned to about √n lists, each to the few lists with the nearest centroids (an inverted file; Jégou, Douze & Schmid 2011), and
the pairs within each list are compared exactly. A pair is missed only if its rows share no list.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..progress import checkpoint
from .index import train_centroids
from .paraphrase_mining import MARGIN, TILE, PairScan, ScoredPair, TopPairs, require_top
from .products import UnitRows, exact_products

if TYPE_CHECKING:
    from ..progress import Progress

EXACT_BELOW = 200_000  # rows: from there on pairs are found approximately unless all are asked for
_LISTS_OF_EACH = 4
_TRAINED_ON = 48  # rows a list
_BLOCK = 8192  # rows that are put into lists at once
_SAMPLE, _NEAR, _PAIRS = 1000, 4, 1000  # rows asked, neighbours of each, and how many of the pairs recall is told of
_SEED = 12


@dataclass(frozen=True)
class PairRecall:
    """Share of the pairs of exact search that share a list.

    Attributes:
        share: recall of ``pairs``, between 0 and 1.
        pairs: the closest pairs of ``rows`` sampled rows with any row.
        cosine: the lowest cosine among them; closer pairs are missed less often.
    """

    share: float
    pairs: int
    rows: int
    cosine: float


def approximate_paraphrase_mining(
    vectors: np.ndarray, top: int = 10, progress: Progress | None = None
) -> tuple[list[ScoredPair], PairRecall]:
    """Find most of the pairs of :func:`.paraphrase_mining.paraphrase_mining`, and measure how many such pairs are found.

    Args:
        vectors: (n, d), of any length, n at least 2.
        progress: called with the number of compared pairs: rows with centroids, rows within lists (estimated at first), and the sample.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000.
    """
    require_top(top)
    rows, count, asked = UnitRows(vectors), max(1, round(len(vectors) ** 0.5)), min(_SAMPLE, len(vectors))
    of_each = min(_LISTS_OF_EACH, max(1, count // 2))
    told = _StagedProgress(progress, len(vectors) * count, (len(vectors) * of_each) ** 2 // (2 * count), len(vectors) * asked)
    lists = _lists(rows, count, of_each, told.part(0))
    scan = PairScan(rows, None, lambda a, b: exact_products(vectors, a, b), TopPairs(top, 1.0, once=of_each > 1), margin=MARGIN)
    order = np.argsort(lists.ravel(), kind="stable") // of_each
    sizes = np.bincount(lists.ravel())
    ends, done = np.cumsum(sizes), 0
    told.sizes[1] = total = int((sizes * (sizes - 1) // 2).sum())
    within = told.part(1)
    with closing(scan.over(_tiles(order, (ends - sizes).tolist(), ends.tolist()))) as looked:
        for left, right in looked:
            done += len(left) * (len(left) - 1) // 2 if left[0] == right[0] else len(left) * len(right)
            within(done, total)
    return scan.best.pairs(), _recall(rows, lists, told.part(2))


class _StagedProgress:
    def __init__(self, progress: Progress | None, *sizes: int) -> None:
        self._progress, self.sizes = progress, list(sizes)

    def part(self, number: int) -> Progress:
        def told(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(sum(self.sizes[:number]) + done, sum(self.sizes))

        return told


def _tiles(order: np.ndarray, starts: list[int], ends: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for start, end in zip(starts, ends, strict=True):
        members = np.sort(order[start:end])
        parts = [members[at : at + TILE] for at in range(0, len(members), TILE)]
        for place, left in enumerate(parts):
            for right in parts[place:]:
                yield left, right


def _lists(rows: UnitRows, count: int, of_each: int, progress: Progress) -> np.ndarray:
    import torch

    sample = np.sort(np.random.default_rng(_SEED).choice(len(rows), min(len(rows), count * _TRAINED_ON), replace=False))
    nearest = torch.from_numpy(train_centroids(np.ascontiguousarray(rows[sample]), count, _SEED)).T.contiguous()
    found = np.empty((len(rows), of_each), np.int32)
    for start in range(0, len(rows), _BLOCK):
        checkpoint()
        near = torch.from_numpy(rows[start : start + _BLOCK]) @ nearest
        found[start : start + _BLOCK] = torch.topk(near, of_each, dim=1).indices.numpy()
        progress(min(start + _BLOCK, len(rows)) * count, len(rows) * count)
    return found


def _recall(rows: UnitRows, lists: np.ndarray, progress: Progress) -> PairRecall:
    import torch

    asked = np.sort(np.random.default_rng(_SEED + 1).choice(len(rows), min(_SAMPLE, len(rows)), replace=False))
    queries, k = torch.from_numpy(rows[asked]), min(_NEAR + 1, len(rows))
    cosines, others = torch.full((len(asked), 0), -2.0), torch.zeros((len(asked), 0), dtype=torch.int64)
    for start in range(0, len(rows), _BLOCK):
        checkpoint()
        part = queries @ torch.from_numpy(rows[start : start + _BLOCK]).T
        near = torch.topk(part, min(k, part.shape[1]), dim=1)
        cosines, others = torch.cat([cosines, near.values], 1), torch.cat([others, near.indices + start], 1)
        best = torch.topk(cosines, min(k, cosines.shape[1]), dim=1)
        cosines, others = best.values, others.gather(1, best.indices)
        progress(min(start + _BLOCK, len(rows)) * len(asked), len(rows) * len(asked))
    a, b, score = np.repeat(asked, k), others.numpy().ravel(), cosines.numpy().ravel()
    a, b = np.minimum(a, b), np.maximum(a, b)
    once = np.unique((a * len(rows) + b)[a != b], return_index=True)[1]  # two rows may have found each other
    a, b, score = (column[a != b][once] for column in (a, b, score))
    closest = np.argsort(-score, kind="stable")[:_PAIRS]
    a, b, score = a[closest], b[closest], score[closest]
    together = (lists[a][:, :, None] == lists[b][:, None, :]).any((1, 2))
    return PairRecall(float(together.mean()), len(a), len(asked), float(score[-1]))
