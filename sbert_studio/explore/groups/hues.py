"""Colours for hundreds of categories: those that lie together on a map share a hue, and differ in how light they are."""

from __future__ import annotations

import numpy as np

MOST_HUES = 12


def hue_groups(points: np.ndarray, groups: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The hue and the lightness of each category.

    Categories are joined by average linkage of their middles (the median of their points) into as many hues as there are at most;
    hues go around the map's centre, so that neighbours on the map are neighbours on the colour wheel.

    Args:
        points: (n, 2) or (n, 3) places on the map.
        groups: (n,) the category of each, from 0 to ``count`` - 1; negative for none.
        count: how many categories there are; each has a point.

    Returns:
        (count,) int64 hues from 0, and (count,) float64 in [0, 1], 0 the darkest of a hue.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    middles = np.stack([np.median(points[groups == group], axis=0) for group in range(count)])
    joined = fcluster(linkage(middles, "average"), MOST_HUES, "maxclust") - 1 if count > MOST_HUES else np.arange(count)
    centre = points.mean(axis=0)
    hearts = np.stack([middles[joined == one].mean(axis=0) - centre for one in range(joined.max() + 1)])
    order = np.argsort(np.arctan2(hearts[:, 1], hearts[:, 0]), kind="stable")
    hues = np.argsort(order)[joined]
    shades = np.full(count, 0.5)
    for hue in range(len(order)):
        members = np.flatnonzero(hues == hue)
        # Every other one is light, so that neighbours within a hue differ.
        ranked = members[np.lexsort((middles[members, 1], middles[members, 0]))]
        steps = np.linspace(0, 1, len(ranked)) if len(ranked) > 1 else np.array([0.5])
        shades[ranked] = np.concatenate([steps[::2], steps[1::2]])
    return hues, shades
