"""Quiet events that start at the same moment become one, which answers as they would have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr
import pytest
from tiny_studio import awaited

from sbert_studio.ui.panel import join_events, run_alone

PROGRESS = gr.Progress()
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


def joined(build: Callable[[Any, list[Any]], None]) -> tuple[list[Any], Callable[[int, list[Any]], list[Any]]]:
    """The events of a small page after joining, and a function that runs one of them with the values of its inputs."""
    with gr.Blocks() as blocks:
        build(gr.Textbox(), [gr.Textbox() for _ in range(4)])
        join_events(blocks)
    events = list(blocks.fns.values())
    return events, lambda number, values: list(awaited(blocks.process_api(events[number], values))["data"])


def test_handlers_of_one_control_answer_as_one(toasts: list[str]) -> None:

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
    assert toasts == ["no such file"], "one that fails says so, and the others' answers count"


def test_one_skip_leaves_all_outputs_of_its_handler() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        control.change(gr.skip, None, boxes[:2], **QUIET)
        control.change(lambda: "seen", None, boxes[2], **QUIET)

    _, run = joined(build)
    assert run(0, [])[:3] == [{"__type__": "update"}, {"__type__": "update"}, "seen"]


def chosen(event: gr.SelectData) -> str:
    return str(event.value)


def with_progress(progress: gr.Progress = PROGRESS) -> str:
    return "done"


def with_request(request: gr.Request) -> str:
    return str(request)


async def asynchronous() -> str:
    return "later"


def by_and_by() -> Iterator[str]:
    yield "a part"


OTHERS: dict[str, Callable[[Any, list[Any]], object]] = {
    "the same output": lambda control, boxes: control.change(lambda: "two", None, boxes[0], **QUIET),
    "slow": lambda control, boxes: control.change(run_alone(lambda: "slow"), None, boxes[1], **QUIET),
    "progress that is seen": lambda control, boxes: control.change(lambda: "", None, boxes[1], api_visibility="private"),
    "a progress bar": lambda control, boxes: control.change(with_progress, None, boxes[1], **QUIET),
    "its turn": lambda control, boxes: control.change(lambda: "", None, boxes[1], concurrency_id="turn", concurrency_limit=1, **QUIET),
    "another trigger": lambda control, boxes: control.submit(lambda: "", None, boxes[1], **QUIET),
    "another trigger mode": lambda control, boxes: control.change(lambda: "", None, boxes[1], trigger_mode="once", **QUIET),
    "event data": lambda control, boxes: control.change(chosen, None, boxes[1], **QUIET),
    "the request": lambda control, boxes: control.change(with_request, None, boxes[1], **QUIET),
    "asynchronous": lambda control, boxes: control.change(asynchronous, None, boxes[1], **QUIET),
    "a generator": lambda control, boxes: control.change(by_and_by, None, boxes[1], **QUIET),
    "no queue": lambda control, boxes: control.change(lambda: "", None, boxes[1], queue=False, **QUIET),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_differs_stays_apart(other: str) -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        control.change(lambda: "one", None, boxes[0], **QUIET)
        OTHERS[other](control, boxes)

    assert len(joined(build)[0]) == 2


def test_what_is_followed_or_cancelled_stays_apart() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        control.change(lambda: "one", None, boxes[0], **QUIET)
        control.change(lambda: "followed", None, boxes[1], **QUIET).then(lambda: "then", None, boxes[3], **QUIET)
        going_on = control.change(lambda: "cancelled", None, boxes[2], **QUIET)
        control.submit(None, None, None, cancels=[going_on])

    events, _ = joined(build)
    numbers = {event._id for event in events}
    assert all(len(event.outputs) <= 1 and set(event.cancels) <= numbers for event in events)


def test_after_success_and_after_failure_stay_apart() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        first = control.change(lambda: None, None, None, **QUIET)
        for box, follow in zip(boxes, (first.success, first.failure, first.then), strict=False):
            follow(lambda: "after", None, box, **QUIET)

    assert len(joined(build)[0]) == 4


def test_a_list_for_one_output_is_its_value() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        chooser = gr.Dropdown(["a", "b"], multiselect=True)
        control.change(lambda: ["a", "b"], None, chooser, **QUIET)
        control.change(lambda: "one", None, boxes[0], **QUIET)

    assert joined(build)[1](0, []) == [["a", "b"], "one"]


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
