"""What the name of a column explains of its numbers: ``How similar? (1 = completely different, 5 = the same)``."""

from __future__ import annotations

import re
import unicodedata

from .label_lexicon import BETWEEN_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LINK = r"(?:=|:|→|->|-|–|—|is|means|meaning|ist|heißt|bedeutet|это|est|es|é|è|为|為|是|表示|は|が)?"
_AFTER = re.compile(rf"(?<![\w.])(?<!\d,)(-?\d+(?:[.,]\d+)?)[\s(]*{_LINK}[\s(\"']*([^\d=;,，；、|/()\[\]（）–…→]{{1,60}})")
_BEFORE = re.compile(r"([^\d=;,，；、|/()\[\]（）–…→]{2,60}?)\s*(?:[=:]\s*|\((?=\s*-?[\d.,]+\s*\))\s*)(-?\d+(?:[.,]\d+)?)")
_ASIDE = re.compile(r"\s*[(\[（【][^)\]）】]*\d[^)\]）】]*[)\]）】]?|[\s,;:]*-?\d+\s*[=:].*$|[\s,;:-]*\bvon \d.*$|[\s,;:-]*\bfrom \d.*$")
_UNLIKE = _words(
    """
    no not none nothing never different differ unlike unrelated dissimilar least lowest low worst poor disagree opposite nein nicht kein
    keine nichts verschieden unterschiedlich unähnlich anders gar non pas rien aucun aucune différent différents différentes no nada
    ningún ninguna diferente diferentes distinto distintos distintas niente nessuno nessuna diverso diversi diverse não nenhum nenhuma
    нет не ничего разные различны непохожи nie różne inne nic nej inte olika forskellige forskellig nei ulik eri ei geen niet anders
    verschillend hayır farklı değil khác không tidak berbeda beda nem különböző ne odlišné různé jiné لا مختلف नहीं अलग
    """
)
_ALIKE = _words(
    """
    yes same identical equal equivalent alike similar most highest high best perfect full agree ja gleich identisch dasselbe ähnlich
    oui même mêmes identique identiques pareil sí igual iguales idéntico idénticos mismo misma sì uguale uguali identico identici stesso
    sim igual iguais idêntico idênticos mesmo да одинаковые одинаковы одинаково идентичны совпадают похожи то tak takie identyczne samo ja
    samma lika identiska samme ens ens like sama samat gelijk hetzelfde zelfde identiek evet aynı giống có ya sama igen azonos ugyanaz ano
    stejné totožné نعم نفس متطابق हाँ समान वही
    """
)
_UNLIKE_SIGNS = ("不", "无", "無", "没", "違", "異", "다름", "다른", "다르", "없", "아니", "ต่าง")
_ALIKE_SIGNS = ("同", "一致", "一样", "一樣", "等しい", "相似", "类似", "類似", "같", "동일", "일치", "是", "はい", "예", "เหมือน")


def without_explanation(name: str) -> str:
    """The name of a column without what it explains of its numbers."""
    return _ASIDE.sub("", name).strip() or name


def explained_ends(name: str) -> tuple[float | None, float | None]:
    """The numbers that a column's name gives to what is least and to what is most alike; None where it does not say."""
    text = unicodedata.normalize("NFKC", name).casefold()
    if not re.search(r"[(=:\[…]", text):
        return None, None
    said = [(match[1], match[2]) for match in _AFTER.finditer(text)]
    if not any(_alike(words) is not None for _, words in said):
        said = [(match[2], match[1]) for match in _BEFORE.finditer(text)]
    unlike = [_number(number) for number, words in said if _alike(words) is False]
    alike = [_number(number) for number, words in said if _alike(words) is True]
    least = None if not unlike else unlike[0] if not alike or unlike[0] < alike[-1] else max(unlike)
    most = None if not alike else alike[-1] if least is None or alike[-1] > least else min(alike)
    if least is not None and least == most:
        return None, None
    return least, most


def explained_direction(name: str, low: float, high: float) -> bool | None:
    """Whether a column's name says that the highest number is the least alike; None where it says nothing of it."""
    least, most = explained_ends(name)
    if least is not None and most is not None:
        return least > most
    if most is not None:
        return abs(most - low) < abs(most - high)
    return abs(least - high) < abs(least - low) if least is not None else None


def explained_scale(name: str, lowest: float, highest: float) -> tuple[float, float] | None:
    """The scale that a column's name gives, the lower number first, where nearly all of its numbers lie on it."""
    least, most = explained_ends(name)
    if least is None or most is None:
        return None
    low, high = sorted((least, most))
    return (low, high) if low <= lowest and highest <= high and highest - lowest >= 0.4 * (high - low) else None


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _alike(words: str) -> bool | None:
    """Whether an explanation says alike or unlike; None: neither."""
    found = set(BETWEEN_WORDS.split(words))
    if found & _UNLIKE or any(sign in words for sign in _UNLIKE_SIGNS):
        return False
    return True if found & _ALIKE or any(sign in words for sign in _ALIKE_SIGNS) else None
