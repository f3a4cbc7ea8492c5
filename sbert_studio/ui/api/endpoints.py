"""The named endpoints of the page, for gradio_client, HTTP and MCP.

Files pass through ``gr.File``, which keeps callers from naming a path of this machine.
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
from .arguments import Verb
from .verbs import check, draw_map, evaluate, mine, resume, run, search, similarity, stop, train

_MAX_INTEGER = 1 << 53  # JSON numbers are exact up to it


def as_endpoint(verb: Verb, endpoint: str, first: object) -> Verb:
    """Bind the first argument of a function and rename it to the endpoint (MCP shows the name). Errors become messages."""
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
    """Convert an argument: ``None`` for a text is an empty one, and a number must be finite.

    Raises:
        StudioError: it is no such number, or a text with a lone surrogate.
    """
    if isinstance(value, str) and not is_valid_utf8(value):
        raise StudioError(f"{parameter.name} holds half of a character (a lone surrogate)", "send whole characters, in UTF-8")
    if parameter.annotation == "str":
        return "" if value is None else value
    if parameter.annotation == "float" and not (isinstance(value, int | float) and abs(value) <= _MAX_INTEGER):
        raise StudioError(f"{parameter.name} is not a valid number", "give a whole number, such as 2")
    return value


def build_api(page: Page) -> None:
    """Add the endpoints to the page, behind hidden components."""
    with gr.Column(visible=False):
        # Gradio's page translates the label "file".
        file, dev, first, known = (gr.File(file_types=FILE_TYPES, label=label) for label in ("table", "dev", "first", "known"))
        model, column, query, a, b, name, run_id, token = (
            gr.Textbox("", label=label) for label in ("model", "column", "query", "a", "b", "name", "run_id", "token")
        )
        k, top, after = (gr.Number(value, precision=0, label=label) for label, value in (("k", 10), ("top", 10), ("after", 0)))
        dimensions = gr.Number(2, precision=0, label="dimensions")
        mode = gr.Radio(["semantic", "lexical", "hybrid"], value="semantic", label="mode")
        clusters, loss, method, task = (gr.Textbox("auto", label=label) for label in ("clusters", "loss", "method", "task"))
        settings = gr.Textbox("", label="settings")
        parts = [
            gr.Textbox("", label=label)
            for label in ("kind", "columns", "target", "group", "scale", "order", "encoding", "delimiter", "header")
        ]
        files = gr.File(file_count="multiple", file_types=FILE_TYPES, label="files")
        models, suite = (gr.Textbox("", label=label) for label in ("models", "suite"))
        as_read = gr.Checkbox(False, label="as_read")
        found = gr.JSON()
        for verb, endpoint, inputs in (
            (similarity, "similarity", [a, b, model]),
            (search, "search", [file, query, k, mode, model, column]),
            (mine, "mine", [file, top, model, column]),
            (draw_map, "map", [file, clusters, dimensions, model, column]),
            (check, "check", [file, model, *parts]),
            (train, "train", [file, loss, method, settings, model, name, dev, first, *parts, as_read]),
            (run, "run", [run_id, after]),
            (stop, "stop", [run_id, token]),
            (resume, "resume", [run_id, token]),
            (evaluate, "evaluate", [file, model, task, *parts, as_read, files, models, suite, known]),
        ):
            gr.Button().click(
                as_endpoint(verb, endpoint, page if verb is train else page.studio),
                inputs,
                found,
                api_name=endpoint,
                show_progress="hidden",
            )
