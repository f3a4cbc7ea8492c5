"""Topic labels by class-based TF-IDF (Grootendorst 2022, equation 2), and topic colours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from .bm25 import stop_words, tokenize

MAX_HUES = 12


def assign_hues(points: np.ndarray, groups: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hue and lightness of each category.

    Categories are merged by average linkage of their median points into at most :data:`MAX_HUES` hues, which follow the angle around the
    map's center, so that neighbors on the map are neighbors on the color wheel.

    Args:
        points: (n, 2) or (n, 3) map positions.
        groups: (n,) category ids from 0 to ``count`` - 1; negative for none.
        count: number of categories, each with at least one point.

    Returns:
        (count,) int64 hues from 0, and (count,) float64 lightness in [0, 1], 0 the darkest.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    middles = np.stack([np.median(points[groups == group], axis=0) for group in range(count)])
    joined = fcluster(linkage(middles, "average"), MAX_HUES, "maxclust") - 1 if count > MAX_HUES else np.arange(count)
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


_JOIN = " · "


def label_clusters(texts: Sequence[str], ids: np.ndarray, top: int = 3) -> tuple[str, ...]:
    """Return a distinct label for each cluster: its ``top`` most characteristic words.

    Args:
        texts: n texts.
        ids: (n,) clusters 0 … k-1; negative for noise.

    Returns:
        k labels; a cluster without words is labelled by its number.
    """
    terms = c_tf_idf(texts, ids, top + 3)
    used: set[str] = set()
    labels = []
    for cluster, ranked in enumerate(terms):
        label = _unique_label(ranked, top, used) or f"cluster {cluster + 1}"
        used.add(label)
        labels.append(label)
    return tuple(labels)


def c_tf_idf(texts: Sequence[str], ids: np.ndarray, top: int = 10) -> list[list[str]]:
    """Return the ``top`` words of each cluster by tf · log(1 + A / f), best first, ties alphabetical.

    tf is a word's share of its cluster's words, f its total count, A the mean number of words per cluster. English stop words and numbers
    are left out unless a cluster has nothing else. Of overlapping character bigrams (重置, 置密, 密码) only the strongest are kept.
    """
    clusters = int(ids.max(initial=-1)) + 1
    counts: list[Counter[str]] = [Counter() for _ in range(clusters)]
    for text, cluster in zip(texts, ids.tolist(), strict=True):
        if cluster >= 0:
            counts[cluster].update(tokenize(text))
    counts = [_informative_words(count) for count in counts]
    overall: Counter[str] = Counter()
    for count in counts:
        overall.update(count)
    average = overall.total() / max(clusters, 1)
    ranked = []
    for count in counts:
        weight = {word: number * math.log(1 + average / overall[word]) for word, number in count.items()}
        ranked.append(_distinct_words(sorted(weight, key=lambda word: (-weight[word], word)), top))
    return ranked


def _informative_words(count: Counter[str]) -> Counter[str]:
    kept = Counter({word: number for word, number in count.items() if word not in stop_words() and not word.isdecimal()})
    kept_longer = Counter({word: number for word, number in kept.items() if len(word) > 1})
    return kept_longer or kept or count


def _distinct_words(ranked: list[str], top: int) -> list[str]:
    taken: list[str] = []
    for word in ranked:
        if len(taken) == top:
            break
        if not any(_overlap(word, other) for other in taken):
            taken.append(word)
    return taken


def _overlap(word: str, other: str) -> bool:
    if len(word) == len(other) == 2 and not word.isascii():
        return word[0] == other[1] or word[1] == other[0]
    return word in (other + "s", other + "es") or other in (word + "s", word + "es")


def _unique_label(ranked: list[str], top: int, used: set[str]) -> str:
    best = _JOIN.join(ranked[:top])
    if best not in used:
        return best
    for spare in ranked[top:]:
        label = _JOIN.join([*ranked[: top - 1], spare])
        if label not in used:
            return label
    number = 2
    while f"{best} ({number})" in used:
        number += 1
    return f"{best} ({number})" if best else ""
