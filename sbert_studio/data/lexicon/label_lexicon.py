"""The words of labels in the languages that tables come in: entailment, yes and no, negations, degrees, relations."""

from __future__ import annotations

import re
import unicodedata

# The vowels and tones that combine with a letter (of Devanagari to Khmer) are parts of words, though no letters by themselves.
_COMBINING = (
    "\u0300-\u036f\u0900-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0fbc\u102b-\u103e\u1056-\u109d\u17b4-\u17d3"
)
BETWEEN_WORDS = re.compile(rf"(?:(?![{_COMBINING}])[\W_])+")
"""What parts words."""
_VOWEL_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u0640\u064b-\u065f\u0670]")


def plain_marks(text: str) -> str:
    """Hebrew and Arabic without the vowel points, which may be written or not."""
    return text if text.isascii() else _VOWEL_POINTS.sub("", text)


def squeeze(name: str) -> str:
    """A column name or label without case, blanks and punctuation: ``Sentence_1`` and ``sentence 1`` are one."""
    return BETWEEN_WORDS.sub("", plain_marks(unicodedata.normalize("NFKC", name))).casefold()


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Beginnings of words, so that contradiction, contradictory and contradicts are one; a letter alone stands for itself.
NLI_BEGINNINGS: dict[str, tuple[str, ...]] = {
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
# What the three are called where claims are checked and people answer freely; only where all three are there.
NLI_LOOSELY: dict[str, tuple[str, ...]] = {
    "contradiction": _listed("""
    contradi contredi refut rebut denie denies denied conflict disagree oppos disprov false wrong widerleg démenti infirm réfut desment
    refuta smenti опроверг опровергает не_согласен weerleg zaprzecz obala dementi çürüt yalanl kiist bestrid afkræft motbevis
    kumoa ristiriit cáfol vyvrac διαψεύδ 反驳 反駁 反对 否定 驳斥 反論 反証 矛盾 반박 반대 반증 bertentangan menyangkal bác_bỏ يدحض
"""),
    "neutral": _listed("""
    not_enough nei not_enough_info no_info undetermin undecid indetermin inconclusiv unclear uncertain unknown unverif unrelated
    cannot_say cannot_tell cant_tell neither maybe unentschied unbestimmt unklar unbekannt ungewiss nicht_genug nicht_entscheid
    indécis indétermin incert inconnu indecis no_se_sabe ne_sait on_ne_sait desconocid indefinid indeterminad non_si_sa sconosciut
    não_se_sabe неизвестн неясн неопредел непонятн не_хватает недостаточно onbekend onduidelijk onbeslist nieznan niejasn
    nierozstrzyg nieokreślon nie_wiadomo bilinmiyor belirsiz okänd oklar oviss ukendt uklar ukjent usikker tuntematon epäselv neznám
    nejasn nejist ismeretlen bizonytalan nem_tudni
    άγνωστ ασαφ αβέβαι غير_معروف غير_محدد غير_واضح अज्ञात अनिश्चित 无法判断 無法判斷
    无法确定 不确定 不確定 未知 不明 未定 判断不能 证据不足 證據不足 信息不足
    无关 どちらでもない どちらとも わからない 分からない 알수없 불명
    판단불가 불확실 중립 không_rõ chưa_rõ tidak_pasti tidak_jelas ไม่แน่ใจ
"""),
    "entailment": _listed("""
    support confirm follows impli agree true prov correct folgt soutien confirme soutenu découle déduit s_ensuit se_deduce se_sigue
    apoya respalda sostiene deducib  consegue supporta deriva подтвержд следует вытекает bestätig gestützt belegt stützt
    bevestig ondersteun potwierdz popiera destekl doğrul stödjer stöder bekräft bekræft støtter tukee seuraa vahvist podporuj potvrz
    támogat alátámaszt következik υποστηρίζ επιβεβαι 支持 证实 證實 推出 成立 可推 支持する 導ける 지지 뒷받침 성립 mendukung ủng_hộ يدعم
"""),
}
NLI_LETTERS = {"c": "contradiction", "n": "neutral", "e": "entailment"}
NLI_ORDER = ("contradiction", "neutral", "entailment")

NO = _words(
    """
    0 false no n f different differs dissimilar unrelated notduplicate nonduplicate notparaphrase nonparaphrase notentailment
    notentailed notsimilar irrelevant negative mismatch unmatched unlike unique distinct incorrect wrong bad nein falsch verschieden
    unterschiedlich anders unähnlich non faux différent différents différente no falso diferente diferentes distinto distintos diverso
    diversi falsa não nie fałsz różne нет ложь неверно разные different nej nei falsk ei onwaar nee hayır yanlış farklı ne odlišné lažno
    tidak khác không 否 不 不同 不相似 不相同 不一致 不匹配 假 错 錯 非 无 いいえ 異なる 違う 偽 不一致 아니오 아니요 거짓 다름 لا خطأ
    مختلف नहीं गलत όχι לא ไม่
"""
)
YES = _words(
    """
    1 true yes y t same similar related duplicate paraphrase entailment entailed relevant positive match matched matching equivalent
    identical equal alike correct right good synonym ja wahr richtig gleich ähnlich identisch oui vrai pareil identique semblable sí si
    verdadero igual iguales mismo similar similares vero uguale uguali stesso sim verdadeiro tak prawda takie_same да правда верно
    одинаковые одинаковый похожие sant samme lik kyllä waar evet doğru aynı
    ano stejné da isto ya sama có giống 是 相同 相似 真 对 對 同
    一致 匹配 はい
    同じ 真 예 네 참 같음 نعم صحيح हाँ हां सही ναι כן ใช่
"""
)
# Before or behind another label they turn it round.
NEGATIONS = tuple(
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
NEGATIVE_ENDINGS = ("değil", "siz", "sız", "suz", "süz", "less", "ない", "なし", "でない", "ではない", "않음", "아님", "없음", "nicht")
RANKS: dict[float, str] = {
    0.0: """
    none never nothing zero nil unrelated different irrelevant keine kein nie aucun aucune jamais nulo nula ninguna ninguno nunca
    nessuno nessuna mai nenhum nenhuma никогда нет никак 无 無 零 なし 없음 geen nooit brak żaden ingen hiç ungenügend ungenugend
    suspenso insuficiente insuffisant insufficiente insufficient неудовлетворительно незадовільно niedostateczny nedostatečný elégtelen
    underkänd onvoldoende unsatisfactory 不及格 不可
""",
    0.15: """
    low lower lowest weak poor poorly slight slightly little minor small minimal remote rarely bad red rot rouge rojo rosso красный
    niedrig gering schwach wenig selten faible faibles bas basse peu bajo baja débil poco basso bassa debole scarso baixo baixa fraco
    pouco низкая низкий низкое слабая слабый мало 低 弱 小
    差 낮음 약함 laag zwak niski niska słabe niskie låg lav svag matala düşük az
    zayıf
    alacsony nízká thấp mangelhaft dopuszczający elégséges
""",
    0.5: """
    partial partially partly medium mid middle moderate moderately somewhat some sometimes average fair maybe possible possibly related
    yellow amber orange gelb jaune amarillo giallo mittel mittlere mäßig teilweise manchmal moyen moyenne moyennement parfois medio
    media media moderado parcial parcialmente parziale
    parzialmente médio média средняя средний среднее частично иногда умеренно 中 中等
    一般
    部分 有时 中程度 普通 部分的 중간 보통 부분 gemiddeld matig deels soms średni średnia średnie częściowo medel delvis keskitaso orta
    kısmen közepes sufficient ausreichend genügend suffisant passable suficiente sufficiente удовлетворительно задовільно
    dostateczny dostatečný godkänd voldoende satisfactory
    střední trung_bình vừa
""",
    0.8: """
    high higher highest strong strongly good mostly large major often much green grün vert verde зелёный hoch stark gut viel oft élevé
    élevée fort forte haut haute beaucoup souvent alto alta fuerte bueno mucho molto forte buono alto alta forte высокая высокий высокое
    сильная сильный много 高 强 強 大 好 높음 강함
    hoog sterk wysoki wysoka silne wysokie hög høj stærk korkea yüksek güçlü çok magas
    vysoká cao хорошо добре bien bom boa buono dobry dobrý jó iyi goed
""",
    1.0: """
    full fully complete completely exact exactly identical same perfect perfectly equivalent always total totally absolute entire
    vollständig völlig genau identisch gleich immer ganz complet complète entièrement identique parfait toujours completo completa
    completamente idéntico igual siempre identico sempre полная полностью полное идентичный всегда 完全 相同 全部 完全一致 同じ 완전
    동일 volledig
    identiek pełny pełna identyczne fullständig tam tamamen aynı teljes úplná excellent exzellent excelente eccellente ottimo
    sobresaliente отлично відмінно celujący výborný jeles kitűnő uitstekend pekiyi 优秀 優秀
""",
}
DEGREES = {word: rank for rank, words in RANKS.items() for word in words.split()} | {"befriedigend": 0.65}
STRONGER = _words(
    "very extremely highly sehr très muy molto muito очень 很 非常 とても 매우 zeer bardzo mycket velmi nagyon дуже rất meget çok"
)
RELATIONS = _words(
    """
    cause causes effect partof hasa isa kindof hypernym hyponym meronym holonym synonym antonym contrast elaboration background example
    instance condition purpose result temporal comparison expansion contingency before after during attribute usedfor madeof locatedin
    supports attacks support attack rebuts undercuts agree disagree question answer comment query deny ursache wirkung teilvon cause
    conséquence parte causa efecto 因果 转折 并列 递进 条件 补充 原因 結果 例示
"""
)
