"""Named endpoints of the page, for gradio_client, HTTP and MCP.

Files pass through ``gr.File``, which keeps callers from naming a path of this machine. MCP clients may also send a file as its content, and
get JSON: Gradio 6.31 accepts only web addresses of files, names an upload tool that it does not serve, and prints Python literals.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar, get_type_hints

import gradio as gr
from gradio.data_classes import FileDataDict as FileData
from gradio.mcp import GradioMCPServer
from gradio.processing_utils import save_base64_to_cache, save_bytes_to_cache, save_file_to_cache
from gradio.utils import get_upload_folder
from gradio_client import Client, handle_file
from gradio_client.client import Job

from ..data.loading.table import SUFFIXES
from ..errors import StudioError, is_valid_utf8
from ..explore import DEFAULT_RESULTS
from ..progress import StoppedError
from .components import CORPUS_TYPES
from .handlers import log_unexpected
from .page import Page
from .sessions.middleware import MCP_ADDRESS, MCP_HEADER, signed
from .sessions.streams import ABANDONED
from .sessions.tasks import TASKS
from .sessions.uploads import UploadLedger, max_message_size
from .verbs import Verb, check, draw_map, evaluate, mine, resume, run, search, similarity, stop, topics, train

_VERBS: dict[str, Verb] = {
    "similarity": similarity,
    "search": search,
    "mine": mine,
    "map": draw_map,
    "topics": topics,
    "check": check,
    "train": train,
    "run": run,
    "stop": stop,
    "resume": resume,
    "evaluate": evaluate,
}
_WRITING_VERBS = ("train", "stop", "resume")
ANSWERS = {name: get_type_hints(verb)["return"] for name, verb in _VERBS.items()}
"""Endpoint → class of its answer, from which its schema and docs/api.md come."""
_FILES = ("file", "dev", "first", "known", "files")
_NUMBERS = {"k": DEFAULT_RESULTS, "top": DEFAULT_RESULTS, "after": 0, "dimensions": 2}
_AUTO = ("clusters", "topics", "loss", "method", "task")  # texts whose default is "auto"
_MAX_INTEGER = 1 << 53  # largest integer that is exact in JSON


def as_endpoint(verb: Verb, endpoint: str, first: object) -> Callable[..., dict[str, object]]:
    """Bind the first argument of a function and rename it to the endpoint (MCP shows the name). Errors become messages."""
    signature = inspect.signature(verb)
    parameters = list(signature.parameters.values())[1:]

    def call(*args: object) -> dict[str, object]:
        try:
            with TASKS.run():
                answer = verb(first, *(_to_argument(each, value) for each, value in zip(parameters, args, strict=False)))
                return answer.to_json()
        except StoppedError:
            raise gr.Error(ABANDONED, print_exception=False) from None
        except StudioError as error:
            raise gr.Error(str(error), print_exception=False) from None
        except Exception as error:
            known = log_unexpected(error, verb.__name__) or "something went wrong on the server's side; it has been logged"
            raise gr.Error(str(known), print_exception=False) from None

    functools.update_wrapper(call, verb)
    call.__name__ = endpoint
    call.__signature__ = signature.replace(parameters=parameters, return_annotation="dict[str, object]")  # type: ignore[attr-defined]
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
        return gr.File(file_count=file_count, file_types=CORPUS_TYPES, label=label)
    if name in _NUMBERS:
        return gr.Number(_NUMBERS[name], precision=0, label=name)
    if name == "mode":
        return gr.Radio(["semantic", "lexical", "hybrid"], value="semantic", label=name)
    return gr.Checkbox(False, label=name) if name in ("as_read", "retrieval") else gr.Textbox("auto" if name in _AUTO else "", label=name)


_FORMS = "A file is argument as its text (CSV, TSV, JSON lines, or a text a line), or as a data: URL in base64"
_FILE_HELP = f" {_FORMS}."
_LOCAL_FILE_HELP = f" {_FORMS}, as a web address, or as the path of a file on this machine."
_MAX_PATH = 4_096
_POLL = 0.1  # seconds between checks whether a call has reached the queue


class McpServer(GradioMCPServer):  # type: ignore[misc]
    """Gradio's MCP server, extended to accept the content of files and, unless other people can reach the server, paths of this machine."""

    takes_paths = False
    ledger: UploadLedger
    _ending: ClassVar[set[asyncio.Task[None]]] = set()

    def _get_or_create_client(self) -> Client:
        client = super()._get_or_create_client()
        client.headers[MCP_HEADER] = signed(MCP_ADDRESS)
        return client

    @property
    def _file_data_tool_description(self) -> str:
        return _LOCAL_FILE_HELP if self.takes_paths else _FILE_HELP

    def convert_strings_to_filedata(self, value: object, filedata_positions: list[list[str | int]]) -> object:
        """Replace each text that represents a file with file data."""

        def convert(node: object, place: list[str | int]) -> object:
            if isinstance(node, dict):
                return {key: convert(one, [*place, key]) for key, one in node.items()}
            if isinstance(node, list):
                return [convert(one, [*place, number]) for number, one in enumerate(node)]
            return self._file(node) if isinstance(node, str) and node and place in filedata_positions else node

        return convert(value, [])

    def _file(self, argument: str) -> FileData:
        request = self.mcp_server.request_context.request
        address, size = str(getattr(getattr(request, "client", None), "host", "")), len(argument)
        if reason := self.ledger.refusal(address, size):
            raise StudioError(reason)
        self.ledger.add(address, size)
        return to_file_data(argument, self.takes_paths)

    async def _execute_tool_without_progress(self, job: Job) -> list[object]:
        async with self._cancel_on_disconnect(job):
            return [await asyncio.wrap_future(job.future)]

    async def _execute_tool_with_progress(self, job: Job, progress_token: str | int) -> object:
        async with self._cancel_on_disconnect(job):
            return await super()._execute_tool_with_progress(job, progress_token)

    @asynccontextmanager
    async def _cancel_on_disconnect(self, job: Job) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if not job.future.done():
                task = asyncio.get_running_loop().create_task(self._end(job))
                self._ending.add(task)  # the event loop only keeps weak references to tasks
                task.add_done_callback(self._ending.discard)

    async def _end(self, job: Job) -> None:
        streams = self.blocks._queue.pending_messages_per_session  # see keep_streams
        while not job.future.done():
            if job.communicator.event_id:
                await streams.stop(job.communicator.event_id)
                return
            await asyncio.sleep(_POLL)

    def postprocess_output_data(self, data: list[object], root_url: str) -> object:
        return super().postprocess_output_data(
            [json.dumps(one, ensure_ascii=False) if isinstance(one, dict | list) else one for one in data], root_url
        )


def configure_mcp(server: GradioMCPServer | None, *, takes_paths: bool, reads_only: bool, ledger: UploadLedger, max_file: int) -> None:
    """Turn Gradio's MCP server into a :class:`McpServer`.

    Args:
        server: ``Blocks.mcp_server_obj``; ``None`` if MCP is disabled.
        reads_only: offer no endpoints that change anything.
        ledger: counts uploads.
        max_file: maximum file size in bytes. By default, the server reads at most 4 MiB of a message.
    """
    if server is not None:
        server.__class__ = McpServer
        server.takes_paths, server.ledger = takes_paths, ledger
        # Without Gradio's own endpoints, such as that of its sign-in button.
        tools = {server.tool_prefix + verb: f"/{verb}" for verb in _VERBS if not (reads_only and verb in _WRITING_VERBS)}
        server.tool_to_endpoint = {tool: name for tool, name in server.tool_to_endpoint.items() if tools.get(tool) == name}
        server.manager.asgi_app.max_body_size = max_message_size(max_file)


def to_file_data(argument: str, takes_paths: bool) -> FileData:
    """Return the file data of an argument: a data URL, a URL, a path or the text of a table.

    Raises:
        StudioError: it is none of these.
    """
    folder = get_upload_folder()
    if argument.startswith("data:"):
        return handle_file(save_base64_to_cache(argument, folder))
    if argument.startswith(("http://", "https://")):
        if takes_paths:
            return handle_file(argument)
        raise StudioError("files are not fetched from web addresses here", "give the text of the file, or a data: URL in base64")
    if takes_paths and (path := _path(argument.removeprefix("file://"))) is not None:
        return handle_file(save_file_to_cache(path, folder))
    if "\n" in argument.strip():
        return handle_file(save_bytes_to_cache(argument.encode("utf-8"), f"table{_suffix(argument)}", folder))
    how = "give its text, or a data: URL in base64"
    raise StudioError("this is no file", f"{how}, a web address, or the path of a table here" if takes_paths else how)


def _path(argument: str) -> Path | None:
    if len(argument) > _MAX_PATH or "\n" in argument:
        return None
    path = Path(argument).expanduser()
    return path if path.suffix.lower() in SUFFIXES and path.is_file() else None


def _suffix(text: str) -> str:
    first = text.lstrip().splitlines()[0]
    if first.startswith("{"):
        return ".jsonl"
    if first.startswith("["):
        return ".json"
    if "\t" in first:
        return ".tsv"
    return ".csv" if any(sign in first for sign in ",;|") else ".txt"
