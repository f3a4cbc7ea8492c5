from __future__ import annotations

import json

import numpy as np

from sbert_studio.ui import views
from sbert_studio.ui.visitors.session import Downloads


def test_a_view_holds_json_and_keeps_its_value_out_of_the_template() -> None:
    drawn = views.view("table", views.table([views.column("Text")], [["${alert(1)} <b>"]]))
    assert "${" not in drawn.html_template
    assert "alert" not in drawn.js_on_load
    assert json.loads(json.dumps(drawn.value))["rows"] == [["${alert(1)} <b>"]]


def test_plain_gives_what_json_can_hold() -> None:
    value = views.plain({"a": (np.float32(0.5), float("nan")), "b": np.int64(3), "c": [float("inf"), "x"], 4: None})
    assert value == {"a": [0.5, None], "b": 3, "c": [None, "x"], "4": None}
    json.dumps(value, allow_nan=False)


def test_downloads_never_leave_their_folder() -> None:
    downloads = Downloads()
    path = downloads.path("../../etc/passwd")
    assert path.parent.parent == downloads._folder
    assert path.parent.is_dir()
    assert downloads.path("a.csv") != downloads.path("a.csv")
