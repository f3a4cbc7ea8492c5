"""A hub on this machine that speaks the part of the Hugging Face Hub's protocol by which repositories are made, written and read."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from servers import QuietHandler

TOKEN = "hf_test"


class Hub(QuietHandler):
    """Repositories in a folder: made, asked how files are wanted (whole, in the commit), written by a commit, and read by their owners.

    Data sets are in the folder ``datasets``.
    """

    folder: Path
    taken = "somebody-else/model"
    accounts = {TOKEN: "me", "hf_other": "other"}  # noqa: RUF012

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        account = self.accounts.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
        kind, *parts = unquote(urlsplit(self.path).path).removeprefix("/api").strip("/").split("/")
        if kind == "whoami-v2":
            return self._answer(200 if account else 401, {"name": account, "type": "user"})
        if kind != "datasets":
            return self._answer(404, {"error": "not found"})
        folder = self.folder / "datasets" / "/".join(parts[:2])
        if not folder.is_dir() or (self._is_private(folder) and parts[0] != account):
            return self._answer(404, {"error": "Repository not found"}, **{"X-Error-Code": "RepoNotFound"})
        if "/resolve/" in self.path:
            return self._send(folder / "/".join(parts[4:]))
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".private"]
        siblings = [{"rfilename": path.relative_to(folder).as_posix(), "size": path.stat().st_size} for path in files]
        return self._answer(200, {"id": "/".join(parts[:2]), "private": self._is_private(folder), "sha": "1" * 40, "siblings": siblings})

    def _is_private(self, folder: Path) -> bool:
        return (folder / ".private").read_text() in ("private", "True")

    def _send(self, path: Path) -> None:
        content = path.read_bytes()
        self.send_response(200)
        for name, value in {"Content-Length": str(len(content)), "ETag": f'"{hash(content)}"', "X-Repo-Commit": "1" * 40}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def do_POST(self) -> None:  # noqa: PLR0911
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b"".join(self._chunks())
        account = self.accounts.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
        if account is None:
            return self._answer(401, {"error": "Invalid credentials"})
        if self.path == "/api/validate-yaml":
            return self._answer(200, {"errors": [], "warnings": []})
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or account}/{asked['name']}"
            if name == self.taken:
                return self._answer(403, {"error": "You don't have the rights to create a model under this namespace"})
            made = self.folder / ("datasets" if asked.get("type") == "dataset" else "") / name
            if made.is_dir():
                return self._answer(409, {"error": "You already created this repo", "url": f"{self.base}/{name}"})
            made.mkdir(parents=True)
            (made / ".private").write_text(str(asked.get("visibility") or asked.get("private")))
            return self._answer(200, {"url": f"{self.base}/{name}", "name": name})
        kind, repository = self.path.split("/")[2], "/".join(self.path.split("/")[3:5])
        if kind == "datasets" and repository.split("/")[0] != account:
            return self._answer(403, {"error": "You have no permission"})
        if "/preupload/" in self.path:
            files: Any = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in json.loads(body)["files"]]
            return self._answer(200, {"files": files})
        assert "/commit/" in self.path, self.path
        for line in body.decode().splitlines():
            one = json.loads(line)
            if one["key"] == "file":
                target = self.folder / ("datasets" if kind == "datasets" else "") / repository / one["value"]["path"]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(base64.b64decode(one["value"]["content"]))
        return self._answer(200, {"commitUrl": f"{self.base}/{repository}/commit/1", "commitOid": "1" * 40, "success": True})

    @property
    def base(self) -> str:
        return f"http://{self.headers['Host']}"

    def _chunks(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()

    def _answer(self, status: int, value: Any, **headers: str) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, text in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)
