"""An order in which what is alike stands side by side."""

from __future__ import annotations

import numpy as np


def by_likeness(cosines: np.ndarray) -> list[int]:
    """The rows of an (n, n) matrix of cosines in the order of the leaves of their tree, neighbours as alike as the tree allows.

    The tree joins by the average of 1 − cosine; its branches are turned so that the sum over neighbours is least (Bar-Joseph et al. 2001,
    "Fast optimal leaf ordering for hierarchical clustering").
    """
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    if len(cosines) < 3:
        return list(range(len(cosines)))
    distances = np.clip(1 - (np.asarray(cosines, np.float64) + np.asarray(cosines, np.float64).T) / 2, 0, 2)
    np.fill_diagonal(distances, 0)
    condensed = squareform(distances, checks=False)
    return [int(row) for row in leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))]
