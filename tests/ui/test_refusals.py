"""What a made-up request sends is refused in words before a handler is called, and what is ours is still raised as it is."""

from __future__ import annotations

from typing import Any

import gradio as gr
import pytest
from tiny_studio import awaited

from sbert_studio.ui.visitors.refusals import PlainBlocks


def sent(handler: Any, component: Any, value: Any, event: Any = None) -> Any:
    with PlainBlocks() as blocks:
        component = component()
        gr.Textbox().change(handler, component)
    return awaited(blocks.process_api(next(iter(blocks.fns.values())), [value], event_data=gr.EventData(None, event)))


def chosen(value: Any, event: gr.SelectData) -> None:
    assert isinstance(event.value, str)


@pytest.mark.parametrize(
    ("component", "values"),
    [
        (gr.Textbox, ["a", None], ), (lambda: gr.Dropdown(["a"], allow_custom_value=True), ["b", None, 3]),
        (lambda: gr.Dropdown(["a"], multiselect=True, allow_custom_value=True), [["b"], None, []]), (gr.Checkbox, [True, None]),
        (gr.Number, [1, 0.5, None]),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_than_its_component_sends_is_refused(component: Any, values: list[Any]) -> None:
    for value in values:
        sent(lambda given: None, component, value)
    for value in ({"a": 1}, [[1]]):
        with pytest.raises(gr.Error, match="could not be read") as told:
            sent(lambda given: pytest.fail("it was called"), component, value)
        assert not told.value.print_exception


def test_an_event_without_what_was_chosen_or_with_a_file_of_this_machine_is_refused() -> None:
    sent(chosen, gr.Textbox, "a", {"index": 3, "value": "row"})
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    for event in (None, [], {}, {"index": 1}, {"index": 1, "value": [1]}, {"index": file, "value": "row"}):
        with pytest.raises(gr.Error) as told:
            sent(chosen, gr.Textbox, "a", event)
        assert not told.value.print_exception


def test_what_a_browser_kept_that_is_of_another_kind_is_as_if_it_had_kept_nothing() -> None:
    seen: list[Any] = []
    sent(seen.append, lambda: gr.BrowserState({"owner": ""}), [1])
    assert seen == [{"owner": ""}]


def test_an_error_of_a_handlers_own_is_not_swallowed() -> None:
    with pytest.raises(TypeError):
        sent(lambda given: given + 1, gr.Textbox, "a")
