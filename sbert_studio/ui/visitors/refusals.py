"""What does not fit a handler is refused in words before it is called: by itself Gradio answers ``error: null``, or calls it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.exceptions import InvalidPathError
from gradio.processing_utils import check_all_files_in_cache

from ...errors import in_brief

log = logging.getLogger(__name__)
_NOT_SENT = "this file was not sent to the page. hint: upload it first (gradio_client: handle_file), and pass what the upload returned."
_NOT_FETCHED = "files are not fetched from web addresses here. hint: upload the file (gradio_client: handle_file of a path)."
_NOT_READ = "the arguments could not be read: {}. hint: see the page's API documentation for their number and their kinds."
_SIMPLE = (str, int, float, bool)
_CONSEQUENCES = {"change", "load", "then", "success", "failure", "tick"}
_NO_EVENT = "this event was sent without what was chosen. hint: it is sent by the page when something is clicked"


class PlainBlocks(gr.Blocks):  # type: ignore[misc]
    """``gr.Blocks`` that says why it refuses the arguments of a call, and starts nothing where nothing has changed.

    Attributes:
        fetches: whether a file may be a web address, which Gradio fetches whole whatever its size.
    """

    fetches = True

    def get_config_file(self) -> Any:
        """The configuration of the page, with ``None`` for what a ``gr.State`` holds, as in each answer that fills one.

        By itself Gradio says nothing of it at first, and the page takes the first answer for a change, even where it left the state alone.
        """
        config = super().get_config_file()
        for component in config["components"]:
            if component["type"] == "state":
                component["props"]["value"] = None
        return config

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], state: Any, *args: Any, **named: Any) -> Any:
        """The arguments as the handlers take them.

        In an event that follows from another, a choice that is no longer offered is dropped: it was sent before the new choices came.

        Raises:
            gr.Error: they are refused, and why.
        """
        try:
            if not self.fetches and any(_is_web_address(value) for value in inputs):
                raise gr.Error(_NOT_FETCHED, print_exception=False)
            values = _fitting(block_fn.inputs, inputs)
            if _is_consequence(block_fn):
                values = [_offered(component, value, state) for component, value in zip(block_fn.inputs, values, strict=False)]
            return await super().preprocess_data(block_fn, values, state, *args, **named)
        except gr.Error as error:
            error.print_exception = False  # it is told to who asked
            error.message = in_brief(str(error.message))
            raise
        except InvalidPathError:
            raise gr.Error(_NOT_SENT, print_exception=False) from None
        except Exception as error:
            log.info("the arguments of a call were refused", exc_info=True)
            # The reason that Gradio gives goes on with a list of its components.
            reason = next(iter(str(error.__cause__ or error).strip().splitlines()), "") or type(error).__name__
            raise gr.Error(_NOT_READ.format(reason[:200].rstrip(" .:")), print_exception=False) from None

    async def call_function(
        self,
        block_fn: Any,
        processed_input: list[Any],
        iterator: Any = None,
        requests: Any = None,
        event_id: str | None = None,
        event_data: gr.EventData | None = None,
        *args: Any,
        **named: Any,
    ) -> Any:
        """What the handler returns, see ``gr.Blocks``.

        Raises:
            gr.Error: it is told of an event, and this one tells nothing, or of a file that was not sent to the page.
        """
        if getattr(block_fn, "collects_event_data", False) and iterator is None:
            sent = None if event_data is None else event_data._data
            if not isinstance(sent, Mapping) or not {"index", "value"} <= sent.keys() or isinstance(sent["value"], list | dict):
                raise gr.Error(_NO_EVENT, print_exception=False)
            try:
                check_all_files_in_cache(dict(sent))
            except Exception:
                raise gr.Error(_NOT_SENT, print_exception=False) from None
        return await super().call_function(block_fn, processed_input, iterator, requests, event_id, event_data, *args, **named)


def _is_web_address(value: Any) -> bool:
    """Tell if a file, or one of several, in an argument is a web address."""
    if isinstance(value, list):
        return any(_is_web_address(one) for one in value)
    if not isinstance(value, Mapping):
        return False
    path = value.get("path")
    return (isinstance(path, str) and path.lower().startswith(("http:", "https:"))) or any(_is_web_address(one) for one in value.values())


def _fitting(components: list[Any], given: list[Any]) -> list[Any]:
    """The values for a handler's inputs; what a browser kept that is not of its kind is as if nothing had been kept.

    Raises:
        gr.Error: a value is of a kind that its component never sends.
    """
    fitting = list(given)
    for place, (component, value) in enumerate(zip(components, given, strict=False)):
        if isinstance(component, gr.BrowserState):
            if not isinstance(value, type(component.default_value)):
                fitting[place] = None
        elif not _fits(component, value):
            what = component.label or "a value"
            raise gr.Error(_NOT_READ.format(f"{what[:80]} cannot be {_KINDS.get(type(value), 'this')}"), print_exception=False)
        elif isinstance(component, gr.Dropdown) and component.allow_custom_value and isinstance(value, int | float):
            fitting[place] = str(value)  # what is typed is a text, as a handler expects
    return fitting


def _is_consequence(event: Any) -> bool:
    """Whether the page sent an event by itself, after a change or another event; a visitor's click and a call of the API are asked for."""
    return event.api_visibility == "private" and all(name in _CONSEQUENCES for _, name in event.targets)


def _offered(component: Any, value: Any, state: Any) -> Any:
    """The value, or what of it a dropdown offers in this session; ``None`` for a single choice that it does not."""
    if not isinstance(component, gr.Dropdown):
        return value
    now = state[component._id] if state is not None and component._id in state else component
    if now.allow_custom_value:
        return value
    choices = [choice for _, choice in now.choices]
    if isinstance(value, list):
        return [one for one in value if one in choices]
    return value if value in choices else None


_KINDS = {list: "a list", dict: "an object", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def _fits(component: Any, value: Any) -> bool:
    """Whether a component can have sent a value; ``None`` is what an empty one sends."""
    if value is None:
        return True
    if isinstance(component, gr.Textbox | gr.Radio):
        return isinstance(value, _SIMPLE)
    if isinstance(component, gr.Dropdown):
        many = value if component.multiselect and isinstance(value, list) else [value]
        return all(isinstance(one, _SIMPLE) for one in many)
    if isinstance(component, gr.Checkbox):
        return isinstance(value, bool)
    if isinstance(component, gr.Number | gr.Slider):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return True
