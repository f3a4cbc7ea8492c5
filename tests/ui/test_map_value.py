from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np

from sbert_studio.explore.map_edits import EditHistory, LabelEdit, RemoveEdit, RenameEdit
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.ui.map_value import EXPORTED_COLUMNS, exported_columns, map_value, write_map

HOSTILE = "</script><script>alert(1)</script> ${alert(2)} <img src=x onerror=alert(3)>"
NAMES = {0: HOSTILE, 1: "b"}


def view(n: int = 6, dims: int = 2) -> MapView:
    points = np.arange(n * dims, dtype=np.float32).reshape(n, dims)
    return MapView(points, np.array([0, 0, 1, 1, -1, 0][:n]), (TopicInfo(0, HOSTILE, 3), TopicInfo(1, "b", 2)), "key")


def decoded(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_the_map_sends_coordinates_and_groups_but_no_text_of_the_corpus() -> None:
    value = map_value(view(dims=3), {"topic": ["secret"] * 6}, key="k")
    assert decoded(value["points"], "<f4").reshape(6, 3).tolist() == view(dims=3).points.tolist()
    assert decoded(value["clusters"], "<i2").tolist() == [0, 0, 1, 1, -1, 0]
    assert value["colours"] == ["Clusters", "topic"] and value["by"] == "Clusters"
    assert "secret" not in json.dumps(value)


def test_colour_and_edits_do_not_move_the_points_and_clusters_stay_named() -> None:
    fields = {"topic": list("aabbcc"), "age": [str(n) for n in range(6)]}
    edits = EditHistory.create(view().ids, NAMES).then(RenameEdit(0, "renamed")).then(LabelEdit((2,), "mine"))
    values = [map_value(view(), fields, color=colour, edits=edits) for colour in ("Clusters", "topic", "age", "no such column")]
    assert len({value["layout_key"] for value in values}) == 1
    assert len({value["points"] for value in values}) == 1
    assert [value["by"] for value in values] == ["Clusters", "topic", "age", "Clusters"]
    assert {value["cluster_names"][0]["label"] for value in values} == {"renamed"}
    (label,) = values[0]["labels"]
    assert (label["label"], label["size"], decoded(label["rows"], "<i4").tolist()) == ("mine", 1, [2])
    assert values[0]["edits"] == ["1 text labelled “mine”"]


def test_removed_texts_are_hidden_and_count_for_nothing() -> None:
    value = map_value(
        view(), {"topic": list("aabbcc")}, color="topic", edits=EditHistory.create(view().ids, NAMES).then(RemoveEdit((0, 1, 5)))
    )
    assert decoded(value["hidden"], "u1").tolist() == [1, 1, 0, 0, 0, 1]
    assert [(name["id"], name["size"]) for name in value["cluster_names"]] == [(1, 2), (-1, 1)]


def test_the_exported_map_holds_all_columns_in_use_and_says_which_are_missing(tmp_path: Path) -> None:
    fields = {f"column {number}": ["a"] * 6 for number in range(12)}
    used = [f"column {number}" for number in (11, 9, 10)]
    assert exported_columns(fields, used) == [*(f"column {number}" for number in range(5)), *sorted(used, key=list(fields).index)]
    assert exported_columns({"a": [], "b": []}) == ["a", "b"]
    everything = exported_columns(fields, list(fields))
    assert everything == list(fields) and len(everything) > EXPORTED_COLUMNS
    page = write_map(view(), ["x"] * 6, fields, tmp_path / "map.html", wanted=used).read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data = json.loads(found.group(1))
    assert list(data["columns"]) == data["map"]["colours"][1:] == exported_columns(fields, used)
    assert "contains 8 of 12 columns" in data["note"] and "column 5, column 6, column 7, column 8" in data["note"]


def test_the_exported_map_holds_every_text_as_data_and_none_as_markup(tmp_path: Path) -> None:
    texts = [HOSTILE, "{{data}} {{css}}", "日本語", "\u2028", "plain", "=cmd|' /C calc'!A1"]
    path = write_map(view(), texts, {"<b>column</b>": texts}, tmp_path / "map.html", title=HOSTILE, lines=[2, 3, 4, 5, 6, 9])
    page = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data = json.loads(found.group(1))
    assert data["texts"] == texts and data["lines"][-1] == 9
    assert data["title"] == HOSTILE
    assert page.count(HOSTILE) == 0
    assert "<img src=x" not in page
    assert "SB.scene" in page and "http://" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert len(page) < 500_000, "nothing but the drawing code and the texts"
