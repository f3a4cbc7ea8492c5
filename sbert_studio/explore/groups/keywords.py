"""What a cluster is about: class-based TF-IDF (Grootendorst 2022, BERTopic, equation 2), for any script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..terms import stop_words, words

_JOIN = " · "


def label_clusters(texts: Sequence[str], ids: np.ndarray, top: int = 3) -> tuple[str, ...]:
    """One label a cluster, no two alike: its ``top`` words that other clusters lack.

    Args:
        texts: n texts.
        ids: (n,) clusters 0 … k-1; negative is noise and has no label.

    Returns:
        k labels; label i for cluster i. A cluster without any word is called by its number.
    """
    terms = c_tf_idf(texts, ids, top + 3)
    used: set[str] = set()
    labels = []
    for cluster, ranked in enumerate(terms):
        label = _first_unused(ranked, top, used) or f"cluster {cluster + 1}"
        used.add(label)
        labels.append(label)
    return tuple(labels)


def c_tf_idf(texts: Sequence[str], ids: np.ndarray, top: int = 10) -> list[list[str]]:
    """The ``top`` words of each cluster by tf · log(1 + A / f), best first; equal weights in alphabetical order.

    tf is a word's share of its cluster's words, f its count in all clusters, A the mean number of words of a cluster.
    English stop words and bare numbers are left out unless a cluster has nothing else. Of overlapping pairs of
    characters (重置, 置密, 密码) the weaker that shares characters with a stronger one is passed over.
    """
    clusters = int(ids.max(initial=-1)) + 1
    counts: list[Counter[str]] = [Counter() for _ in range(clusters)]
    for text, cluster in zip(texts, ids.tolist(), strict=True):
        if cluster >= 0:
            counts[cluster].update(words(text))
    counts = [_telling(count) for count in counts]
    overall: Counter[str] = Counter()
    for count in counts:
        overall.update(count)
    average = overall.total() / max(clusters, 1)
    ranked = []
    for count in counts:
        weight = {word: number * math.log(1 + average / overall[word]) for word, number in count.items()}
        ranked.append(_apart(sorted(weight, key=lambda word: (-weight[word], word)), top))
    return ranked


def _telling(count: Counter[str]) -> Counter[str]:
    kept = Counter({word: number for word, number in count.items() if word not in stop_words() and not word.isdecimal()})
    kept_longer = Counter({word: number for word, number in kept.items() if len(word) > 1})
    return kept_longer or kept or count


def _apart(ranked: list[str], top: int) -> list[str]:
    """The first ``top`` words, without plurals and overlapping character pairs of words already taken."""
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


def _first_unused(ranked: list[str], top: int, used: set[str]) -> str:
    """The best words joined; where another cluster has that label, the last word gives way to the next, or one is added."""
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
