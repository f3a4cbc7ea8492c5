"""Connections that their callers close before the answer: work that is done for them ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

_KEY = "sbert_studio.gone"
# The routes on which a call is answered outside the queue; Gradio never looks whether the caller is still there.
_DIRECT = ("/gradio_api/run/", "/gradio_api/api/")


def is_gone(scope: Any) -> bool:
    """Tell if the caller of a request has closed its connection, by the request's ASGI scope; from any thread."""
    gone = scope.get(_KEY)
    return gone is not None and gone.is_set()


class DisconnectWatcher:
    """ASGI middleware that notices while a call is answered outside the queue that its caller leaves; see :func:`is_gone`."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on."""
        if scope["type"] != "http" or not any(route in scope["path"] for route in _DIRECT):
            await self.app(scope, receive, send)
            return
        gone = asyncio.Event()
        # One message waits at most, so that a caller sends no faster than the app reads.
        messages: asyncio.Queue[Any] = asyncio.Queue(maxsize=1)

        async def watch() -> None:
            try:
                while not gone.is_set():
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        gone.set()
                    await messages.put(message)
            except Exception as error:
                await messages.put(error)  # raised where the app reads

        async def next_message() -> Any:
            message = await messages.get()
            if isinstance(message, Exception):
                raise message
            if message["type"] == "http.disconnect":
                messages.put_nowait(message)  # whoever asks again is told again
            return message

        watcher = asyncio.create_task(watch())
        try:
            await self.app({**scope, _KEY: gone}, next_message, send)
        finally:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher
