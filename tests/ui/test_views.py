from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.ui import views
from sbert_studio.ui.sessions.file_store import TempFiles


def test_a_view_holds_json_and_keeps_its_value_out_of_the_template() -> None:
    drawn = views.view("table", views.table([views.column("Text")], [["${alert(1)} <b>"]]))
    assert "${" not in drawn.html_template
    assert "alert" not in drawn.js_on_load
    assert json.loads(json.dumps(drawn.value))["rows"] == [["${alert(1)} <b>"]]


def test_plain_gives_what_json_can_hold() -> None:
    value = views.to_json({"a": (np.float32(0.5), float("nan")), "b": np.int64(3), "c": [float("inf"), "x"], 4: None})
    assert value == {"a": [0.5, None], "b": 3, "c": [None, "x"], "4": None}
    json.dumps(value, allow_nan=False)


def test_downloads_never_leave_their_folder() -> None:
    downloads = TempFiles()
    path = downloads.path("../../etc/passwd")
    assert path.parent.parent == downloads._folder
    assert path.parent.is_dir()
    assert downloads.path("a.csv") != downloads.path("a.csv")


def test_a_folder_of_downloads_that_was_tidied_away_is_made_anew_and_goes_with_its_owner() -> None:
    downloads = TempFiles()
    first = downloads.path("a.csv").parent.parent
    shutil.rmtree(first)
    second = downloads.path("a.csv").parent.parent
    assert second.is_dir() and second != first
    del downloads
    gc.collect()
    assert not second.exists()


def test_an_old_download_that_another_removes_meanwhile_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    downloads = TempFiles()
    old = downloads.path("a.csv").parent
    listed = Path.iterdir

    def gone(folder: Path) -> Iterator[Path]:
        found = list(listed(folder))
        shutil.rmtree(old)
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", gone)
    assert downloads.path("b.csv").parent.is_dir()
