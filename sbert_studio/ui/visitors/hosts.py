"""Which names the page answers to: a site that points its own name at this machine (DNS rebinding) is refused."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY = frozenset({"", "0.0.0.0", "::"})
_SHARED = "*.gradio.live"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class AllowedHosts:
    """The names that a request may be addressed to, and the origins that it may come from.

    A page bound to every address of its machine also answers to bare addresses, which no foreign site can take as its name, and to
    the machine's own names.

    Args:
        bound: the address that is listened on.
        more: further names: ``example.org``, ``*.example.org`` for those below it, ``*`` for any.
        share: whether Gradio's tunnel leads here.
    """

    def __init__(self, bound: str, more: Iterable[str] = (), *, share: bool = False) -> None:
        self._open = bound in _ANY
        own = {socket.gethostname(), f"{socket.gethostname()}.local", socket.getfqdn()} if self._open else {bound}
        given = [name.lower().rstrip(".") for name in (*more, *([_SHARED] if share else []))]
        self.given = frozenset(given)
        self._names = {name.lower() for name in own if name} | _LOOPBACK | self.given

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` header names this page."""
        name = _name_of(host)
        return name is not None and (_matches(name, self._names) or (self._open and _is_address(name)))

    def trusts(self, origin: str, scheme: str, host: str) -> bool:
        """Whether a request for ``host`` may come from ``origin``: from the page itself, or from a site that the settings name."""
        try:
            parts = urlsplit(origin)
            port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
        except ValueError:
            return False
        name = parts.hostname
        if name is None:
            return False
        # What stands before the page may have taken off TLS, so that the port which is not named is either of two.
        asked = urlsplit(f"{scheme}://{host}")
        same = name == asked.hostname and (
            port == (asked.port or _DEFAULT_PORTS.get(scheme)) or (parts.port is None and asked.port is None)
        )
        return same or _matches(name, self.given)


class OwnHostsOnly:
    """ASGI middleware: 403 with a reason for a foreign ``Host`` or ``Origin``, whatever is asked for."""

    def __init__(self, app: Any, allowed: AllowedHosts) -> None:
        self.app, self.allowed = app, allowed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or pass on."""
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

    def _refusal(self, scope: Any) -> str | None:
        hosts, origins = (
            [value.decode("latin-1") for name, value in scope["headers"] if name == wanted] for wanted in (b"host", b"origin")
        )
        if len(hosts) != 1 or not self.allowed.knows(hosts[0]):
            return "this page does not answer to that name. hint: name it in SBERT_STUDIO_ALLOWED_HOSTS.\n"
        if any(not self.allowed.trusts(origin, scope.get("scheme", "http"), hosts[0]) for origin in origins):
            return "this page takes no requests from other sites. hint: name the site in SBERT_STUDIO_ALLOWED_HOSTS.\n"
        return None


def _name_of(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # a port that is none makes the header one that nobody sends
    except ValueError:
        return None
    return None if parts.hostname is None or parts.username is not None or parts.path else parts.hostname.rstrip(".")


def _matches(name: str, known: Iterable[str]) -> bool:
    return any(one in ("*", name) or (one.startswith("*.") and name.endswith(one[1:])) for one in known)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
