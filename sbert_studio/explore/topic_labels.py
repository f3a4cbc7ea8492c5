"""Keywords and labels of topics by class-based TF-IDF over words and word pairs, in any script."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..i18n import _
from .bm25 import stop_words, tokenize

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
        label = _unique_label(list(words), top, used) or _("cluster {cluster}", cluster=topic + 1)
        used.add(label)
        labels.append(label)
    return tuple(labels)


def keywords(texts: Sequence[Sequence[str]], ids: np.ndarray, top: int = 10, typicality: np.ndarray | None = None) -> list[list[str]]:
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
    """
    count = int(ids.max(initial=-1)) + 1
    documents: list[Counter[str]] = [Counter() for _ in range(count)]
    typical: list[defaultdict[str, float]] = [defaultdict(float) for _ in range(count)]
    occurrences: Counter[str] = Counter()
    weights = np.ones(len(ids)) if typicality is None else np.maximum(typicality, _MIN_TYPICALITY) ** _TYPICALITY_POWER
    for terms, topic, weight in zip(texts, ids.tolist(), weights.tolist(), strict=True):
        if topic >= 0:
            documents[topic].update(distinct := set(terms))
            for term in distinct:
                typical[topic][term] += weight
            occurrences.update(terms)
    words = sum(number for term, number in occurrences.items() if " " not in term)
    average = words / max(count, 1)
    sizes = np.bincount(ids[ids >= 0], minlength=count)
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
