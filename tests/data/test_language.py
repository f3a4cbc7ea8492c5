"""Languages are detected well enough to warn."""

from __future__ import annotations

import pytest

from sbert_studio.data.language import count_languages, detect_language, dominant_foreign_language, language_mismatch_note

ENGLISH = "Where is the card that I ordered?"
CHINESE = "我的银行卡什么时候到"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
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
def test_the_language_of_a_sentence(text: str, code: str) -> None:
    assert detect_language(text) == code


@pytest.mark.parametrize(
    ("texts", "known", "beginning"),
    [
        ([CHINESE, "今天天气很好"], ("en",), "The texts look like Chinese, but"),
        ([CHINESE, ENGLISH], ("en",), "Some of the texts look like Chinese"),
        (["Ich möchte wissen, wann die Karte kommt", "und ob sie schon da ist"], ("en",), "The texts look like German"),
        ([CHINESE], ("en", "zh"), ""),
        ([CHINESE], None, ""),
        (["Los Angeles", "Le Monde"], ("en",), ""),
        (["12345"], ("en",), ""),
        ([], ("en",), ""),
        ([ENGLISH] * 90 + [CHINESE] * 10, ("en",), ""),
    ],
)
def test_the_warning_about_languages_that_the_model_does_not_know(texts: list[str], known: tuple[str, ...] | None, beginning: str) -> None:
    note = language_mismatch_note(count_languages(texts), known)
    assert note.startswith(beginning) and bool(note) == bool(beginning)
    if note:
        assert "Choose intfloat/multilingual-e5-small from the Hugging Face Hub; on Linux or a Mac" in note
        installed = language_mismatch_note(count_languages(texts), known, available="multilingual-e5-small")
        assert installed.endswith("Choose multilingual-e5-small, which supports many languages.")


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ([CHINESE, "今天天气很好", ENGLISH], "zh"),
        (["Где моя карта?", "متى تصل بطاقتي", ENGLISH], "ru"),
        (["Ich weiß nicht, wann der Brief kommt", "PIN vergessen", "Karte gesperrt"], "de"),
        (["Ein Flugzeug hebt ab.", "Das Flugzeug startet gerade."], "de"),
        (["Los Angeles", "La Paz"], ""),
        ([CHINESE, ENGLISH], ""),
        ([CHINESE, *["A-17"] * 9], ""),
        ([ENGLISH] * 5, ""),
        (["12345"], ""),
        ([], ""),
    ],
)
def test_the_dominant_foreign_language(texts: list[str], code: str) -> None:
    assert dominant_foreign_language(count_languages(texts)) == code
    assert dominant_foreign_language(count_languages(texts), ("en", "zh", "ru", "ar", "de")) == ""
