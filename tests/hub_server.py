"""A hub on this machine that speaks the part of the Hugging Face Hub's protocol by which models are found and fetched.

Who asked for what, and with which token, is written down.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

_PIECE = 1 << 16


@dataclass
class Repository:
    """A model on the hub.

    Attributes:
        folder: whose files it has.
        readers: tokens that may see it; everybody where there are none.
        gated: whether a licence is to be accepted first: it is then seen by everybody, and fetched by ``readers`` alone.
        said: bytes of files that are only said to be there, by their names.
        seconds: how long the hub takes over each 64 KiB.
        fails: the status with which the hub answers in the place of a file, or of the description (an empty name).
        lengths: bytes that a file is said to have once it is asked for, by its name.
    """

    folder: Path
    readers: tuple[str, ...] = ()
    gated: bool = False
    said: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    fails: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)

    def opens_to(self, token: str) -> bool:
        return not self.readers or token in self.readers


@dataclass
class HubServer:
    """What the hub holds, and what was asked of it: (method, path, token), and bytes of files that were sent."""

    url: str = ""
    models: dict[str, Repository] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    sent: int = 0

    @property
    def tokens(self) -> set[str]:
        """All that were sent, the empty one for none."""
        return {token for _, _, token in self.asked}


@contextmanager
def hub_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """The hub, which huggingface_hub takes for the one there is until the end of the ``with``."""
    hub = HubServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        path = unquote(urlsplit(self.path).path)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        self.hub.asked.append((self.command, path, token))
        if path.startswith("/api/models/"):
            name, _, _ = path.removeprefix("/api/models/").partition("/revision/")
            self._describe(name, token)
        elif "/resolve/" in path:
            name, _, rest = path.strip("/").partition("/resolve/")
            self._file(name, rest.partition("/")[2], token)
        else:
            self._answer(404, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})

    def _describe(self, name: str, token: str) -> None:
        found = self.hub.models.get(name)
        if found is None or not (found.opens_to(token) or found.gated):
            return self._refuse(found)
        if "" in found.fails:
            return self._answer(found.fails[""], {"error": "not now"})
        sizes = {path.relative_to(found.folder).as_posix(): path.stat().st_size for path in found.folder.rglob("*") if path.is_file()}
        files = [{"rfilename": file, "size": size, "blobId": "0" * 40} for file, size in (sizes | found.said).items()]
        described = {"id": name, "modelId": name, "sha": _commit(found), "private": bool(found.readers), "siblings": files}
        self._answer(200, described | {"gated": "auto" if found.gated else False, "tags": [], "downloads": 0, "likes": 0})

    def _file(self, name: str, file: str, token: str) -> None:
        found = self.hub.models.get(name)
        if found is None or not found.opens_to(token):
            return self._refuse(found)
        if file in found.fails:
            return self._answer(found.fails[file], {"error": "not now"})
        path = found.folder / file
        if not path.is_file():
            return self._answer(404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound"})
        content = path.read_bytes()
        self.send_response(200)
        for header, value in {
            "Content-Length": str(found.lengths.get(file, len(content)) if self.command == "HEAD" else len(content)),
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Repo-Commit": _commit(found),
            "Accept-Ranges": "bytes",
        }.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command == "HEAD":
            return None
        for start in range(0, len(content), _PIECE):
            time.sleep(found.seconds)
            try:
                self.wfile.write(content[start : start + _PIECE])
            except OSError:  # whoever asked has gone
                return None
            self.hub.sent += len(content[start : start + _PIECE])
        return None

    def _refuse(self, found: Repository | None) -> None:
        if found is not None and found.gated:
            return self._answer(403, {"error": "Access to this model is restricted"}, {"X-Error-Code": "GatedRepo"})
        return self._answer(401, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})

    def _answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        content = b"" if self.command == "HEAD" else json.dumps(value).encode()
        self.send_response(status)
        for header, given in {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(header, given)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _commit(repository: Repository) -> str:
    stamps = [f"{path.name} {path.stat().st_mtime_ns}" for path in sorted(repository.folder.rglob("*")) if path.is_file()]
    return hashlib.sha1("\n".join(stamps).encode()).hexdigest()
