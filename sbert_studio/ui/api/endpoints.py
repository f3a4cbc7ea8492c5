"""Named endpoints of the page, for gradio_client, HTTP and MCP.

Files pass through ``gr.File``, so callers cannot access paths of this machine.
"""

from __future__ import annotations

import functools
import inspect

import gradio as gr

from ...errors import StudioError, is_valid_utf8
from ...progress import StoppedError
from ..components import FILE_TYPES
from ..handlers import log_unexpected
from ..page import Page
from ..sessions.streams import ABANDONED
from ..sessions.tasks import TASKS
from .verbs import Verb, check, draw_map, evaluate, mine, resume, run, search, similarity, stop, train

_VERBS: dict[str, Verb] = {
    "similarity": similarity,
    "search": search,
    "mine": mine,
    "map": draw_map,
    "check": check,
    "train": train,
    "run": run,
    "stop": stop,
    "resume": resume,
    "evaluate": evaluate,
}
_FILES = ("file", "dev", "first", "known", "files")
_NUMBERS = {"k": 10, "top": 10, "after": 0, "dimensions": 2}
_AUTO = ("clusters", "loss", "method", "task")  # texts whose default is "auto"
_MAX_INTEGER = 1 << 53  # largest integer that is exact in JSON


def as_endpoint(verb: Verb, endpoint: str, first: object) -> Verb:
    """Bind the first argument of a function and name it after the endpoint (MCP shows the name). Errors become messages."""
    signature = inspect.signature(verb)
    parameters = list(signature.parameters.values())[1:]

    def call(*args: object) -> dict[str, object]:
        try:
            with TASKS.run():
                return verb(first, *(_to_argument(each, value) for each, value in zip(parameters, args, strict=False)))
        except StoppedError:
            raise gr.Error(ABANDONED, print_exception=False) from None
        except StudioError as error:
            raise gr.Error(str(error), print_exception=False) from None
        except Exception as error:
            known = log_unexpected(error, verb.__name__) or "something went wrong on the server's side; it has been logged"
            raise gr.Error(str(known), print_exception=False) from None

    functools.update_wrapper(call, verb)
    call.__name__ = endpoint
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    del call.__wrapped__  # type: ignore[attr-defined]
    return call


def _to_argument(parameter: inspect.Parameter, value: object) -> object:
    """Convert an argument: ``None`` becomes an empty text where a text is expected, and numbers must be finite."""
    if isinstance(value, str) and not is_valid_utf8(value):
        raise StudioError(f"{parameter.name} holds half of a character (a lone surrogate)", "send whole characters, in UTF-8")
    if parameter.annotation == "str":
        return "" if value is None else value
    if parameter.annotation == "float" and not (isinstance(value, int | float) and abs(value) <= _MAX_INTEGER):
        raise StudioError(f"{parameter.name} is not a valid number", "give a whole number, such as 2")
    return value


def build_api(page: Page) -> None:
    components: dict[str, gr.components.Component] = {}
    with gr.Column(visible=False):
        found = gr.JSON()
        for endpoint, verb in _VERBS.items():
            call = as_endpoint(verb, endpoint, page if verb is train else page.studio)
            names = list(inspect.signature(call).parameters)
            components |= {name: _component(name) for name in names if name not in components}
            inputs = [components[name] for name in names]
            gr.Button().click(call, inputs, found, api_name=endpoint, show_progress="hidden")


def _component(name: str) -> gr.components.Component:
    """Return the component of the arguments called ``name``; its value is their default."""
    if name in _FILES:
        # Gradio's page translates the label "file".
        label, file_count = "table" if name == "file" else name, "multiple" if name == "files" else "single"
        return gr.File(file_count=file_count, file_types=FILE_TYPES, label=label)
    if name in _NUMBERS:
        return gr.Number(_NUMBERS[name], precision=0, label=name)
    if name == "mode":
        return gr.Radio(["semantic", "lexical", "hybrid"], value="semantic", label=name)
    return gr.Checkbox(False, label=name) if name == "as_read" else gr.Textbox("auto" if name in _AUTO else "", label=name)
