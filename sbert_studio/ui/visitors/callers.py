"""For whom Gradio's MCP server calls this page: it does so over the loopback, and would make one visitor of all its callers."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

HEADER = "x-sbert-studio-caller"
"""The secret of this process and the caller's address, in calls that the MCP server makes to this page."""
OF_SERVER = "x-sbert-studio-mcp"
"""The secret and :data:`SELF`, in all requests of the MCP server. Gradio's client lets its own headers win over those of a call."""
SELF = "mcp"
"""The address of the MCP server itself, which uploads files that it has counted already."""
MCP_PATH = "/gradio_api/mcp"
_SECRET = secrets.token_hex(16)


def signed(address: str) -> str:
    """Return the value of :data:`HEADER` for a caller at ``address``."""
    return f"{_SECRET} {address}"


def _address(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """Return the address in a header that has the secret of this process; empty where there is none."""
    for key, value in headers:
        secret, _, address = value.decode("latin-1").partition(" ")
        if key == name and secrets.compare_digest(secret.encode("latin-1"), _SECRET.encode()):
            return address
    return ""


class InnerCalls:
    """ASGI middleware: what the MCP server asks of this page comes from whoever called that server.

    A call to the MCP server gets a header with the caller's address, which Gradio hands on; a request that brings this header with the
    secret of this process is taken to come from that address. The header is never taken from outside.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on."""
        if scope["type"] == "http":
            names = (HEADER.encode(), OF_SERVER.encode())
            headers = [(key, value) for key, value in scope["headers"] if key not in names]
            client = scope.get("client")
            told = (_address(scope["headers"], name) for name in names)
            if address := next(filter(None, told), ""):
                client = (address, 0)
            elif MCP_PATH in scope["path"]:
                headers.append((names[0], signed(str((client or ("",))[0])).encode("latin-1", "replace")))
            scope = {**scope, "client": client, "headers": headers}
        await self.app(scope, receive, send)
