"""Header rows are distinguished from data rows, or asked about."""

from __future__ import annotations

from pathlib import Path

import pytest
from data.loading.files import contents, read

from sbert_studio.data.loading.headers import has_header, is_uncertain_header, name_columns

_TEXTS = [f"the man number {n} plays the guitar on stage" for n in range(12)]
_OTHERS = [f"someone called {n} makes music for many people" for n in range(12)]
_PHRASES = ["lost card", "card stolen", "open an account", "send money abroad"] * 3


def _cycle(*labels: str) -> list[str]:
    return [labels[n % len(labels)] for n in range(12)]


def _rows(columns: list[list[str]]) -> list[list[str]]:
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([["sentence1", "sentence2", "score"], ["a b c", "d e f", "1"]], True),
        ([["How are you today?", "I am fine, thanks.", "4.2"], ["Where is it?", "Over there.", "1"]], False),
        ([["Frage", "Antwort", "Wert"], ["Wie geht es dir heute?", "Mir geht es gut.", "3"]], True),
        ([["A man sings a song.", "entailment"], ["A dog runs about.", "neutral"], ["A cat.", "entailment"]], False),
        ([["Frage", "Antwort"], ["Wie geht es dir heute denn so?", "Es geht mir eigentlich ganz gut."]], True),
        ([["I lost my card and need a new one"], ["Where is my money now?"], ["Can you help me with this?"]], False),
        ([["文本", "标签"], ["今天天气很好", "天气"]], True),
        ([["", "text"], ["0", "a b c"], ["1", "d e f"]], True),
        ([["text"]], True),
        ([["Errado", "Original", "Certo", "Obs."], ["Um gato dorme aqui.", "Um gato dorme.", "O gato dorme.", ""]], True),
        ([["Lfd. Nr.", "Text alt", "Text neu"], ["1", "Eine Katze schläft hier.", "Die Katze schläft."]], True),
        ([["A man sings.", "He sings."], ["A dog runs about here.", "It runs."]], False),
        ([["0", "1", "2"], ["Where is my card?", "My card is lost.", "1"]], True),
        ([["", "0", "1"], ["0", "Where is my card?", "1"], ["1", "A new card.", "0"]], True),
        ([["0"], ["Where is my card?"], ["A new card."]], True),
        ([["0", "1"], ["1", "2"], ["2", "3"]], False),
        ([["1", "2"], ["Where is my card?", "1"]], False),
    ],
)
def test_headers_are_distinguished_from_data(rows: list[list[str]], header: bool) -> None:
    assert has_header(rows) is header


@pytest.mark.parametrize(
    ("first", "columns"),
    [
        (["left", "right", "same"], [_TEXTS, _OTHERS, _cycle("same", "different")]),
        (["premise", "hypothesis", "neutral"], [_TEXTS, _OTHERS, _cycle("neutral", "entailment", "contradiction")]),
        (["text", "card"], [_TEXTS, _cycle("refund", "card", "transfer")]),
        (["A", "B", "sim", "flag", "entailment"], [_TEXTS, _OTHERS, _cycle("3.8", "5", "1"), _cycle("0", "1"), _cycle("entailment", "x")]),
        (["nr", "phrase", "card"], [[f"T-{n}" for n in range(12)], _TEXTS, _cycle("refund", "card")]),
        (["word", "other", "sim", "noun"], [list("abcdefghijkl"), list("mnopqrstuvwx"), _cycle("1", "2", "3"), _cycle("noun", "verb")]),
    ],
)
def test_a_column_may_be_called_after_one_of_its_labels(first: list[str], columns: list[list[str]]) -> None:
    assert has_header([first, *_rows(columns)])
    assert not has_header(_rows(columns))


@pytest.mark.parametrize(
    ("first", "columns"),
    [
        (["snippet", "card"], [_TEXTS, _cycle("refund", "card", "transfer")]),
        (["linkes Wort", "rechtes Wort", "zz"], [_PHRASES, _PHRASES[::-1], _cycle("zz", "yy")]),
    ],
)
def test_a_first_row_that_could_be_names_or_data_is_uncertain(first: list[str], columns: list[list[str]]) -> None:
    assert is_uncertain_header([first, *_rows(columns)])


@pytest.mark.parametrize(
    "first",
    [
        ["the man sings a song on the stage", "he sings a song", "unrated", "entailment"],
        ["A man sings.", "He sings.", "3", "entailment"],
        ["A man sings.", "He sings.", "n/a", "entailment"],
    ],
)
def test_a_row_of_texts_with_a_label_is_not_a_header(first: list[str]) -> None:
    assert not has_header([first, *_rows([_TEXTS, _OTHERS, _cycle("3.8", "5", "1"), _cycle("entailment", "neutral")])])


def test_column_names_are_made_distinct_and_never_empty() -> None:
    names, notes = name_columns(["text", " text ", "", "a\nb"], 5)
    assert names == ["text", "text_2", "column_3", "a b", "column_5"]
    assert [note.severity for note in notes] == ["warning", "info"]


def test_a_file_without_header_counts_from_row_one(tmp_path: Path) -> None:
    text = "A man is singing.,A man sings.,4.5\nA dog runs.,A cat sleeps.,0.2\n"
    table = read(tmp_path, text)
    assert table.columns == ("column_1", "column_2", "column_3")
    assert table.lines.tolist() == [1, 2]
    assert read(tmp_path, text, header=True).lines.tolist() == [2]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (",0,1\n0,Where is my card?,1\n1,A new card.,0\n", ("index", "0", "1")),
        ("Unnamed: 0,0,1\n0,Where is my card?,1\n1,A new card.,0\n", ("Unnamed: 0", "0", "1")),
        (",0\n0,Where is my card?\n1,A new card.\n", ("index", "0")),
        (',sentence\n0,Where is my card?\n1,"A card, new."\n', ("column_1", "sentence")),
    ],
)
def test_the_row_numbers_and_column_numbers_of_pandas_are_understood(tmp_path: Path, text: str, columns: tuple[str, ...]) -> None:
    table = read(tmp_path, text)
    assert (table.columns, table.lines.tolist()) == (columns, [2, 3])
    assert "0" not in columns or any("only numbers the columns" in note.message for note in table.notes)


_SURVEY = """Respondent ID,Start Date,Which one?,,What could we improve?
,,Response,Other (please specify),Open-Ended Response
11000,03/01/2023,App,,The gate is slow
11001,03/01/2023,,Site,I want a card
11002,03/02/2023,App,,Nothing at all
"""
_OPTIONS = _SURVEY.replace("Response,Other (please specify),Open-Ended Response", "App,Site,").replace("The gate is slow", "")


@pytest.mark.parametrize(("text", "name"), [(_SURVEY, "Other (please specify)"), (_OPTIONS, "Site")])
def test_the_second_header_row_of_a_survey_is_skipped_and_names_columns(tmp_path: Path, text: str, name: str) -> None:
    table = read(tmp_path, text)
    assert table.columns == ("Respondent ID", "Start Date", "Which one?", name, "What could we improve?")
    assert table.lines.tolist() == [3, 4, 5]
    assert any("second header" in note.message and note.rows == (2,) for note in table.notes)


def test_rows_with_gaps_or_words_begin_no_second_header_or_table(tmp_path: Path) -> None:
    text = ",text,label,source\n0,,,web\n1,some words here,a,web\n2,more of the words,b,mail\n3,and a last one,a,web\n"
    assert read(tmp_path, text).lines.tolist() == [2, 3, 4, 5]
    rows = [f"A man walks on road {place},A woman sits at table {place},{place % 6}" for place in range(30)]
    table = read(tmp_path, "\n".join(["Satz A,Satz B,Wert", *rows, "", "A dog runs on the road,A cat runs on the road,unklar", *rows]))
    assert len(table) == 61
    assert table.column("Wert")[30] == "unklar"
    rows = [f"B{number:05};What is question {number}, and why ?;{310 + number % 3};{number % 7};01.03.2024" for number in range(60)]
    table = read(tmp_path, "\n".join(["Enquiries, by subject (files)", "", "Belegnr.;Frage;Sachgebiet;Zeichen;Stand", *rows]))
    assert table.columns == ("Belegnr.", "Frage", "Sachgebiet", "Zeichen", "Stand") and len(contents(table)) == 60


FORMS = {
    "dates": ["03/01/2025 08:15", "17/02/2025 10:40", "28/02/2025 19:02"],
    "codes": ["R_0a81f", "R_77b2c", "R_90d3e"],
    "addresses": ["https://example.org/1", "https://example.org/7", "https://example.org/9"],
    "writers": ["ana@example.org", "li@example.org", "jo@example.org"],
    "spelled dates": ["Jan 3, 2025 08:15", "Feb 17, 2025 10:40", "Feb 28, 2025 19:02"],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("question", ["What would you like to ask us?", "¿Qué le gustaría preguntarnos?", "Was möchten Sie uns fragen?"])
def test_a_question_above_answers_is_a_name_if_a_word_stands_above_dates_or_codes(tmp_path: Path, form: str, question: str) -> None:
    answers = ["Where is my card now, please?", "I cannot pay with my phone.", "How long does a transfer take to arrive?"]
    rows = "\n".join(f'"{cell}","{answer}"' for cell, answer in zip(FORMS[form] * 4, answers * 4, strict=True))
    assert read(tmp_path, f"Eingang,{question}\n{rows}").columns[-1] == question
    assert not read(tmp_path, rows).columns[-1].startswith("Where")
