"""Labels that are degrees of one thing: their words in many languages, stars, Roman numerals, letters of marks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from .label_lexicon import DEGREES, STRONGER, squeeze

_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
# Of Chinese and Japanese, where no blank parts the words: the signs within a label, the first that is there decides.
_SIGNS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.0, ("毫不", "毫无", "毫無", "全不", "完全不", "全く違", "全く異", "无关", "無關", "無関係", "没有", "沒有")),
    (0.3, ("不太", "不怎么", "不怎麼", "あまり", "稍", "略", "有点", "有點", "沾点", "一点", "一點", "少し", "やや", "些", "弱")),
    (0.5, ("部分", "一半", "半", "中等", "一般", "普通", "ある程度", "或许", "可能", "一部")),
    (0.8, ("很", "大致", "大部分", "大体", "大體", "基本", "较", "較", "接近", "高度", "とても", "かなり", "ほぼ", "强", "強")),
    (0.02, ("不", "无", "無", "没", "非", "ない", "違", "異")),
    (1.0, ("完全", "全部", "一模一样", "一致", "相同", "同一", "同じ", "等同", "一样", "一樣", "全")),
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_STAR = re.compile(r"[★⭐*✮✯☆✩✰•●○+]+\ufe0f?")


def rising(order: Sequence[str]) -> bool:
    """Whether at least two of the labels are known degrees, and those that are rise in this order."""
    ranks = [rank for label in order if (rank := degree_of(label)) is not None]
    return len(ranks) > 1 and ranks == sorted(set(ranks))


def degree_of(label: str) -> float | None:
    """How much of something the words of a label say, in [0, 1]; None: they say nothing of it."""
    words = [word for word in re.split(r"[\W_]+", unicodedata.normalize("NFKC", label).casefold()) if word]
    if squeeze(label) in DEGREES:
        return DEGREES[squeeze(label)]
    ranks = {DEGREES[word] for word in words if word in DEGREES}
    denied = any(word in ("not", "nicht", "pas", "no", "non", "не", "不") for word in words)
    if not ranks and _HAN.search(label):
        return _of_signs(squeeze(label))
    if len(ranks) != 1:
        return 0.0 if denied and not ranks else None
    rank = ranks.pop()
    if denied:
        return 0.05
    if any(word in STRONGER for word in words):
        rank += 0.1 if rank > 0.5 else -0.1
    return rank


def _of_signs(label: str) -> float | None:
    return next((rank for rank, signs in _SIGNS if any(sign in label for sign in signs)), None)


def steps_of(labels: Sequence[str]) -> dict[str, int]:
    """The step that each label stands for, where all are stars, one sign repeated, or Roman numerals; else nothing."""
    plain = {label: "".join(label.split()) for label in labels}
    if all(_STAR.fullmatch(text) for text in plain.values()) and len(labels) > 2:
        steps = {label: sum(text.count(sign) for sign in "★⭐*✮✯•●+") for label, text in plain.items()}
    elif all(text.casefold() in _ROMAN for text in plain.values()) and len(labels) > 2:
        steps = {label: _ROMAN.index(text.casefold()) + 1 for label, text in plain.items()}
    elif (
        len(labels) > 2
        and all(len(set(text)) == 1 and not text.isalnum() for text in plain.values())
        and len(set("".join(plain.values()))) == 1
    ):
        steps = {label: len(text) for label, text in plain.items()}
    else:
        return {}
    return steps if len(set(steps.values())) == len(labels) else {}
