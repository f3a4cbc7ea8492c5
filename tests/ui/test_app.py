"""What the page spares the browser of who looks at it."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import studio_at

from sbert_studio.ui import gradio_patches, theme
from sbert_studio.ui.app import build, launch
from sbert_studio.ui.panel import cancellable_tasks


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[tuple[Any, str]]:
    """The blocks of a page that is served, and its address."""
    with studio_at(tmp_path_factory.mktemp("light"), model_folder) as studio, pytest.MonkeyPatch.context() as patch:
        # On a busy machine, the page may take longer than the three seconds that Gradio waits for it.
        patch.setattr("gradio.networking.url_ok", lambda _url: False)
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
        yield blocks, url
        blocks.close()


@pytest.fixture(scope="module")
def config(running: tuple[Any, str]) -> dict[str, Any]:
    """What a browser is told of the page."""
    found: dict[str, Any] = running[0].config
    return found


def test_the_page_translates_its_own_words_among_names_of_the_visitor(config: dict[str, Any]) -> None:
    """What stands for nothing chosen in a list of columns, models or datasets is a word of the page's own."""
    script = (Path(theme.__file__).parents[2] / "assets" / "page" / "language" / "page.js").read_text()
    lists = [part["props"] for part in config["components"] if "sb-data" in (part["props"].get("elem_classes") or [])]
    words = {label for part in lists for label, value in part.get("choices") or [] if value == ""}
    assert {"All datasets", "No category"} <= words and all(f'"{word}"' in script for word in words)


def test_an_arrival_is_one_event_for_all_that_only_fills_in(config: dict[str, Any], tmp_path: Path, model_folder: Path) -> None:
    chooser = next(part["id"] for part in config["components"] if part["props"].get("elem_id") == "search-query")
    changes = [work for work in config["dependencies"] if chooser in work["outputs"] and work["targets"][0][1] == "change"]
    linked = next(part["id"] for part in config["components"] if part["props"].get("elem_id") == "search-mode")
    (filled,) = [work for work in changes if linked in work["outputs"]]  # the others follow the selected data
    listening = [work for work in config["dependencies"] if work["targets"] == filled["targets"]]
    assert filled in listening and len(listening) <= 2, "what an address leads to starts where the address names it"


def test_the_head_names_cancellable_events_and_the_library_of_charts(tmp_path: Path, model_folder: Path) -> None:
    with studio_at(tmp_path, model_folder) as studio:
        blocks = build(studio)
    works = cancellable_tasks(blocks)
    buttons = {block.elem_id for block in blocks.blocks.values() if "sb-cancel" in (getattr(block, "elem_classes", None) or [])}
    assert {f"{work}-cancel" for work in works.values()} == buttons
    assert '"works": {"7": "search"}' in theme.head("plotly.min.js", tasks={7: "search"})
    head = theme.head('gradio_api/file=/a "b"/plotly.min.js')
    assert '<meta name="sb-plotly" content="gradio_api/file=/a &quot;b&quot;/plotly.min.js">' in head
    assert "<script src" not in head and "<script defer" not in head


def test_patched_scripts_are_served_and_every_patch_applies(running: tuple[Any, str]) -> None:
    found = dict(gradio_patches.patched_scripts())
    for patch in gradio_patches.PATCHES:
        assert [patch.new in text and patch.old not in text for text in found.values()].count(True) == 1
    for name, text in found.items():
        with urllib.request.urlopen(f"{running[1].rstrip('/')}/assets/{name}") as answer:
            assert answer.read().decode() == text and answer.headers["content-type"].startswith("text/javascript")


def test_the_configuration_spares_the_browser_work(config: dict[str, Any], running: tuple[Any, str]) -> None:
    """Hidden progress has no component, states are sent empty, one event fills a form, and the queue is polled rarely."""
    works = config["dependencies"]
    hidden = [work for work in works if work["show_progress"] == "hidden"]
    assert len(hidden) > 100 and all(work["show_progress_on"] == [] for work in hidden)
    seen = [work for work in works if work["show_progress"] != "hidden"]
    assert seen and all(work["show_progress_on"] is None or work["show_progress_on"] for work in seen)
    states = [part for part in config["components"] if part["type"] == "state"]
    assert len(states) > 20 and all(part["props"]["value"] is None for part in states)
    forms = [part["id"] for part in config["components"] if part["props"].get("elem_id") in ("evaluate-form", "changed-form")]
    assert len(forms) == 2
    for form in forms:
        (only,) = [work for work in config["dependencies"] if form in work["outputs"]]
        assert len(only["targets"]) > 2 and only["trigger_mode"] == "always_last"
    queue = running[0]._queue
    assert queue.sleep_when_free >= 0.01 and queue.progress_update_sleep_when_free >= 0.1
