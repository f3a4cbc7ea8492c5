"""Quiet events that start at the same moment become one, which answers as they would have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
import pytest
from tiny_studio import awaited

from sbert_studio.ui.pieces.wiring import alone, join_events

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


def joined(build: Callable[[Any, list[Any]], None]) -> tuple[list[Any], Callable[[int, list[Any]], list[Any]]]:
    """The events of a small page after joining, and a function that runs one of them with the values of its inputs."""
    with gr.Blocks() as blocks:
        build(gr.Textbox(), [gr.Textbox() for _ in range(4)])
        join_events(blocks)
    events = list(blocks.fns.values())
    return events, lambda number, values: list(awaited(blocks.process_api(events[number], values))["data"])


def test_handlers_of_one_control_answer_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    monkeypatch.setattr(gr, "Warning", lambda words, **_: warned.append(words))

    def refuse() -> None:
        raise gr.Error("no such file")

    def build(control: Any, boxes: list[Any]) -> None:
        control.change(lambda text: text.upper(), control, boxes[0], **QUIET)
        control.change(refuse, None, boxes[1], **QUIET)
        control.change(lambda text, other: (text + other, gr.skip()), [control, boxes[0]], boxes[2:], **QUIET)

    events, run = joined(build)
    assert len(events) == 1
    upper, refused, both, skipped = run(0, ["a", "a", "b"])
    assert (upper, both) == ("A", "ab")
    assert refused == skipped == {"__type__": "update"}
    assert warned == ["no such file"], "one that fails says so, and the others' answers count"


def test_one_skip_leaves_all_outputs_of_its_handler() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        control.change(gr.skip, None, boxes[:2], **QUIET)
        control.change(lambda: "seen", None, boxes[2], **QUIET)

    _, run = joined(build)
    assert run(0, [])[:3] == [{"__type__": "update"}, {"__type__": "update"}, "seen"]


def test_what_differs_stays_apart() -> None:
    def chosen(event: gr.SelectData) -> str:
        return str(event.value)

    def build(control: Any, boxes: list[Any]) -> None:
        control.change(lambda: "one", None, boxes[0], **QUIET)
        control.change(lambda: "the same output", None, boxes[0], **QUIET)
        control.change(alone(lambda: "slow"), None, boxes[1], **QUIET)
        control.change(lambda: "with progress", None, boxes[1], api_visibility="private")
        control.change(lambda: "in turn", None, boxes[2], concurrency_id="turn", concurrency_limit=1, **QUIET)
        control.submit(lambda: "another moment", None, boxes[1], **QUIET)
        control.select(chosen, None, boxes[1], **QUIET)
        control.change(lambda: "followed", None, boxes[3], **QUIET).then(lambda: "then", None, boxes[3], **QUIET)

    events, _ = joined(build)
    assert len(events) == 9


def test_events_that_follow_the_same_event_are_joined() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        first = control.change(lambda: None, None, None, **QUIET)
        for box in boxes:
            first.then(lambda: "after", None, box, **QUIET)

    events, run = joined(build)
    assert [len(event.outputs) for event in events] == [0, 4]
    assert run(1, []) == ["after"] * 4


def test_a_wrong_number_of_answers_is_told() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        control.change(lambda: ("one", "two", "three"), None, boxes[:2], **QUIET)
        control.change(lambda: "one", None, boxes[2], **QUIET)

    _, run = joined(build)
    with pytest.raises(ValueError, match="2 outputs returned 3"):
        run(0, [])
