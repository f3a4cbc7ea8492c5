from __future__ import annotations

from pathlib import Path

import performance
import pytest
from claims import Claims, MachineTable, Ratio, Setting

RATES = {"threads": 2.0, "float32": 100.0, "bfloat16": 200.0, "memory": 20.0}
CLAIM = Ratio("mine", "pairs", "peer", "s", [0.5, 0.25, 0.5], [2.0, 2.0, 2.0], quality="all the same", floor="1 s", goal=4.0)


def setting(**rates: float) -> Setting:
    return Setting(None, 1, Path(), {**RATES, **rates})


def test_a_ratio_is_computed_within_each_round() -> None:
    assert CLAIM.rounds == [4.0, 8.0, 4.0] and CLAIM.median == 4.0
    rates = Ratio("encode", "texts", "peer", "texts/s", [30.0, 60.0], [10.0, 10.0])
    assert rates.rounds == [3.0, 6.0] and rates.median == 4.5


@pytest.mark.parametrize(("seconds", "fails"), [(0.5, 0), (0.58, 0), (0.6, 1)])
def test_the_guard_tolerates_fifteen_per_cent(seconds: float, fails: int, capsys: pytest.CaptureFixture[str]) -> None:
    now = Ratio("mine", "pairs", "peer", "s", [seconds], [2.0])
    assert performance.guard([now], Claims({"samples": [MachineTable("a processor", RATES, {"mine": CLAIM})]}), setting()) == fails
    assert ("under 85% of the claim, 4.00" in capsys.readouterr().err) == bool(fails)
    assert performance.guard([now], Claims({"samples": [MachineTable("a processor", RATES)]}), setting()) == 1, "no claim for the task"
    assert performance.guard([now], Claims({}), setting()) == 1, "no claim at all"


def test_a_machine_is_compared_with_the_claims_for_its_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slower, slowest = {**RATES, "float32": 50.0, "bfloat16": 90.0}, {**RATES, "float32": 10.0, "bfloat16": 20.0}
    claims = Claims({})
    claims.add("samples", MachineTable("a processor", slower, {"mine": CLAIM}))
    claims.add("samples", MachineTable("a processor", RATES, {"mine": Ratio("mine", "pairs", "peer", "s", [0.1], [2.0])}))
    claims.add("samples", MachineTable("a processor", {**RATES, "float32": 120.0}, {"map": CLAIM}))
    claims.write(tmp_path / "claims.json")
    claims = Claims.read(tmp_path / "claims.json")
    fast, slow = claims.tables("samples")
    assert fast.rates == RATES and list(fast.ratios) == ["mine", "map"], "a rate that differs by a fifth is the same machine"
    assert (
        slow.rates == slower
        and claims.nearest("samples", {**slower, "bfloat16": 110.0}) is slow
        and claims.nearest("public", RATES) is None
    )
    now = Ratio("mine", "pairs", "peer", "s", [0.5], [2.0])
    assert performance.guard([now], claims, setting(**slower)) == 0
    assert performance.guard([now], claims, setting()) == 1
    capsys.readouterr()
    assert performance.guard([now], claims, setting(**slowest)) == 0
    message = capsys.readouterr().err
    assert message.startswith("mine: 4.00") and "another kind of machine" in message and "under" not in message
    assert performance.guard([Ratio("map", "map", "peer", "s", [1.0], [2.0])], claims, setting(**slower)) == 1
    message = capsys.readouterr().err
    assert "under 85%" in message and "another kind of machine" in message
    without = {name: rate for name, rate in RATES.items() if name != "bfloat16"}
    assert not fast.is_same_kind(without), "a processor that lacks a width is of another kind"
    assert not fast.is_same_kind({**RATES, "threads": 64.0}), "so is one of many more threads"


def test_ratios_are_added_to_the_nearest_machine() -> None:
    one, other = MachineTable("a", RATES, {"mine": CLAIM}), MachineTable("a", {**RATES, "float32": 70.0, "bfloat16": 140.0})
    claims = Claims({"samples": [one, other]})
    claims.add(
        "samples", MachineTable("a", {**RATES, "float32": 75.0, "bfloat16": 150.0}, {"mine": Ratio("mine", "", "", "s", [1.0], [2.0])})
    )
    assert one.ratios["mine"] is CLAIM and other.ratios["mine"].median == 2.0


def test_tables_replace_those_between_the_marks() -> None:
    claims = Claims({"samples": [MachineTable("a processor", RATES, {"mine": CLAIM})]})
    once = performance.render("# Head\n\n<!-- measured -->old<!-- /measured -->\n\nfoot\n", claims)
    assert once.startswith("# Head\n") and once.endswith("foot\n") and "old" not in once
    (row,) = [line for line in once.splitlines() if line.startswith("| pairs |")]
    assert row.count("**4.00 ×**") == 1 and {"4.00 to 8.00", "4", "all the same", "1 s"} <= {cell.strip() for cell in row.split("|")}
    assert performance.render(once, claims) == once


def test_every_task_of_the_guard_has_a_claim() -> None:
    keys = {"mixed": "encode-mixed-float32", "cached": "encode-cached", "search": "search-exact", "million": "million-index", "draw": "map"}
    keys |= {name: f"{name}-float32" for name in ("encode", "train", "memory")} | {"before": "before-encode-bfloat16"}
    keys_of_tasks = {name: keys.get(name, name) for name in performance.TASKS}
    claims = Claims.read(performance.DOCS / "performance.json")
    claimed = {place: {key for table in claims.tables(place) for key in table.ratios} for place in ("public", "samples")}
    assert set(keys_of_tasks.values()) <= claimed["public"]
    needs_sets = {"million-index", "before-encode-bfloat16"}
    assert set(keys_of_tasks.values()) - needs_sets <= claimed["samples"]
