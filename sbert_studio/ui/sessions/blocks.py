"""Validation of the arguments of a call. Gradio by itself would answer ``error: null``, or pass them to the handler."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.components import Component
from gradio.exceptions import InvalidPathError
from gradio.processing_utils import check_all_files_in_cache
from gradio.state_holder import SessionState

from ...errors import shorten_quotes

log = logging.getLogger(__name__)
_NOT_UPLOADED = "this file was not sent to the page. hint: upload it first (gradio_client: handle_file), and pass what the upload returned."
_NOT_FETCHED = "files are not fetched from web addresses here. hint: upload the file (gradio_client: handle_file of a path)."
_NOT_READ = "the arguments could not be read: {}. hint: see the page's API documentation for their number and their kinds."
_SIMPLE = (str, int, float, bool)
_CONSEQUENCES = {"change", "load", "then", "success", "failure", "tick"}
_NO_EVENT = "this event was sent without what was chosen. hint: it is sent by the page when something is clicked"


class StudioBlocks(gr.Blocks):  # type: ignore[misc]
    """``gr.Blocks`` that explains why it rejects the arguments of a call.

    Attributes:
        accepts_urls: whether a file may be a web address. Gradio downloads it whatever its size.
    """

    accepts_urls = True

    def get_config_file(self) -> object:
        """Return the configuration of the page, with ``None`` as the value of each ``gr.State``, as in each answer that fills one.

        Gradio omits the value at first, so that the first answer counts as a change even if it leaves the state alone.
        """
        config = super().get_config_file()
        for component in config["components"]:
            if component["type"] == "state":
                component["props"]["value"] = None
        return config

    async def preprocess_data(
        self, block_fn: BlockFunction, inputs: list[object], state: SessionState | None, *args: object, **named: object
    ) -> object:
        """Check and convert the arguments of a call.

        In an event that follows another, a choice that is no longer offered is dropped, since it was sent before the new choices arrived.

        Raises:
            gr.Error: the reason for rejecting them.
        """
        try:
            if not self.accepts_urls and any(_is_web_address(value) for value in inputs):
                raise gr.Error(_NOT_FETCHED, print_exception=False)
            values = _check_values(block_fn.inputs, inputs)
            if _is_consequence(block_fn):
                values = [_offered(component, value, state) for component, value in zip(block_fn.inputs, values, strict=False)]
            return await super().preprocess_data(block_fn, values, state, *args, **named)
        except gr.Error as error:
            error.print_exception = False  # the caller gets it
            error.message = shorten_quotes(str(error.message))
            raise
        except InvalidPathError:
            raise gr.Error(_NOT_UPLOADED, print_exception=False) from None
        except Exception as error:
            log.info("the arguments of a call were refused", exc_info=True)
            # Gradio's message continues with a list of its components.
            reason = next(iter(str(error.__cause__ or error).strip().splitlines()), "") or type(error).__name__
            raise gr.Error(_NOT_READ.format(reason[:200].rstrip(" .:")), print_exception=False) from None

    async def call_function(
        self,
        block_fn: BlockFunction,
        processed_input: list[object],
        iterator: object = None,
        requests: object = None,
        event_id: str | None = None,
        event_data: gr.EventData | None = None,
        *args: object,
        **named: object,
    ) -> object:
        """Call the handler, see ``gr.Blocks``.

        Raises:
            gr.Error: the handler needs event data that is missing, or that names a file that was not uploaded.
        """
        if getattr(block_fn, "collects_event_data", False) and iterator is None:
            sent = None if event_data is None else event_data._data
            if not isinstance(sent, Mapping) or not {"index", "value"} <= sent.keys() or isinstance(sent["value"], list | dict):
                raise gr.Error(_NO_EVENT, print_exception=False)
            try:
                check_all_files_in_cache(dict(sent))
            except Exception:
                raise gr.Error(_NOT_UPLOADED, print_exception=False) from None
        return await super().call_function(block_fn, processed_input, iterator, requests, event_id, event_data, *args, **named)


def _is_web_address(value: object) -> bool:
    """Return whether an argument contains a file that is a web address."""
    if isinstance(value, list):
        return any(_is_web_address(one) for one in value)
    if not isinstance(value, Mapping):
        return False
    path = value.get("path")
    return (isinstance(path, str) and path.lower().startswith(("http:", "https:"))) or any(_is_web_address(one) for one in value.values())


def _check_values(components: list[Component], sent: list[object]) -> list[object]:
    """Return the values of a handler's inputs. Browser storage of the wrong type counts as empty.

    Raises:
        gr.Error: a component never sends a value of this type.
    """
    fitting = list(sent)
    for place, (component, value) in enumerate(zip(components, sent, strict=False)):
        if isinstance(component, gr.BrowserState):
            if not isinstance(value, type(component.default_value)):
                fitting[place] = None
        elif not _fits(component, value):
            what = component.label or "a value"
            raise gr.Error(_NOT_READ.format(f"{what[:80]} cannot be {_KINDS.get(type(value), 'this')}"), print_exception=False)
        elif isinstance(component, gr.Dropdown) and component.allow_custom_value and isinstance(value, int | float):
            fitting[place] = str(value)  # a typed number is text to a handler
    return fitting


def _is_consequence(event: BlockFunction) -> bool:
    """Return whether the page sent an event by itself, after a change or another event, rather than after a click or an API call."""
    return event.api_visibility == "private" and all(name in _CONSEQUENCES for _, name in event.targets)


def _offered(component: Component, value: object, state: SessionState | None) -> object:
    """Return the part of a value that a dropdown offers in this session; ``None`` for a choice that it does not offer."""
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


def _fits(component: Component, value: object) -> bool:
    """Return whether a component can send a value; an empty one sends ``None``."""
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
