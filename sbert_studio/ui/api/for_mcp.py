"""The endpoints as MCP clients use them: a file may be given by what it holds, and answers are JSON.

Gradio 6.31 takes a file by its web address alone, names a tool for uploads that it does not serve, and prints answers as Python does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from gradio.mcp import GradioMCPServer
from gradio.processing_utils import save_base64_to_cache, save_bytes_to_cache, save_file_to_cache
from gradio.utils import get_upload_folder
from gradio_client import handle_file

from ...data.loading.formats import SUFFIXES
from ...errors import StudioError
from ..visitors.callers import OF_SERVER, SELF, signed
from ..visitors.uploads import Ledger, largest_message

_GIVEN = "A file is given as its text (CSV, TSV, JSON lines, or a text a line), or as a data: URL in base64"
_TAKEN = f" {_GIVEN}."
_TAKEN_HERE = f" {_GIVEN}, as a web address, or as the path of a file on this machine."
_LONGEST_PATH = 4_096
_POLL = 0.1  # seconds between two looks whether a call has reached the queue


class Server(GradioMCPServer):  # type: ignore[misc]
    """Gradio's server for MCP, told what a file may be.

    Attributes:
        takes_paths: whether a file may be a path of this machine; not where strangers reach it.
    """

    takes_paths = False
    ledger: Ledger
    _ending: ClassVar[set[asyncio.Task[None]]] = set()

    def _get_or_create_client(self) -> Any:
        """Gradio's client of this page, which says that files come from this server."""
        client = super()._get_or_create_client()
        client.headers[OF_SERVER] = signed(SELF)
        return client

    @property
    def _file_data_tool_description(self) -> str:
        return _TAKEN_HERE if self.takes_paths else _TAKEN

    def convert_strings_to_filedata(self, value: Any, filedata_positions: list[list[str | int]]) -> Any:
        """The arguments of a call, with a file in the place of each text that stands for one."""

        def taken(node: Any, place: list[str | int]) -> Any:
            if isinstance(node, dict):
                return {key: taken(one, [*place, key]) for key, one in node.items()}
            if isinstance(node, list):
                return [taken(one, [*place, number]) for number, one in enumerate(node)]
            return self._file(node) if isinstance(node, str) and node and place in filedata_positions else node

        return taken(value, [])

    def _file(self, given: str) -> Any:
        """Return the file that an argument stands for, once its bytes are counted as the caller's.

        Raises:
            StudioError: it stands for none, or the caller has sent too much.
        """
        request = self.mcp_server.request_context.request
        address, size = str(getattr(getattr(request, "client", None), "host", "")), len(given)
        if words := self.ledger.refusal(address, size):
            raise StudioError(words)
        self.ledger.add(address, size)
        return file_of(given, self.takes_paths)

    async def _execute_tool_without_progress(self, job: Any) -> list[Any]:
        """Wait for the answer, where Gradio waits in a thread, which a caller that leaves cannot end."""
        async with self._ending_with_caller(job):
            return [await asyncio.wrap_future(job.future)]

    async def _execute_tool_with_progress(self, job: Any, progress_token: str | int) -> Any:
        async with self._ending_with_caller(job):
            return await super()._execute_tool_with_progress(job, progress_token)

    @asynccontextmanager
    async def _ending_with_caller(self, job: Any) -> AsyncIterator[None]:
        """End the call that ``job`` waits for where the ``with`` is left before its answer: the request was cut."""
        try:
            yield
        finally:
            if not job.future.done():
                task = asyncio.get_running_loop().create_task(self._end(job))
                self._ending.add(task)  # the loop itself holds tasks weakly
                task.add_done_callback(self._ending.discard)

    async def _end(self, job: Any) -> None:
        streams = self.blocks._queue.pending_messages_per_session  # see keep_streams
        while not job.future.done():
            if job.communicator.event_id:
                await streams.end(job.communicator.event_id)
                return
            await asyncio.sleep(_POLL)

    def postprocess_output_data(self, data: Any, root_url: str) -> Any:
        """The answers, as JSON."""
        return super().postprocess_output_data(
            [json.dumps(one, ensure_ascii=False) if isinstance(one, dict | list) else one for one in data], root_url
        )


def configure_mcp(server: Any, *, takes_paths: bool, ledger: Ledger, max_file: int) -> None:
    """Have Gradio's MCP server (``Blocks.mcp_server_obj``; ``None`` where MCP is off) be a :class:`Server`.

    Args:
        ledger: counts what callers send.
        max_file: bytes of the largest file; the server itself reads 4 MiB of a message.
    """
    if server is not None:
        server.__class__ = Server
        server.takes_paths, server.ledger = takes_paths, ledger
        server.manager.asgi_app.max_body_size = largest_message(max_file)


def file_of(given: str, takes_paths: bool) -> Any:
    """The file that an argument stands for, as Gradio's client hands it on.

    Raises:
        StudioError: it stands for none.
    """
    folder = get_upload_folder()
    if given.startswith("data:"):
        return handle_file(save_base64_to_cache(given, folder))
    if given.startswith(("http://", "https://")):
        if takes_paths:
            return handle_file(given)
        raise StudioError("files are not fetched from web addresses here", "give the text of the file, or a data: URL in base64")
    if takes_paths and (path := _path(given.removeprefix("file://"))) is not None:
        return handle_file(save_file_to_cache(path, folder))
    if "\n" in given.strip():
        return handle_file(save_bytes_to_cache(given.encode("utf-8"), f"table{_suffix(given)}", folder))
    how = "give its text, or a data: URL in base64"
    raise StudioError("this stands for no file", f"{how}, a web address, or the path of a table here" if takes_paths else how)


def _path(given: str) -> Path | None:
    if len(given) > _LONGEST_PATH or "\n" in given:
        return None
    path = Path(given).expanduser()
    return path if path.suffix.lower() in SUFFIXES and path.is_file() else None


def _suffix(text: str) -> str:
    """By which a text is read: what its first line looks like."""
    first = text.lstrip().splitlines()[0]
    if first.startswith("{"):
        return ".jsonl"
    if first.startswith("["):
        return ".json"
    if "\t" in first:
        return ".tsv"
    return ".csv" if any(sign in first for sign in ",;|") else ".txt"
