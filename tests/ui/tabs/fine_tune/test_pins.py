"""Pinned pairs and a query, from the form to what is drawn, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_studio import quick, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.training.events import TrackedExamples
from sbert_studio.ui.page import Page
from sbert_studio.ui.run_view import FollowedRun, read_run
from sbert_studio.ui.tabs.fine_tune.handlers import parse_pins, pin_texts, restore_pins, show_another_pair
from sbert_studio.ui.tabs.fine_tune.run_panel import pinned_view
from sbert_studio.ui.tabs.fine_tune.view_model import PinsView, count_visible_pairs, pins_form

PINNED = ["cat dog", "dog cat", "", "", "red blue", "moon sky", "", "", "", "", "cat moon"]


def test_pins_are_parsed_restored_and_extended() -> None:
    pins = parse_pins(PINNED)
    assert pins is not None and pins.pairs == (("cat dog", "dog cat"), ("red blue", "moon sky")) and pins.query == "cat moon"
    assert parse_pins([""] * 11) is None and parse_pins(pin_texts(None)) is None
    with pytest.raises(StudioError, match="tracked pair 1"):
        parse_pins(["cat", *[""] * 10])
    found = restore_pins(PINNED)
    assert isinstance(found.pins, dict) and pin_texts(found.pins) == PINNED and count_visible_pairs(found.pins) == 3
    assert [item["visible"] for item in found.pins["items"][:5]] == [True, True, True, False, False]
    for nonsense in (None, "x", [], ["cat"], [3] * 11, {"a": 1}):
        assert restore_pins(nonsense) == PinsView(), "nothing that is being typed is emptied"
    found = show_another_pair(pins_form(PINNED, 4))
    assert isinstance(found.pins, dict) and isinstance(found.more_pairs, dict)
    assert count_visible_pairs(found.pins) == 5 and not found.more_pairs["visible"] and pin_texts(found.pins) == PINNED
    assert count_visible_pairs(show_another_pair(found.pins).pins) == 5
    assert [count_visible_pairs(sent) for sent in (None, {}, {"items": 3}, {"items": ["x"]})] == [1, 1, 1, 1]


def test_pins_go_with_the_run_from_the_form_and_are_seen_by_whoever_looks_later(page: Page, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    run = page.studio.fine_tune.submit(TrainRequest(path, overrides=quick(evaluation="split"), pins=parse_pins(PINNED)))
    assert page.studio.runner.wait(run.id, 120)
    follow = read_run(page, FollowedRun(run.id)).followed
    kept = page.studio.fine_tune.get_pins(run.id)
    assert kept is not None and kept.of >= len(kept.among) > 5, "texts of the file to lay the query beside"
    value = pinned_view(kept, follow)
    assert value is not None and value["which"] == "Before training, and with the saved model."
    assert [pair["texts"] for pair in value["pairs"]] == [["cat dog", "dog cat"], ["red blue", "moon sky"]]
    first = value["pairs"][0]
    assert first["line"][0] == [0, first["before"]] and len(first["line"]) > 1
    scores = page.studio.similarity.compare("cat dog", "dog cat", run.id)
    assert first["now"] == pytest.approx(scores.cosine, abs=2e-3), "what the model says that one downloads"
    assert [item["rank"] for item in value["nearest"]] == [1, 2, 3, 4, 5] and all(item["before"] for item in value["nearest"])
    assert page.studio.fine_tune.get_pins(page.studio.fine_tune.submit(TrainRequest(path, overrides=quick(evaluation="split"))).id) is None


def seen(step: int, *scores: float, **more: Any) -> dict[str, Any]:
    return {"type": "pinned", "step": step, "similarities": list(scores), "order": [1, 0], "nearest": [0.9, 0.1], **more}


def test_pins_follow_the_training_and_damaged_events_are_not_drawn() -> None:
    pins = TrackedExamples((("a", "b"),), "q", ("one", "two"), 2)
    part = {"type": "part", "number": 2, "of": 3, "title": "fold 2 of 2"}
    events = [seen(0, 0.1, order=[0, 1]), seen(5, 0.4), part, seen(0, 0.1), seen(5, 0.6), seen(9, 0.7)]
    follow = FollowedRun("run", status="running").absorb(enumerate(events, start=1))
    value = pinned_view(pins, follow)
    assert value is not None and value["which"] == "After step 9 of part 2 of 3: fold 2 of 2."
    assert value["pairs"] == [{"texts": ["a", "b"], "before": 0.1, "now": 0.7, "line": [[0, 0.1], [5, 0.6], [9, 0.7]]}]
    assert [(item["text"], item["before"]) for item in value["nearest"]] == [("two", 2), ("one", 1)]
    again = follow.absorb([(7, seen(5, 0.65))])
    assert [step for step, _ in again.lines] == [0, 5], "a resumed run goes over the same steps"
    pins = TrackedExamples((("a", "b"),), "q", ("one",), 1)
    assert pinned_view(pins, FollowedRun("run")) is None and pinned_view(None, FollowedRun("run")) is None
    assert pinned_view(pins, FollowedRun("run").absorb([(1, seen(0, 0.1, 0.2))])) is None
    value = pinned_view(pins, FollowedRun("run").absorb([(1, seen(0, 0.1, order=[7, 0]))]))
    assert value is not None and [item["text"] for item in value["nearest"]] == ["one"]
