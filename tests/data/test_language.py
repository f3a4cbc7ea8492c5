"""Languages are detected well enough to warn."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.language import (
    count_languages,
    detect_language,
    detect_main_language,
    dominant_foreign_language,
    language_mismatch_note,
)
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.samples import get_sample

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
    ("file", "code"), [("stsb-zh/dev.csv", "zh"), ("stsb/dev.csv", "en"), ("sts14/tweet-news.csv", "en"), ("sick/trial.csv", "en")]
)
def test_the_language_of_public_sets(real_data: Path, file: str, code: str) -> None:
    language = detect_main_language(read_table(real_data / file).column("sentence1"))
    assert language.code == code and language.share > 0.9


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
        assert "Choose intfloat/multilingual-e5-small from the Hugging Face Hub; on Linux, or a Mac" in note
        installed = language_mismatch_note(count_languages(texts), known, available="multilingual-e5-small")
        assert installed.endswith("Choose multilingual-e5-small, which reads many languages.")


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


@pytest.mark.parametrize(
    "name", ["support_requests", "questions", "scored_pairs", "triplets", "nli_pairs", "labelled_texts", "bank_messages"]
)
def test_english_samples_are_english(name: str) -> None:
    table = read_table(get_sample(name).path)
    assert dominant_foreign_language(count_languages([text for column in table.columns for text in table.column(column)])) == ""
