"""Numbers are read as people write them, in a cell and across a column."""

from __future__ import annotations

import math

import numpy as np
import pytest
from data.schema.synthetic import make_table
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.schema.numbers import number_form, numbers_of, parse_number

MINUS = "-\u2212\u2010\u2011\u2012\u2013\u2014\ufe63\uff0d"
BLANKS = " \u00a0\u2009\u202f"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5.000", 5.0), (" 3,5 ", 3.5), ("85%", 85.0), ("-1", -1.0), ("1e-2", 0.01), (".5", 0.5), ("5.", 5.0),
        ("−0.5", -0.5), ("–1", -1.0), ("－３．５", -3.5), ("\u00a04,2\u202f", 4.2), ("85 %", 85.0), ("85\u202f%", 85.0), ("８５％", 85.0),
        ("4/5", 0.8), ("4 / 5", 0.8), ("3,5/5", 0.7), ("0/10", 0.0), ("½", 0.5), ("3½", 3.5), ("1,234.5", 1234.5), ("1.234,5", 1234.5),
        ("1 234,5", 1234.5), ("1\u202f234", 1234.0), ("1'234.5", 1234.5), ("1,234,567", 1234567.0), ("1,234", 1.234), ("\u200e5", 5.0),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(text: str, number: float) -> None:
    assert parse_number(text) == pytest.approx(number)


@pytest.mark.parametrize(
    "text",
    [
        *("", "nan", "inf", "1,2,3", "1.2.3", "five", "1_000", "0x10", "1 2", "1e999", "٣²", "24/12", "1/2/2024", "5/0", "12:30"),
        *("1,23,4", "1 23", "3x", "−", "%", "³", "①", "Ⅳ", "1.2.3.4", "5 %%"),
    ],
)
def test_other_texts_are_not_numbers(text: str) -> None:
    assert math.isnan(parse_number(text)) and number_form(text) is None


@given(st.floats(-999, 999).map(lambda value: round(value, 3)), st.sampled_from(MINUS), st.sampled_from(BLANKS), st.sampled_from(".,"))
def test_any_minus_blank_and_decimal_mark_give_the_same_number(value: float, minus: str, blank: str, mark: str) -> None:
    text = repr(value)
    if "e" not in text:
        assert parse_number(blank + text.replace("-", minus).replace(".", mark) + blank) == value


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        *(
            ([form.format(value) for value in (0, 3, 5)], [0, 3, 5])
            for form in ("{}分", "{} Punkte", "Grade {}", "L{}", "★{}", "{} pts.", "{}점", "{} คะแนน")
        ),
        (["0 баллов", "3 балла", "5 баллов"], [0, 3, 5]),
        *(([form.format(7), form.format(10)], [0.7, 1]) for form in ("{} из 10", "{} out of 10", "{} von 10", "{} sur 10", "{} / 10")),
        *(
            ([f"{number:,}".replace(",", sign) for number in (8230, 35, 412, 1204, 10000, 77)], [8230, 35, 412, 1204, 10000, 77])
            for sign in ",.' "
        ),
        (["0,125", "1,250", "3", "4,875", "2,100"], [0.125, 1.25, 3, 4.875, 2.1]),
        (["60%", "45", "0.5"], [60, 45, 0.5]),
        (["60%", "10%", "0"], [60, 10, 0]),
        (["0.2%", "0.9%", "0.5"], [0.2, 0.9, 0.5]),
        (["60 %", "10%", "0.5", "4/5", "0", ""], [0.6, 0.1, 0.5, 0.8, 0, np.nan]),
        *((cells, [np.nan] * len(cells)) for cells in (["topic 1", "topic 2"], ["3 cats sat", "4 dogs sat"], ["3分", "4 km"])),
    ],
)
def test_a_column_tells_how_its_cells_are_read(cells: list[str], numbers: list[float]) -> None:
    assert np.allclose(numbers_of(cells), numbers, equal_nan=True)


def test_scores_in_two_forms_are_reported_with_their_rows() -> None:
    scores = ["0.8", "0.2", "85%", "0.5", "4/5", "0", "0.9", "0.1", "0.3", "0.7"]
    columns = {"sentence1": [f"a b {n}" for n in range(10)], "sentence2": [f"c d {n}" for n in range(10)], "score": scores}
    found = [finding for finding in diagnose(make_table(columns)).findings if "two scales" in finding.message]
    assert [finding.rows for finding in found] == [(4,), (6,)]
    columns["score"] = [f"{place * 10}%" for place in range(10)]
    assert not any("two scales" in finding.message for finding in diagnose(make_table(columns)).findings)
