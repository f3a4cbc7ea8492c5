"""Delimiters, headers and quotes are found out, and no quote swallows the rows after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.loading.dialect import NO_DELIMITER, detect_dialect
from sbert_studio.data.loading.headers import has_header, is_uncertain_header, name_columns
from sbert_studio.data.loading.table import read_table


def rows_of(path: Path, text: str) -> list[list[str]]:
    path.write_text(text, encoding="utf-8", newline="")
    return read_table(path).head(100)


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["a,b,c", "1,2,3"], ","),
        (["a;b;c", "Hallo, du; Ja, ich; 3,5", "x;y;1,5"], ";"),
        (["a\tb", "one, two\tthree; four"], "\t"),
        (["x|y|z", "1|2|3"], "|"),
        (["text", "Hello, world", "No comma here", "One, two, three, four"], NO_DELIMITER),
        (["text,label", '"a;b;c",x', '"d;e;f",y'], ","),
        (["Auswertung Q3", "Lfd. Nr.;Text alt;Bem.", *["1;Die Zahl, 4,00 groß;"] * 6], ";"),
        (["score;sentence1;sentence2", '1,5;"first; second";third'], ";"),
    ],
)
def test_the_delimiter_is_the_consistent_one(lines: list[str], delimiter: str) -> None:
    assert detect_dialect([line + "\n" for line in lines], ".csv")[0].delimiter == delimiter


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
    ],
)
def test_headers_are_told_from_data(rows: list[list[str]], header: bool) -> None:
    assert has_header(rows) is header


_TEXTS = [f"the man number {n} plays the guitar on stage" for n in range(12)]
_OTHERS = [f"someone called {n} makes music for many people" for n in range(12)]
_PHRASES = ["lost card", "card stolen", "open an account", "send money abroad"] * 3


def _three(*labels: str) -> list[str]:
    return [labels[n % len(labels)] for n in range(12)]


@pytest.mark.parametrize(
    ("first", "columns"),
    [
        (["left", "right", "same"], [_TEXTS, _OTHERS, _three("same", "different")]),
        (["premise", "hypothesis", "neutral"], [_TEXTS, _OTHERS, _three("neutral", "entailment", "contradiction")]),
        (["text", "card"], [_TEXTS, _three("refund", "card", "transfer")]),
        (["A", "B", "sim", "flag", "entailment"], [_TEXTS, _OTHERS, _three("3.8", "5", "1"), _three("0", "1"), _three("entailment", "x")]),
        (["nr", "phrase", "card"], [[f"T-{n}" for n in range(12)], _TEXTS, _three("refund", "card")]),
        (["word", "other", "sim", "noun"], [list("abcdefghijkl"), list("mnopqrstuvwx"), _three("1", "2", "3"), _three("noun", "verb")]),
    ],
)
def test_a_column_may_be_called_after_one_of_its_labels(first: list[str], columns: list[list[str]]) -> None:
    rows = [list(row) for row in zip(*columns, strict=True)]
    assert has_header([first, *rows])
    assert not has_header(rows)


@pytest.mark.parametrize(
    ("first", "columns"),
    [
        (["snippet", "card"], [_TEXTS, _three("refund", "card", "transfer")]),
        (["linkes Wort", "rechtes Wort", "zz"], [_PHRASES, _PHRASES[::-1], _three("zz", "yy")]),
    ],
)
def test_a_first_row_that_could_be_names_or_data_beside_a_label_is_asked_about(first: list[str], columns: list[list[str]]) -> None:
    rows = [list(row) for row in zip(*columns, strict=True)]
    assert is_uncertain_header([first, *rows])


@pytest.mark.parametrize(
    "first",
    [
        ["the man sings a song on the stage", "he sings a song", "unrated", "entailment"],
        ["A man sings.", "He sings.", "3", "entailment"],
        ["A man sings.", "He sings.", "n/a", "entailment"],
    ],
)
def test_a_row_of_texts_with_a_label_is_no_header(first: list[str]) -> None:
    rows = [list(row) for row in zip(_TEXTS, _OTHERS, _three("3.8", "5", "1"), _three("entailment", "neutral"), strict=True)]
    assert not has_header([first, *rows])


def test_column_names_are_made_distinct_and_never_empty() -> None:
    names, notes = name_columns(["text", " text ", "", "a\nb"], 5)
    assert names == ["text", "text_2", "column_3", "a b", "column_5"]
    assert [note.severity for note in notes] == ["warning", "info"]


def test_a_file_without_header_counts_from_row_one(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("A man is singing.,A man sings.,4.5\nA dog runs.,A cat sleeps.,0.2\n", encoding="utf-8")
    table = read_table(path)
    assert table.columns == ("column_1", "column_2", "column_3")
    assert table.lines.tolist() == [1, 2]
    assert read_table(path, header=True).lines.tolist() == [2]


def test_commas_in_a_file_of_one_column_belong_to_the_text(tmp_path: Path) -> None:
    text = "text\nHello, world\nOne, two, three\nplain\n"
    assert rows_of(tmp_path / "f.csv", text) == [["Hello, world"], ["One, two, three"], ["plain"]]


def test_excels_own_separator_line_is_obeyed_and_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("sep=;\ntext;label\na, b, c;x\nd, e, f;y\n", encoding="utf-8")
    table = read_table(path)
    assert table.head(2) == [["a, b, c", "x"], ["d, e, f", "y"]]
    assert table.lines.tolist() == [2, 3]


def test_a_quote_that_is_never_closed_costs_no_row(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text('text,label\nfine,a\n"open and never closed,b\nnext one,c\nlast one,d\n', encoding="utf-8")
    table = read_table(path)
    assert table.head(9) == [["fine", "a"], ['"open and never closed', "b"], ["next one", "c"], ["last one", "d"]]
    assert table.lines.tolist() == [2, 3, 4, 5]
    assert [note.rows for note in table.notes] == [(3,)]


def test_a_stray_quote_that_pairs_with_a_later_one_costs_no_row(tmp_path: Path) -> None:
    text = 'text,label\n"said he,a\nbetween,b\n"so" she said,c\nlast,d\n'
    assert rows_of(tmp_path / "f.csv", text) == [['"said he', "a"], ["between", "b"], ["so she said", "c"], ["last", "d"]]


def test_stray_quotes_in_tabbed_files_cost_no_row(tmp_path: Path) -> None:
    text = 'sentence1\tsentence2\tscore\n"Then he left.\tHe left.\t3\nA\tB\t1\n"No.\t"Yes.\t0\nC\tD\t2\n'
    assert rows_of(tmp_path / "f.tsv", text) == [
        ['"Then he left.', "He left.", "3"],
        ["A", "B", "1"],
        ['"No.', '"Yes.', "0"],
        ["C", "D", "2"],
    ]


def test_a_quoted_cell_with_line_breaks_and_commas_stays_one_cell(tmp_path: Path) -> None:
    text = 'text,label\n"Dear Sir,\nI write, as you see,\n""in haste"".",a\nnext,b\n'
    assert rows_of(tmp_path / "f.csv", text) == [['Dear Sir,\nI write, as you see,\n"in haste".', "a"], ["next", "b"]]


def test_surplus_columns_beyond_the_header_get_names(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("sentence1,sentence2\n" + "a b,c d,1\n" * 10, encoding="utf-8")
    assert read_table(path).columns == ("sentence1", "sentence2", "column_3")


def test_old_mac_line_ends_are_line_ends(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "f.csv", "text,label\rone,a\rtwo,b\r") == [["one", "a"], ["two", "b"]]


def test_the_lines_behind_a_stray_quote_stay_rows_of_their_own(tmp_path: Path) -> None:
    lines = [f"A man plays song {n}.,A man is playing.,{n % 6}.5" for n in range(60)]
    lines[20] = '"These changes matter," he said.,Still, they "may matter," he said.,3.0'
    lines[30] = "A boat lies there, empty.,A ship sails.,1.0"
    lines[40] = 'They left early, we hear.,"They left" as we hear.,4.5'
    path = tmp_path / "f.csv"
    path.write_text("\n".join(["one,two,score", *lines]) + "\n", encoding="utf-8")
    table = read_table(path)
    assert table.column("score") == [line.rsplit(",", 1)[1] for line in lines]
    assert table.head(21)[20][:2] == ['"These changes matter," he said.', 'Still, they "may matter," he said.']
    assert next(note for note in table.notes if "do not pair up" in note.message).rows == (22,)
    table.to_csv(tmp_path / "out.csv", guarded=False)
    assert read_table(tmp_path / "out.csv").head(99) == table.head(99)


def test_the_lines_behind_a_stray_quote_are_known_without_numbers_too(tmp_path: Path) -> None:
    lines = [f"text {n},topic {n % 3},source" for n in range(30)]
    lines[10] = '"text 10,topic 1,source'
    lines[24] = 'text 24",topic 0,source'
    table_rows = rows_of(tmp_path / "f.csv", "text,topic,source\n" + "\n".join(lines) + "\n")
    assert len(table_rows) == 30
    assert table_rows[10] == ['"text 10', "topic 1", "source"]


def test_a_text_of_several_lines_that_may_be_rows_is_told_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    said = '"Dear all,\nbread, butter, milk\neggs, ham, tea\nand a longer line that says no more\nyours,"'
    text = f"text,topic,place\nfine,a,x\n{said},b,y\nlast,c,z\n"
    path.write_text(text, encoding="utf-8")
    table = read_table(path)
    assert table.lines.tolist() == [2, 3, 4]
    path.write_text(text.replace(", ", ","), encoding="utf-8")
    table = read_table(path)
    assert table.lines.tolist() == [2, 3, 4]
    (note,) = [note for note in table.notes if "several lines" in note.message]
    assert (note.severity, note.rows) == ("warning", (3,))
    assert "row 3 from 5 lines" in note.message


def test_a_title_above_a_header_that_is_cut_short_hides_no_table(tmp_path: Path) -> None:
    rows = [f"B{number:05};What is question {number}, and why ?;{310 + number % 3};{number % 7};01.03.2024" for number in range(60)]
    path = tmp_path / "titled.csv"
    path.write_text(
        "\n".join(["Enquiries, by subject (files)", "", "Belegnr.;Frage;Sachgebiet;Zeichen;Stand", *rows]) + "\n", encoding="utf-8"
    )
    table = read_table(path)
    assert table.columns == ("Belegnr.", "Frage", "Sachgebiet", "Zeichen", "Stand") and len(table) == 60


def test_the_line_that_names_the_delimiter_is_no_row_of_a_file_with_a_quote_that_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('sep=;\n"one;b\nc;d\n1;2\n', encoding="utf-8")
    table = read_table(path)
    cells = [*table.columns, *(cell for name in table.columns for cell in table.column(name))]
    assert cells and not any("sep=" in cell for cell in cells)
