"""What words say of the order of labels: entailment, yes and no, degrees, and negation, in the languages that tables come in."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .cells import parse_number


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Beginnings of words, so that contradiction, contradictory and contradicts are one; a letter alone stands for itself.
_NLI_BEGINNINGS: dict[str, tuple[str, ...]] = {
    "contradiction": _listed("""
    contradic contradiz contradit contraddi widerspr tegenspr sprzeczn противореч супереч protimluv protikl kontradi motsäg motsig
    modsig selvmots ellentmond çeliş 矛盾 冲突 衝突 对立 對立 모순 تناقض تعارض विरोध αντίφασ ขัดแย้ง mâu_thuẫn
"""),
    "neutral": _listed("""
    neutr нейтр nøytral nautral semleges tarafsız nötr ουδέτερ 中立 中性 중립 محايد तटस्थ เป็นกลาง trung_lập
"""),
    "entailment": _listed("""
    entail implic impliq implik folgerung folgt gevolgtrekk wynik следств следован следует вытека implic conséquence implicaz
    consecuencia gerektir çıkarım medför medfør vyplýv következ 蕴含 蕴涵 蘊含 含意 伴意 함의 수반 استلزام अनुलग्न συνεπαγ
"""),
}
_NLI_LETTERS = {"c": "contradiction", "n": "neutral", "e": "entailment"}
NLI_ORDER = ("contradiction", "neutral", "entailment")

_NO = _words(
    """
    0 false no n f different differs dissimilar unrelated notduplicate nonduplicate notparaphrase nonparaphrase notentailment
    notentailed notsimilar irrelevant negative mismatch unmatched unlike unique distinct incorrect wrong bad nein falsch verschieden
    unterschiedlich anders unähnlich non faux différent différents différente no falso diferente diferentes distinto distintos diverso
    diversi falsa não nie fałsz różne нет ложь неверно разные different nej nei falsk ei onwaar nee hayır yanlış farklı ne odlišné lažno
    tidak khác không 否 不 不同 不相似 不相同 不一致 不匹配 假 错 錯 非 无 いいえ 異なる 違う 偽 不一致 아니오 아니요 거짓 다름 لا خطأ
    مختلف नहीं गलत όχι לא ไม่
"""
)
_YES = _words(
    """
    1 true yes y t same similar related duplicate paraphrase entailment entailed relevant positive match matched matching equivalent
    identical equal alike correct right good synonym ja wahr richtig gleich ähnlich identisch oui vrai pareil identique semblable sí si
    verdadero igual iguales mismo similar similares vero uguale uguali stesso sim verdadeiro tak prawda takie_same да правда верно
    одинаковые одинаковый похожие sant samme lik kyllä waar evet doğru aynı ano stejné da isto ya sama có giống 是 相同 相似 真 对 對 同
    一致 匹配 はい
    同じ 真 예 네 참 같음 نعم صحيح हाँ हां सही ναι כן ใช่
"""
)
# Before or behind another label they turn it round.
_NEGATIONS = tuple(
    sorted(
        _words(
            """
    not no non none un dis in im ir il mis never without nicht kein keine keinen un pas sans ne niet geen on non senza sem não sin не
    нет без ні nie inte ej icke ikke ei değil olmayan nem nu fără ne 不 非 无 無 未 否 沒 没 不是 没有 않 안 비 불 無 غير ليس नहीं không
    tidak bukan
"""
        ),
        key=len,
        reverse=True,
    )
)
_NEGATIVE_ENDINGS = ("değil", "siz", "sız", "suz", "süz", "less", "ない", "なし", "でない", "ではない", "않음", "아님", "없음", "nicht")
_RANKS: dict[float, str] = {
    0.0: """
    none never nothing zero nil unrelated different irrelevant keine kein nie aucun aucune jamais nulo nula ninguna ninguno nunca
    nessuno nessuna mai nenhum nenhuma никогда нет никак 无 無 零 なし 없음 geen nooit brak żaden ingen hiç
""",
    0.15: """
    low lower lowest weak poor poorly slight slightly little minor small minimal remote rarely bad red rot rouge rojo rosso красный
    niedrig gering schwach wenig selten faible faibles bas basse peu bajo baja débil poco basso bassa debole scarso baixo baixa fraco
    pouco низкая низкий низкое слабая слабый мало 低 弱 小 差 낮음 약함 laag zwak niski niska słabe niskie låg lav svag matala düşük az
    zayıf
    alacsony nízká thấp
""",
    0.5: """
    partial partially partly medium mid middle moderate moderately somewhat some sometimes average fair maybe possible possibly related
    yellow amber orange gelb jaune amarillo giallo mittel mittlere mäßig teilweise manchmal moyen moyenne moyennement parfois medio
    media media moderado parcial parcialmente parziale parzialmente médio média средняя средний среднее частично иногда умеренно 中 中等
    一般
    部分 有时 中程度 普通 部分的 중간 보통 부분 gemiddeld matig deels soms średni średnia średnie częściowo medel delvis keskitaso orta
    kısmen közepes
    střední trung_bình vừa
""",
    0.8: """
    high higher highest strong strongly good mostly large major often much green grün vert verde зелёный hoch stark gut viel oft élevé
    élevée fort forte haut haute beaucoup souvent alto alta fuerte bueno mucho molto forte buono alto alta forte высокая высокий высокое
    сильная сильный много 高 强 強 大 好 높음 강함 hoog sterk wysoki wysoka silne wysokie hög høj stærk korkea yüksek güçlü çok magas
    vysoká cao
""",
    1.0: """
    full fully complete completely exact exactly identical same perfect perfectly equivalent always total totally absolute entire
    vollständig völlig genau identisch gleich immer ganz complet complète entièrement identique parfait toujours completo completa
    completamente idéntico igual siempre identico sempre полная полностью полное идентичный всегда 完全 相同 全部 完全一致 同じ 완전
    동일 volledig
    identiek pełny pełna identyczne fullständig tam tamamen aynı teljes úplná
""",
}
_DEGREES = {word: rank for rank, words in _RANKS.items() for word in words.split()}
_STRONGER = _words("very extremely highly sehr très muy molto muito очень 很 非常 とても 매우 zeer bardzo mycket meget çok")
_RELATIONS = _words(
    """
    cause causes effect partof hasa isa kindof hypernym hyponym meronym holonym synonym antonym contrast elaboration background example
    instance condition purpose result temporal comparison expansion contingency before after during attribute usedfor madeof locatedin
    supports attacks support attack rebuts undercuts agree disagree question answer comment query deny ursache wirkung teilvon cause
    conséquence parte causa efecto 因果 转折 并列 递进 条件 补充 原因 結果 例示
"""
)


@dataclass(frozen=True)
class NamedOrder:
    """What the words of labels tell of their order.

    Attributes:
        order: the labels from least to most alike.
        sure: ``certain`` where the words mean it, ``guess`` where they only suggest it.
        family: ``nli``, ``yes/no``, ``degrees``, ``numbers``, ``negation`` or ``relations``, for words.
    """

    order: tuple[str, ...]
    sure: Literal["certain", "guess"]
    family: str


def squeeze(name: str) -> str:
    """A column name or label without case, blanks and punctuation: ``Sentence_1`` and ``sentence 1`` are one."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name)).casefold()


def nli_class(label: str) -> str | None:
    """``contradiction``, ``neutral`` or ``entailment`` for a label in any of two dozen languages; else None."""
    word = squeeze(label)
    if word in _NLI_LETTERS:
        return _NLI_LETTERS[word]
    if word == "unrelated":
        return "neutral"
    for name, beginnings in _NLI_BEGINNINGS.items():
        if word.startswith(tuple(squeeze(beginning) for beginning in beginnings)):
            return name
    return None


def is_yes(label: str) -> bool:
    """Whether a label says that two texts belong together: 1, yes, true, duplicate, entailment and the like."""
    return squeeze(label) in _YES or nli_class(label) == "entailment"


def is_no(label: str) -> bool:
    """Whether a label says that two texts do not belong together: 0, no, false, different and the like."""
    return squeeze(label) in _NO or label.strip() in ("-1", "−1")


def order_by_words(labels: Sequence[str]) -> NamedOrder | None:
    """The order of labels by what their words mean, least alike first; None where the words are silent."""
    for way in (_nli, _yes_and_no, _numbered, _negated, _beginning_with_numbers, _degrees, _relations):
        if len(set(labels)) > 1 and (found := way(list(dict.fromkeys(labels)))):
            return found
    return None


def neutral_of_three(labels: Sequence[str]) -> str | None:
    """The label in the middle of three by its name (neutral, нейтрально, 中立), whatever the other two are called."""
    middle = [label for label in labels if nli_class(label) == "neutral" and len(squeeze(label)) > 1]
    return middle[0] if len(labels) == 3 and len(middle) == 1 else None


def rising(order: Sequence[str]) -> bool:
    """Whether at least two of the labels are known degrees, and those that are rise in this order."""
    ranks = [rank for label in order if (rank := _degree(label)) is not None]
    return len(ranks) > 1 and ranks == sorted(set(ranks))


def _nli(labels: list[str]) -> NamedOrder | None:
    classes = [nli_class(label) for label in labels]
    if not all(classes) or len(set(classes)) < len(labels) or all(squeeze(label) in "ne" for label in labels):
        return None
    return NamedOrder(tuple(sorted(labels, key=lambda label: NLI_ORDER.index(str(nli_class(label))))), "certain", "nli")


def _yes_and_no(labels: list[str]) -> NamedOrder | None:
    if len(labels) != 2:
        return None
    no = [label for label in labels if is_no(label)]
    yes = [label for label in labels if is_yes(label) and label not in no]
    return NamedOrder((no[0], yes[0]), "certain", "yes/no") if len(no) == len(yes) == 1 else None


def _numbered(labels: list[str]) -> NamedOrder | None:
    numbers = {label: parse_number(label) for label in labels}
    if any(math.isnan(number) for number in numbers.values()):
        return None
    order = tuple(sorted(labels, key=lambda label: numbers[label]))
    known = set(numbers.values()) in ({0.0, 1.0}, {-1.0, 1.0}) or len(order) > 3
    return NamedOrder(order, "certain" if known else "guess", "numbers")


def _beginning_with_numbers(labels: list[str]) -> NamedOrder | None:
    """``0 - nothing in common``, ``1 (related)``, ``2: the same``."""
    found = {label: re.match(r"\W*(\d+)\W+\w", label) for label in labels}
    if not all(found.values()):
        return None
    numbers = {label: int(match[1]) for label, match in found.items() if match}
    if len(set(numbers.values())) < len(labels):
        return None
    return NamedOrder(tuple(sorted(labels, key=lambda label: numbers[label])), "guess", "numbers")


def _negated(labels: list[str]) -> NamedOrder | None:
    if len(labels) != 2:
        return None
    for denied, plain in (labels, labels[::-1]):
        if not _denies(denied, plain):
            continue
        if is_no(plain):
            return NamedOrder((plain, denied), "certain", "negation")
        return NamedOrder((denied, plain), "certain" if is_yes(plain) else "guess", "negation")
    return None


def _denies(denied: str, plain: str) -> bool:
    """Whether the one label is the other with a negation before or behind it: not_equivalent, mismatch, kein Treffer, 不同义."""
    long, short = squeeze(denied), squeeze(plain)
    if len(short) < 2 and not re.match(r"[\u3040-\u9fff\uac00-\ud7a3]", short):
        return False
    rest = long.removesuffix(short) if long.endswith(short) else None
    if rest and rest in _NEGATIONS:
        return True
    behind = long.removeprefix(short) if long.startswith(short) else None
    return bool(behind) and (behind in _NEGATIONS or behind in _NEGATIVE_ENDINGS)


def _degree(label: str) -> float | None:
    words = [word for word in re.split(r"[\W_]+", unicodedata.normalize("NFKC", label).casefold()) if word]
    if squeeze(label) in _DEGREES:
        return _DEGREES[squeeze(label)]
    ranks = {_DEGREES[word] for word in words if word in _DEGREES}
    denied = any(word in ("not", "nicht", "pas", "no", "non", "не", "不") for word in words)
    if len(ranks) != 1:
        return 0.0 if denied and not ranks else None
    rank = ranks.pop()
    if denied:
        return 0.05
    if any(word in _STRONGER for word in words):
        rank += 0.1 if rank > 0.5 else -0.1
    return rank


def _degrees(labels: list[str]) -> NamedOrder | None:
    ranks = [_degree(label) for label in labels]
    if any(rank is None for rank in ranks) or len(set(ranks)) < len(labels):
        return None
    order = tuple(label for _, label in sorted(zip(ranks, labels, strict=True), key=lambda item: float(item[0] or 0)))
    return NamedOrder(order, "guess", "degrees")


def _relations(labels: list[str]) -> NamedOrder | None:
    """Kinds of relations, such as cause and part-of, are no degrees of one thing."""
    named = sum(squeeze(label) in _RELATIONS for label in labels)
    return NamedOrder(tuple(sorted(labels)), "certain", "relations") if len(labels) > 2 and named >= 2 / 3 * len(labels) else None
