"""What the page spares the browser of who looks at it."""

from __future__ import annotations

from sbert_studio.studio import Studio
from sbert_studio.ui import finding, theme
from sbert_studio.ui.app import build


def test_works_whose_progress_is_hidden_are_told_to_no_component(studio: Studio) -> None:
    works = build(studio).config["dependencies"]
    hidden = [work for work in works if work["show_progress"] == "hidden"]
    assert len(hidden) > 100 and all(work["show_progress_on"] == [] for work in hidden)
    seen = [work for work in works if work["show_progress"] != "hidden"]
    assert seen and all(work["show_progress_on"] is None or work["show_progress_on"] for work in seen)


def test_the_library_of_charts_is_named_and_not_yet_read() -> None:
    head = theme.head('gradio_api/file=/a "b"/plotly.min.js')
    assert '<meta name="sb-plotly" content="gradio_api/file=/a &quot;b&quot;/plotly.min.js">' in head
    assert "<script src" not in head and "<script defer" not in head


def test_components_are_found_by_an_index_in_the_gradio_that_is_installed() -> None:
    ((name, script),) = finding.scripts().items()
    assert name.startswith("core-") and script.count("_found=new WeakMap;") == 1


def test_a_gradio_that_finds_otherwise_is_served_as_it_is() -> None:
    walk = "function $f(e,t){if(e.id===t)return e;if(e.children)for(let n of e.children){let e=$f(n,t);if(e)return e}return null}"
    assert finding.indexed("let a=1;") is None and finding.indexed(walk + walk) is None
    changed = finding.indexed(f"let a=1;{walk}let b=2;")
    assert changed and changed.startswith("let a=1;") and changed.endswith("let b=2;") and "function $f_walk(e,t)" in changed
