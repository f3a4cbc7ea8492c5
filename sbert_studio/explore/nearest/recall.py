"""How much an index finds of what is nearest, measured on itself, and how many of its cells must be read for that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit
from ..hits import Hit
from .cells import Cells
from .exact import Exact

TARGET, LEAST = 0.98, 0.95
"""The share of the nearest rows that is to be found, and that which will do where more would be read than :data:`_READ` rows."""
BANDS = (10, 100)
"""How many nearest rows a reach is good for. Who asks for more than the last is answered exactly."""
_SAMPLE = 1000
_SURE = 1.645  # standard errors below the mean
_MOST = 4  # of the cells are read one in so many at most: else brute force is as good
_READ = 60_000
_ALIKE = 1e-6  # what single precision loses
_AT_ONCE = 100  # queries
_SEED = 7


@dataclass(frozen=True)
class Reach:
    """For up to ``k`` nearest rows: ``probes`` cells are read, and ``recall`` of the nearest are found."""

    k: int
    probes: int
    recall: float


@dataclass(frozen=True)
class Approximate:
    """Cells, and how to ask them.

    Attributes:
        reaches: by rising ``k``; none where too much would have to be read.
    """

    cells: Cells
    reaches: tuple[Reach, ...]

    def reach(self, k: int) -> Reach | None:
        """That by which ``k`` rows are found; None where the answer must be exact."""
        return next((reach for reach in self.reaches if reach.k >= k), None)

    def search(self, exact: Exact, query: np.ndarray, k: int, probes: int) -> list[Hit]:
        """About the ``k`` nearest rows of a (d,) query, best first, equal cosines by row; their cosines are exact."""
        rows = self.cells.candidates(query[None], _depth(k), probes)[0]
        return exact.rank(query, rows[rows >= 0], k)


def measured(cells: Cells, exact: Exact, target: float = TARGET, sample: int = _SAMPLE) -> Approximate:
    """Ask for the neighbours of some rows, exactly and by ever more cells, until the target is reached.

    One half of the sample chooses the number of cells, the other tells what is found.

    Raises:
        StoppedError: the work was asked to end.
    """
    rows = np.random.default_rng(_SEED).choice(len(exact), min(sample, len(exact)), replace=False)
    queries = exact.vectors[np.sort(rows)]
    rows = np.sort(rows)
    truth = [_others(hits, int(row)) for hits, row in zip(exact.search(queries, BANDS[-1] + 1), rows, strict=True)]
    reaches: list[Reach] = []
    probes = 1
    for k in BANDS:
        enough: Reach | None = None
        while probes * _MOST <= cells.count:
            shares = _shares(cells, exact, queries, rows, truth, k, probes)
            choosing, telling = shares[::2], shares[1::2]
            sure = choosing.mean() - _SURE * choosing.std() / np.sqrt(len(choosing))
            if enough is None and sure >= min(target, LEAST):
                enough = Reach(k, probes, float(telling.mean()))
            if sure >= target:
                enough = Reach(k, probes, float(telling.mean()))
                break
            if enough is not None and probes * len(cells) > _READ * cells.count:
                break
            probes = max(probes + 1, probes * 5 // 4)
        if enough is None:
            break
        reaches.append(enough)
        probes = enough.probes
    return Approximate(cells, tuple(reaches))


def _shares(cells: Cells, exact: Exact, queries: np.ndarray, rows: np.ndarray, truth: list[list[Hit]], k: int, probes: int) -> np.ndarray:
    """How much of the ``k`` nearest is found for each of (s, d) queries, (s,); any of equally near rows counts."""
    shares = np.empty(len(rows))
    for start in range(0, len(rows), _AT_ONCE):
        checkpoint()
        part = slice(start, start + _AT_ONCE)
        asked = unit(queries[part])
        found = cells.candidates(asked, _depth(k) + 1, probes)
        near = unit(exact.vectors[found.ravel()]).reshape(*found.shape, -1)
        cosines = np.einsum("scd,sd->sc", near, asked)
        cosines[(found < 0) | (found == rows[part, None])] = -np.inf
        for place, hits in enumerate(truth[part]):
            most = min(k, len(hits))
            reached = int((cosines[place] >= hits[most - 1].score - _ALIKE).sum())
            shares[start + place] = min(reached, most) / most
    return shares


def _others(hits: list[Hit], row: int) -> list[Hit]:
    """The hits less the row itself (less the last, where so many are equal that it is not among them)."""
    found = [hit for hit in hits if hit.row != row]
    return found[: len(hits) - 1]


def _depth(k: int) -> int:
    return 2 * k + 20
