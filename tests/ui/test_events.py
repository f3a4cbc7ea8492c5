"""Quiet events that start at the same moment become one, which answers as they would have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
import pytest
from tiny_studio import awaited

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio
from sbert_studio.ui.app import build
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import MAX_COMPONENTS, Panel, Selection, join_events, run_alone
from sbert_studio.ui.tabs import load_tabs
from sbert_studio.ui.views import UNCHANGED, Unchanged

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


def test_followed_cancelled_and_conditional_events_stay_apart() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        control.change(lambda: "one", None, boxes[0], **QUIET)
        control.change(lambda: "followed", None, boxes[1], **QUIET).then(lambda: "then", None, boxes[3], **QUIET)
        going_on = control.change(lambda: "cancelled", None, boxes[2], **QUIET)
        control.submit(None, None, None, cancels=[going_on])

    events, _ = joined(build)
    numbers = {event._id for event in events}
    assert all(len(event.outputs) <= 1 and set(event.cancels) <= numbers for event in events)

    def build(control: Any, boxes: list[Any]) -> None:
        first = control.change(lambda: None, None, None, **QUIET)
        for box, follow in zip(boxes, (first.success, first.failure, first.then), strict=False):
            follow(lambda: "after", None, box, **QUIET)

    assert len(joined(build)[0]) == 4


def test_events_that_follow_the_same_event_are_joined() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        first = control.change(lambda: None, None, None, **QUIET)
        for box in boxes:
            first.then(lambda: "after", None, box, **QUIET)

    events, run = joined(build)
    assert [len(event.outputs) for event in events] == [0, 4]
    assert run(1, []) == ["after"] * 4


def test_joined_answers_are_skips_lists_or_of_the_right_number() -> None:
    def build(control: Any, boxes: list[Any]) -> None:
        control.change(gr.skip, None, boxes[:2], **QUIET)
        control.change(lambda: "seen", None, boxes[2], **QUIET)

    _, run = joined(build)
    assert run(0, [])[:3] == [{"__type__": "update"}, {"__type__": "update"}, "seen"]

    def build(control: Any, boxes: list[Any]) -> None:
        chooser = gr.Dropdown(["a", "b"], multiselect=True)
        control.change(lambda: ["a", "b"], None, chooser, **QUIET)
        control.change(lambda: "one", None, boxes[0], **QUIET)

    assert joined(build)[1](0, []) == [["a", "b"], "one"]

    def build(control: Any, boxes: list[Any]) -> None:
        control.change(lambda: ("one", "two", "three"), None, boxes[:2], **QUIET)
        control.change(lambda: "one", None, boxes[2], **QUIET)

    _, run = joined(build)
    with pytest.raises(ValueError, match="2 outputs returned 3"):
        run(0, [])


MAX_EVENTS = 260
SKIPPED = {"__type__": "update"}


@dataclass(frozen=True)
class Inputs:
    first: str
    second: str


@dataclass(frozen=True)
class Nested:
    model: str | Unchanged = UNCHANGED


@dataclass(frozen=True)
class View:
    total: str
    hint: None = None
    header: Nested = field(default_factory=Nested)


def add(page: Page, inputs: Inputs, model: str) -> View | None:
    if not inputs.first:
        return None
    return View(f"{inputs.first}+{inputs.second} {model} {page.shared}", header=Nested("other" if inputs.second == "x" else UNCHANGED))


def choose(selection: Selection, first: str) -> str | Unchanged:
    return UNCHANGED if selection.action == "nothing" else f"{selection.action} {selection.item} {first}"


def fail(first: str) -> View:
    raise StudioError(f"no {first}")


def misspelt(frist: str) -> None: ...


@dataclass(frozen=True)
class Clashing:
    first: View


def clashing(first: str) -> Clashing: ...


def connected(page: Page, handler: Any, **options: Any) -> Any:
    """A function that sends an event with the values of its inputs and returns those of its outputs."""
    with gr.Blocks() as blocks:
        page.model = gr.Dropdown([], allow_custom_value=True)
        first, second, total, hint = (gr.Textbox() for _ in range(4))
        Panel(page, first=first, second=second, total=total, hint=hint).on(first.submit, handler, **options)
    (event,) = blocks.fns.values()

    def send(*values: Any, **data: Any) -> list[Any]:
        sent = gr.EventData(first, data) if data else None
        return list(awaited(blocks.process_api(event, list(values), event_data=sent))["data"])

    return send


def test_values_are_passed_and_filled_in_by_name(page: Page) -> None:
    send = connected(page, add)
    assert send("a", "b", "m") == ["a+b m False", None, SKIPPED]
    assert send("a", "x", "m")[2] == "other", "a field that is no component is a view model of its own"
    assert send("", "b", "m") == [SKIPPED] * 3, "None leaves all components as they are"


def test_a_click_in_a_view_is_a_selection(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gr.EventData, "index", None, raising=False)
    with gr.Blocks() as blocks:
        first, total = gr.Textbox(), gr.Textbox()
        Panel(page, first=first, total=total).on(first.select, choose, output="total")
    (event,) = blocks.fns.values()

    def send(action: str) -> Any:
        data = gr.EventData(first, {"value": action, "index": 3})
        return list(awaited(blocks.process_api(event, ["a"], event_data=data))["data"])

    assert send("row") == ["row 3 a"]
    assert send("nothing") == [SKIPPED]


def test_errors_are_shown_logged_or_raised_at_once(page: Page, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    monkeypatch.setattr(gr, "Warning", lambda message, **_: shown.append(message))
    assert connected(page, fail)("file") == [SKIPPED] * 3
    assert shown == ["No file."]
    monkeypatch.setattr(gr, "Warning", lambda *_, **__: None)
    connected(page, lambda first: first)("a")
    assert "returns a value for no component" in caplog.text
    with pytest.raises(LookupError, match="misspelt: no component is called 'frist'"):
        connected(page, misspelt)
    with pytest.raises(LookupError, match=r"Clashing\.first: a component has the name of this part"):
        connected(page, clashing)


def tab_of(blocks: Any, event: Any) -> str:
    """The tab of the component that triggers an event; "page" for what no tab holds."""
    block = blocks.blocks.get(event.targets[0][0]) if event.targets and event.targets[0][0] is not None else None
    while block is not None:
        if str(getattr(block, "elem_id", None) or "").startswith("tab-"):
            return str(block.elem_id).removeprefix("tab-")
        block = block.parent
    return "page"


def test_answers_keep_the_selected_data_and_quiet_events_are_joined(page: Page) -> None:
    with gr.Blocks() as blocks:
        first, corpus = gr.Textbox(), gr.Textbox()
        panel = Panel(page, first=first, corpus=corpus)
        panel.on(first.submit, lambda first, corpus: first or corpus, output="corpus")
    (event,) = blocks.fns.values()

    def send(*values: Any) -> list[Any]:
        return list(awaited(blocks.process_api(event, list(values)))["data"])

    assert send("", "a") == send("a", "a") == [SKIPPED]
    assert send("b", "a") == send("b", None) == ["b"]
    with gr.Blocks() as blocks:
        first, total, hint = (gr.Textbox() for _ in range(3))
        panel = Panel(page, first=first, total=total, hint=hint)
        for output in ("total", "hint"):
            panel.on(first.change, lambda first: first, output=output, quiet=True)
        join_events(blocks)
    (event,) = blocks.fns.values()
    assert list(awaited(blocks.process_api(event, ["a", "a"]))["data"]) == ["a", "a"]


def test_events_are_few_and_small(studio: Studio) -> None:
    """Each event costs the browser some 50 ms when the page opens."""
    blocks = build(studio)
    events = list(blocks.fns.values())
    by_tab = Counter(tab_of(blocks, event) for event in events)
    assert len(events) <= MAX_EVENTS, f"join events, or raise MAX_EVENTS: {by_tab}"
    assert set(by_tab) == {"page", *(module.TITLE.lower() for module in load_tabs())}
    large = Counter(event.name for event in events if max(len(event.inputs), len(event.outputs)) > MAX_COMPONENTS)
    assert not large
