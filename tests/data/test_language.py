"""Languages are told apart well enough to warn."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.language import guess_language, main_language
from sbert_studio.data.tables import read_table


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Where is the card that I ordered?", "en"),
        ("Ich möchte wissen, wann die Karte kommt und ob sie schon da ist", "de"),
        ("Je ne sais pas où est la carte que vous avez envoyée", "fr"),
        ("¿Cuándo llega la tarjeta que pedí para mi padre? No está aquí", "es"),
        ("Quando arriva la carta che ho ordinato? Non è ancora qui", "it"),
        ("Quando chega o cartão que eu pedi? Não está com você", "pt"),
        ("Wanneer komt de kaart die ik heb besteld? Het is niet op tijd", "nl"),
        ("我的银行卡 app 什么时候到", "zh"),
        ("カードはいつ届きますか", "ja"),
        ("카드는 언제 도착하나요", "ko"),
        ("Когда придёт моя карта", "ru"),
        ("متى تصل بطاقتي", "ar"),
        ("12345", ""),
        ("", ""),
    ],
)
def test_a_sentence_tells_its_language(text: str, code: str) -> None:
    assert guess_language(text) == code


@pytest.mark.parametrize(
    ("file", "code"), [("stsb-zh/dev.csv", "zh"), ("stsb/dev.csv", "en"), ("sts14/tweet-news.csv", "en"), ("sick/trial.csv", "en")]
)
def test_public_sets_tell_their_language_clearly(real_data: Path, file: str, code: str) -> None:
    language = main_language(read_table(real_data / file).column("sentence1"))
    assert language.code == code
    assert language.share > 0.9
