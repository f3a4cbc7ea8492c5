"""Numba kernels of UMAP, which release the GIL.

Import only through :func:`sbert_studio.explore.umap.load_kernels`, which sets the cache folder.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_compiled: Any = njit(nogil=True, fastmath=True, cache=True)
_NEGATIVES = 5  # negative samples per positive edge
_FARTHEST = np.float32(4)  # maximum change of a coordinate per update
_TRIES = 64
_EXACT = 1e-5
_LEAST_WIDTH = 1e-3  # minimum bandwidth as a share of the mean distance


@_compiled  # type: ignore[untyped-decorator]
def smooth_distances(distances: Any, everywhere: float, widths: Any, nearest: Any) -> None:
    """Compute ``nearest`` (distance to the nearest other row) and ``widths`` (bandwidths at which memberships sum to log2 k).

    Equations 3 and 4 of the paper; input (n, k) float32, output (n,) float32 each. ``everywhere`` is the mean distance of all rows.
    """
    rows, k = distances.shape
    target = np.log2(np.float64(k))
    for row in range(rows):
        first, mean = 0.0, 0.0
        for place in range(k):
            mean += distances[row, place]
            if first == 0.0 and distances[row, place] > 0:
                first = distances[row, place]
        low, high, width = 0.0, np.inf, 1.0
        for _ in range(_TRIES):
            weight = 0.0
            for place in range(1, k):
                beyond = distances[row, place] - first
                weight += np.exp(-beyond / width) if beyond > 0 else 1.0
            if abs(weight - target) < _EXACT:
                break
            if weight > target:
                high = width
                width = (low + high) / 2
            else:
                low = width
                width = width * 2 if high > 1e300 else (low + high) / 2
        nearest[row] = first
        widths[row] = max(width, _LEAST_WIDTH * (mean / k if first > 0 else everywhere))


@_compiled  # type: ignore[untyped-decorator]
def run_epoch(positions: Any, before: Any, span: Any, edges: Any, forces: Any, rate: Any, number: int, seed: Any) -> None:
    """Run one epoch for the rows ``span[0]`` to ``span[1]``: attract due neighbors, repel random rows.

    Rows of this block are read at their current position and all others at their position at the start of the epoch, so that blocks run in
    parallel with a result independent of their order.

    Args:
        positions, before: (n, d) float32; the rows of the span are written to ``positions``.
        edges: the graph in CSR form: row starts, attracting rows, epochs between attractions, and the epoch of the next one.
        forces: attraction and repulsion by squared distance, indexed by its bits ``>> shift`` minus the lowest; the shift; the lowest.
        rate: learning rate.
        number: number of the epoch.
        seed: seed of the random rows.
    """
    (first, last), (starts, others, period, due), (pull, push, shift, lowest) = span, edges, forces
    rows, axes = positions.shape
    end = len(pull) - 1
    here = np.empty(axes, np.float32)
    for row in range(first, last):
        # splitmix64 of (seed, row, epoch), then xorshift64
        state = np.uint64(seed) + np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(number) * np.uint64(0xD1B54A32D192ED03)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = (state ^ (state >> np.uint64(31))) | np.uint64(1)
        for axis in range(axes):
            here[axis] = positions[row, axis]
        for edge in range(starts[row], starts[row + 1]):
            if due[edge] > number:
                continue
            due[edge] += period[edge]
            for turn in range(_NEGATIVES + 1):
                if turn == 0:
                    other = np.int64(others[edge])
                else:
                    state ^= state << np.uint64(13)
                    state ^= state >> np.uint64(7)
                    state ^= state << np.uint64(17)
                    other = np.int64(((state >> np.uint64(32)) * np.uint64(rows)) >> np.uint64(32))
                of = positions if first <= other < last else before
                square = np.float32(0)
                for axis in range(axes):
                    apart = here[axis] - of[other, axis]
                    square += apart * apart
                at = min(max((np.float32(square).view(np.int32) >> shift) - lowest, 0), end)
                force = pull[at] if turn == 0 else push[at]
                for axis in range(axes):
                    step = force * (here[axis] - of[other, axis])
                    here[axis] += min(max(step, -_FARTHEST), _FARTHEST) * rate
        for axis in range(axes):
            positions[row, axis] = here[axis]
