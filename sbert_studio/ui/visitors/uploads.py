"""How much visitors may send: each in a day, all together, and in one request, counted while the bytes arrive."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from starlette.formparsers import MultiPartException

from .callers import MCP_PATH, SELF

_MIB = 1 << 20
_UPLOAD = "/gradio_api/upload"
_LARGEST_BODY = 64 * _MIB
_TOGETHER = 60.0  # seconds of which the bytes are counted as one
_AROUND = _MIB  # bytes of a request around the file that it brings
_OK = 200
_CUT = "The upload was cut."


class Ledger:
    """The bytes that each address has sent of late.

    Args:
        each, everybody: bytes that one address, and all together, may send in ``seconds``, for which files stay; 0 for no limit.
    """

    def __init__(self, each: int, everybody: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._each, self._everybody, self._seconds, self._clock = each, everybody, seconds, clock
        self._sent: deque[tuple[float, str, int]] = deque()
        self._lock = threading.Lock()

    def refusal(self, address: str, size: int) -> str | None:
        """Why this address may not send so many bytes more; ``None`` where it may."""
        with self._lock:
            while self._sent and self._sent[0][0] < self._clock() - self._seconds:
                self._sent.popleft()
            own = sum(taken for _, other, taken in self._sent if other == address)
            whole = sum(taken for _, _, taken in self._sent)
        if self._each and own + size > self._each:
            most = f"{self._each / _MIB:,.0f}"
            return f"Your files have the maximum allowed size of {most} MiB a day together; try again tomorrow, or give smaller ones."
        if self._everybody and whole + size > self._everybody:
            most = f"{self._everybody / _MIB:,.0f}"
            return f"All visitors' files have the maximum allowed size of {most} MiB together; try again later."
        return None

    def give_back(self, address: str, size: int) -> None:
        """Take back what was added for a file that was not kept."""
        with self._lock:
            for place in range(len(self._sent) - 1, -1, -1):
                began, other, taken = self._sent[place]
                if other == address and size > 0:
                    back = min(size, taken)
                    self._sent[place] = (began, other, taken - back)
                    size -= back

    def add(self, address: str, size: int) -> None:
        """It has sent so many bytes more."""
        now = self._clock()
        with self._lock:
            if self._sent and self._sent[-1][1] == address and now - self._sent[-1][0] < _TOGETHER:
                began, _, taken = self._sent.pop()
                self._sent.append((began, address, taken + size))
            else:
                self._sent.append((now, address, size))


def largest_message(max_file: int) -> int:
    """Return the bytes of the largest message to the MCP server: a file in base64, which takes a third more, and what stands around it."""
    return 4 * max_file // 3 + _LARGEST_BODY


class UploadBudget:
    """ASGI middleware: 413 with a reason for what is more than a visitor may send, before it is on disk.

    Args:
        max_file: bytes of the largest file.
    """

    def __init__(self, app: Any, ledger: Ledger, max_file: int) -> None:
        self.app, self._ledger, self._max_file = app, ledger, max_file
        self._largest_message = largest_message(max_file)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        path = str(scope["path"])
        if path.rstrip("/").endswith(_UPLOAD):
            await self._upload(scope, receive, send)
        else:
            await self._message(scope, receive, send, self._largest_message if MCP_PATH in path else _LARGEST_BODY)

    async def _upload(self, scope: Any, receive: Any, send: Any) -> None:
        address = str((scope.get("client") or ("",))[0])
        if address == SELF:  # the file was counted when it came as the text of a message
            await self.app(scope, receive, send)
            return
        declared = _length(scope)
        words = self._ledger.refusal(address, declared)
        if declared > self._max_file + _AROUND:
            words = f"The file is larger than the {self._max_file / _MIB:,.0f} MiB that are taken."
        if words:
            await _refuse(send, words)
            return
        taken, kept = 0, False

        async def counted() -> Any:
            nonlocal taken
            message = await receive()
            if message["type"] == "http.disconnect":
                raise MultiPartException(_CUT)
            if size := len(message.get("body", b"")):
                if words := self._ledger.refusal(address, size):
                    raise MultiPartException(words)  # Gradio answers it, and removes what it has written of the file
                self._ledger.add(address, size)
                taken += size
            return message

        async def told(message: Any) -> None:
            nonlocal kept
            kept |= message["type"] == "http.response.start" and message["status"] == _OK
            await send(message)

        try:
            await self.app(scope, counted, told)
        finally:
            if not kept:
                self._ledger.give_back(address, taken)

    async def _message(self, scope: Any, receive: Any, send: Any, most: int) -> None:
        words = f"The request is larger than the {most / _MIB:,.0f} MiB that are read; send the texts as a file."
        if _length(scope) > most:
            await _refuse(send, words)
            return
        taken, answered = 0, False

        async def counted() -> Any:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise _TooLargeError
            return message

        async def told(message: Any) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.app(scope, counted, told)
        except _TooLargeError:
            if not answered:
                await _refuse(send, words)


class _TooLargeError(Exception):
    """More was sent than is read."""


def _length(scope: Any) -> int:
    """What a request says of its length; 0 where it says nothing."""
    said = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(said[0]) if said and said[0].isdigit() else 0


async def _refuse(send: Any, words: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": words.encode()})
