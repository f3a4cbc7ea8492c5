"""The scripts that measure speed and size."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import growth
import growth_chart
import performance
import pytest
import serving
import speed
from claims import Claims, MachineTable, Ratio, Setting
from plan import plan
from timing import compare, import_peer

from sbert_studio.errors import StudioError

RATES = {"threads": 2.0, "float32": 100.0, "bfloat16": 200.0, "memory": 20.0}
CLAIM = Ratio("mine", "pairs", "peer", "s", [0.5, 0.25, 0.5], [2.0, 2.0, 2.0], quality="all the same", floor="1 s", goal=4.0)


def setting(**rates: float) -> Setting:
    return Setting(None, 1, Path(), {**RATES, **rates})


def test_a_ratio_is_computed_within_each_round_and_added_to_the_nearest_machine() -> None:
    assert CLAIM.rounds == [4.0, 8.0, 4.0] and CLAIM.median == 4.0
    rates = Ratio("encode", "texts", "peer", "texts/s", [30.0, 60.0], [10.0, 10.0])
    assert rates.rounds == [3.0, 6.0] and rates.median == 4.5
    one, other = MachineTable("a", RATES, {"mine": CLAIM}), MachineTable("a", {**RATES, "float32": 70.0, "bfloat16": 140.0})
    claims = Claims({"samples": [one, other]})
    claims.add(
        "samples", MachineTable("a", {**RATES, "float32": 75.0, "bfloat16": 150.0}, {"mine": Ratio("mine", "", "", "s", [1.0], [2.0])})
    )
    assert one.ratios["mine"] is CLAIM and other.ratios["mine"].median == 2.0


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
    keys |= {"graphs": "graph-faiss-0.95", "graphs_million": "graph-million-faiss-0.95", "runtimes": "runtimes-onnx-stsb-float32"}
    keys_of_tasks = {name: keys.get(name, name) for name in performance.TASKS}
    claims = Claims.read(performance.DOCS / "performance.json")
    claimed = {place: {key for table in claims.tables(place) for key in table.ratios} for place in ("public", "samples")}
    assert set(keys_of_tasks.values()) <= claimed["public"]
    needs_sets = {"million-index", "before-encode-bfloat16"} | {keys[name] for name in ("graphs", "graphs_million", "runtimes")}
    assert set(keys_of_tasks.values()) - needs_sets <= claimed["samples"]


def test_a_plan_follows_from_its_arguments() -> None:
    lines = {
        what: much
        for what, much, _ in plan(
            rows=36_000_000,
            rate=1_000,
            machines=5,
            price=0.5,
            disk_price=0.1,
            dim=384,
            text=100,
            lists=400,
            index_rate=10_000,
            pairs_rate=1e9,
        )
    }
    assert lines["encoding"] == "10 machine-hours, 2.0 h on 5"
    assert lines["encoding, cost"] == "5.00"
    assert lines["vectors on disk"] == "56.4 GB"
    assert lines["disk, total"] == "92.4 GB, 9.24 a month"
    assert lines["index, built by one machine"] == "1.0 h"
    assert lines["all pairs, exactly"] == "180 machine-hours, 90.00"


MIB = 2**20
POINTS = {
    "mine": {
        str(rows): {"seconds": 1e-9 * rows**1.5, "memory": (100 + rows / 1000) * MIB, "base": 100 * MIB} for rows in (1000, 10_000, 100_000)
    },
    "search": {"1000": {"seconds": 0.00007, "memory": 41 * MIB, "base": 40 * MIB, "method": "exact"}},
}


def test_the_exponent_is_fitted_apart_for_each_way_from_ten_thousand_rows_on() -> None:
    assert growth_chart.exponent([1000, 10_000, 100_000, 1_000_000], [77.0, 1.0, 10.0, 100.0]) == pytest.approx(1.0)
    assert growth_chart.exponent([1000, 10_000], [1.0, 2.0]) is None
    fits = growth_chart.exponents(POINTS)
    assert fits["mine"][""] == {"seconds": pytest.approx(1.5), "memory": pytest.approx(1.0)}, "memory is fitted less its base"
    assert fits["search"]["exact"] == {"seconds": None, "memory": None}
    costs = {10_000: ("exact", 1.0), 20_000: ("exact", 4.0), 100_000: ("by the index", 2.0), 200_000: ("by the index", 2.0)}
    points = {str(rows): {"seconds": cost, "memory": cost, "base": 0.0, "method": way} for rows, (way, cost) in costs.items()}
    fits = growth_chart.exponents({"search": points})["search"]
    assert [fits[way]["seconds"] for way in ("exact", "by the index")] == [pytest.approx(2.0), pytest.approx(0.0)]


def test_the_table_tells_time_and_memory_beyond_the_base_and_the_chart_is_an_svg() -> None:
    head, line, *rows = ([cell.strip() for cell in row.split("|")[1:-1]] for row in growth_chart.table(POINTS).splitlines())
    assert head[1:4] == ["1,000", "10,000", "100,000"] and set(map(len, (head, line, *rows))) == {5}
    assert rows == [
        ["mine", "0.032 ms, 1 MiB", "1 ms, 10 MiB", "32 ms, 100 MiB", "1.50, 1.00"],
        ["search", "0.07 ms, 1 MiB", "–", "–", "exact –, –"],
    ]
    with_recall = {"mine": {"300000": {"seconds": 6.056, "memory": 2 * MIB, "base": MIB, "recall": 0.98765}}}
    assert "| 6.06 s, 1 MiB, recall 0.988 |" in growth_chart.table(with_recall)
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


def test_contestants_run_by_turns_and_need_repeats_and_a_peer() -> None:
    turns: list[tuple[str, int]] = []
    values = {"float32": [4.0, 6.0, 100.0], "bfloat16": [8.0, 9.0, 1.0], "peer": [2.0, 1.0, 3.0]}

    def contestant(name: str):  # type: ignore[no-untyped-def]
        def once(turn: int) -> float:
            turns.append((name, turn))
            return values[name][turn]

        return once

    shown: list[tuple[int, int]] = []
    found = compare("t", "x/s", {name: contestant(name) for name in values}, 3, progress=lambda done, total: shown.append((done, total)))
    assert turns == [(name, turn) for turn in range(3) for name in values]
    assert shown[-1] == (9, 9)
    assert (found.ours, found.peer, found.ratio) == (6.0, 2.0, 3.0)
    assert found.to_json()["variants"] == {"bfloat16": {"ours": 8.0, "ratio": 4.0}}
    assert compare("t", "seconds", {"ours": lambda _: 2.0, "peer": lambda _: 6.0}, 1, smaller_is_faster=True).ratio == 3.0
    with pytest.raises(StudioError, match="repeats is 0"):
        compare("t", "x/s", {"ours": lambda _: 1.0, "peer": lambda _: 1.0}, 0)
    with pytest.raises(StudioError, match="no-such-library is not installed"):
        import_peer("no_such_library")


@pytest.mark.parametrize(
    ("task", "options", "facts"),
    [
        ("search", ["--limit", "2000"], {"same_best": True, "vectors": 2000}),
        pytest.param("encode", ["--limit", "40", "--precision", "float32,bfloat16"], {"texts": 40}, marks=pytest.mark.slow),
        pytest.param("train", ["--limit", "16", "--only", "float32"], {}, marks=pytest.mark.slow),
    ],
)
def test_a_task_prints_one_object(
    task: str,
    options: list[str],
    facts: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path))
    assert speed.main([task, "--repeats", "1", "--json", *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ratio"] == pytest.approx(answer["ours"] / answer["peer"])
    assert facts.items() <= answer.items()
    if task == "encode":
        assert answer["min_cosine"]["float32"] > 0.9999 and answer["min_cosine"]["bfloat16"] > 0.99


def test_files_without_scores_and_unknown_models_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path))
    texts = tmp_path / "texts.csv"
    texts.write_text("text\n" + "".join(f"some text number {row}\n" for row in range(9)), encoding="utf-8")
    assert speed.main(["train", "--data", str(texts)]) == 2
    assert "pairs with a score" in capsys.readouterr().err
    assert speed.main(["startup", "--model", "no-such-model"]) == 2


def test_requests_per_second_are_compared_at_the_same_latency() -> None:
    levels = [serving.Level(*values, 1.0) for values in ((1, 10.0, 20.0), (2, 18.0, 40.0), (4, 16.0, 100.0))]
    rates = [serving.rate_below(levels, limit) for limit in (10, 20, 30, 40, 70, 200)]
    assert rates == [0, 10, 14, 18, 18, 18]
