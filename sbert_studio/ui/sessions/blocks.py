"""Modified Gradio blocks and sessions: arguments of calls are validated, and session state is smaller and released earlier.

Gradio itself would respond with ``error: null`` to invalid arguments, or pass them to the handler. It also copies the configuration of
every component for each session (0.6 MB on this page) to serve links to a page's state, which this page does not offer, and creates a
session for every API call, of which it keeps a thousand.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from copy import copy
from datetime import datetime, timedelta

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.components import Component
from gradio.exceptions import InvalidPathError
from gradio.processing_utils import check_all_files_in_cache
from gradio.route_utils import FnIndexInferError
from gradio.state_holder import SessionState, StateHolder
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...errors import shorten_quotes, to_valid_utf8

log = logging.getLogger(__name__)
_NOT_UPLOADED = "this file was not sent to the page. hint: upload it first (gradio_client: handle_file), and pass what the upload returned."
_NOT_FETCHED = "files are not fetched from web addresses here. hint: upload the file (gradio_client: handle_file of a path)."
_NOT_READ = "the arguments could not be read: {}. hint: see the page's API documentation for their number and their kinds."
_SIMPLE = (str, int, float, bool)
_CONSEQUENCES = {"change", "load", "then", "success", "failure", "tick"}
_IDLE, _CLOSED = timedelta(minutes=2), timedelta(minutes=10)
_NO_EVENT = "this event was sent without what was chosen. hint: it is sent by the page when something is clicked"


def report_unknown_endpoint(_request: Request, _error: Exception) -> Response:
    """Answer a call of an endpoint that does not exist, which Gradio logs as an internal error."""
    error = "there is no such endpoint. hint: the page's API documentation, linked at its foot, lists them."
    return JSONResponse({"error": error}, status_code=404)


class Events(dict[int, BlockFunction]):
    """The events of a page by number, which Gradio looks up for a direct call without checking that the number exists."""

    def __missing__(self, number: int) -> BlockFunction:
        raise FnIndexInferError(f"there is no event {number}")


class StudioBlocks(gr.Blocks):  # type: ignore[misc]
    """``gr.Blocks`` that explains why it rejects the arguments of a call."""

    accepts_urls = True  # whether a file may be a URL; Gradio downloads it regardless of its size

    def get_config_file(self) -> object:
        """Return the configuration with ``None`` as the value of each ``gr.State``, as in each response that sets one.

        Gradio omits the value at first, so that the first response would count as a change even if it leaves the state unchanged.
        """
        config = super().get_config_file()
        for component in config["components"]:
            if component["type"] == "state":
                component["props"]["value"] = None
        return config

    async def preprocess_data(
        self, block_fn: BlockFunction, inputs: list[object], state: SessionState | None, *args: object, **named: object
    ) -> object:
        """Validate and convert the arguments of a call; raise gr.Error with the reason if they are rejected.

        In an event that follows another, a choice that is no longer offered is dropped, because it was sent before the new choices arrived.
        In an event of the page, half a character, such as of an emoji that was cut, becomes a question mark: a response with it would end
        the stream of all responses to the page, which would wait for them forever.
        """
        try:
            if block_fn.api_visibility == "private":
                inputs = [_whole_characters(value) for value in inputs]
            if not self.accepts_urls and any(_is_web_address(value) for value in inputs):
                raise gr.Error(_NOT_FETCHED, print_exception=False)
            values = _check_values(block_fn.inputs, inputs)
            if _is_consequence(block_fn):
                values = [_offered(component, value, state) for component, value in zip(block_fn.inputs, values, strict=False)]
            return await super().preprocess_data(block_fn, values, state, *args, **named)
        except gr.Error as error:
            error.print_exception = False  # the caller receives it
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
        """Call the handler. Raise gr.Error if event data is missing, or refers to a file that was not uploaded."""
        if getattr(block_fn, "collects_event_data", False) and iterator is None:
            sent = None if event_data is None else event_data._data
            if event_data is not None:
                event_data._data = sent = _whole_characters(sent)
            if not isinstance(sent, Mapping) or not {"index", "value"} <= sent.keys() or isinstance(sent["value"], list | dict):
                raise gr.Error(_NO_EVENT, print_exception=False)
            try:
                check_all_files_in_cache(dict(sent))
            except Exception:
                raise gr.Error(_NOT_UPLOADED, print_exception=False) from None
        return await super().call_function(block_fn, processed_input, iterator, requests, event_id, event_data, *args, **named)


def _is_web_address(value: object) -> bool:
    if isinstance(value, list):
        return any(_is_web_address(one) for one in value)
    if not isinstance(value, Mapping):
        return False
    path = value.get("path")
    return (isinstance(path, str) and path.lower().startswith(("http:", "https:"))) or any(_is_web_address(one) for one in value.values())


def _check_values(components: list[Component], sent: list[object]) -> list[object]:
    """Return the values of a handler's inputs; browser storage of the wrong type becomes empty. Raise gr.Error for other wrong types."""
    fitting = list(sent)
    for place, (component, value) in enumerate(zip(components, sent, strict=False)):
        if isinstance(component, gr.BrowserState):
            if not isinstance(value, type(component.default_value)):
                fitting[place] = None
        elif not _fits(component, value):
            what = component.label or "a value"
            raise gr.Error(_NOT_READ.format(f"{what[:80]} cannot be {_KINDS.get(type(value), 'this')}"), print_exception=False)
        elif isinstance(component, gr.Dropdown) and component.allow_custom_value and isinstance(value, int | float):
            fitting[place] = str(value)  # typed numbers are passed as text to handlers
    return fitting


def _whole_characters(value: object) -> object:
    if isinstance(value, str):
        return to_valid_utf8(value)
    if isinstance(value, list):
        return [_whole_characters(one) for one in value]
    return {to_valid_utf8(name): _whole_characters(one) for name, one in value.items()} if isinstance(value, dict) else value


def _is_consequence(event: BlockFunction) -> bool:
    return event.api_visibility == "private" and all(name in _CONSEQUENCES for _, name in event.targets)


def _offered(component: Component, value: object, state: SessionState | None) -> object:
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


class LeanSessionState(SessionState):  # type: ignore[misc]
    def __init__(self, blocks: gr.Blocks) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, object] = {}
        self.state_data: dict[int, object] = {}
        self._state_ttl: dict[int, object] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = int(_CLOSED.total_seconds())

    def __setitem__(self, key: int, value: object) -> None:
        super().__setitem__(key, value)
        self.config_values.clear()

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: object) -> None:
        pass


class SessionHolder(StateHolder):  # type: ignore[misc]
    """Sessions of an app. Those of open pages are kept; those of single calls are removed after two minutes."""

    def __init__(self) -> None:
        super().__init__()
        self._pages: set[str] = set()
        self._guard = threading.Lock()

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = LeanSessionState(self.blocks)
        return super().__getitem__(session_id)

    def opened(self, session_id: str) -> None:
        with self._guard:
            self._pages.add(session_id)

    def closed(self, session_id: str) -> None:
        with self._guard:
            self._pages.discard(session_id)

    def is_open(self, session_id: str) -> bool:
        return session_id in self._pages

    def sweep(self, now: datetime | None = None) -> list[str]:
        """Remove abandoned sessions, and return their ids."""
        now, removed = now or datetime.now(), []
        with self._guard, self.lock:
            for name, used in list(self.time_last_used.items()):
                session = self.session_data.get(name)
                patience = _CLOSED if session is not None and session.is_closed else _IDLE
                if name not in self._pages and now - used > patience:
                    self.session_data.pop(name, None)
                    self.time_last_used.pop(name, None)
                    removed.append(name)
        return removed
