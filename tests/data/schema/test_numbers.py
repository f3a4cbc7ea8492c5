"""Numbers as people write them, in a cell and across a column; scales, codes for no answer, percentages, and explained ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from data.schema.tables import change, make_table, overlap, pair_table, pairs, random_texts
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import Table
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.names import explained_ends, explained_reversal, is_distance_name
from sbert_studio.data.schema.numbers import describe_scale, detect_scale, find_outliers, number_form, numbers_of, parse_number
from sbert_studio.data.schema.roles import SchemaOverrides

MINUS = "-\u2212\u2010\u2011\u2012\u2013\u2014\ufe63\uff0d"
BLANKS = " \u00a0\u2009\u202f"
ROWS = 200
SHARE = pairs(None, ROWS)[1]


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
        (["1,234", "12,345", "1,234,567"], [1234, 12_345, 1_234_567]),
        (["1,234.5", "2,345", "-3,456.7", "n/a"], [1234.5, 2345, -3456.7, np.nan]),
        (["1.234,5", "2.345", "7"], [1234.5, 2345, 7]),
        (["1.234.567", "2.345", "0.5"], [1_234_567, 2.345, 0.5]),
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


# --- scales


@pytest.mark.parametrize(
    ("scores", "scale", "words"),
    [
        ([0, 0.3, 1], (0, 1), "scores 0–1, unchanged"), ([0, 2.5, 5], (0, 5), "scores 0–5, divided by 5"),
        ([1, 2.5, 5], (1, 5), "scores 1–5, rescaled"), ([1.2, 2.5, 4.9], (0, 5), ""), ([-1, -0.2, 0.9], (-1, 1), "scores -1–1, rescaled"),
        ([0, 55.5, 100], (0, 100), ""), ([0, 1, 2, 3], (0, 3), ""), ([1, 4, 7], (1, 7), ""), ([1, 2, 3, 4, 5, 6], (1, 6), ""),
        ([0, 8.5, 9.5], (0, 10), ""), ([-300, 12, 900], (-300, 900), ""), ([*[1, 3.4, 6.2, 7] * 20], (1, 7), ""),
        ([*[0, 2.2, 4] * 40], (0, 5), ""), ([*[0, 2.5, 5] * 40, 55], (0, 5), ""), ([2, 3, 4, 5] * 30, (2, 5), ""),
        ([2] + [3, 4, 5] * 30, (1, 5), ""), ([3, 4, 5] * 9, (1, 5), ""), ([0, 3, 5] * 9, (0, 5), ""), ([2.5, 3, 5] * 9, (0, 5), ""),
        ([-1, 0, 1] * 9, (-1, 1), ""), ([6, 7, 8, 9, 10] * 9, (0, 10), ""), (list(range(100)), (0, 100), ""),
        *(([1, 2, 3, 4, 5, 6, 7] * 20 + [code] * 20, (1, 7), "") for code in (99, 999, -1, -9, -99)),
        ([*np.linspace(0, 1, 29).round(2), -1.0], (0, 1), ""),
    ],
)  # fmt: skip
def test_the_scale_is_detected_and_codes_or_a_typing_error_do_not_stretch_it(
    scores: list[float], scale: tuple[float, float], words: str
) -> None:
    assert detect_scale(np.array(scores, dtype=float)) == scale
    assert describe_scale(*scale).startswith(words)


@pytest.mark.parametrize(
    "scores",
    [
        *([0, 60, 70, 71, 75, 80, 90, 100] * 5, [0, 1, 2, 5] * 9, [0.0, 0.9, 0.92, 0.95, 0.97, 0.99, 1.0] * 4),
        *([-1, -0.5, 0, 0.2, 0.9, 1] * 5, list(range(0, 1000, 7)), [1, 2, 3, 4, 10] * 8, [*np.linspace(0, 100, 199), 999]),
    ],
)
def test_scores_on_one_scale_have_no_outliers(scores: list[float]) -> None:
    assert not len(find_outliers(np.array(scores, dtype=float)))


def test_a_single_minus_one_is_an_outlier_and_noise_of_32_bits_is_not() -> None:
    assert find_outliers(np.array([*np.linspace(0, 1, 29).round(2), -1.0])).tolist() == [-1]
    found = diagnose(pair_table("score", [f"{one * 1.0000001192:.10f}" for one in [*SHARE[:-1], 1.0]]))
    assert (found.roles.low, found.roles.high, len(found.examples)) == (0.0, 1.0, ROWS)
    assert found.examples.targets is not None and found.examples.targets.max() == 1.0
    assert any("clipped to the scale" in finding.message for finding in found.findings)


# --- outliers: left out if the texts do not fit, else asked about


def with_codes(top: float, codes: Sequence[float], every: int, digits: int = 0, *, is_fitting: bool = False) -> Table:
    """Return pairs of which every so many have one of the codes; if ``is_fitting``, the most similar ones."""
    share = np.where((np.arange(ROWS) % every == 0) & is_fitting, 1.0, SHARE)
    generator = np.random.default_rng(3)
    first = random_texts(ROWS)
    second = [change(text, kept, generator) for text, kept in zip(first, share, strict=True)]
    cells = [f"{codes[at // every % len(codes)]:g}" if at % every == 0 else f"{top * one:.{digits}f}" for at, one in enumerate(share)]
    return make_table({"a": first, "b": second, "score": cells})


CASES = [(100, [999], 15, 0), (1, [99], 20, 2), (1, [9], 20, 2), (100, [1234], 15, 0), (10, [98, 99], 8, 2), (100, [9999], 4, 0)]


@pytest.mark.parametrize(("top", "codes", "every", "digits"), [*CASES, (100, [-300], 15, 0)])
def test_numbers_far_outside_are_left_out_if_the_texts_do_not_fit_and_asked_about_without_a_model(
    top: float, codes: list[float], every: int, digits: int
) -> None:
    table = with_codes(top, codes, every, digits)
    schema = infer_schema(table, similar=overlap)
    assert schema.certain and (schema.roles.low, schema.roles.high) == (0, top)
    assert any("means no answer" in why for why in schema.why)
    finding = next(finding for finding in diagnose(table, schema).findings if "outside" in finding.message)
    assert list(finding.rows) == [2 + place for place in range(0, ROWS, every)]
    (question,) = infer_schema(table).questions
    assert question.name == "scale" and f"{codes[0]:g}" in question.text and "no answer" in question.text
    out, score = (infer_schema(table, SchemaOverrides(scale=tuple(option.choice["scale"]))) for option in question.options)
    assert out.certain and (out.roles.low, out.roles.high) == (0, top)
    assert score.certain and (score.roles.low, score.roles.high) == (min(0, *codes), max(top, *codes))


def test_a_number_whose_texts_fit_its_place_and_a_zero_whose_texts_do_not_are_asked_about() -> None:
    fitting = infer_schema(with_codes(100, [999], 15, is_fitting=True), similar=overlap)
    assert [one.name for one in fitting.questions] == ["scale"]
    cells = ["0" if at % 5 == 0 else str(1 + min(4, int(one * 5))) for at, one in enumerate(SHARE)]
    (question,) = infer_schema(pair_table("rating", cells), similar=overlap).questions
    assert [option.choice for option in question.options] == [{"scale": [1.0, 5.0]}, {"scale": [0.0, 5.0]}]
    assert infer_schema(pair_table("rating", [min(5, int(one * 6)) for one in SHARE]), similar=overlap).certain


# --- percentages


@pytest.mark.parametrize("every", [2, 10])
@pytest.mark.parametrize("similar", [overlap, None])
def test_percentages_beside_fractions_are_on_one_scale(every: int, similar: object) -> None:
    table = pair_table("score", [f"{100 * one:.0f}%" if place % every else f"{one:.2f}" for place, one in enumerate(SHARE)])
    schema = infer_schema(table, similar=similar)  # type: ignore[arg-type]
    assert schema.certain and (schema.roles.low, schema.roles.high) == (0, 1)
    assert np.allclose(build_examples(table, schema.roles)[0].targets, SHARE, atol=0.0051)
    (finding,) = [finding for finding in diagnose(table, schema).findings if "60% as 0.6" in finding.message]
    assert len(finding.rows) == sum(place % every > 0 and one >= 0.005 for place, one in enumerate(SHARE))


def test_plain_numbers_that_do_not_fit_as_fractions_are_asked_about() -> None:
    cells = [f"{100 * one:.0f}%" if one > 0.3 else f"{1 - one:.2f}" for one in SHARE]
    (question,) = infer_schema(pair_table("score", cells), similar=overlap).questions
    assert question.name == "scale" and [option.choice["scale"] for option in question.options] == [[0, 1], [0, 100]]
    as_written = infer_schema(pair_table("score", cells), SchemaOverrides(scale=(0.0, 100.0)), similar=overlap)
    assert as_written.certain and as_written.roles.high == 100
    whole = pair_table("score", [f"{100 * one:.0f}%" if place % 5 else f"{one:.0f}" for place, one in enumerate(SHARE)])
    assert [one.name for one in infer_schema(whole).questions] == ["scale"]


# --- what a name explains


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("How similar are these? (1 = completely different, 5 = same meaning)", (1, 5)), ("1 = verschieden … 5 = gleich", (1, 5)),
        ("close? (0 no – 5 yes)", (0, 5)), ("相似度（1=完全不同，5=完全相同）", (1, 5)), ("сходство (1 - разные, 5 - одинаковые)", (1, 5)),
        ("Note (1 = identisch, 6 = völlig verschieden)", (6, 1)), ("Rank (1 = most similar)", (None, 1)),
        ("Similarity (0-100)", (None, None)), ("Q1 same", (None, None)),
    ],
)  # fmt: skip
def test_a_name_that_explains_its_numbers(name: str, ends: tuple[float | None, float | None]) -> None:
    assert explained_ends(name) == ends
    assert explained_reversal(name, 1, 400) is (None if ends == (None, None) else ends[1] == 1 if ends[0] is None else ends[0] > ends[1])
    assert not is_distance_name("How similar? (1 = completely different, 5 = the same)") and is_distance_name("difference (0-5)")
