"""How a whole column writes its numbers, and what its name explains of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sbert_studio.data.schema.names import explained_ends, explained_reversal, is_distance_name, strip_explanation
from sbert_studio.data.schema.numbers import parse_column
from sbert_studio.data.schema.scales import detect_scale


@pytest.mark.parametrize(
    "cells",
    [
        ["0分", "3分", "5分"],
        ["0 Punkte", "3 Punkte", "5 Punkte"],
        ["0 баллов", "3 балла", "5 баллов"],
        ["Grade 0", "Grade 3", "Grade 5"],
        ["L0", "L3", "L5"],
        ["★0", "★3", "★5"],
        ["0 pts", "3 pts", "5 pts."],
        ["0점", "3점", "5점"],
        ["0 คะแนน", "3 คะแนน", "5 คะแนน"],
    ],
)
def test_a_unit_in_every_cell_is_left_out(cells: list[str]) -> None:
    assert list(parse_column(cells).values()) == [0.0, 3.0, 5.0]


@pytest.mark.parametrize("cells", [["topic 1", "topic 2"], ["3 cats sat", "4 dogs sat"], ["3分", "4 km", "5 pts"], ["A12", "B13"]])
def test_words_with_numbers_in_them_are_no_numbers(cells: list[str]) -> None:
    assert all(math.isnan(value) for value in parse_column(cells).values())


@pytest.mark.parametrize("form", ["{} из 10", "{} out of 10", "{} von 10", "{} sur 10", "{} / 10"])
def test_so_much_of_the_highest_is_a_part_of_a_whole(form: str) -> None:
    assert list(parse_column([form.format(7), form.format(10)]).values()) == [0.7, 1.0]


@pytest.mark.parametrize("sign", [",", ".", "'", " "])
def test_thousands_are_told_by_the_whole_column(sign: str) -> None:
    cells = [f"{number:,}".replace(",", sign) for number in (8230, 35, 412, 1204, 10000, 77)]
    assert list(parse_column(cells).values()) == [8230, 35, 412, 1204, 10000, 77]


def test_decimals_of_three_digits_stay_decimals() -> None:
    assert list(parse_column(["0,125", "1,250", "3", "4,875", "2,100"]).values()) == [0.125, 1.25, 3, 4.875, 2.1]


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("How similar are these? (1 = completely different, 5 = same meaning)", (1, 5)),
        ("1 = verschieden … 5 = gleich", (1, 5)),
        ("close? (0 no – 5 yes)", (0, 5)),
        ("相似度（1=完全不同，5=完全相同）", (1, 5)),
        ("сходство (1 - разные, 5 - одинаковые)", (1, 5)),
        ("Note (1 = identisch, 6 = völlig verschieden)", (6, 1)),
        ("Rank (1 = most similar)", (None, 1)),
        ("Similarity (0-100)", (None, None)),
        ("Q1 same", (None, None)),
    ],
)
def test_a_name_that_explains_its_numbers(name: str, ends: tuple[float | None, float | None]) -> None:
    assert explained_ends(name) == ends


def test_what_a_name_explains_is_no_part_of_what_it_is_called() -> None:
    name = "How similar? (1 = completely different, 5 = the same)"
    assert strip_explanation(name) == "How similar?"
    assert not is_distance_name(name) and is_distance_name("difference (0-5)")
    assert explained_reversal("Rank (1 = most similar)", 1, 400) is True
    assert explained_reversal("score (5 = same)", 0, 5) is False


@pytest.mark.parametrize("code", [99, 999, -9, -1, 9, 88])
def test_a_number_for_no_answer_does_not_stretch_the_scale(code: int) -> None:
    assert detect_scale(np.array([1, 2, 3, 4, 5, 6, 7] * 20 + [code] * 20, dtype=float)) == (1, 7)
    assert detect_scale(np.array([1, 2, 3, 4, 5] * 20 + [code] * 10, dtype=float)) == (1, 5)


def test_scores_that_reach_far_are_no_codes() -> None:
    assert detect_scale(np.arange(100, dtype=float)) == (0, 100)
    assert detect_scale(np.array([-1, 0, 1] * 9, dtype=float)) == (-1, 1)
    assert detect_scale(np.array([6, 7, 8, 9, 10] * 9, dtype=float)) == (0, 10)


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([2, 3, 4, 5] * 30, (2, 5)),
        ([2] + [3, 4, 5] * 30, (1, 5)),
        ([3, 4, 5] * 9, (1, 5)),
        ([0, 3, 5] * 9, (0, 5)),
        ([2.5, 3, 5] * 9, (0, 5)),
    ],
)
def test_whole_marks_of_which_none_is_nought_begin_at_one(values: list[float], scale: tuple[float, float]) -> None:
    assert detect_scale(np.array(values, dtype=float)) == scale
