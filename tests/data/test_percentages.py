"""Percentages beside parts of 1 are one scale; the texts tell it, or the owner."""

from __future__ import annotations

import numpy as np
import pytest
from data.test_passed_over import _pairs, _similar

from sbert_studio.data.choices.column_choices import ColumnChoices, read_roles
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.examples import build_examples
from sbert_studio.data.tables import Table, table_from_columns
from sbert_studio.data.values.profile import numbers_of


def _table(plain: str, every: int = 2) -> Table:
    a, b, share = _pairs(160)
    cells = [f"{100 * one:.0f}%" if place % every else plain.format(one) for place, one in enumerate(share)]
    return table_from_columns("t.csv", {"text_a": a, "text_b": b, "score": cells})


@pytest.mark.parametrize("every", [2, 10])
@pytest.mark.parametrize("similar", [_similar, None])
def test_percentages_beside_parts_of_one_are_of_one_scale(every: int, similar: object) -> None:
    table = _table("{:.2f}", every)
    reading = read_roles(table, similar=similar)  # type: ignore[arg-type]
    assert reading.certain and (reading.roles.low, reading.roles.high) == (0, 1)
    assert np.allclose(build_examples(table, reading.roles)[0].targets, _pairs(160)[2], atol=0.0051)
    (told,) = [finding for finding in diagnose(table, reading).findings if "60% as 0.6" in finding.message]
    assert len(told.rows) == sum(place % every > 0 and one >= 0.005 for place, one in enumerate(_pairs(160)[2]))


def test_plain_numbers_that_do_not_fit_as_parts_of_one_are_asked_about() -> None:
    share = _pairs(160)[2]
    table = _table("{:.2f}").with_column(
        "score", [f"{100 * one:.0f}%" if one > 0.01 * place / 2 else f"{0.9 - one:.2f}" for place, one in enumerate(share)]
    )
    (question,) = read_roles(table, similar=_similar).questions
    assert question.name == "scale" and [option.choice["scale"] for option in question.options] == [[0, 1], [0, 100]]
    as_they_are = read_roles(table, ColumnChoices(scale=(0.0, 100.0)), similar=_similar)
    examples, _ = build_examples(table, as_they_are.roles)
    assert as_they_are.certain and examples.targets is not None and np.isclose(examples.targets, 0.009, atol=0.009).sum() > 10


def test_whole_numbers_beside_percentages_are_asked_about_without_a_model() -> None:
    assert [one.name for one in read_roles(_table("{:.0f}", 5)).questions] == ["scale"]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["60%", "45", "0.5"], [60, 45, 0.5]),
        (["60%", "10%", "0"], [60, 10, 0]),
        (["0.2%", "0.9%", "0.5"], [0.2, 0.9, 0.5]),
        (["60 %", "10%", "0.5", "4/5", "0", ""], [0.6, 0.1, 0.5, 0.8, 0, np.nan]),
    ],
)
def test_only_parts_of_one_share_the_scale_of_percentages(cells: list[str], numbers: list[float]) -> None:
    assert np.allclose(numbers_of(cells), numbers, equal_nan=True)
