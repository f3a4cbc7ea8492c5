from __future__ import annotations

import base64
import json
import math
import random
import re
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sbert_studio.explore.map_edits import EditHistory, LabelEdit, RemoveEdit, RenameEdit
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.ui import map_value as module
from sbert_studio.ui.map_value import (
    BLANK,
    EXPORTED_COLUMNS,
    OTHER,
    column_value,
    exported_columns,
    map_value,
    opened_filters,
    write_map,
)
from sbert_studio.ui.views import Value

HOSTILE = "</script><script>alert(1)</script> ${alert(2)} <img src=x onerror=alert(3)>"
NAMES = {0: HOSTILE, 1: "b"}


def view(n: int = 6, dims: int = 2) -> MapView:
    points = np.arange(n * dims, dtype=np.float32).reshape(n, dims)
    return MapView(points, np.array([0, 0, 1, 1, -1, 0][:n]), (TopicInfo(0, HOSTILE, 3), TopicInfo(1, "b", 2)), "key")


def decoded(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_colour_and_edits_do_not_move_the_points_and_clusters_stay_named() -> None:
    fields = {"topic": list("aabbcc"), "age": [str(n) for n in range(6)]}
    edits = EditHistory.create(view().ids, NAMES).then(RenameEdit(0, "renamed")).then(LabelEdit((2,), "mine"))
    values = [map_value(view(), fields, color=colour, edits=edits) for colour in ("Topics found", "topic", "age", "no such column")]
    assert len({value["layout_key"] for value in values}) == 1
    assert len({value["points"] for value in values}) == 1
    assert [value["by"] for value in values] == ["Topics found", "topic", "age", "Topics found"]
    assert {value["cluster_names"][0]["label"] for value in values} == {"renamed"}
    (label,) = values[0]["labels"]
    assert (label["label"], label["size"], decoded(label["rows"], "<i4").tolist()) == ("mine", 1, [2])
    assert values[0]["edits"] == ["1 text labelled “mine”"]


def test_ids_and_texts_are_no_filters_that_are_open_at_first() -> None:
    rows = range(60)
    fields = {
        "order": [f"A-{row:05}" for row in rows],
        "row": [str(row) for row in rows],
        "message": [f"the {row}th message is longer than a name of {row} words" for row in rows],
        "team": ["red", "blue", "green"] * 20,
        "price": [str(row * 7919 % 1000 / 10) for row in rows],
        "city": ["Rome", "Oslo"] * 30,
    }
    assert opened_filters(fields) == ["Topics found", "team", "price"]
    assert opened_filters({"row": fields["row"]}) == ["Topics found"]


def test_a_map_sends_coordinates_and_hides_removed_texts() -> None:
    value = map_value(view(dims=3), {"topic": ["secret"] * 6}, key="k")
    assert decoded(value["points"], "<f4").reshape(6, 3).tolist() == view(dims=3).points.tolist()
    assert decoded(value["clusters"], "<i2").tolist() == [0, 0, 1, 1, -1, 0]
    assert value["colours"] == ["Topics found", "topic"] and value["by"] == "Topics found"
    assert "secret" not in json.dumps(value)
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


DRAW = random.Random(0)
ROWS = 200


def items(value: Value) -> list[list[str]]:
    starts, codes = decoded(value["starts"], "<i4"), decoded(value["items"], "<i4").tolist()
    return [[value["labels"][code] for code in codes[starts[row] : starts[row + 1]]] for row in range(value["n"])]


def test_numbers_keep_all_digits_and_dates_are_days_since_1970() -> None:
    cells = ["" if row % 7 == 0 else repr(DRAW.gauss(0, 1e9)) for row in range(ROWS)]
    value = column_value("amount", cells)
    assert value["kind"] == "number" and value["unreadable"] == 0
    np.testing.assert_array_equal(decoded(value["numbers"], "<f8"), [float(cell) if cell else math.nan for cell in cells])
    days = [date(1960, 1, 1) + timedelta(days=DRAW.randrange(40_000)) for _row in range(ROWS)]
    value = column_value("sent", [*(day.isoformat() for day in days), ""])
    assert value["kind"] == "date"
    found = decoded(value["numbers"], "<f8")
    assert [date(1970, 1, 1) + timedelta(days=int(number)) for number in found[:-1]] == days and math.isnan(found[-1])


def test_categories_are_largest_first_and_those_without_room_are_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [*(["b"] * 50), *(["a"] * 70), *([" "] * 3)]
    value = column_value("team", cells)
    assert (value["kind"], value["labels"], value["distinct"]) == ("category", ["a", "b"], 2)
    assert decoded(value["codes"], "<i4").tolist() == [1] * 50 + [0] * 70 + [BLANK] * 3
    places = [f"place {row:04d}" for row in range(2_000)]
    assert set(column_value("place", places * 2)["labels"]) == set(places), "each can be found by its name"
    monkeypatch.setattr(module, "MAX_LABEL_CHARACTERS", 10 * 1_995)
    many = column_value("place", places * 2)
    codes = decoded(many["codes"], "<i4")
    assert (len(many["labels"]), many["distinct"], int((codes == OTHER).sum())) == (1_995, 2_000, 10)


@pytest.mark.parametrize("pair", [("yes", "no"), ("True", "False"), ("1", "0"), ("是", "否")])
def test_booleans_are_told_from_other_pairs(pair: tuple[str, str]) -> None:
    cells = [pair[row % 3 == 0] for row in range(ROWS)]
    assert column_value("urgent", cells)["kind"] == "boolean"
    assert column_value("team", [("north", "south")[row % 3 == 0] for row in range(ROWS)])["kind"] == "category"


def test_lists_have_an_entry_for_each_item() -> None:
    rows = [DRAW.sample(["late", "lost", "damaged"], DRAW.randint(0, 3)) for _row in range(ROWS)]
    value = column_value("tags", ["; ".join(row) for row in rows])
    assert value["kind"] == "list" and items(value) == rows
    counts = pd.Series([item for row in rows for item in row]).value_counts()
    assert [counts[label] for label in value["labels"]] == sorted(counts, reverse=True)


def test_a_type_that_the_user_chose_is_used_unless_no_cell_has_it() -> None:
    stars = [str(1 + row % 5) for row in range(ROWS)]
    assert column_value("stars", stars)["kind"] == "number"
    assert column_value("stars", stars, "category")["labels"] == ["1", "2", "3", "4", "5"]
    assert column_value("team", ["north", "south"] * 9, "number")["kind"] == "category", "there is nothing to draw a scale of"
    assert column_value("price", ["1", "2", "unknown"], "number")["unreadable"] == 1
