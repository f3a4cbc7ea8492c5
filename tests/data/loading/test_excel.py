"""Workbooks keep the sheet's row numbers; damaged, huge and disordered ones are refused quickly and in little memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from data.loading.files import ROWS_XML, contents, replace_part, sheet_xml, write_book, write_raw_book

from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.loading.excel import scan_workbook
from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError

Measure = Callable[[Path], tuple[int, str]]
_SHEET = "xl/worksheets/sheet1.xml"
_PAIRS: list[list[object]] = [["sentence1", "sentence2", "score"], *([f"one {n} is said", f"two {n} is said", n % 6] for n in range(20))]


def test_row_numbers_are_those_of_the_sheet(tmp_path: Path) -> None:
    rows = [["sentence1", "sentence2", "score", "when"], ["one", "two\nlines", 5, datetime(2024, 5, 1)], [], [], ["three", "=1+1", 0.25]]
    table = read_table(write_book(tmp_path / "pairs.xlsx", Pairs=rows, notes=[["something else"]]))
    assert table.lines.tolist() == [2, 5]
    assert contents(table) == [("one", "two\nlines", "5", "2024-05-01"), ("three", "", "0.25", "")]
    assert any("'notes'" in note.message for note in table.notes)
    assert next(note.rows for note in table.notes if "without any cell" in note.message) == (3, 4)
    assert not any("fewer cells" in note.message for note in table.notes), "a workbook does not store the blank cells at the end of a row"
    rows = [*[[]] * 300, ["Results"], ["text", "label"], ["some words", "a"], ["more words", "b"], ["last", "c"]]
    table = read_table(write_book(tmp_path / "f.xlsx", S=rows))
    assert (table.columns, table.lines.tolist()) == (("text", "label"), [303, 304, 305])
    rows = [
        ["topic", "text"],
        ["cards", "my card is lost"],
        [None, "where is my card"],
        [],
        [None, "new card"],
        ["fees", "what does it cost"],
    ]
    table = read_table(write_book(tmp_path / "f.xlsx", merged=["A2:A5"], S=rows))
    assert table.column("topic") == ["cards", "cards", "cards", "fees"]
    assert next(note.rows for note in table.notes if "merged" in note.message) == (3, 5)


@pytest.mark.parametrize(
    "before",
    [
        [["Notes about this export"], ["made by HR, March"]],
        [["Author", "Jane Doe"], ["Date", "2024-05-01"], ["Version", 2]],
        [["Field", "Meaning"], ["sentence1", "the first text"], ["sentence2", "the second"], ["score", "0 to 5"]],
    ],
    ids=["remarks", "facts", "legend"],
)
def test_the_sheet_with_the_table_is_read_and_named(tmp_path: Path, before: list[list[object]]) -> None:
    table = read_table(write_book(tmp_path / "book.xlsx", About=before, Rows=_PAIRS))
    assert (table.columns, len(table)) == (("sentence1", "sentence2", "score"), 20)
    assert any("'Rows' was read" in note.message and "also contains 'About'" in note.message for note in table.notes)


def test_a_first_sheet_with_a_table_is_preferred_and_an_error_names_the_others(tmp_path: Path) -> None:
    assert read_table(write_book(tmp_path / "a.xlsx", Texts=[["text"], ["one text"], ["another one"]], More=_PAIRS)).columns == ("text",)
    numbers = [["Frage", "Anzahl"], *([f"Was ist das {n}?", n] for n in range(40))]
    assert read_table(write_book(tmp_path / "b.xlsx", First=numbers, More=_PAIRS)).columns == ("Frage", "Anzahl")
    with pytest.raises(StudioError) as refused:
        read_table(write_book(tmp_path / "head.xlsx", Form=[["sentence1", "sentence2"]], Zahlen=[[1], [2]]))
    assert "'Zahlen'" in refused.value.hint
    book = write_book(tmp_path / "numbers.xlsx", Sums=[["a", "b"], *([n, n + 1] for n in range(40))], Texts=[["text"], ["one two"]])
    with pytest.raises(StudioError) as refused:
        corpus_from_table(read_table(book))
    assert "'Texts'" in refused.value.hint


_BEYOND, _INVALID = "at most 1,048,576 rows", "not a readable workbook"


@pytest.mark.parametrize(
    ("row", "cell", "message"),
    [
        *((number, "", _BEYOND) for number in ("2000000000", "+2000000000", " 2000000000 ", "2e9", "0002000000000", str(10**16), "1e300")),
        *((number, "", _INVALID) for number in ("many", "-5", "0", "1.5", "nan", "inf", "9" * 5000)),
        *(("3", cell, f"{_BEYOND}|{_INVALID}") for cell in ("A2000000000", "A+2000000000", "A" + "9" * 5000, "A0", "A")),
        ("２０００００００００", "", _BEYOND),
    ],
)
def test_row_numbers_that_no_sheet_has_are_refused(tmp_path: Path, row: str, cell: str, message: str) -> None:
    reference = f' r="{cell}"' if cell else ""
    path = write_raw_book(tmp_path / "far.xlsx", rows=ROWS_XML + f'<row r="{row}"><c{reference} t="s"><v>1</v></c></row>')
    with pytest.raises(StudioError, match=message):
        read_table(path)


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "cp1252"])
def test_a_part_is_scanned_in_its_own_encoding(tmp_path: Path, encoding: str) -> None:
    sound = write_raw_book(tmp_path / "sound.xlsx")
    assert len(read_table(sound)) == len(read_table(replace_part(sound, _SHEET, sheet_xml(ROWS_XML), encoding))) == 1
    with pytest.raises(StudioError, match="2,000,000,000"):
        scan_workbook(replace_part(sound, _SHEET, sheet_xml(ROWS_XML + '<row r="2000000000"/>'), encoding))
    with pytest.raises(StudioError, match="not a readable workbook"):
        scan_workbook(replace_part(sound, _SHEET, '<!DOCTYPE x [<!ENTITY a "aaaa">]>' + sheet_xml(ROWS_XML), encoding))


def test_other_parts_and_long_tags_are_read_and_rows_out_of_order_refused(tmp_path: Path) -> None:
    chain = sheet_xml("").replace("worksheet", "calcChain").replace("<sheetData></sheetData>", '<c r="A2" i="1"/>' * 20_000)
    path = replace_part(write_raw_book(tmp_path / "chain.xlsx"), "xl/calcChain.xml", chain)
    assert len(read_table(replace_part(path, "customXml/item1.xml", '<rows><row r="abc"/></rows>'))) == 1
    rows = ROWS_XML + '<row r="2"><c r="A2" t="s"><v>1</v></c></row>'
    with pytest.raises(StudioError, match="out of order: row 2"):
        read_table(write_raw_book(tmp_path / "twice.xlsx", rows=rows))
    cells = " ".join(f"A{row}" for row in range(1, 60_000))
    rows = f"<row r='1' spans='{cells}'><c t='s'><v>0</v></c></row><row r='2'><c t='s'><v>1</v></c></row>"
    assert read_table(write_raw_book(tmp_path / "f.xlsx", rows)).lines.tolist() == [2]


@pytest.mark.process
@pytest.mark.parametrize(
    "strings",
    [
        [b"<si><t>", *[b"a" * (1 << 20)] * 150, b"</t></si>"],
        [b"<si>", *[b"<r><rPr><b/></rPr><t>" + b"a" * 1000 + b"</t></r>"] * 20_000, b"</si>"],
        [b"<si><t>", *[b"&amp;" * (1 << 18)] * 20, b"</t></si>"],
    ],
    ids=["one text", "many runs", "entities"],
)
def test_a_shared_text_that_is_too_long_is_refused_without_loading_it(tmp_path: Path, strings: list[bytes], measure: Measure) -> None:
    mebibytes, answer = measure(write_raw_book(tmp_path / "long.xlsx", strings=strings))
    assert "characters" in answer
    assert mebibytes < 40


@pytest.mark.parametrize("start", ["<c r='", "<!-- ", "<c><v><![CDATA["], ids=["attribute", "comment", "cdata"])
def test_a_tag_without_an_end_is_refused_at_its_first_megabytes(tmp_path: Path, start: str) -> None:
    """The parser reads an unfinished tag again with each block: the time of a gigabyte would grow with its square."""
    book = write_raw_book(tmp_path / "f.xlsx")
    bomb = replace_part(book, _SHEET, sheet_xml(f"<row r='1'>{start}").removesuffix("</sheetData></worksheet>") + " " * (60 << 20))
    began = time.process_time()
    with pytest.raises(StudioError, match=r"not a readable workbook|characters"):
        scan_workbook(bomb)
    assert time.process_time() - began < 3
