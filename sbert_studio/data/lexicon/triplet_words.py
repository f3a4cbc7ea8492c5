"""What the texts of triplets are called: the good one and the bad ones, in the languages that tables come in."""

from __future__ import annotations

from .label_words import squeeze
from .vocabulary import is_negative, is_positive, parts


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BAD = _words(
    """
    bad worse worst wrong incorrect false unrelated different distant far unlike mismatch lose loser rejected
    falsch falsche falscher falsches schlecht schlechte schlechter unpassend unähnlich fern faux fausse mauvais mauvaise incorrecte
    éloigné éloignée loin pire malo mala incorrecto incorrecta lejano lejana falso falsa equivocado equivocada peor errado errada
    errato errata sbagliato sbagliata lontano lontana peggiore ruim pior неверный неверное неверно неправильный неправильное плохой
    плохое далёкий далекий далёкое чужой чужое fout foute slecht slechte zły zła złe błędny błędna błędne niepoprawny daleki yanlış kötü
    uzak fel felaktig dålig forkert dårlig galt feil väärä huono špatný špatná nesprávný nesprávná zlý hibás rossz helytelen greșit
    pogrešan napačen λάθος κακό خطأ سيئ गलत salah buruk sai xấu
"""
)
_GOOD = _words(
    """
    good better best correct true match matching similar same near close fitting win winner chosen
    richtig richtige richtiger richtiges gut gute guter bessere passend passende passt ähnlich nah bon bonne juste correct correcte proche
    vrai vraie meilleur meilleure bueno buena mejor correcto correcta cercano cercana giusto giusta corretto corretta vicino vicina buono
    buona migliore bom boa certo certa correto correta próximo próxima melhor верный верное верно правильный правильное хороший хорошее
    близкий близкое похожий похожее goed goede juist juiste dobry dobra dobre poprawny poprawna bliski doğru iyi yakın rätt bra rigtig
    god riktig oikea hyvä správný správná dobrý dobrá helyes jó corect bun točan σωστό καλό صحيح सही benar baik đúng tốt
"""
)
_BAD_SIGNS = _words("错 錯 坏 壞 反例 负 負 干扰 干擾 無関係 无关 無關 間違 悪 不正解 誤 오답 나쁜 틀린 무관")
_GOOD_SIGNS = ("正例", "正确", "正確", "正解", "好", "同义", "同義", "相似", "类似", "類似", "良", "정답", "좋은", "맞는", "유사")


def called_bad(name: str) -> bool:
    """Whether a column of text is called what the anchor is unlike: negative, bad_2, falsch, 干扰句."""
    return is_negative(name) or bool(set(parts(name)) & _BAD) or any(sign in squeeze(name) for sign in _BAD_SIGNS)


def called_good(name: str) -> bool:
    """Whether a column of text is called what the anchor is like: positive, good, richtig, 同义改写."""
    return not called_bad(name) and (
        is_positive(name) or bool(set(parts(name)) & _GOOD) or any(sign in squeeze(name) for sign in _GOOD_SIGNS)
    )
