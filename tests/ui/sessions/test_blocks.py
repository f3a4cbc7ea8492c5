"""Made-up requests are refused in words before a handler is called; sessions stay small, and go once nobody will come back to them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import gradio as gr
import httpx
import pytest
from tiny_studio import awaited, studio_at, write_model

from sbert_studio.memory import resident_memory
from sbert_studio.ui.app import launch
from sbert_studio.ui.sessions.blocks import LeanSessionState, StudioBlocks


def page_of(handler: Any, component: Any) -> StudioBlocks:
    with StudioBlocks() as blocks:
        shown = component()
        gr.Textbox().change(handler, shown)
    return blocks


def send(blocks: StudioBlocks, value: Any, event: Any = None) -> None:
    awaited(blocks.process_api(next(iter(blocks.fns.values())), [value], event_data=gr.EventData(None, event)))


def chosen(value: Any, event: gr.SelectData) -> None:
    assert isinstance(event.value, str)


COMPONENTS = [
    (gr.Textbox, ["a", None]), (lambda: gr.Dropdown(["a"], allow_custom_value=True), ["b", None, 3]), (gr.Checkbox, [True, None]),
    (lambda: gr.Dropdown(["a"], multiselect=True, allow_custom_value=True), [["b"], None, []]), (gr.Number, [1, 0.5, None]),
]  # fmt: skip


@pytest.mark.parametrize(("component", "values"), COMPONENTS)
def test_a_value_of_another_kind_than_its_component_sends_is_refused(component: Any, values: list[Any]) -> None:
    taken: list[Any] = []
    blocks = page_of(taken.append, component)
    for value in values:
        send(blocks, value)
    assert len(taken) == len(values)
    for value in ({"a": 1}, [[1]]):
        with pytest.raises(gr.Error, match="could not be read") as told:
            send(blocks, value)
        assert not told.value.print_exception
    assert len(taken) == len(values), "the handler was not called"


def test_invalid_events_and_stored_values_are_refused() -> None:
    blocks = page_of(chosen, gr.Textbox)
    send(blocks, "a", {"index": 3, "value": "row"})
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    for event in (None, [], {}, {"index": 1}, {"index": 1, "value": [1]}, {"index": file, "value": "row"}):
        with pytest.raises(gr.Error) as told:
            send(blocks, "a", event)
        assert not told.value.print_exception
    seen: list[Any] = []
    send(page_of(seen.append, lambda: gr.BrowserState({"owner": ""})), [1])
    assert seen == [{"owner": ""}]
    with pytest.raises(TypeError):
        send(page_of(lambda given: given + 1, gr.Textbox), "a")


def test_half_a_character_from_the_page_becomes_whole() -> None:
    given: list[Any] = []
    with StudioBlocks() as blocks:
        box = gr.Textbox()

        def select(value: str, event: gr.SelectData) -> None:
            given.append((value, event.value, event.index))

        box.select(select, box, api_visibility="private")
        gr.Button().click(given.append, box)  # an endpoint of the API, which refuses it in words
    private, public = blocks.fns.values()
    event = gr.EventData(None, {"value": "row \ud83d", "index": {"texts": ["\udc00", "😀", 3]}})
    awaited(blocks.process_api(private, ["half \ud83d"], event_data=event))
    awaited(blocks.process_api(public, ["half \ud83d"]))
    assert given == [("half ?", "row ?", {"texts": ["?", "😀", 3]}), "half \ud83d"]


@pytest.mark.parametrize(
    ("many", "value", "found"),
    [(False, "gone", None), (False, "there", "there"), (True, ["gone", "there"], ["there"]), (True, [], []), (False, None, None)],
)
def test_a_choice_that_is_no_longer_offered_is_dropped_where_nobody_asked(many: bool, value: Any, found: Any) -> None:
    given: list[Any] = []
    with StudioBlocks() as blocks:
        chooser = gr.Dropdown(["there"], multiselect=many)
        gr.Textbox().change(given.append, chooser, api_visibility="private")
        gr.Button().click(given.append, chooser, api_visibility="private", show_progress="hidden")
        gr.Textbox().change(given.append, chooser, show_progress="hidden")  # an endpoint of the API
    by_itself, *asked = blocks.fns.values()
    awaited(blocks.process_api(by_itself, [value]))
    assert given == [found]
    for event in asked if "gone" in (value or []) else ():
        with pytest.raises(gr.Error, match="not in the list of choices"):
            awaited(blocks.process_api(event, [value]))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("sessions")
    with studio_at(folder / "home", write_model(folder / "tiny")) as studio:
        found, _ = launch(studio, "127.0.0.1", 0, False, block=False)
        yield found
        found.close()


def ask(served: Any, session: str | None = None) -> None:
    url = served.local_url.rstrip("/")
    body = {"data": ["cat dog", "cat", ""], **({"session_hash": session} if session else {})}
    event = httpx.post(f"{url}/gradio_api/call/similarity", json=body, timeout=60).json()["event_id"]
    assert "complete" in httpx.get(f"{url}/gradio_api/call/similarity/{event}", timeout=60).text


def test_sessions_are_small_and_single_calls_leave_none(served: Any) -> None:
    gc.collect()
    before = resident_memory()
    kept = [LeanSessionState(served) for _ in range(200)]
    assert (resident_memory() - before) / len(kept) < 100_000
    sessions = served.app.state_holder
    for _ in range(3):
        ask(served)
    assert len(sessions.session_data) >= 3
    sessions["a page"], sessions["a closed page"]
    sessions.opened("a page")
    sessions["a closed page"].is_closed = True
    later = datetime.now() + timedelta(minutes=3)
    assert len(sessions.sweep(later)) >= 3
    assert set(sessions.session_data) == {"a page", "a closed page"}
    sessions.sweep(datetime.now() + timedelta(minutes=11))
    assert set(sessions.session_data) == {"a page"}
    sessions.closed("a page")
    sessions.sweep(later)
    assert not sessions.session_data and not sessions.time_last_used
