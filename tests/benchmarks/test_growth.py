from __future__ import annotations

from xml.etree import ElementTree

import growth
import growth_chart
import pytest

MIB = 2**20
POINTS = {
    "mine": {
        str(rows): {"seconds": 1e-9 * rows**1.5, "memory": (100 + rows / 1000) * MIB, "base": 100 * MIB} for rows in (1000, 10_000, 100_000)
    },
    "search": {"1000": {"seconds": 0.00007, "memory": 41 * MIB, "base": 40 * MIB, "method": "exact"}},
}


def test_the_exponent_is_that_of_the_cost_from_ten_thousand_rows_on() -> None:
    assert growth_chart.exponent([1000, 10_000, 100_000, 1_000_000], [77.0, 1.0, 10.0, 100.0]) == pytest.approx(1.0)
    assert growth_chart.exponent([1000, 10_000], [1.0, 2.0]) is None
    fits = growth_chart.exponents(POINTS)
    assert fits["mine"][""] == {"seconds": pytest.approx(1.5), "memory": pytest.approx(1.0)}, "memory is fitted less its base"
    assert fits["search"]["exact"] == {"seconds": None, "memory": None}


def test_ways_of_one_work_are_fitted_apart() -> None:
    costs = {10_000: ("exact", 1.0), 20_000: ("exact", 4.0), 100_000: ("by the index", 2.0), 200_000: ("by the index", 2.0)}
    points = {str(rows): {"seconds": cost, "memory": cost, "base": 0.0, "method": way} for rows, (way, cost) in costs.items()}
    fits = growth_chart.exponents({"search": points})["search"]
    assert [fits[way]["seconds"] for way in ("exact", "by the index")] == [pytest.approx(2.0), pytest.approx(0.0)]


def test_the_table_tells_time_and_memory_beyond_the_base() -> None:
    head, line, *rows = ([cell.strip() for cell in row.split("|")[1:-1]] for row in growth_chart.table(POINTS).splitlines())
    assert head[1:4] == ["1,000", "10,000", "100,000"] and set(map(len, (head, line, *rows))) == {5}
    assert rows == [
        ["mine", "0.032 ms, 1 MiB", "1 ms, 10 MiB", "32 ms, 100 MiB", "1.50, 1.00"],
        ["search", "0.07 ms, 1 MiB", "–", "–", "exact –, –"],
    ]
    with_recall = {"mine": {"300000": {"seconds": 6.056, "memory": 2 * MIB, "base": MIB, "recall": 0.98765}}}
    assert "| 6.06 s, 1 MiB, recall 0.988 |" in growth_chart.table(with_recall)


def test_the_chart_is_an_svg_of_two_panels() -> None:
    chart = growth_chart.chart(POINTS)
    root = ElementTree.fromstring(chart)
    assert root.tag.endswith("svg") and chart.count("<polyline") == 4 and "b = 1.50" in chart


@pytest.mark.process
@pytest.mark.slow
def test_a_point_is_measured_in_a_process_of_its_own_and_one_that_fails_is_none() -> None:
    assert growth.run_in_process(_told, (3,), 60) == {"rows": 3}
    assert growth.run_in_process(_fails, (), 60) is None


def _told(rows: int) -> dict[str, int]:
    return {"rows": rows}


def _fails() -> None:
    raise SystemExit(1)
