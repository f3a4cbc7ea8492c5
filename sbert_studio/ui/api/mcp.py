"""MCP server with the endpoints: files may be sent as content, and responses are JSON.

Gradio 6.31 only accepts URLs of files, mentions an upload tool that it does not provide, and returns Python literals.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from gradio.data_classes import FileDataDict as FileData
from gradio.mcp import GradioMCPServer
from gradio.processing_utils import save_base64_to_cache, save_bytes_to_cache, save_file_to_cache
from gradio.utils import get_upload_folder
from gradio_client import Client, handle_file
from gradio_client.client import Job

from ...data.loading.formats import SUFFIXES
from ...errors import StudioError
from ..sessions.middleware import MCP_ADDRESS, MCP_HEADER, signed
from ..sessions.uploads import UploadLedger, max_message_size

_FORMS = "A file is argument as its text (CSV, TSV, JSON lines, or a text a line), or as a data: URL in base64"
_FILE_HELP = f" {_FORMS}."
_LOCAL_FILE_HELP = f" {_FORMS}, as a web address, or as the path of a file on this machine."
_MAX_PATH = 4_096
_POLL = 0.1  # seconds between checks whether a call has reached the queue


class McpServer(GradioMCPServer):  # type: ignore[misc]
    """Gradio's MCP server, extended to accept the content of files and, unless strangers can reach the server, paths of this machine."""

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


def configure_mcp(server: GradioMCPServer | None, *, takes_paths: bool, ledger: UploadLedger, max_file: int) -> None:
    """Turn Gradio's MCP server into a :class:`McpServer`.

    Args:
        server: ``Blocks.mcp_server_obj``; ``None`` if MCP is disabled.
        ledger: counts uploads.
        max_file: maximum file size in bytes. By default, the server reads at most 4 MiB of a message.
    """
    if server is not None:
        server.__class__ = McpServer
        server.takes_paths, server.ledger = takes_paths, ledger
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
