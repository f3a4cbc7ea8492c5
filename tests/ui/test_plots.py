from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np

from sbert_studio.studio.results import ClusterInfo, MapView
from sbert_studio.ui.plots import colouring_by_column, map_html, map_value

HOSTILE = "</script><script>alert(1)</script> ${alert(2)} <img src=x onerror=alert(3)>"


def view(n: int = 6, dims: int = 2) -> MapView:
    points = np.arange(n * dims, dtype=np.float32).reshape(n, dims)
    return MapView(
        points, np.array([0, 0, 1, 1, -1, 0][:n]), (ClusterInfo(0, HOSTILE, 3), ClusterInfo(1, "b", 2), ClusterInfo(-1, "none", 1)), "key"
    )


def decoded(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_the_map_sends_coordinates_and_groups_but_no_text_of_the_corpus() -> None:
    value = map_value(view(dims=3), {"topic": ["secret"] * 6}, key="k")
    assert decoded(value["points"], "<f4").reshape(6, 3).tolist() == view(dims=3).points.tolist()
    assert decoded(value["groups"], "<i4").tolist() == [0, 0, 1, 1, -1, 0]
    assert "secret" not in json.dumps(value)


def test_colour_and_clusters_do_not_move_the_points() -> None:
    fields = {"topic": list("aabbcc"), "age": [str(n) for n in range(6)]}
    values = [map_value(view(), fields, colour=colour) for colour in ("Clusters", "topic", "age")]
    assert len({value["layout_key"] for value in values}) == 1
    assert len({value["points"] for value in values}) == 1


def test_a_column_of_few_values_becomes_groups_by_frequency() -> None:
    value = colouring_by_column("topic", ["b", "a", "b", "", "b", "a"])
    assert [(name["label"], name["size"]) for name in value["names"]] == [("b", 3), ("a", 2), ("(blank)", 1)]
    assert decoded(value["groups"], "<i4").tolist() == [0, 1, 0, 2, 0, 1]


def test_rare_values_are_taken_together() -> None:
    cells = [f"v{n}" for n in range(40)]
    value = colouring_by_column("x", cells)
    assert value["names"][-1] == {"id": -1, "label": "everything else", "size": 21}
    assert sum(name["size"] for name in value["names"]) == 40


def test_a_column_of_numbers_becomes_shades() -> None:
    cells = [str(n / 4) for n in range(30)]
    assert decoded(colouring_by_column("x", cells)["shades"], "<f4").tolist() == [n / 4 for n in range(30)]
    assert colouring_by_column("x", ["1", "2", "3"] * 10)["shades"] is None
    assert colouring_by_column("x", [*cells, "nan"])["shades"] is None


def test_the_exported_map_holds_every_text_as_data_and_none_as_markup(tmp_path: Path) -> None:
    texts = [HOSTILE, "{{data}} {{plotly}}", "日本語", "\u2028", "plain", "=cmd|' /C calc'!A1"]
    path = map_html(view(), texts, {"<b>column</b>": texts}, tmp_path / "map.html", title=HOSTILE)
    page = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data = json.loads(found.group(1))
    assert data["texts"] == texts
    assert data["title"] == HOSTILE
    assert page.count(HOSTILE) == 0
    assert "<img src=x" not in page
    assert "Plotly" in page and "http://" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
