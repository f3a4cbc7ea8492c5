"""Topics: a tree of similar texts, cut where the topics are most distinct, with broad topics above, and keywords as labels.

Density clustering collapses on homogeneous texts: HDBSCAN puts 99 % of the questions of TREC into one cluster. Here the UMAP projection is
clustered by Ward's method (1963), which gives a topic tree, and the tree is cut where the silhouette (Rousseeuw 1987) is best. Another
number of topics is another cut of the same tree. Keywords come from class-based TF-IDF over words and word pairs, in any script.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..i18n import _
from ..models.similarity import unit
from ..progress import checkpoint
from .bm25 import stop_words, tokenize

if TYPE_CHECKING:
    from .umap import NeighborGraph

_JOIN = " · "
_MIN_SHARE = 0.1  # of a topic's texts, for a keyword; words of one text say little and never occur together
_FEW = 5  # keywords that a topic has if its texts have so many words, whatever their share
_PAIR_SHARE = 0.5  # a word of which at least half the texts have one word pair is shown as that pair
_STEM = 5
_TYPICALITY_POWER, _MIN_TYPICALITY = 4, 0.05
_MIN_LIFT = 2.0
_PARTICLES = ("up", "down", "off", "out", "over", "away")  # stop words that change the meaning of the word before: top up, log out
# Particles, pronouns and auxiliaries of the languages that jieba and BudouX split into words.
_FUNCTION_WORDS = """
我们 你们 他们 她们 它们 咱们 自己 这个 那个 这些 那些 这里 那里 这样 那样 一个 一些 一种 一下 什么 怎么 怎样 为什么 如何 哪个 哪里
多少 可以 可能 能够 应该 需要 没有 不是 不能 不会 不要 还是 还有 已经 正在 因为 所以 但是 如果 或者 以及 而且 并且 虽然 只是 就是 都是
こと もの ため よう これ それ あれ どれ ここ そこ 何 私 いつ どこ なぜ どう 方法 場合
ฉัน ผม เรา คุณ เขา เธอ มัน ของ การ ความ ที่ ซึ่ง อัน ใน บน จาก ถึง กับ และ หรือ แต่ ก็ ว่า ให้ ได้ ไม่ ไม่ได้ เป็น คือ มี อยู่ จะ กำลัง แล้ว ยัง
ต้อง ควร สามารถ ขอ ทำ ไป มา นี้ นั้น อะไร อย่างไร ทำไม เมื่อไหร่ เพราะ ถ้า เพื่อ โดย ตาม ด้วย แบบ ทุก หลาย มาก น้อย ครับ ค่ะ คะ
"""
_KANA, _HAN, _THAI = re.compile("[\u3040-\u30ff]"), re.compile("[\u3400-\u9fff]"), re.compile("[\u0e00-\u0e7f]")
_TRAILING_KANA = re.compile("[\u3041-\u309f]+$")


def split_terms(texts: Sequence[str]) -> list[list[str]]:
    """Return the words and word pairs of each text, in lower case, for :func:`keywords`."""
    split = choose_tokenizer(texts)
    return [list(_terms(split(text))) for text in texts]


def unique_labels(ranked: Sequence[Sequence[str]], top: int = 3) -> tuple[str, ...]:
    """Return a distinct label for each list of keywords."""
    used: set[str] = set()
    labels = []
    for topic, words in enumerate(ranked):
        label = _unique_label(list(words), top, used) or _("topic {topic}", topic=topic + 1)
        used.add(label)
        labels.append(label)
    return tuple(labels)


def keywords(
    texts: Sequence[Sequence[str]],
    ids: np.ndarray,
    top: int = 10,
    typicality: np.ndarray | None = None,
    times: np.ndarray | None = None,
) -> list[list[str]]:
    """Return at most ``top`` keywords of each topic, those that describe its typical texts best first, ties alphabetical.

    The weight of a word or word pair is its share of the topic's texts times log(1 + A / f), where f is its number of occurrences in all
    topics and A the mean number of words in a topic (class-based TF-IDF, Grootendorst 2022). Keywords occur in at least a tenth of the
    topic's texts, if there are five such words. English stop words and numbers are left out unless a topic has nothing else, and so are
    words with the same beginning as a better one (transfer, transfers). In the order of the keywords, whose first ones are the topic's
    name, the logarithm counts by its square root, and each text by the fourth power of its typicality: otherwise words that are rare
    elsewhere precede those that most texts of the topic have in common. Words that are not twice as frequent in the topic as in all texts
    come last.

    Args:
        texts: the terms of n texts, as from :func:`split_terms`.
        ids: (n,) topics 0 … k-1; negative for texts without a topic.
        typicality: (n,) cosines of the texts to their centroids, as from :func:`.topics.typicality`.
        times: (n,) int64, how often each text occurs; by default once.
    """
    count, times = int(ids.max(initial=-1)) + 1, np.ones(len(ids), np.int64) if times is None else times
    documents: list[Counter[str]] = [Counter() for _ in range(count)]
    typical: list[defaultdict[str, float]] = [defaultdict(float) for _ in range(count)]
    occurrences: Counter[str] = Counter()
    weights = np.ones(len(ids)) if typicality is None else np.maximum(typicality, _MIN_TYPICALITY) ** _TYPICALITY_POWER
    for terms, topic, weight, number in zip(texts, ids.tolist(), (weights * times).tolist(), times.tolist(), strict=True):
        if topic >= 0:
            distinct = set(terms)
            documents[topic].update(distinct if number == 1 else dict.fromkeys(distinct, number))
            for term in distinct:
                typical[topic][term] += weight
            occurrences.update(terms if number == 1 else {term: number * found for term, found in Counter(terms).items()})
    words = sum(number for term, number in occurrences.items() if " " not in term)
    average = words / max(count, 1)
    sizes = np.bincount(ids[ids >= 0], times[ids >= 0], minlength=count)
    ranked = [_rank(found, int(size), occurrences, average, top) for found, size in zip(documents, sizes, strict=True)]
    rarity = {term: math.log(1 + average / occurrences[term]) ** 0.5 for terms in ranked for term in terms}
    overall = {term: sum(found[term] for found in documents) / max(int(sizes.sum()), 1) for term in rarity}

    def order(topic: int, term: str) -> tuple[bool, float, str]:
        is_common = documents[topic][term] / sizes[topic] < _MIN_LIFT * overall[term]
        return is_common, -typical[topic][term] * rarity[term], term

    return [sorted(terms, key=partial(order, topic)) for topic, terms in enumerate(ranked)]


def choose_tokenizer(texts: Sequence[str]) -> Callable[[str], list[str]]:
    """Return the function that splits these texts into lower-case words.

    Chinese is segmented by jieba, Japanese and Thai by BudouX; only the stem of a Japanese phrase is kept. Other scripts without spaces
    become character bigrams, see :func:`.bm25.tokenize`.
    """
    sample = "".join(texts[:: max(1, len(texts) // 500)])
    if _KANA.search(sample):
        return _japanese_words
    if len(_HAN.findall(sample)) * 10 > len(sample):
        return _chinese_words
    return _thai_words if _THAI.search(sample) else tokenize


def _chinese_words(text: str) -> list[str]:
    return [word for word in map(_clean, _jieba().cut(text)) if word]


def _japanese_words(text: str) -> list[str]:
    found = []
    for phrase in _budoux("ja")(text):
        word = _clean(phrase)
        found.append(_TRAILING_KANA.sub("", word) or word)
    return [word for word in found if word]


def _thai_words(text: str) -> list[str]:
    return [word for part in text.split() for word in map(_clean, _budoux("th")(part)) if word]


def _clean(word: str) -> str:
    # Not str.isalnum: Thai vowel signs and tone marks are neither letters nor punctuation.
    return "".join(character for character in word if unicodedata.category(character)[0] in "LMN").casefold()


@lru_cache(maxsize=1)
def _jieba() -> Any:
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()


@lru_cache(maxsize=2)
def _budoux(language: str) -> Callable[[str], list[str]]:
    import budoux

    load = budoux.load_default_japanese_parser if language == "ja" else budoux.load_default_thai_parser
    parse: Callable[[str], list[str]] = load().parse
    return parse


def _terms(words: list[str]) -> Iterator[str]:
    """Yield the words and, in texts with spaces, the pairs of adjacent words that are not stop words."""
    stop = stop_words()
    yield from words
    for left, right, after in zip(words, words[1:], [*words[2:], ""], strict=False):
        if left == right or not left.isascii() or len(left) < 2 or left in stop or left.isdecimal():
            continue
        # A particle belongs to the word before: the pairs of "auto top up" are only "top up".
        is_pair = right.isascii() and len(right) > 1 and right not in stop and not right.isdecimal() and after not in _PARTICLES
        if is_pair or right in _PARTICLES:
            yield f"{left} {right}"


def _rank(counts: Counter[str], size: int, occurrences: Counter[str], average: float, top: int) -> list[str]:
    counts = _informative(counts)
    weight = {term: number / size * math.log(1 + average / occurrences[term]) for term, number in counts.items()}
    ranked = sorted(weight, key=lambda term: (-weight[term], term))
    frequent = [term for term in ranked if counts[term] >= max(2, _MIN_SHARE * size)]
    chosen = _distinct(frequent, counts, top)
    return chosen if len(chosen) >= _FEW else _distinct([*frequent, *ranked], counts, min(top, _FEW))


def _informative(counts: Counter[str]) -> Counter[str]:
    kept = Counter({term: number for term, number in counts.items() if term not in _function_words() and not term.isdecimal()})
    return Counter({term: number for term, number in kept.items() if len(term) > 1}) or kept or counts


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    return stop_words() | frozenset(_FUNCTION_WORDS.split())


def _distinct(ranked: Sequence[str], phrases: Counter[str], top: int) -> list[str]:
    """Return the first ``top`` terms that share no word stem; a word that mostly occurs in one pair is replaced by the pair."""
    pairs: defaultdict[str, list[str]] = defaultdict(list)
    for term in ranked:
        for word in term.split() if " " in term else ():
            pairs[word].append(term)
    chosen: list[str] = []
    for term in ranked:
        if len(chosen) == top:
            break
        better = next((pair for pair in pairs.get(term, ()) if phrases[pair] >= max(2, _PAIR_SHARE * phrases[term])), term)
        if not any(_overlap(better, other) for other in chosen):
            chosen.append(better)
    return chosen


def _overlap(term: str, other: str) -> bool:
    return any(_same_stem(word, known) for word in term.split() for known in other.split())


def _same_stem(word: str, other: str) -> bool:
    if len(word) == len(other) == 2 and not word.isascii():
        return word == other or word[0] == other[1] or word[1] == other[0]
    if not word.isascii():
        return word in other or other in word
    short, long = sorted((word, other), key=len)
    common = next((place for place, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return (common == len(short) and len(long) - len(short) <= 3) or (common >= _STEM and common >= len(short) - 2)


def _unique_label(ranked: list[str], top: int, used: set[str]) -> str:
    best = _JOIN.join(ranked[:top])
    with_spare = (_JOIN.join([*ranked[: top - 1], spare]) for spare in ranked[top:])
    labels = itertools.chain([best], with_spare, (f"{best} ({number})" for number in itertools.count(2)))
    return next(label for label in labels if label not in used)


MAX_TOPICS = 200
_TREE_ROWS = 6_000  # the time of Ward's method grows with n²
_SILHOUETTE_ROWS = 2_500
_CANDIDATES = 24
_MIN_MEAN_SIZE = 15  # mean texts of a topic; smaller topics are too many to read
MAX_SHARE, MIN_MANY, MANY_ROWS = 0.3, 10, 2_000
_MIN_GROUPED = 8  # topics from which on broad topics help
_OUTLIER_DEVIATIONS = 2.5
_NORMAL = 1.4826  # of a normal distribution: standard deviation / median absolute deviation
_SEED = 12


@dataclass(frozen=True)
class TopicTree:
    """A Ward tree of texts.

    Attributes:
        rows: (m,) int64, the rows that the tree joins: all n, or a sample of 6,000.
        merges: (m - 1, 4) float64, in scipy's ``linkage`` format.
        nearest: (n,) int64, for each row the index into ``rows`` of the nearest sampled row.
    """

    rows: np.ndarray
    merges: np.ndarray
    nearest: np.ndarray

    def cut(self, count: int) -> np.ndarray:
        """Return (n,) int64 topics from 0, at most ``count``."""
        from scipy.cluster.hierarchy import fcluster

        return np.asarray(fcluster(self.merges, count, "maxclust")[self.nearest] - 1, np.int64)


def topic_tree(points: np.ndarray) -> TopicTree:
    """Build a Ward tree of (n, d) projected points, n ≥ 2; for more than 6,000, from a sample to which the others are assigned."""
    from fastcluster import linkage_vector

    rows = sample_rows(len(points), _TREE_ROWS)
    merges = linkage_vector(points[rows].astype(np.float64), "ward")
    if len(rows) == len(points):
        return TopicTree(rows, merges, np.arange(len(points)))
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(np.ascontiguousarray(points[rows]))
    return TopicTree(rows, merges, index.search(np.ascontiguousarray(points), 1)[1][:, 0])


def choose_count(tree: TopicTree, points: np.ndarray, vectors: np.ndarray) -> int:
    """Return the number of topics at which they are most distinct.

    The criterion is the mean silhouette, averaged over the projection and the cosine distances of the vectors, each relative to its best
    value. The projection alone splits too finely, the vectors alone too coarsely. From 2,000 texts on, there are at least ten topics, and
    the largest has at most 30 % of the texts if any number achieves that: broad topics show what they have in common.

    Args:
        points: (n, d) projection from which the tree was made.
        vectors: (n, D) vectors of the texts.
    """
    numbers = candidate_counts(len(points))
    if len(numbers) < 2:
        return numbers[0]
    rows = sample_rows(len(points), _SILHOUETTE_ROWS)
    directions = unit(np.asarray(vectors[rows], np.float32))
    spaces = (_euclidean(points[rows]), np.maximum(0, 1 - directions @ directions.T))
    scores, largest = np.empty((len(numbers), 2)), np.empty(len(numbers))
    # All cuts are joins of the finest one, so that the distances are read once for all of them.
    finest = tree.cut(numbers[-1])[rows]
    sums = [space @ _members(finest, numbers[-1]) for space in spaces]
    for place, count in enumerate(numbers):
        checkpoint()
        ids = tree.cut(count)
        largest[place] = np.bincount(ids).max() / len(ids)
        joined = np.zeros(numbers[-1], np.int64)
        joined[finest] = ids[rows]
        join = _members(joined, count)
        scores[place] = [mean_silhouette(found @ join, ids[rows]) for found in sums]
    total = (scores / np.maximum(np.abs(scores).max(axis=0), 1e-9)).sum(axis=1)
    is_allowed = (largest <= MAX_SHARE) & (np.array(numbers) >= MIN_MANY) if len(points) >= MANY_ROWS else np.ones(len(numbers), bool)
    return numbers[int(np.where(is_allowed | ~is_allowed.any(), total, -np.inf).argmax())]


def candidate_counts(rows: int) -> list[int]:
    """Return the numbers of topics to try for this many texts, ascending, evenly spaced in their logarithm."""
    most = int(np.clip(rows / _MIN_MEAN_SIZE, 2, MAX_TOPICS))
    return sorted({round(count) for count in np.geomspace(2, most, _CANDIDATES)})


def silhouette(distances: np.ndarray, ids: np.ndarray) -> float:
    """Return the mean silhouette coefficient of n points, like ``sklearn.metrics.silhouette_score``, using a single matrix product.

    Args:
        distances: (n, n) with zeros on the diagonal.
        ids: (n,) clusters; ids without a point are allowed. With fewer than two clusters the result is 0.
    """
    return mean_silhouette(distances @ _members(ids, int(ids.max(initial=-1)) + 1), ids)


def mean_silhouette(sums: np.ndarray, ids: np.ndarray) -> float:
    """Return the mean silhouette coefficient of n points from (n, k) ``sums`` of their distances to the members of each cluster."""
    rows, sizes = np.arange(len(ids)), np.bincount(ids, minlength=sums.shape[1])
    if (sizes > 0).sum() < 2:
        return 0.0
    within = sums[rows, ids] / np.maximum(sizes[ids] - 1, 1)
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.inf)
    means[rows, ids] = np.inf
    between = means.min(axis=1)
    values = (between - within) / np.maximum(np.maximum(between, within), 1e-9)
    return float(np.where(sizes[ids] > 1, values, 0).mean())


def _members(ids: np.ndarray, count: int) -> np.ndarray:
    """Return (n, count) float32: 1 where a point belongs to a cluster."""
    members = np.zeros((len(ids), count), np.float32)
    members[np.arange(len(ids)), ids] = 1
    return members


def group_topics(centroids: np.ndarray) -> np.ndarray:
    """Join k topics into about √(1.5 k) broad topics by Ward's method; return (k,) int64 broad topics, all -1 for fewer than 8 topics.

    Args:
        centroids: (k, d) unit vectors.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(centroids) < _MIN_GROUPED:
        return np.full(len(centroids), -1, np.int64)
    count = round((1.5 * len(centroids)) ** 0.5)
    return np.asarray(fcluster(linkage(centroids.astype(np.float64), "ward"), count, "maxclust") - 1, np.int64)


def topic_centroids(vectors: np.ndarray, ids: np.ndarray, times: np.ndarray | None = None) -> np.ndarray:
    """Return (k, d) float32 unit centroids of the topics 0 … k-1 of (n,) ``ids``; negative ids are ignored.

    Args:
        times: (n,) int64, how often each text occurs; by default once.
    """
    count = int(ids.max(initial=-1)) + 1
    sums = np.zeros((count, vectors.shape[1]), np.float32)
    order = np.argsort(ids, kind="stable")
    order = order[ids[order] >= 0]
    if len(order):
        directions, starts = unit(np.asarray(vectors, np.float32)[order]), np.flatnonzero(np.diff(ids[order], prepend=-1))
        if times is not None:
            directions = directions * times[order, None].astype(np.float32)
        sums[ids[order][starts]] = np.add.reduceat(directions, starts, axis=0)
    return unit(sums)


def typicality(vectors: np.ndarray, ids: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Return (n,) float32: the cosine of each text to the centroid of its topic, or to the nearest one if it has none."""
    directions = unit(np.asarray(vectors, np.float32))
    found = np.zeros(len(ids), np.float32)
    if not len(centroids):
        return found
    for start in range(0, len(ids), _SILHOUETTE_ROWS):
        part = slice(start, start + _SILHOUETTE_ROWS)
        cosines = directions[part] @ centroids.T
        own = ids[part]
        found[part] = np.where(own >= 0, cosines[np.arange(len(own)), np.maximum(own, 0)], cosines.max(axis=1))
    return found


def nearest_topics(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Return (n,) int64, the topic with the nearest centroid for each text."""
    return np.asarray((unit(np.asarray(vectors, np.float32)) @ centroids.T).argmax(axis=1), np.int64)


def find_outliers(ids: np.ndarray, typical: np.ndarray, near: NeighborGraph) -> np.ndarray:
    """Return (n,) bool: texts that are unlike their topic and isolated.

    A text is an outlier if its mean distance to its nearest neighbors is more than 2.5 robust standard deviations above the median of all
    texts, and its typicality more than one below the median of its topic.

    Args:
        typical: (n,) as from :func:`typicality`.
        near: neighbors of each text.
    """
    mean_distance = near.distances[:, 1:].mean(axis=1)
    middle, spread = _robust(mean_distance)
    isolated = mean_distance > middle + _OUTLIER_DEVIATIONS * spread
    far = np.zeros(len(ids), bool)
    for topic in np.unique(ids[isolated & (ids >= 0)]).tolist():
        rows = np.flatnonzero(ids == topic)
        center, width = _robust(typical[rows])
        far[rows] = typical[rows] < center - width
    return np.asarray(isolated & far)


def sample_rows(rows: int, limit: int) -> np.ndarray:
    """Return (min(rows, limit),) int64 ascending rows, drawn by a fixed seed."""
    if rows <= limit:
        return np.arange(rows)
    return np.sort(np.random.default_rng(_SEED).choice(rows, limit, replace=False))


def _euclidean(points: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(points)), np.float32)


def _robust(values: np.ndarray) -> tuple[float, float]:
    middle = float(np.median(values))
    return middle, max(_NORMAL * float(np.median(np.abs(values - middle))), 1e-6)
