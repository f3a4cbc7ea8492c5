"""Cells leave without becoming formulas, and numbers are read as people write them."""

from __future__ import annotations

import codecs
import csv
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook

from sbert_studio.data.cells import cell_text, write_xlsx
from sbert_studio.data.loading.table import read_table, safe_cell, table_from_columns, write_csv

CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=30) | st.sampled_from(
    ["=cmd|' /C calc'!A1", "@SUM(A1)", "+1+cmd", "-2+3", "-0.5", '"', "\r", "\n", "a,b;c\td", "'", " ", "", "\ufeff", "\u2028", "１"]
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8))
def test_any_cells_survive_a_round_trip_through_csv(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    names = ("text", "other", "label")
    table = table_from_columns("t", dict(zip(names, zip(*rows, strict=True), strict=True)))
    path = tmp_path / "round.csv"
    table.to_csv(path)
    back = read_table(path, delimiter=",", header=True)
    assert back.columns == names
    assert [tuple(row) for row in back.head(99)] == [tuple(map(safe_cell, row)) for row in rows]
    assert back.lines.tolist() == table.lines.tolist()


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A1", "@SUM(1)", "+1+cmd", "-1+2", " =1", "\t=1", "\r\n@x", "-", "＝1", "+49 30 1234"])
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert safe_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["-0.5", "+3", "1e-5", "-1,5", "plain", "", "a=b", "'quoted", "\r1", "\nan empty line first", "\t"])
def test_numbers_and_plain_texts_stay_as_they_are(text: str) -> None:
    assert safe_cell(text) == text


def test_other_programs_read_line_breaks_commas_and_quotes_as_they_were(tmp_path: Path) -> None:
    texts = [
        "first line\nsecond, with a comma",
        'she said "no"',
        "\n\nlate start",
        "tab\there",
        "a;b",
        "-0.5",
        "é 日本語",
        "x\r\n=1",
        "'",
        '"',
    ]
    path = tmp_path / "out.csv"
    write_csv(path, {"text": [*texts, "=1+1"], "n": list(range(len(texts) + 1))})
    back = pd.read_csv(path, dtype={"text": str}, keep_default_na=False)
    assert back["text"].tolist() == [*texts, "'=1+1"] and back["n"].tolist() == list(range(len(texts) + 1))
    write_xlsx(tmp_path / "out.xlsx", {"text": texts})
    cells = load_workbook(tmp_path / "out.xlsx")["Texts"]["A"][1:]
    assert [str(cell.value).replace("_x000D_", "\r") for cell in cells] == texts and {cell.data_type for cell in cells} <= {"s", "n"}


def test_names_are_made_safe_numbers_stay_numbers_and_columns_of_unequal_length_leave_no_file(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_csv(path, {"=HYPERLINK(1)": ["=1+1", "b"], "score": [-0.25, 3]})
    assert path.read_bytes().startswith(codecs.BOM_UTF8), "Excel needs the mark to read other letters than ASCII"
    with path.open(encoding="utf-8-sig", newline="") as source:
        assert list(csv.reader(source)) == [["'=HYPERLINK(1)", "score"], ["'=1+1", "-0.25"], ["b", "3"]]
    with pytest.raises(ValueError, match="shorter"):
        write_csv(tmp_path / "uneven.csv", {"a": ["1", "2"], "b": ["1"]})
    assert {one.name for one in tmp_path.iterdir()} <= {"out.csv", "home"}


def test_workbooks_keep_names_and_digits_and_hold_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "out.xlsx"
    columns = {
        "=HYPERLINK(1)": ["=1+1", "@x", "日本語"],
        "price": ["12.5", "", "-3"],
        "code": ["007", "1.50", "12345678901234567890"],
        "x": [0.25, 2.0, 3.0],
    }
    write_xlsx(path, columns, notes=["=2", "2 of 3 texts"])
    book = load_workbook(path)
    rows = list(book["Texts"].iter_rows())
    assert [[cell.value for cell in row] for row in rows] == [
        ["=HYPERLINK(1)", "price", "code", "x"],
        ["=1+1", 12.5, "007", 0.25],
        ["@x", None, "1.50", 2],
        ["日本語", -3, "12345678901234567890", 3],
    ]
    assert {cell.data_type for row in rows for cell in row if isinstance(cell.value, str)} == {"s"}, "no formulas"
    assert rows[1][0].quotePrefix and [cell.value for cell in book["Notes"]["A"]] == ["=2", "2 of 3 texts"]
    assert pd.read_excel(path)["x"].tolist() == columns["x"]


def test_a_workbook_counts_the_texts_that_it_cuts_off_and_leaves_blank_cells_empty(tmp_path: Path) -> None:
    path = tmp_path / "out.xlsx"
    write_xlsx(path, {"text": ["a" * 32_767, "", "b" * 32_768], "price": ["1.5", "", "2"]}, notes=["first"])
    book = load_workbook(path)
    assert [len(cell.value or "") for cell in book["Texts"]["A"][1:]] == [32_767, 0, 32_767]
    assert [cell.data_type for cell in book["Texts"][3]] == ["n", "n"], "no empty texts"
    (first,), (second,) = book["Notes"].values
    assert first == "first" and second.startswith("1 text is longer than 32,767 characters")


def test_codes_stay_texts_and_long_numbers_show_all_digits(tmp_path: Path) -> None:
    columns = {"zip": ["00501", "90210", ""], "number": ["4006381333931", "-0", "-123456789012"], "when": [1_700_000_000_000, 2.5, 1e12]}
    write_xlsx(tmp_path / "out.xlsx", columns)
    rows = list(load_workbook(tmp_path / "out.xlsx")["Texts"].iter_rows(min_row=2))
    assert [[cell.value for cell in row] for row in rows] == [
        ["00501", 4006381333931, 1_700_000_000_000],
        ["90210", "-0", 2.5],
        [None, -123456789012, 10**12],
    ]
    formats = [[cell.number_format for cell in row[1:]] for row in rows]
    assert formats == [["0", "0"], ["General", "General"], ["0", "0"]], "General shows them as 4.00638E+12"


def test_prices_can_be_added_up_and_keep_their_zeros(tmp_path: Path) -> None:
    columns = {"price": ["12.50", "3.99", "-10.00", "7"], "rating": ["1.0", "", "4.5", "n/a"], "zero": ["-0.0", "0.0", "100", "0.10"]}
    write_xlsx(tmp_path / "out.xlsx", columns)
    rows = list(load_workbook(tmp_path / "out.xlsx")["Texts"].iter_rows(min_row=2))
    assert [[cell.value for cell in row] for row in rows] == [[12.5, 1, "-0.0"], [3.99, None, 0], [-10, 4.5, 100], [7, "n/a", 0.1]]
    formats = [[cell.number_format for cell in row] for row in rows]
    plain = "General"
    assert formats == [["0.00", "0.0", plain], [plain, plain, "0.0"], ["0.00", plain, plain], [plain, plain, "0.00"]]


def test_dates_of_a_column_are_dates_in_a_workbook_and_come_back_as_they_were(tmp_path: Path) -> None:
    columns = {
        "day": ["2024-01-31", "", "2023-12-01"],
        "time": ["2024-01-31T09:30:00", "2024-02-01 10:00:05", None],
        "typo": ["2024-01-31", "2024-02-31", "2024-03-31"],
        "zone": ["2024-01-31T09:30:00Z", "", ""],
        "old": ["1900-01-31", "1850-01-01", ""],
    }
    path = tmp_path / "out.xlsx"
    write_xlsx(path, columns)
    rows = [[cell.value for cell in row] for row in load_workbook(path)["Texts"].iter_rows(min_row=2)]
    assert [row[0] for row in rows] == [datetime(2024, 1, 31), None, datetime(2023, 12, 1)]
    assert [row[1] for row in rows] == [datetime(2024, 1, 31, 9, 30), datetime(2024, 2, 1, 10, 0, 5), None]
    assert [row[2:] for row in rows] == [
        ["2024-01-31", "2024-01-31T09:30:00Z", "1900-01-31"],
        ["2024-02-31", None, "1850-01-01"],
        ["2024-03-31", None, None],
    ]
    assert str(pd.read_excel(path)["day"].dtype).startswith("datetime64")
    assert read_table(path).column("day")[:1] == ["2024-01-31"]


@pytest.mark.parametrize(
    ("value", "text"), [(5.0, "5"), (0.25, "0.25"), (True, "true"), (None, ""), (float("nan"), ""), ([1], "[1]"), ("a\0", "a")]
)
def test_values_become_the_text_that_a_person_expects(value: object, text: str) -> None:
    assert cell_text(value) == text
