"""Upload quotas in bytes: per visitor and day, of all visitors, and per request, counted while data arrives."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable

from starlette.formparsers import MultiPartException

from ...i18n import _
from .middleware import MCP_ADDRESS, MCP_PATH, App, Message, Receive, Scope, Send

_MIB = 1 << 20
_UPLOAD = "/gradio_api/upload"
_MAX_BODY = 64 * _MIB
_MERGE_SECONDS = 60.0  # bytes from one address within this time form one entry
_MULTIPART_OVERHEAD = _MIB
_OK = 200
_MAX_DISCARDED, _DISCARD_SECONDS = 1 << 30, 60.0  # of the body of a refused request


class UploadLedger:
    """Bytes recently sent by each address.

    Args:
        each, everybody: quota of one address and of all addresses together within ``seconds``; 0 for none.
        seconds: how long an uploaded file is stored.
    """

    def __init__(self, each: int, everybody: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._each, self._everybody, self._seconds, self._clock = each, everybody, seconds, clock
        self._sent: deque[tuple[float, str, int]] = deque()
        self._lock = threading.Lock()

    def refusal(self, address: str, size: int) -> str | None:
        """Return why this address may not send ``size`` more bytes; ``None`` if it may."""
        with self._lock:
            while self._sent and self._sent[0][0] < self._clock() - self._seconds:
                self._sent.popleft()
            own = sum(count for _, other, count in self._sent if other == address)
            total = sum(count for _, _, count in self._sent)
        if self._each and own + size > self._each:
            quota = f"{self._each / _MIB:,.0f}"
            return _(
                "This upload would exceed your daily maximum allowed size of {quota} MiB. Try again tomorrow, or upload smaller files.",
                quota=quota,
            )
        if self._everybody and total + size > self._everybody:
            quota = f"{self._everybody / _MIB:,.0f}"
            return _(
                "This upload would exceed the daily maximum allowed size of {quota} MiB for all visitors. Try again later.", quota=quota
            )
        return None

    def add(self, address: str, size: int) -> None:
        now = self._clock()
        with self._lock:
            if self._sent and self._sent[-1][1] == address and now - self._sent[-1][0] < _MERGE_SECONDS:
                start, _, count = self._sent.pop()
                self._sent.append((start, address, count + size))
            else:
                self._sent.append((now, address, size))

    def refund(self, address: str, size: int) -> None:
        with self._lock:
            for index in range(len(self._sent) - 1, -1, -1):
                start, other, count = self._sent[index]
                if other == address and size > 0:
                    refunded = min(size, count)
                    self._sent[index] = (start, other, count - refunded)
                    size -= refunded


def max_message_size(max_file: int) -> int:
    """Return the maximum message size of the MCP server: a file in base64, which adds a third, and its envelope."""
    return 4 * max_file // 3 + _MAX_BODY


class UploadBudget:
    """ASGI middleware that rejects requests beyond a quota with status 413 and a reason, before they are written to disk."""

    def __init__(self, app: App, ledger: UploadLedger, max_file: int) -> None:
        self.app, self._ledger, self._max_file = app, ledger, max_file
        self._max_message = max_message_size(max_file)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        path = str(scope["path"])
        if path.rstrip("/").endswith(_UPLOAD):
            await self._upload(scope, receive, send)
        else:
            await self._message(scope, receive, send, self._max_message if MCP_PATH in path else _MAX_BODY)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = str((scope.get("client") or ("",))[0])
        if address == MCP_ADDRESS:  # counted as the text of a message
            await self.app(scope, receive, send)
            return
        declared = _content_length(scope)
        reason = self._ledger.refusal(address, declared)
        if declared > self._max_file + _MULTIPART_OVERHEAD:
            reason = _("The file exceeds the limit of {max_file} MiB.", max_file=f"{self._max_file / _MIB:,.0f}")
        if reason:
            await _refuse(scope, receive, send, reason)
            return
        received, is_read, is_stored = 0, False, False

        async def counted_receive() -> Message:
            nonlocal received, is_read
            message = await receive()
            if message["type"] == "http.disconnect":
                raise MultiPartException("The upload was interrupted.")
            is_read = not message.get("more_body")
            if size := len(message.get("body", b"")):
                if reason := self._ledger.refusal(address, size):
                    raise MultiPartException(reason)  # Gradio responds with it, and deletes the part it has written
                self._ledger.add(address, size)
                received += size
            return message

        async def watched_send(message: Message) -> None:
            nonlocal is_stored
            is_stored |= message["type"] == "http.response.start" and message["status"] == _OK
            if message["type"] == "http.response.body" and not (is_read or message.get("more_body")):
                await _end_early(scope, receive, send, message.get("body", b""))
            else:
                await send(message)

        try:
            await self.app(scope, counted_receive, watched_send)
        finally:
            if not is_stored:
                self._ledger.refund(address, received)

    async def _message(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        reason = _("The request exceeds the limit of {limit} MiB; send the texts as a file.", limit=f"{limit / _MIB:,.0f}")
        if _content_length(scope) > limit:
            await _refuse(scope, receive, send, reason)
            return
        received, is_refused = 0, False

        async def counted_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _TooLargeError
            return message

        async def watched_send(message: Message) -> None:
            nonlocal is_refused
            if received <= limit:
                await send(message)
            elif not is_refused:  # instead of the response that the error above leads to
                is_refused = True
                await _refuse(scope, receive, send, reason)

        with contextlib.suppress(_TooLargeError):
            await self.app(scope, counted_receive, watched_send)
            return
        if not is_refused:
            await _refuse(scope, receive, send, reason)


class _TooLargeError(Exception):
    """A request exceeded its limit while being read."""


def _content_length(scope: Scope) -> int:
    values = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(values[0]) if values and values[0].isdigit() else 0


async def _refuse(scope: Scope, receive: Receive, send: Send, reason: str) -> None:
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await _end_early(scope, receive, send, body)


async def _end_early(scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
    """End a response before the request has been read: send it, and discard the rest of the request.

    Otherwise the connection is closed while a proxy or browser still sends, which it reports as a broken connection (502).
    """
    if any(name == b"expect" for name, _ in scope["headers"]):  # a client that waits for permission sends nothing
        await send({"type": "http.response.body", "body": body})
        return
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(_discard(receive), _DISCARD_SECONDS)
    await send({"type": "http.response.body", "body": b""})


async def _discard(receive: Receive) -> None:
    size = 0
    while size < _MAX_DISCARDED:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            return
        size += len(message.get("body", b""))
