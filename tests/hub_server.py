"""A hub on this machine that speaks the part of the Hugging Face Hub's protocol by which models and datasets are found and fetched.

Who asked for what, and with which token, is written down.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from servers import QuietHandler, served

_PIECE = 1 << 16


@dataclass
class Repository:
    """A model or a dataset on the hub.

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
    """What the hub holds, and what was asked of it: (method, path, token), and bytes of files that were sent.

    ``page`` is answered to everything in the place of the hub, as by a network that wants a login first.
    """

    url: str = ""
    models: dict[str, Repository] = field(default_factory=dict)
    datasets: dict[str, Repository] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    sent: int = 0
    page: bytes = b""

    @property
    def tokens(self) -> set[str]:
        """All that were sent, the empty one for none."""
        return {token for _, _, token in self.asked}


@contextmanager
def hub_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """The hub, which huggingface_hub takes for the one there is until the end of the ``with``."""
    hub = HubServer()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with served(type("Handler", (_Handler,), {"hub": hub})) as hub.url:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
        yield hub


class _Handler(QuietHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        path = unquote(urlsplit(self.path).path)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        sent = parse_qs(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        self.hub.asked.append((self.command, path, token))
        if self.hub.page:
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.hub.page)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else self.hub.page)
            return
        if path.startswith("/api/models/"):
            name, _, _ = path.removeprefix("/api/models/").partition("/revision/")
            self._describe(self.hub.models.get(name), name, token)
        elif path.startswith("/api/datasets/"):
            owner, name, *rest = path.removeprefix("/api/datasets/").split("/")
            found = self.hub.datasets.get(f"{owner}/{name}")
            if rest and rest[0] in ("tree", "paths-info"):
                self._list(found, rest[0], "/".join(rest[2:]), sent.get("paths", []), token)
            else:
                self._describe(found, f"{owner}/{name}", token)
        elif "/resolve/" in path:
            name, _, rest = path.strip("/").partition("/resolve/")
            kind = self.hub.datasets if name.startswith("datasets/") else self.hub.models
            self._file(kind.get(name.removeprefix("datasets/")), rest.partition("/")[2], token)
        else:
            self._answer(404, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})

    def _sizes(self, found: Repository) -> dict[str, int]:
        sizes = {path.relative_to(found.folder).as_posix(): path.stat().st_size for path in found.folder.rglob("*") if path.is_file()}
        return sizes | found.said

    def _list(self, found: Repository | None, how: str, folder: str, paths: list[str], token: str) -> None:
        """Answer with the entries of a folder and of all below it, or with those of ``paths``."""
        if found is None or not (found.opens_to(token) or found.gated):
            return self._refuse(found)
        sizes = self._sizes(found)
        folders = {str(parent) for file in sizes for parent in PurePosixPath(file).parents if str(parent) != "."}
        entries = {name: {"type": "directory", "path": name, "oid": "0" * 40} for name in folders}
        entries |= {file: {"type": "file", "path": file, "size": size, "oid": "0" * 40} for file, size in sizes.items()}
        if how == "paths-info":
            return self._answer(200, [entries[name] for name in paths if name in entries])
        under = f"{folder}/" if folder else ""
        return self._answer(200, [entry for name, entry in sorted(entries.items()) if name.startswith(under)])

    def _describe(self, found: Repository | None, name: str, token: str) -> None:
        if found is None or not (found.opens_to(token) or found.gated):
            return self._refuse(found)
        if "" in found.fails:
            return self._answer(found.fails[""], {"error": "not now"})
        files = [{"rfilename": file, "size": size, "blobId": "0" * 40} for file, size in self._sizes(found).items()]
        described = {"id": name, "modelId": name, "sha": _commit(found), "private": bool(found.readers), "siblings": files}
        self._answer(200, described | {"gated": "auto" if found.gated else False, "tags": [], "downloads": 0, "likes": 0})

    def _file(self, found: Repository | None, file: str, token: str) -> None:
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
            return self._answer(403, {"error": "Access to this repository is restricted"}, {"X-Error-Code": "GatedRepo"})
        return self._answer(401, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})

    def _answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        content = b"" if self.command == "HEAD" else json.dumps(value).encode()
        self.send_response(status)
        for header, given in {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(header, given)
        self.end_headers()
        self.wfile.write(content)


def _commit(repository: Repository) -> str:
    stamps = [f"{path.name} {path.stat().st_mtime_ns}" for path in sorted(repository.folder.rglob("*")) if path.is_file()]
    return hashlib.sha1("\n".join(stamps).encode()).hexdigest()
