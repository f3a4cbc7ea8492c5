from __future__ import annotations

import json

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.ui import views
from sbert_studio.ui.session import Downloads, Shelf


def test_a_view_holds_json_and_keeps_its_value_out_of_the_template() -> None:
    drawn = views.view("table", views.table([views.column("Text")], [["${alert(1)} <b>"]]))
    assert "${" not in drawn.html_template
    assert "alert" not in drawn.js_on_load
    assert json.loads(json.dumps(drawn.value))["rows"] == [["${alert(1)} <b>"]]


def test_plain_gives_what_json_can_hold() -> None:
    value = views.plain({"a": (np.float32(0.5), float("nan")), "b": np.int64(3), "c": [float("inf"), "x"], 4: None})
    assert value == {"a": [0.5, None], "b": 3, "c": [None, "x"], "4": None}
    json.dumps(value, allow_nan=False)


def test_a_shelf_forgets_what_was_not_used_for_longest() -> None:
    shelf: Shelf[str] = Shelf("corpus", room=2)
    first, second = shelf.put("first"), shelf.put("second")
    assert shelf.get(first) == "first"
    third = shelf.put("third")
    assert shelf.get(first) == "first"
    assert shelf.get(third) == "third"
    with pytest.raises(StudioError, match="no longer in memory"):
        shelf.get(second)


def test_a_shelf_puts_a_new_value_in_the_place_of_an_old_one() -> None:
    shelf: Shelf[str] = Shelf("map", room=2)
    key = shelf.put("old")
    assert shelf.put("new", key) == key
    assert shelf.get(key) == "new"


@pytest.mark.parametrize("key", [None, "", "guess", 3, ["x"], {"key": 1}])
def test_a_key_from_a_browser_that_is_none_is_refused(key: object) -> None:
    with pytest.raises(StudioError):
        Shelf[str]("map", 2).get(key)  # type: ignore[arg-type]


def test_downloads_never_leave_their_folder() -> None:
    downloads = Downloads()
    path = downloads.path("../../etc/passwd")
    assert path.parent.parent == downloads._folder
    assert path.parent.is_dir()
    assert downloads.path("a.csv") != downloads.path("a.csv")
