"""Pinned pairs and a query, from the form to what is drawn, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_studio import quick, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.training.pins import Pins
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.tuning.follow import Follow
from sbert_studio.ui.panels.tuning.pinning import PinsForm, _one_more, kept, pins_view, typed
from sbert_studio.ui.panels.tuning.run_panel import look
from sbert_studio.ui.tabs import tune

PINNED = ["cat dog", "dog cat", "", "", "red blue", "moon sky", "", "", "", "", "cat moon"]


def test_what_is_typed_becomes_pins_and_half_a_pair_is_refused() -> None:
    pins = typed(PINNED)
    assert pins is not None and pins.pairs == (("cat dog", "dog cat"), ("red blue", "moon sky")) and pins.query == "cat moon"
    assert typed([""] * 11) is None and typed([None] * 11) is None and typed(()) is None
    with pytest.raises(StudioError, match="pinned pair 1"):
        typed(["cat", *[""] * 10])


def test_what_was_pinned_comes_back_after_a_reload_and_nothing_else_that_a_browser_sends() -> None:
    import gradio as gr

    with gr.Blocks():
        form = PinsForm()
    found = form.filled(kept(PINNED))
    assert len(found) == len(form.outputs)
    _, shown, _, *rest = found
    assert shown == 3 and [row["visible"] for row in rest[:5]] == [True, True, True, False, False] and rest[5:] == PINNED
    for nonsense in (None, "x", [], ["cat"], [3] * 11, {"a": 1}):
        assert kept(nonsense) == [""] * 11
    assert "value" not in str(form.filled(kept(None))), "nothing that is being typed is emptied"


def test_a_click_shows_one_pair_more_until_all_are_seen() -> None:
    shown, more, *rows = _one_more(5, 4)
    assert shown == 5 and not more["visible"] and [row["visible"] for row in rows] == [True] * 5
    assert _one_more(5, 5)[0] == 5


def test_pins_go_with_the_run_from_the_form_and_are_seen_by_whoever_looks_later(page: Page, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    run = page.studio.tune.submit(TrainRequest(path, overrides=quick(judge="split"), pins=typed(PINNED)))
    assert page.studio.runner.wait(run.id, 120)
    follow, _, _, _ = look(page, Follow(run.id))
    kept = page.studio.tune.pins(run.id)
    assert kept is not None and kept.of >= len(kept.among) > 5, "texts of the file to lay the query beside"
    value = pins_view(kept, follow)
    assert value is not None and value["which"] == "Before, and by the model that is kept."
    assert [pair["texts"] for pair in value["pairs"]] == [["cat dog", "dog cat"], ["red blue", "moon sky"]]
    first = value["pairs"][0]
    assert first["line"][0] == [0, first["before"]] and len(first["line"]) > 1
    scores = page.studio.explore.similarity("cat dog", "dog cat", run.id)
    assert first["now"] == pytest.approx(scores.cosine, abs=2e-3), "what the model says that one downloads"
    assert [item["rank"] for item in value["nearest"]] == [1, 2, 3, 4, 5] and all(item["before"] for item in value["nearest"])
    assert page.studio.tune.pins(page.studio.tune.submit(TrainRequest(path, overrides=quick(judge="split"))).id) is None


def test_start_refuses_half_a_pair(page: Page) -> None:
    with pytest.raises(StudioError, match="pinned pair 1"):
        tune.start(page, None, [], None, None, "", ["cat", *[""] * 10])


def seen(step: int, *scores: float, **more: Any) -> dict[str, Any]:
    return {"type": "pinned", "step": step, "similarities": list(scores), "order": [1, 0], "nearest": [0.9, 0.1], **more}


def test_before_is_the_untuned_model_and_the_line_is_that_of_the_training_that_goes_on() -> None:
    pins = Pins((("a", "b"),), "q", ("one", "two"), 2)
    part = {"type": "part", "number": 2, "of": 3, "title": "fold 2 of 2"}
    events = [seen(0, 0.1, order=[0, 1]), seen(5, 0.4), part, seen(0, 0.1), seen(5, 0.6), seen(9, 0.7)]
    follow = Follow("run", status="running").absorb(enumerate(events, start=1))
    value = pins_view(pins, follow)
    assert value is not None and value["which"] == "After step 9 of part 2 of 3: fold 2 of 2."
    assert value["pairs"] == [{"texts": ["a", "b"], "before": 0.1, "now": 0.7, "line": [[0, 0.1], [5, 0.6], [9, 0.7]]}]
    assert [(item["text"], item["before"]) for item in value["nearest"]] == [("two", 2), ("one", 1)]
    again = follow.absorb([(7, seen(5, 0.65))])
    assert [step for step, _ in again.lines] == [0, 5], "a resumed run goes over the same steps"


def test_what_a_damaged_run_tells_is_not_drawn() -> None:
    pins = Pins((("a", "b"),), "q", ("one",), 1)
    assert pins_view(pins, Follow("run")) is None and pins_view(None, Follow("run")) is None
    assert pins_view(pins, Follow("run").absorb([(1, seen(0, 0.1, 0.2))])) is None
    value = pins_view(pins, Follow("run").absorb([(1, seen(0, 0.1, order=[7, 0]))]))
    assert value is not None and [item["text"] for item in value["nearest"]] == ["one"]
