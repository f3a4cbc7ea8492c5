"""Languages are told apart well enough to warn."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.language import foreign_note, guess_language, languages_in, main_language, mostly_foreign
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.samples import sample


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


@pytest.mark.parametrize(
    ("texts", "known", "said"),
    [
        (["我的银行卡什么时候到", "今天天气很好"], ("en",), "The texts look like Chinese, but"),
        (["我的银行卡什么时候到", "Where is the card that I ordered?"], ("en",), "Some of the texts look like Chinese"),
        (["Ich möchte wissen, wann die Karte kommt", "und ob sie schon da ist"], ("en",), "The texts look like German"),
        (["我的银行卡什么时候到"], ("en", "zh"), ""),
        (["我的银行卡什么时候到"], None, ""),
        (["Los Angeles", "Le Monde"], ("en",), ""),
        (["12345"], ("en",), ""),
        ([], ("en",), ""),
        (["Where is the card that I ordered?"] * 90 + ["我的银行卡什么时候到"] * 10, ("en",), ""),
    ],
)
def test_a_language_that_the_model_does_not_know_is_said_and_nothing_else(
    texts: list[str], known: tuple[str, ...] | None, said: str
) -> None:
    found = foreign_note(languages_in(texts), known)
    assert found.startswith(said) and bool(found) == bool(said)


def test_the_warning_names_the_bundled_model_first_and_the_hub_where_it_is_not_installed() -> None:
    found = languages_in(["我的银行卡什么时候到"])
    assert foreign_note(found, ("en",), at_hand="multilingual-e5-small").endswith(
        "Choose multilingual-e5-small, which reads many languages."
    )
    assert "Choose intfloat/multilingual-e5-small from the Hugging Face Hub; on Linux, or a Mac" in foreign_note(found, ("en",))


ENGLISH = "Where is the card that I ordered?"


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["我的银行卡什么时候到", "今天天气很好", ENGLISH], "zh"),
        (["Где моя карта?", "متى تصل بطاقتي", ENGLISH], "ru"),
        (["Ich weiß nicht, wann der Brief kommt", "PIN vergessen", "Karte gesperrt"], "de"),
        (["我的银行卡什么时候到", ENGLISH], ""),
        (["我的银行卡什么时候到", *["A-17"] * 9], ""),
        ([ENGLISH] * 5, ""),
        (["12345"], ""),
        ([], ""),
    ],
)
def test_most_texts_are_in_another_language_than_english(texts: list[str], code: str) -> None:
    assert mostly_foreign(languages_in(texts)) == code
    assert mostly_foreign(languages_in(texts), ("en", "zh", "ru", "ar", "de")) == ""


@pytest.mark.parametrize(
    "name", ["support_requests", "questions", "scored_pairs", "triplets", "nli_pairs", "labelled_texts", "bank_messages"]
)
def test_english_samples_are_english(name: str) -> None:
    table = read_table(sample(name).path)
    assert mostly_foreign(languages_in([text for column in table.columns for text in table.column(column)])) == ""


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["Ein Flugzeug hebt ab.", "Das Flugzeug startet gerade."], "de"),
        (["Los Angeles", "La Paz"], ""),
        (["A plane takes off.", "The plane is starting."], ""),
    ],
)
def test_a_few_short_texts_tell_their_language_together(texts: list[str], language: str) -> None:
    assert mostly_foreign(languages_in(texts)) == language
