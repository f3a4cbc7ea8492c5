"""A number far beyond all other scores is left out where the texts tell that it is no answer, and asked about where they do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.overrides import SchemaOverrides
from sbert_studio.data.schema.scales import detect_scale, find_outliers
from sbert_studio.data.tables import Table, table_from_columns

ROWS = 200
WORDS = [f"w{number}" for number in range(40)]


def _similar(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    pairs = [(set(a.split()), set(b.split())) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in pairs])


def _table(top: float, codes: Sequence[float], every: int, digits: int = 0, *, fitting: bool = False) -> Table:
    """Pairs of which every so many have one of the codes: where ``fitting``, those that are most alike."""
    generator = np.random.default_rng(3)
    share = generator.random(ROWS)
    if fitting:
        share[::every] = 1.0
    a = [generator.choice(WORDS, 8, replace=False).tolist() for _ in range(ROWS)]
    b = [[word if generator.random() < kept else f"x{generator.integers(99)}" for word in row] for row, kept in zip(a, share, strict=True)]
    scores = [
        f"{codes[place // every % len(codes)]:g}" if place % every == 0 else f"{top * one:.{digits}f}" for place, one in enumerate(share)
    ]
    return table_from_columns("t.csv", {"a": [" ".join(row) for row in a], "b": [" ".join(row) for row in b], "score": scores})


CASES = [
    (100, [999], 15, 0),
    (1, [99], 20, 2),
    (1, [9], 20, 2),
    (100, [1234], 15, 0),
    (10, [98, 99], 8, 2),
    (100, [9999], 4, 0),
    (100, [-300], 15, 0),
]


@pytest.mark.parametrize(("top", "codes", "every", "digits"), CASES)
def test_numbers_far_beyond_all_scores_are_left_out_where_their_texts_do_not_fit(
    top: float, codes: list[float], every: int, digits: int
) -> None:
    table = _table(top, codes, every, digits)
    reading = infer_schema(table, similar=_similar)
    assert reading.certain and (reading.roles.low, reading.roles.high) == (0, top)
    assert any("means no answer" in why for why in reading.why)
    told = next(finding for finding in diagnose(table, reading).findings if "outside" in finding.message)
    assert list(told.rows) == [2 + place for place in range(0, ROWS, every)]


@pytest.mark.parametrize(("top", "codes", "every", "digits"), CASES)
def test_without_a_model_numbers_far_beyond_all_scores_are_asked_about(top: float, codes: list[float], every: int, digits: int) -> None:
    table = _table(top, codes, every, digits)
    (question,) = infer_schema(table).questions
    assert question.name == "scale" and f"{codes[0]:g}" in question.text and "no answer" in question.text
    out, score = (infer_schema(table, SchemaOverrides(scale=tuple(option.choice["scale"]))) for option in question.options)
    assert out.certain and (out.roles.low, out.roles.high) == (0, top)
    assert score.certain and (score.roles.low, score.roles.high) == (min(0, *codes), max(top, *codes))


def test_a_number_whose_texts_are_as_alike_as_its_place_says_is_asked_about() -> None:
    assert [one.name for one in infer_schema(_table(100, [999], 15, fitting=True), similar=_similar).questions] == ["scale"]


def test_a_single_minus_one_in_a_few_rows_does_not_stretch_the_scale_in_silence() -> None:
    scores = np.array([*np.linspace(0, 1, 29).round(2), -1.0])
    assert find_outliers(scores).tolist() == [-1] and detect_scale(scores) == (0, 1)


@pytest.mark.parametrize(
    "scores",
    [
        [0, 60, 70, 71, 75, 80, 90, 100] * 5,
        [0, 1, 2, 5] * 9,
        [0.0, 0.9, 0.92, 0.95, 0.97, 0.99, 1.0] * 4,
        [-1, -0.5, 0, 0.2, 0.9, 1] * 5,
        list(range(0, 1000, 7)),
        [1, 2, 3, 4, 10] * 8,
        [*np.linspace(0, 100, 199), 999],
    ],
)
def test_scores_on_one_scale_hold_no_such_number(scores: list[float]) -> None:
    assert not len(find_outliers(np.array(scores, dtype=float)))
