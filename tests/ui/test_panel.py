"""Panels call handlers with the components that their parameters name, and fill those that their view models name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
import pytest
from tiny_studio import awaited

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio
from sbert_studio.ui.app import build
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import MAX_COMPONENTS, Panel, Selection, join_events
from sbert_studio.ui.views import UNCHANGED, Unchanged

MAX_EVENTS = 215
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


def test_an_error_is_shown_and_leaves_the_outputs(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(gr, "Warning", lambda message, **_: shown.append(message))
    assert connected(page, fail)("file") == [SKIPPED] * 3
    assert shown == ["No file."]


def test_a_result_that_no_component_takes_is_logged(page: Page, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(gr, "Warning", lambda *_, **__: None)
    connected(page, lambda first: first)("a")
    assert "returns a value for no component" in caplog.text


def test_a_name_without_a_component_is_an_error_at_once(page: Page) -> None:
    with pytest.raises(LookupError, match="misspelt: no component is called 'frist'"):
        connected(page, misspelt)


def tab_of(blocks: Any, event: Any) -> str:
    """The tab of the component that triggers an event; "page" for what no tab holds."""
    block = blocks.blocks.get(event.targets[0][0]) if event.targets and event.targets[0][0] is not None else None
    while block is not None:
        if str(getattr(block, "elem_id", None) or "").startswith("tab-"):
            return str(block.elem_id).removeprefix("tab-")
        block = block.parent
    return "page"


def test_quiet_events_of_one_trigger_are_one_event(page: Page) -> None:
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
    assert len(events) <= MAX_EVENTS, by_tab
    assert set(by_tab) == {"page", "similarity", "search", "map", "fine-tune", "evaluate", "models"} and min(by_tab.values()) > 5
    large = Counter(event.name for event in events if max(len(event.inputs), len(event.outputs)) > MAX_COMPONENTS)
    assert not large
