from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import layouts
import pytest
from layouts import Layout

KINDS = {"scored_pairs", "labelled_pairs", "positive_pairs", "triplets", "labelled_texts", "sentences"}
ROWS = [("A cat sleeps", "A kitten naps", 4.0), ("A dog barks", "Rain falls", 0.5), ("He reads", "He eats", 1.5), ("Snow", "Ice", 3.0)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of public sets with four made-up pairs."""
    layouts.load_sample.cache_clear()
    folder = tmp_path / "data" / "stsb"
    folder.mkdir(parents=True)
    with (folder / "train.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sentence1", "sentence2", "score"))
        drawn = random.Random(12).sample(range(len(ROWS)), len(ROWS))  # the order in which the script draws them
        writer.writerows(row for _, row in sorted(zip(drawn, ROWS, strict=True)))
    return tmp_path / "data"


def _layout(columns: dict[str, Any], **table: Any) -> Layout:
    found = {"source": "stsb", "format": "csv", "columns": columns, **table}
    return Layout("x-001", "x", f"x-001.{found['format']}", "scored_pairs", ("first", "second"), "score", None, None, (0.0, 5.0), found)


def test_every_layout_has_a_table_with_its_columns() -> None:
    found = layouts.load_layouts()
    assert len(found) == len({layout.id for layout in found}) == 650
    assert {layout.kind for layout in found} == KINDS
    for layout in found:
        names = [" ".join(name.split()) for name in layout.table["columns"] if layout.table.get("header", True)]
        names += [f"column_{number + 1}" for number in range(len(layout.table["columns"]))]
        nested = layout.table["format"] in ("json", "jsonl", "parquet")  # whose lists become columns of their own
        assert nested or {*layout.columns, layout.target or layout.columns[0]} <= set(names), layout.id
        assert Path(layout.file).stem == layout.id


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("{b} {{1}}", lambda row, at: f"{row[1]} {{1}}"),
        (["yes", 0], lambda row, at: ("yes", 0)[at % 2]),
        ({"values": ["{a}"], "shift": 1}, lambda row, at: ROWS[(at + 1) % 4][0]),
        ({"values": ["{a}"], "rows": [3, 3, 0, 1]}, lambda row, at: ROWS[(3, 3, 0, 1)[at]][0]),
        ({"values": ["{a}"], "replace": {"A ": "Ä "}, "ascii": True, "strip_end": "s", "lower": True},
         lambda row, at: row[0].rstrip("s").lower()),
        ({"values": ["n{n:03d}"], "start": 5, "step": 2}, lambda row, at: f"n{5 + 2 * at:03d}"),
        ({"values": ["{score}"], "type": "float"}, lambda row, at: row[2]),
        ({"values": ["no", "yes"], "order": "0110"}, lambda row, at: ("no", "yes")[int("0110"[at])]),
        ({"by": "score", "values": {"4.0": 1, "0.5": 2, "1.5": 3, "3.0": 4}}, lambda row, at: at + 1),
        ({"score_up_to": [[1.5, "far"], [5, "near"]]}, lambda row, at: "far" if row[2] <= 1.5 else "near"),
        ({"items": ["{a}", "{b}"]}, lambda row, at: [row[0], row[1]]),
        ({"object": {"text": "{a}", "n": [7]}}, lambda row, at: {"text": row[0], "n": 7}),
    ],
)  # fmt: skip
def test_cells_are_filled_from_the_rows(data: Path, cells: Any, expected: Any) -> None:
    assert layouts.build_columns(_layout({"c": cells}).table, data) == {"c": [expected(row, at) for at, row in enumerate(ROWS)]}


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ([2, 0], [2, 0]),
        ({"first": 3}, [0, 1, 2]),
        ({"score_at_least": 3}, [0, 3]),
        ({"score_outside": [0.5, 4]}, [0, 1]),
    ],
)
def test_rows_are_selected(data: Path, condition: Any, rows: list[int]) -> None:
    table = _layout({"c": {"values": ["{a}"], "head": ["above"], "tail": ["below"]}}, rows=condition).table
    assert layouts.build_columns(table, data)["c"] == ["above", *(ROWS[row][0] for row in rows), "below"]


@pytest.mark.parametrize("file_format", ["csv", "tsv", "semicolon", "pipe", "json", "jsonl", "parquet"])
def test_written_files_are_read_as_expected(data: Path, tmp_path: Path, file_format: str) -> None:
    layout = _layout({"first": "{a}", "second": "{b}", "score": {"values": ["{score}"], "type": "float"}}, format=file_format)
    layout = replace(layout, file=f"x.{file_format if file_format in ('json', 'jsonl', 'parquet', 'tsv') else 'csv'}")
    path = layouts.write_table(layout, data, tmp_path)
    assert layouts.check(layout, path, None)[0] in ("right", "asked")
    for other in ({"target": None}, {"scale": (0.0, 1.0)}, {"columns": ("first", "score")}, {"kind": "triplets"}):
        assert layouts.check(replace(layout, **other), path, None)[0] in ("misread", "silent"), other


def test_the_script_writes_the_files_and_prints_the_verdicts(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert layouts.main([str(data), "--only", "seventh-058", "--write", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "seventh-058.csv").read_text(encoding="utf-8").splitlines() == [row[0] for row in ROWS]
    capsys.readouterr()
    assert layouts.main([str(data), "--only", "seventh-058", "--no-model", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["layouts"] == 1 and answer["results"][0]["verdict"] in ("right", "asked")
    assert layouts.main([str(data), "--only", "no-such-layout"]) == 2
