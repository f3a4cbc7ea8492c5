"""Clustering: does k-means on the vectors find the classes again? (V-measure, Rosenberg & Hirschberg 2007)"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .report import Report
from .similarity import normalised

_MINI_BATCH_FROM = 50_000  # rows from which full k-means would take minutes


def evaluate_clustering(vectors: np.ndarray, labels: Sequence[str], *, seed: int = 12) -> Report:
    """K-means on normalised vectors with as many clusters as there are classes.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones.

    Returns:
        A report of ``clustering``: ``v_measure``, ``homogeneity``, ``completeness``, ``clusters``.
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.metrics import homogeneity_completeness_v_measure

    classes = len(set(labels))
    if len(vectors) < _MINI_BATCH_FROM:
        model = KMeans(classes, n_init=1, random_state=seed)
    else:
        model = MiniBatchKMeans(classes, n_init=1, batch_size=4096, random_state=seed)
    found = model.fit_predict(normalised(vectors))
    homogeneity, completeness, v_measure = (float(score) for score in homogeneity_completeness_v_measure(list(labels), found))
    scores = {"v_measure": v_measure, "homogeneity": homogeneity, "completeness": completeness, "clusters": classes}
    return Report("clustering", len(vectors), scores)
