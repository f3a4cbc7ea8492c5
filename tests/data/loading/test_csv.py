"""Delimited files as people make them are read as their owner means them, asked about, or refused."""

from __future__ import annotations

import codecs
import csv
import tomllib
from pathlib import Path

import pytest
from data.loading.files import contents, read
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.errors import StudioError

NAMES = ("Satz A", "Satz B", "Wert")
GERMAN = [
    ("Ein Mann spielt Gitarre", "Jemand macht Musik", "3,5"),
    ("Die Katze schläft", "Der Hund läuft", "0,5"),
    ("Es ist kalt", "Draußen friert es", "4,75"),
    ("Ich gehe heim", "Ich fliege weg", "1,0"),
]


def _lines(rows: list[tuple[str, ...]], delimiter: str) -> str:
    return "".join(delimiter.join(row) + "\n" for row in rows)


AS_MEANT = tomllib.loads(Path(__file__).with_name("csv_cases.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", AS_MEANT)
def test_a_file_is_read_as_its_owner_means_it(tmp_path: Path, name: str) -> None:
    case = AS_MEANT[name]
    table = read(tmp_path, case["text"])
    lines = case["text"].splitlines()
    expected = case.get("table") or list(csv.reader(lines[number - 1] for number in (case["header"], *case["lines"])))
    assert [list(table.columns), *table.head(99)] == expected
    assert table.lines.tolist() == case["lines"]
    assert table.doubts == ()
    assert "note" not in case or any(case["note"] in note.message for note in table.notes)


@pytest.mark.parametrize("copies", [1, 200])
@pytest.mark.parametrize(
    ("delimiter", "suffix"), [(";", ".csv"), ("\t", ".csv"), ("\t", ".tsv"), ("|", ".csv"), (" | ", ".csv"), ("   ", ".txt"), (";", ".txt")]
)
def test_decimal_commas_do_not_split_a_file_under_unfamiliar_names(tmp_path: Path, delimiter: str, suffix: str, copies: int) -> None:
    table = read(tmp_path, _lines([NAMES, *GERMAN * copies], delimiter), "f" + suffix)
    assert (table.columns, contents(table), table.doubts) == (NAMES, GERMAN * copies, ())


@pytest.mark.parametrize("names", [NAMES, ("sentence1", "sentence2", "score"), ("eins", "zwei", "drei")])
def test_unquoted_decimal_commas_are_joined_and_reported(tmp_path: Path, names: tuple[str, ...]) -> None:
    table = read(tmp_path, _lines([names, *GERMAN], ","))
    assert (table.columns, contents(table), table.doubts) == (names, GERMAN, ())
    assert any("joined" in note.message for note in table.notes)


def test_two_whole_numbers_that_could_be_one_are_asked_about(tmp_path: Path) -> None:
    text = "eins,zwei,drei\n" + "ein Haus,ein Heim,3,5\nein Hund,eine Katze,1,5\n" * 3
    (doubt,) = read(tmp_path, text).doubts
    assert [option.flag for option in doubt.options] == ["--delimiter decimal-comma", "--delimiter ,"]
    one, two = (read(tmp_path, text, **option.choice) for option in doubt.options)
    assert contents(one)[0] == ("ein Haus", "ein Heim", "3,5")
    assert contents(two)[0] == ("ein Haus", "ein Heim", "3", "5")
    assert one.doubts == two.doubts == ()


ASKED = {
    "commas and semicolons": ("a b;c,d e\nf g;h,i j\nk l;m,n o\n", "delimiter"),
    "a comma in each line": ("Hello there, world\nYes of course, sir\nNo thanks, madam\n", "delimiter"),
    "short words above short words": ("Begriff A,Begriff B\nHund,Katze\nHaus,Heim\nAuto,Wagen\n", "header"),
    "more names than cells": ("id,sentence1,sentence2,score\na b,c d,3\ne f,g h,4\ni j,k l,2\n", "header"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_nothing_tells_is_asked_and_each_answer_settles_it(tmp_path: Path, name: str) -> None:
    text, subject = ASKED[name]
    original = read(tmp_path, text)
    doubt = next(doubt for doubt in original.doubts if doubt.name == subject)
    assert len(doubt.options) == 2 and doubt.text.endswith("?") and doubt.rows
    answers = []
    for option in doubt.options:
        try:
            table = read(tmp_path, text, **option.choice)
        except StudioError:
            continue
        assert subject not in {left.name for left in table.doubts}
        answers.append((table.columns, contents(table)))
    assert (original.columns, contents(original)) == answers[0]
    assert name == "more names than cells" or answers[0] != answers[1]


REFUSED = {
    "two tables": ("sentence1,sentence2,score\na b,c d,3\ne f,g h,4\nx y,z w,2\n\nname,age\nBob,3\nAlice,4\n", "second table"),
    "a second table of the same width": (
        "Satz A,Satz B,Wert\n" + "a b,c d,3\ne f,g h,4\nx y,z w,2\n" * 5 + "\nSumme\nJahr,Monat,Betrag\n2024,5,3\n", "second table",
    ),
    "columns in another order": ("sentence1,sentence2,score\na b,c d,3\nscore,sentence1,sentence2\n4,e f,g h\n", "second table"),
    "a header and nothing else": ("Satz A;Satz B;Wert\n", "no rows"),
    "a header and empty cells": ("Satz A;Satz B;Wert\n;;\n", "no rows"),
    "decimal commas in a column nobody can tell": ("A,B,C\nfoo bar,3,5,2\nbar foo,4,1,3\nx y,1,1,1\n", "decimal commas"),
    "a delimiter of two letters": ("a,b\nc,d\n", "delimiter"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_single_table_is_refused(tmp_path: Path, name: str) -> None:
    text, words = REFUSED[name]
    with pytest.raises(StudioError, match=words):
        read(tmp_path, text, delimiter="ab" if "letters" in name else None)


@pytest.mark.parametrize(
    ("text", "rows", "numbers", "noted"),
    [
        (
            'text,label\nfine,a\n"open and never closed,b\nnext one,c\nlast one,d\n',
            [["fine", "a"], ['"open and never closed', "b"], ["next one", "c"], ["last one", "d"]], [2, 3, 4, 5], [(3,)],
        ),
        (
            'text,label\n"said he,a\nbetween,b\n"so" she said,c\nlast,d\n',
            [['"said he', "a"], ["between", "b"], ["so she said", "c"], ["last", "d"]], [2, 3, 4, 5], [(2,)],
        ),
        (
            'sentence1\tsentence2\tscore\n"Then he left.\tHe left.\t3\nA\tB\t1\n"No.\t"Yes.\t0\n',
            [['"Then he left.', "He left.", "3"], ["A", "B", "1"], ['"No.', '"Yes.', "0"]], [2, 3, 4], [(), (2,), (4,)],
        ),
        (
            'text,label\n"Dear Sir,\nI write, as you see,\n""in haste"".",a\n\n"five\r\nsix",c\n',
            [['Dear Sir,\nI write, as you see,\n"in haste".', "a"], ["five\r\nsix", "c"]], [2, 4], [(3,), (2,)],
        ),
    ],
    ids=["never closed", "paired with a later one", "tabs", "line breaks and commas inside"],
)  # fmt: skip
def test_quotes_that_do_not_pair_up_cost_no_row(
    tmp_path: Path, text: str, rows: list[list[str]], numbers: list[int], noted: list[tuple[int, ...]]
) -> None:
    table = read(tmp_path, text)
    assert (table.head(99), table.lines.tolist()) == (rows, numbers)
    assert [note.rows for note in table.notes] == noted


def test_the_lines_behind_a_stray_quote_stay_rows(tmp_path: Path) -> None:
    lines = [f"A man plays song {n}.,A man is playing.,{n % 6}.5" for n in range(60)]
    lines[20] = '"These changes matter," he said.,Still, they "may matter," he said.,3.0'
    lines[30] = "A boat lies there, empty.,A ship sails.,1.0"
    lines[40] = 'They left early, we hear.,"They left" as we hear.,4.5'
    table = read(tmp_path, "\n".join(["one,two,score", *lines]) + "\n")
    assert table.column("score") == [line.rsplit(",", 1)[1] for line in lines]
    assert table.head(21)[20][:2] == ['"These changes matter," he said.', 'Still, they "may matter," he said.']
    assert next(note for note in table.notes if "unbalanced quotation marks" in note.message).rows == (22,)
    table.to_csv(tmp_path / "out.csv", guarded=False)
    assert read_table(tmp_path / "out.csv").head(99) == table.head(99)
    lines = [f"text {n},topic {n % 3},source" for n in range(30)]
    lines[10], lines[24] = '"text 10,topic 1,source', 'text 24",topic 0,source'
    rows = read(tmp_path, "\n".join(["text,topic,source", *lines])).head(99)
    assert len(rows) == 30 and rows[10] == ['"text 10', "topic 1", "source"]


def test_a_text_of_several_lines_that_may_be_rows_is_reported(tmp_path: Path) -> None:
    quoted = '"Dear all,\nbread, butter, milk\neggs, ham, tea\nand a longer line that says no more\nyours,"'
    text = f"text,topic,place\nfine,a,x\n{quoted},b,y\nlast,c,z\n"
    assert read(tmp_path, text).lines.tolist() == [2, 3, 4]
    table = read(tmp_path, text.replace(", ", ","))
    assert table.lines.tolist() == [2, 3, 4]
    (note,) = [note for note in table.notes if "several lines" in note.message]
    assert (note.severity, note.rows) == ("warning", (3,))
    assert "row 3 from 5 lines" in note.message


@pytest.mark.parametrize("rows", ["text;label\na, b, c;x\nd, e, f;y\n", '"one;b\nc;d\n1;2\n'])
def test_the_line_of_excel_that_names_the_delimiter_is_obeyed_and_not_counted(tmp_path: Path, rows: str) -> None:
    table = read(tmp_path, "sep=;\n" + rows)
    assert len(table.columns) == 2
    assert not any("sep=" in cell for row in [table.columns, *contents(table)] for cell in row)
    assert table.lines.tolist()[-1] == 3


def test_short_and_long_rows_are_kept_and_named(tmp_path: Path) -> None:
    table = read(tmp_path, "sentence1,sentence2,score\na b,c d,1\nonly one\nx,y,2,z, w\np,q,3,,\n")
    assert contents(table) == [("a b", "c d", "1"), ("only one", "", ""), ("x", "y", "2,z, w"), ("p", "q", "3")]
    assert {note.rows for note in table.notes} == {(3,), (4,)}
    assert all(note.fix is not None and note.fix.name == "drop_rows" for note in table.notes)
    assert read(tmp_path, "sentence1,sentence2\n" + "a b,c d,1\n" * 10).columns == ("sentence1", "sentence2", "column_3")


WORDS = ("a", "man", "plays", "the", "guitar", "on", "hill", "while", "dogs", "run", "in", "quiet", "rain", "雨", "ночь", "über", "café")
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=2, max_size=9).map(" ".join)
CELL = SENTENCE | st.tuples(SENTENCE, st.sampled_from([", ", "; ", '"', "'", "|", "\t", "\n", "@", "=", "-"]), SENTENCE).map("".join)
EXACT = CELL | st.sampled_from(["@ann hello", "-", "=1+1", "'quoted'", "+3", " lead", "trail ", "a\rb", "\\", "5"])


@given(
    rows=st.lists(st.tuples(CELL, CELL, st.floats(0, 5).map(lambda value: f"{value:.1f}")), min_size=3, max_size=12),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]),
)
def test_any_table_reads_back_from_any_dialect(
    tmp_path: Path, rows: list[tuple[str, ...]], delimiter: str, quoting: int, end: str, codec: str
) -> None:
    names = ("sentence1", "sentence2", "score")
    with (tmp_path / "any.csv").open("w", encoding=codec, newline="") as target:
        csv.writer(target, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows([names, *rows])
    table = read_table(tmp_path / "any.csv", encoding="gb18030" if codec == "gb18030" else None)
    assert (table.columns, contents(table)) == (names, rows)


@given(rows=st.lists(st.tuples(EXACT, EXACT, st.sampled_from(["-", "entailment", "neutral"])), min_size=1, max_size=8))
def test_a_training_file_reads_back_cell_for_cell(tmp_path: Path, rows: list[tuple[str, ...]]) -> None:
    names = ("premise", "hypothesis", "label")
    table = table_from_columns("t", dict(zip(names, zip(*rows, strict=True), strict=True)))
    table.to_csv(tmp_path / "exact.csv", guarded=False)
    table.to_parquet(tmp_path / "exact.parquet")
    assert (tmp_path / "exact.csv").read_bytes().startswith(codecs.BOM_UTF8)
    for name in ("exact.csv", "exact.parquet"):
        back = read_table(tmp_path / name)
        assert (back.columns, contents(back)) == (names, rows)


def test_plain_text_gives_a_row_a_line_and_notes_blank_lines(tmp_path: Path) -> None:
    table = read(tmp_path, 'First, with a comma.\n\n"A quote" stays; so does \u2028 this.\r\nLast one\n\n', "corpus.txt")
    assert contents(table) == [("First, with a comma.",), ('"A quote" stays; so does \u2028 this.',), ("Last one",)]
    assert table.lines.tolist() == [1, 3, 4]
    assert [note.rows for note in table.notes] == [(2,)]


@pytest.mark.parametrize(
    ("text", "columns", "row"),
    [
        ("5.0\tA man sings.\tA man is singing.\n1.2\tA dog.\tA cat sleeps here.\n", 3, ("1.2", "A dog.", "A cat sleeps here.")),
        ("Ein Haus. ||| A house.\nEin Hund, groß. ||| A dog, large.\n", 2, ("Ein Hund, groß.", "A dog, large.")),
        ("1::Toy Story, the::3\n2::Jumanji::4\n", 3, ("2", "Jumanji", "4")),
    ],
    ids=["tabs", "bars", "colons"],
)
def test_a_text_file_with_separators_is_a_table(tmp_path: Path, text: str, columns: int, row: tuple[str, ...]) -> None:
    table = read(tmp_path, text, "f.txt")
    assert table.columns == tuple(f"column_{at}" for at in range(1, columns + 1))
    assert contents(table)[1] == row
    assert table.lines.tolist() == [1, 2]


def test_labels_in_text_files_are_a_column(tmp_path: Path) -> None:
    table = read(tmp_path, "__label__a some words, here\n__label__b __label__c more\n", "f.txt")
    assert (table.columns, contents(table)) == (("label", "text"), [("a", "some words, here"), ("b, c", "more")])
    lines = ["Profit rose by 5 % .@positive", "Sales fell, write to a@b.example@negative", "Nothing changed .@neutral"] * 4
    table = read(tmp_path, "\n".join(lines), "Sentences_50Agree.txt")
    assert table.columns == ("text", "label")
    assert contents(table)[:2] == [("Profit rose by 5 % .", "positive"), ("Sales fell, write to a@b.example", "negative")]
    assert any("label" in note.message for note in table.notes)
    assert read(tmp_path, "\n".join([*lines, "No label here."]), "f.txt").columns == ("text",)
    addresses = [f"Please write to person number {n}@host{n}.example" for n in range(12)]
    assert read(tmp_path, "\n".join(addresses), "f.txt").columns == ("text",)
