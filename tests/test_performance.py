"""The guard of speed: what it lets pass, what it tells, and how the table is drawn from what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

import performance
from ratios.base import Ratio

CLAIM = Ratio("mine", "pairs", "peer", "s", [0.5, 0.25, 0.5], [2.0, 2.0, 2.0], quality="all the same", floor="1 s", goal=4.0)


def test_a_ratio_is_that_of_a_round_with_its_own_peer() -> None:
    assert CLAIM.rounds == [4.0, 8.0, 4.0] and CLAIM.median == 4.0
    rates = Ratio("encode", "texts", "peer", "texts/s", [30.0, 60.0], [10.0, 10.0])
    assert rates.rounds == [3.0, 6.0] and rates.median == 4.5


@pytest.mark.parametrize(("seconds", "fails"), [(0.5, 0), (0.58, 0), (0.6, 1)])
def test_the_guard_lets_fifteen_in_a_hundred_pass(seconds: float, fails: int, capsys: pytest.CaptureFixture[str]) -> None:
    now = Ratio("mine", "pairs", "peer", "s", [seconds], [2.0])
    assert performance.guard([now], {"mine": CLAIM.to_json()}) == fails
    assert ("under 85% of what is claimed, 4.00" in capsys.readouterr().err) == bool(fails)
    assert performance.guard([now], {}) == 1, "nothing is claimed of it"


def test_the_table_is_drawn_between_its_marks_again_and_again() -> None:
    machine = {"processor": "a processor", "rates": {"threads": 2.0, "float32": 100.0, "memory": 20.0}}
    claims = {"samples": {"machine": machine, "ratios": {"mine": CLAIM.to_json()}}}
    once = performance.rendered("# Head\n\n<!-- measured -->old<!-- /measured -->\n\nfoot\n", claims)
    assert once.startswith("# Head\n") and once.endswith("foot\n") and "old" not in once
    assert "| pairs | peer: 2 s | 0.5 s | **4.00 ×** | 4.00 to 8.00 | 4 | all the same | 1 s |" in once
    assert performance.rendered(once, claims) == once


def test_every_work_that_the_guard_measures_is_claimed() -> None:
    keys = {"mixed": "encode-mixed-float32", "cached": "encode-cached", "search": "search-exact", "million": "million-index", "draw": "map"}
    keys |= {name: f"{name}-float32" for name in ("encode", "train", "memory")} | {"before": "before-encode-bfloat16"}
    of_work = {name: keys.get(name, name) for name in performance.WORKS}
    claims = performance.read(performance.DOCS / "performance.json")
    assert set(of_work.values()) <= set(claims["public"]["ratios"])
    needs_sets = {"million-index", "before-encode-bfloat16"}
    assert set(of_work.values()) - needs_sets <= set(claims["samples"]["ratios"])
