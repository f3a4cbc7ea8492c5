"""Delimited files as people make them: read right and said, asked, or refused – never otherwise than their owner means."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.data.loading.table import Table, read_table, table_from_columns
from sbert_studio.errors import StudioError

GERMAN = [
    ("Ein Mann spielt Gitarre", "Jemand macht Musik", "3,5"),
    ("Die Katze schläft", "Der Hund läuft", "0,5"),
    ("Es ist kalt", "Draußen friert es", "4,75"),
    ("Ich gehe heim", "Ich fliege weg", "1,0"),
]
NAMES = ("Satz A", "Satz B", "Wert")


def lines(rows: list[tuple[str, ...]], delimiter: str) -> str:
    return "".join(delimiter.join(row) + "\n" for row in rows)


def read(tmp_path: Path, text: str, name: str = "f.csv", **more: object) -> Table:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return read_table(path, **more)  # type: ignore[arg-type]


def contents(table: Table) -> list[tuple[str, ...]]:
    return [tuple(row) for row in table.head(9999)]


SIGNS = [(";", ".csv"), ("\t", ".csv"), ("\t", ".tsv"), ("|", ".csv"), (" | ", ".csv"), ("   ", ".txt"), (";", ".txt")]


@pytest.mark.parametrize("copies", [1, 200])
@pytest.mark.parametrize(("delimiter", "suffix"), SIGNS)
def test_decimal_commas_do_not_split_a_file_under_unfamiliar_names(tmp_path: Path, delimiter: str, suffix: str, copies: int) -> None:
    table = read(tmp_path, lines([NAMES, *GERMAN * copies], delimiter), "f" + suffix)
    assert (table.columns, contents(table), table.doubts) == (NAMES, GERMAN * copies, ())


@pytest.mark.parametrize("names", [NAMES, ("sentence1", "sentence2", "score"), ("eins", "zwei", "drei")])
def test_unquoted_decimal_commas_are_joined_and_said(tmp_path: Path, names: tuple[str, ...]) -> None:
    table = read(tmp_path, lines([names, *GERMAN], ","))
    assert (table.columns, contents(table), table.doubts) == (names, GERMAN, ())
    assert any("joined" in note.message for note in table.notes)


def test_two_whole_numbers_that_could_be_one_are_asked_and_the_answer_settles_it(tmp_path: Path) -> None:
    text = "eins,zwei,drei\n" + "ein Haus,ein Heim,3,5\nein Hund,eine Katze,1,5\n" * 3
    (doubt,) = read(tmp_path, text).doubts
    assert [option.flag for option in doubt.options] == ["--delimiter decimal-comma", "--delimiter ,"]
    assert contents(read(tmp_path, text, **doubt.options[0].choice))[0] == ("ein Haus", "ein Heim", "3,5")
    assert contents(read(tmp_path, text, **doubt.options[1].choice))[0] == ("ein Haus", "ein Heim", "3", "5")
    assert read(tmp_path, text, **doubt.options[0].choice).doubts == read(tmp_path, text, **doubt.options[1].choice).doubts == ()


def test_decimal_commas_of_which_nobody_can_tell_the_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="decimal commas") as caught:
        read(tmp_path, "A,B,C\nfoo bar,3,5,2\nbar foo,4,1,3\nx y,1,1,1\n")
    assert caught.value.rows == (2, 3, 4)


RIGHT: dict[str, tuple[str, tuple[str, ...], list[tuple[str, ...]], list[int], str]] = {
    "comma and blank": (
        'sentence1, sentence2, score\nA man runs, "a man, walking", 3\nb c, d e, 4\n',
        ("sentence1", "sentence2", "score"), [("A man runs", "a man, walking", "3"), ("b c", "d e", "4")], [2, 3], "blanks",
    ),
    "single quotes": (
        "'text','label'\n'Hello, it''s me','a'\n'Bye, now','b'\n",
        ("text", "label"), [("Hello, it's me", "a"), ("Bye, now", "b")], [2, 3], "single quotation marks",
    ),
    "backslashes before quotes": (
        'text,label\n"He said \\"hi, you\\" to me",a\n"plain, yes",b\n',
        ("text", "label"), [('He said "hi, you" to me', "a"), ("plain, yes", "b")], [2, 3], "",
    ),
    "Markdown": (
        "| text | label |\n|---|---|\n| a b | x |\n| c d | y |\n", ("text", "label"), [("a b", "x"), ("c d", "y")], [3, 4], "bars",
    ),
    "a separator too many in the header": (
        "sentence1,sentence2,score,\na b,c d,3\ne f,g h,4\n",
        ("sentence1", "sentence2", "score"), [("a b", "c d", "3"), ("e f", "g h", "4")], [2, 3], "",
    ),
    "a blank name too many in the header": (
        "sentence1,,sentence2,score\na b,c d,3\ne f,g h,4\n",
        ("sentence1", "sentence2", "score"), [("a b", "c d", "3"), ("e f", "g h", "4")], [2, 3], "empty cells",
    ),
    "row numbers without a name": (
        '"sentence1","sentence2","score"\n"1","a b","c d",3\n"2","e f","g h",4\n',
        ("column_1", "sentence1", "sentence2", "score"), [("1", "a b", "c d", "3"), ("2", "e f", "g h", "4")], [2, 3], "row numbers",
    ),
    "a header with a gap": (
        "text,,label\na b c,7,x\ne f g,8,y\n",
        ("text", "column_2", "label"), [("a b c", "7", "x"), ("e f g", "8", "y")], [2, 3], "column_2",
    ),
    "a title and a date": (
        "Export of pairs\nDate: 2024-05-01\n\nsentence1,sentence2,score\na b,c d,3\ne f,g h,4\n",
        ("sentence1", "sentence2", "score"), [("a b", "c d", "3"), ("e f", "g h", "4")], [5, 6], "before the table",
    ),
    "a title padded by a spreadsheet": (
        "Ergebnisse,,\nStand,2024,\nSatz A,Satz B,Wert\nein Haus,ein Heim,3\nein Hund,eine Katze,1\nein X,ein Y,2\n",
        NAMES, [("ein Haus", "ein Heim", "3"), ("ein Hund", "eine Katze", "1"), ("ein X", "ein Y", "2")], [4, 5, 6], "before the table",
    ),
    "remarks": (
        "# made by a tool\n# on a day, or two\ntext,label\nsome words,a\nmore words,b\n",
        ("text", "label"), [("some words", "a"), ("more words", "b")], [4, 5], "before the table",
    ),
    "a header behind a sign": (
        "#text,label\nsome words,a\nmore words,b\n", ("text", "label"), [("some words", "a"), ("more words", "b")], [2, 3], "",
    ),
    "names in two languages": (
        "句子一,句子二,打分\nsentence1,sentence2,score\n一个男人在弹吉他,男子在唱歌,3\n狗在跑,猫在睡,0\n天很冷,天很热,1\n下雨,天晴,2\n",
        ("sentence1", "sentence2", "score"),
        [("一个男人在弹吉他", "男子在唱歌", "3"), ("狗在跑", "猫在睡", "0"), ("天很冷", "天很热", "1"), ("下雨", "天晴", "2")],
        [3, 4, 5, 6], "second header",
    ),
    "a row of types": (
        "a,b,c\nstring,string,float\nthis is a long text,and one more text,3.5\n"
        "this is a second one,and yet another,1\nthird of all,yes indeed,2\n",
        ("a", "b", "c"),
        [
            ("this is a long text", "and one more text", "3.5"), ("this is a second one", "and yet another", "1"),
            ("third of all", "yes indeed", "2"),
        ],
        [3, 4, 5], "second header",
    ),
    "a survey's three headers": (
        'Q1,Q2\n"What is your sentence, please?","How good is it?"\n"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\n'
        "a b c,3\ng h,4\nxx,1\n",
        ("Q1", "Q2"), [("a b c", "3"), ("g h", "4"), ("xx", "1")], [4, 5, 6], "second header",
    ),
    "questions as names": (
        "Please write down the first sentence that comes to your mind today,How well do they go together from one to five?\n"
        "a b c,3\nd e f,4\ng h i,1\n",
        ("Please write down the first sentence that comes to your mind today", "How well do they go together from one to five?"),
        [("a b c", "3"), ("d e f", "4"), ("g h i", "1")], [2, 3, 4], "",
    ),
    "the header once more": (
        "sentence1,sentence2\na b,c d\nsentence1,sentence2\ne f,g h\n",
        ("sentence1", "sentence2"), [("a b", "c d"), ("e f", "g h")], [2, 4], "repeat",
    ),
    "unquoted commas in sentences": (
        "sentence1,sentence2,score\nHello, you,hi,3\na,b,4\nWell, well, well,good,2\nc,d,1\n",
        ("sentence1", "sentence2", "score"),
        [("Hello, you", "hi", "3"), ("a", "b", "4"), ("Well, well, well", "good", "2"), ("c", "d", "1")],
        [2, 3, 4, 5], "unquoted separators",
    ),
    "typographic quotation marks": (
        "“text”,“label”\n“Hello, you”,“a”\n“Bye”,“b”\n", ("text", "label"), [("Hello, you", "a"), ("Bye", "b")], [2, 3], "typographic",
    ),
    "a rare separator": (
        "text^label\nsome words^a\nmore words^b\n", ("text", "label"), [("some words", "a"), ("more words", "b")], [2, 3], "'^'",
    ),
    "a question as a name, above yes and no": (
        "left text,right text,same?\na b,c d,ja\ne f,g h,nein\ni j,k l,ja\nm n,o p,nein\nq r,s t,ja\n",
        ("left text", "right text", "same?"),
        [("a b", "c d", "ja"), ("e f", "g h", "nein"), ("i j", "k l", "ja"), ("m n", "o p", "nein"), ("q r", "s t", "ja")],
        [2, 3, 4, 5, 6], "",
    ),
    "one text a line, with a comma each": ("text\nHello, world\nYes, sir\n", ("text",), [("Hello, world",), ("Yes, sir",)], [2, 3], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_file_is_read_as_its_owner_means_it(tmp_path: Path, name: str) -> None:
    text, columns, rows, numbers, said = RIGHT[name]
    table = read(tmp_path, text)
    assert (table.columns, contents(table), table.lines.tolist()) == (columns, rows, numbers)
    assert table.doubts == ()
    assert not said or any(said in note.message for note in table.notes)


def test_three_bars_and_colons_separate_too(tmp_path: Path) -> None:
    table = read(tmp_path, "Ein Haus. ||| A house.\nEin Hund, groß. ||| A dog, large.\n", "f.txt")
    assert contents(table) == [("Ein Haus.", "A house."), ("Ein Hund, groß.", "A dog, large.")]
    assert contents(read(tmp_path, "1::Toy Story, the::3\n2::Jumanji::4\n", "f.txt")) == [
        ("1", "Toy Story, the", "3"),
        ("2", "Jumanji", "4"),
    ]


def test_labels_as_fasttext_writes_them_are_a_column(tmp_path: Path) -> None:
    table = read(tmp_path, "__label__a some words, here\n__label__b __label__c more\n", "f.txt")
    assert (table.columns, contents(table)) == (("label", "text"), [("a", "some words, here"), ("b, c", "more")])


ASKED = {
    "commas and semicolons": ("a b;c,d e\nf g;h,i j\nk l;m,n o\n", "delimiter"),
    "a comma in each line": ("Hello there, world\nYes of course, sir\nNo thanks, madam\n", "delimiter"),
    "short words above short words": ("Begriff A,Begriff B\nHund,Katze\nHaus,Heim\nAuto,Wagen\n", "header"),
    "more names than cells": ("id,sentence1,sentence2,score\na b,c d,3\ne f,g h,4\ni j,k l,2\n", "header"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_nothing_tells_is_asked_and_each_answer_settles_it(tmp_path: Path, name: str) -> None:
    text, about = ASKED[name]
    doubts = read(tmp_path, text).doubts
    doubt = next(doubt for doubt in doubts if doubt.name == about)
    assert len(doubt.options) == 2
    assert doubt.text.endswith("?")
    assert doubt.rows
    answers = []
    for option in doubt.options:
        try:
            table = read(tmp_path, text, **option.choice)
        except StudioError:
            continue
        assert about not in {left.name for left in table.doubts}
        answers.append((table.columns, contents(table)))
    assert answers
    if about == "delimiter" or "short" in name:
        assert answers[0] != answers[1]
    original = read(tmp_path, text)
    assert (original.columns, contents(original)) == answers[0]


REFUSED = {
    "two tables": ("sentence1,sentence2,score\na b,c d,3\ne f,g h,4\nx y,z w,2\n\nname,age\nBob,3\nAlice,4\n", "second table"),
    "a second table of the same width": (
        "Satz A,Satz B,Wert\n" + "a b,c d,3\ne f,g h,4\nx y,z w,2\n" * 5 + "\nSumme\nJahr,Monat,Betrag\n2024,5,3\n", "second table",
    ),
    "files put together with their columns in another order": (
        "sentence1,sentence2,score\na b,c d,3\nscore,sentence1,sentence2\n4,e f,g h\n", "second table",
    ),
    "a header and nothing else": ("Satz A;Satz B;Wert\n", "no rows"),
    "a header and empty cells": ("Satz A;Satz B;Wert\n;;\n", "no rows"),
    "a delimiter of two letters": ("a,b\nc,d\n", "delimiter"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_single_table_is_refused(tmp_path: Path, name: str) -> None:
    text, words = REFUSED[name]
    with pytest.raises(StudioError, match=words):
        read(tmp_path, text, delimiter="ab" if "letters" in name else None)


def test_a_sheet_that_begins_with_many_blank_rows_and_a_title_is_read(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for place, row in enumerate([("Results", None), ("text", "label"), ("some words", "a"), ("more words", "b"), ("last", "c")]):
        for column, cell in enumerate(row):
            book.active.cell(row=301 + place, column=column + 1, value=cell)
    book.save(tmp_path / "f.xlsx")
    table = read_table(tmp_path / "f.xlsx")
    assert (table.columns, table.lines.tolist()) == (("text", "label"), [303, 304, 305])
    text = "\n" * 300 + "text,label\nsome words,a\nmore words,b\n"
    assert read(tmp_path, text).lines.tolist() == [302, 303]


WORDS = ("a", "man", "plays", "the", "guitar", "on", "hill", "while", "dogs", "run", "in", "quiet", "rain", "雨", "ночь", "über", "café")
WORD = st.sampled_from(WORDS)
SENTENCE = st.lists(WORD, min_size=2, max_size=9).map(" ".join)
CELL = SENTENCE | st.tuples(SENTENCE, st.sampled_from([", ", "; ", '"', "'", "|", "\t", "\n", "@", "=", "-"]), SENTENCE).map("".join)
ROW = st.tuples(CELL, CELL, st.floats(0, 5).map(lambda value: f"{value:.1f}"))


@given(
    rows=st.lists(ROW, min_size=3, max_size=12),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]),
)
def test_any_table_reads_back_from_any_dialect(
    tmp_path: Path, rows: list[tuple[str, ...]], delimiter: str, quoting: int, end: str, codec: str
) -> None:
    path = tmp_path / "any.csv"
    named = "gb18030" if codec == "gb18030" else None
    with path.open("w", encoding=codec, newline="") as target:
        csv.writer(target, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows([("sentence1", "sentence2", "score"), *rows])
    table = read_table(path, encoding=named)
    assert table.columns == ("sentence1", "sentence2", "score")
    assert contents(table) == rows


EXACT = CELL | st.sampled_from(["@ann hello", "-", "=1+1", "'quoted'", "+3", " lead", "trail ", "a\rb", "\\", "5"])


@given(rows=st.lists(st.tuples(EXACT, EXACT, st.sampled_from(["-", "entailment", "neutral"])), min_size=1, max_size=8))
def test_a_file_to_train_on_reads_back_cell_for_cell(tmp_path: Path, rows: list[tuple[str, ...]]) -> None:
    names = ("premise", "hypothesis", "label")
    table = table_from_columns("t", dict(zip(names, zip(*rows, strict=True), strict=True)))
    table.to_csv(tmp_path / "exact.csv", guarded=False)
    table.to_parquet(tmp_path / "exact.parquet")
    for name in ("exact.csv", "exact.parquet"):
        back = read_table(tmp_path / name)
        assert (back.columns, contents(back)) == (names, rows)


def test_a_word_for_a_number_below_a_blank_row_begins_no_second_table(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = [f"A man walks on road {place},A woman sits at table {place},{place % 6}" for place in range(30)]
    path.write_text("\n".join(["Satz A,Satz B,Wert", *rows, "", "A dog runs on the road,A cat runs on the road,unklar", *rows]) + "\n")
    table = read_table(path)
    assert len(table) == 61
    assert table.column("Wert")[30] == "unklar"


FORMS = {
    "dates": ["03/01/2025 08:15", "17/02/2025 10:40", "28/02/2025 19:02"],
    "codes": ["R_0a81f", "R_77b2c", "R_90d3e"],
    "addresses": ["https://example.org/1", "https://example.org/7", "https://example.org/9"],
    "writers": ["ana@example.org", "li@example.org", "jo@example.org"],
    "spelled dates": ["Jan 3, 2025 08:15", "Feb 17, 2025 10:40", "Feb 28, 2025 19:02"],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("question", ["What would you like to ask us?", "¿Qué le gustaría preguntarnos?", "Was möchten Sie uns fragen?"])
def test_a_question_above_answers_is_a_name_where_a_word_stands_above_dates_or_codes(tmp_path: Path, form: str, question: str) -> None:
    path = tmp_path / "survey.csv"
    answers = ["Where is my card now, please?", "I cannot pay with my phone.", "How long does a transfer take to arrive?"]
    rows = [f'"{cell}","{answer}"' for cell, answer in zip(FORMS[form] * 4, answers * 4, strict=True)]
    path.write_text("\n".join([f"Eingang,{question}", *rows]), encoding="utf-8")
    table = read_table(path)
    assert table.columns[-1] == question
    path.write_text("\n".join(rows), encoding="utf-8")
    assert not read_table(path).columns[-1].startswith("Where")
