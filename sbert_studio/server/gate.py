"""What every request passes before it is computed: API keys, limits, cancellation and metrics; errors in the shape of OpenAI's."""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.responses import Response

from ..errors import StudioError, to_user_error, to_valid_utf8
from .batcher import ServerStoppingError
from .engine import RequestError, UnknownModelError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

log = logging.getLogger(__name__)
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
_MAX_RETRY = 60  # seconds
_MAX_DISCARDED = 8  # times the size limit
_PATHS = ("/v1/embeddings", "/v1/rerank", "/v1/models", "/health", "/metrics")
_TYPES = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error", 504: "timeout_error"}


@dataclass(frozen=True)
class ServerLimits:
    """Limits of requests.

    Attributes:
        inputs: texts or documents per request.
        tokens: tokens per request.
        body_mb: size of a request's body, in MiB.
        queue: requests at the same time; more are refused with 429.
        seconds: time of a request, including the transfer of its body.
    """

    inputs: int = 2_048
    tokens: int = 300_000
    body_mb: int = 16
    queue: int = 256
    seconds: float = 60.0


def error_response(status: int, message: str, *, param: str | None = None, code: str | None = None, retry: int = 0) -> Response:
    """Return an error as OpenAI's API does: ``{"error": {"message", "type", "param", "code"}}``."""
    error = {"message": to_valid_utf8(message), "type": _TYPES.get(status, "invalid_request_error"), "param": param, "code": code}
    headers = {"Retry-After": str(retry)} if retry else {}
    headers |= {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    headers |= {"Connection": "close"} if status in (408, 413, 503) else {}
    return Response(orjson.dumps({"error": error}), status, headers, "application/json")


def to_response(error: Exception) -> Response:
    """Return the response for an exception; a bug is logged, and its details are not sent."""
    if isinstance(error, ServerStoppingError):
        return error_response(503, str(error), code="stopping", retry=5)
    if isinstance(error, UnknownModelError):
        return error_response(404, str(error), param="model", code="model_not_found")
    if isinstance(error, RequestError):
        return error_response(400, str(error), param=error.param or None, code="invalid_value")
    known = error if isinstance(error, StudioError) else to_user_error(error)
    if known is None:
        log.exception("a request failed", exc_info=error)
        return error_response(500, "the server failed to compute this request; its log has the details", code="internal_error")
    log.warning("a request failed: %s", known)
    return error_response(500, str(known), code="internal_error")


class Metrics:
    """Counters and histograms in the text format of Prometheus."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, value: float = 1, **labels: str) -> None:
        with self._lock:
            self._counts[name, ",".join(f'{key}="{label}"' for key, label in labels.items())] += value  # type: ignore[assignment]

    def observe_request(self, path: str, status: int, seconds: float) -> None:
        self.add("requests_total", path=path, status=str(status))
        for bound in (*_BUCKETS, math.inf):
            self.add("request_seconds_bucket", seconds <= bound, path=path, le="+Inf" if bound == math.inf else f"{bound:g}")
        self.add("request_seconds_sum", seconds, path=path)
        self.add("request_seconds_count", path=path)

    def observe_batch(self, items: int, tokens: int, seconds: float) -> None:
        for name, value in (("batches", 1), ("batch_items", items), ("batch_tokens", tokens), ("batch_seconds", seconds)):
            self.add(f"{name}_total", value)

    def render(self, **gauges: float) -> str:
        """Return all metrics as text, with the current values of gauges."""
        with self._lock:
            counts = [*self._counts.items(), *(((name, ""), value) for name, value in gauges.items())]
        lines, last = [], ""
        for (name, labels), value in sorted(counts, key=lambda item: _family(item[0][0])):  # stable: buckets stay in order
            family = _family(name)
            if family != last:
                kind = "gauge" if family in gauges else "histogram" if family != name else "counter"
                lines.append(f"# TYPE sbert_studio_{family} {kind}")
                last = family
            lines.append(f"sbert_studio_{name}{f'{{{labels}}}' if labels else ''} {value:.10g}")
        return "\n".join([*lines, ""])


def _family(name: str) -> str:
    return next((name.removesuffix(ending) for ending in ("_bucket", "_sum", "_count") if name.endswith(ending)), name)


class _BodyError(Exception):
    """The body was not received."""

    def __init__(self, response: Response | None) -> None:
        super().__init__()
        self.response = response


class Gate:
    """ASGI middleware that admits requests.

    A request is refused without the right API key, while the server stops, or if too many are waiting. Its body is read up to the limits of
    size and time. A request whose client disconnects is cancelled, as is one that takes too long.

    Args:
        app: application behind the gate.
        keys: accepted API keys; empty to accept every request.
        seconds_left: returns the time until the waiting requests are computed.

    Attributes:
        stopping: refuse new requests.
        active: number of requests that are being received or computed.
    """

    def __init__(self, app: App, limits: ServerLimits, keys: Sequence[str], metrics: Metrics, seconds_left: Callable[[], float]) -> None:
        self.app, self.limits, self.metrics = app, limits, metrics
        self._keys = tuple(key.encode() for key in keys)
        self._seconds_left = seconds_left
        self.stopping = False
        self.active = 0

    @property
    def has_keys(self) -> bool:
        return bool(self._keys)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        start, path = time.perf_counter(), next((path for path in _PATHS if f"{scope['path']}/".startswith(f"{path}/")), "other")
        status = 499  # as nginx logs a client that disconnected

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if (refusal := self._refuse(scope, path)) is not None:
                await refusal(scope, receive, send_observed)
            elif scope["method"] == "POST":
                await self._admit(scope, receive, send_observed)
            else:
                await self.app(scope, receive, send_observed)
        except Exception as error:
            if status == 499:  # otherwise, the application has sent and logged the error
                await to_response(error)(scope, receive, send_observed)
        finally:
            self.metrics.observe_request(path, status, time.perf_counter() - start)

    def _refuse(self, scope: MutableMapping[str, Any], path: str) -> Response | None:
        headers = dict(scope["headers"])
        if path != "/health" and self._keys and not self._has_key(headers.get(b"authorization", b"")):
            return error_response(401, "the API key is missing or wrong: send it as 'Authorization: Bearer KEY'", code="invalid_api_key")
        if scope["method"] != "POST":
            return None
        if self.stopping:
            return to_response(ServerStoppingError())
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            # Other sites can make a browser send requests of other types without asking this server first.
            return error_response(415, "the body is not JSON: send it with 'Content-Type: application/json'")
        if self.active >= self.limits.queue:
            seconds = min(_MAX_RETRY, max(1, math.ceil(self._seconds_left())))
            return error_response(
                429, f"{self.active} requests are waiting: try again in {seconds} s", code="rate_limit_exceeded", retry=seconds
            )
        return None

    def _has_key(self, header: bytes) -> bool:
        scheme, _, given = header.partition(b" ")
        # Compare with every key, so that the time does not depend on which one matches.
        matches = [hmac.compare_digest(given.strip(), key) for key in self._keys]
        return any(matches) and scheme.lower() == b"bearer"

    async def _admit(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self.active += 1
        start = time.monotonic()
        try:
            body = await asyncio.wait_for(self._read(scope, receive), self.limits.seconds)
            await self._run(scope, body, receive, send, self.limits.seconds - (time.monotonic() - start))
        except TimeoutError:
            await error_response(408, f"the body did not arrive within {self.limits.seconds:g} s")(scope, receive, send)
        except _BodyError as error:
            if error.response is not None:
                await error.response(scope, receive, send)
        finally:
            self.active -= 1

    async def _read(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        limit = self.limits.body_mb << 20
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        parts, size, more = [], 0, True
        # A body that is too large is received but not stored: a client that is still sending might not receive the response.
        while more and size <= _MAX_DISCARDED * limit:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _BodyError(None)
            piece, more = message.get("body", b""), message.get("more_body", False)
            size += len(piece)
            if size <= limit:
                parts.append(piece)
        if size > limit or (declared.isdigit() and int(declared) > limit):
            raise _BodyError(error_response(413, f"the body is larger than {self.limits.body_mb} MiB: send fewer texts per request"))
        return b"".join(parts)

    async def _run(self, scope: MutableMapping[str, Any], body: bytes, receive: Receive, send: Send, seconds: float) -> None:
        """Call the application; cancel it when the client disconnects or the time is over."""
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            if not messages:
                await asyncio.Event().wait()  # the watcher receives what comes next
            return messages.pop()

        async def disconnected() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        handler = asyncio.ensure_future(self.app(scope, replay, send))
        watcher = asyncio.ensure_future(disconnected())
        try:
            await asyncio.wait({handler, watcher}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not handler.done() and not watcher.done():
                # First remove its texts from the queue: whoever hears of the end may send the next request.
                await _cancel(handler)
            if handler.done() and not handler.cancelled():
                handler.result()
            elif not watcher.done():
                await error_response(504, f"the request took longer than {seconds:.0f} s: send fewer texts, or try again later")(
                    scope, receive, send
                )
        finally:
            for task in (handler, watcher):
                await _cancel(task)


async def _cancel(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait until it has ended."""
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task
