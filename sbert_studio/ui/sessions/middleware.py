"""ASGI middleware of the page: callers of the MCP server, allowed hosts, and disconnected callers."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CALLER_HEADER = "x-sbert-studio-caller"
"""Header with this process's secret and the caller's address, in calls from the MCP server to this page."""
MCP_HEADER = "x-sbert-studio-mcp"
"""Header with the secret and :data:`MCP_ADDRESS`, in all requests of the MCP server, whose client prefers its own headers."""
MCP_ADDRESS = "mcp"
"""Address of the MCP server itself, whose uploads are already counted."""
MCP_PATH = "/gradio_api/mcp"
_SECRET = secrets.token_hex(16)
_DISCONNECTED = "sbert_studio.disconnected"
# Routes that respond outside the queue, where Gradio does not detect that the caller disconnected.
_DIRECT_ROUTES = ("/gradio_api/run/", "/gradio_api/api/")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})
_SHARE_HOST = "*.gradio.live"
# Headers that proxies add; a bare proxy_pass of nginx adds none, and cannot be recognized.
_FORWARDED = frozenset({b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"cf-connecting-ip", b"true-client-ip"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


def signed(address: str) -> str:
    """Return the value of :data:`CALLER_HEADER` for a caller at ``address``."""
    return f"{_SECRET} {address}"


def _signed_address(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    for key, value in headers:
        secret, _, address = value.decode("latin-1").partition(" ")
        if key == name and secrets.compare_digest(secret.encode("latin-1"), _SECRET.encode()):
            return address
    return ""


class McpCallerMiddleware:
    """Attributes the MCP server's requests to this page to the caller of the MCP server.

    Gradio's MCP server calls the page over the loopback interface, so all its callers would count as one visitor. A call to the MCP server
    gets a header with the caller's address, which Gradio passes on; a request with this header and the secret is attributed to that
    address. The header is never accepted from outside.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            names = (CALLER_HEADER.encode(), MCP_HEADER.encode())
            headers = [(key, value) for key, value in scope["headers"] if key not in names]
            client = scope.get("client")
            if address := next(filter(None, (_signed_address(scope["headers"], name) for name in names)), ""):
                client = (address, 0)
            elif MCP_PATH in scope["path"]:
                headers.append((names[0], signed(str((client or ("",))[0])).encode("latin-1", "replace")))
            scope = {**scope, "client": client, "headers": headers}
        await self.app(scope, receive, send)


def is_disconnected(scope: Mapping[str, Any]) -> bool:
    """Return whether the caller of a request has closed the connection; callable from any thread."""
    event = scope.get(_DISCONNECTED)
    return event is not None and event.is_set()


class DisconnectWatcher:
    """Detects when a caller that is answered outside the queue disconnects; see :func:`is_disconnected`."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not any(route in scope["path"] for route in _DIRECT_ROUTES):
            await self.app(scope, receive, send)
            return
        disconnected = asyncio.Event()
        # At most one message is buffered, so that a caller does not send faster than the app reads.
        messages: asyncio.Queue[Message | Exception] = asyncio.Queue(maxsize=1)

        async def watch() -> None:
            try:
                while not disconnected.is_set():
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        disconnected.set()
                    await messages.put(message)
            except Exception as error:
                await messages.put(error)  # raised where the app reads

        async def next_message() -> Message:
            message = await messages.get()
            if isinstance(message, Exception):
                raise message
            if message["type"] == "http.disconnect":
                messages.put_nowait(message)  # for the next reader
            return message

        watcher = asyncio.create_task(watch())
        try:
            await self.app({**scope, _DISCONNECTED: disconnected}, next_message, send)
        finally:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


class AllowedHosts:
    """Host names served by the page, and origins whose requests are accepted, to prevent DNS rebinding.

    A page bound to all addresses of its machine also serves IP addresses, which no other site can use as its name, and the machine's own
    names.

    Args:
        bound: address that the server listens on.
        more: additional names: ``example.org``, ``*.example.org`` for subdomains, ``*`` for any.
        share: whether Gradio's tunnel leads to this page.
    """

    def __init__(self, bound: str, more: Iterable[str] = (), *, share: bool = False) -> None:
        self._is_open = bound in _ANY_ADDRESS
        own = {socket.gethostname(), f"{socket.gethostname()}.local", socket.getfqdn()} if self._is_open else {bound}
        self.configured = frozenset(name.lower().rstrip(".") for name in (*more, *([_SHARE_HOST] if share else [])))
        self._names = {name.lower() for name in own if name} | _LOOPBACK | self.configured

    def is_host(self, host: str) -> bool:
        name = _host_name(host)
        return name is not None and (_matches(name, self._names) or (self._is_open and _is_ip_address(name)))

    def is_origin(self, origin: str, scheme: str, host: str) -> bool:
        """Return whether a request for ``host`` may come from ``origin``: the page itself or a configured site."""
        try:
            parts = urlsplit(origin)
            port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
        except ValueError:
            return False
        name = parts.hostname
        if name is None:
            return False
        # A proxy may have terminated TLS, so an omitted port means either default.
        requested = urlsplit(f"{scheme}://{host}")
        is_same_port = port == (requested.port or _DEFAULT_PORTS.get(scheme)) or (parts.port is None and requested.port is None)
        return (name == requested.hostname and is_same_port) or _matches(name, self.configured)


class HostCheck:
    """Rejects (403) requests with a foreign ``Host`` or ``Origin``.

    Args:
        private: also reject requests that a proxy has passed on, whose senders would have the rights of this machine's user.
    """

    def __init__(self, app: App, allowed: AllowedHosts, *, private: bool = False) -> None:
        self.app, self.allowed, self.private = app, allowed, private

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self.app(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[:100]})
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": refusal.encode()})

    def _refusal(self, scope: Scope) -> str | None:
        hosts, origins = ([value.decode("latin-1") for name, value in scope["headers"] if name == key] for key in (b"host", b"origin"))
        if len(hosts) != 1 or not self.allowed.is_host(hosts[0]):
            return "this page is not served under that host name. hint: add it to SBERT_STUDIO_ALLOWED_HOSTS.\n"
        if any(not self.allowed.is_origin(origin, scope.get("scheme", "http"), hosts[0]) for origin in origins):
            return "this page accepts no requests from other sites. hint: add the site to SBERT_STUDIO_ALLOWED_HOSTS.\n"
        if self.private and any(name in _FORWARDED or name.startswith(b"x-forwarded-") for name, _value in scope["headers"]):
            return (
                "this page is not shared, but a proxy passed this request on. hint: set SBERT_STUDIO_TRUSTED_PROXIES to the proxy's "
                "address, such as 127.0.0.1; visitors then do not have the rights of this machine's user.\n"
            )
        return None


def _host_name(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    return None if parts.hostname is None or parts.username is not None or parts.path else parts.hostname.rstrip(".")


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(one in ("*", name) or (one.startswith("*.") and name.endswith(one[1:])) for one in patterns)


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
