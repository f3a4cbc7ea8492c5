"""Pushing to a hub: the real client of the Hugging Face Hub, against a server on this machine that speaks its part of the protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from servers import QuietHandler, served
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.models.io.load import load_folder
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.ui.components import hub_token, push_model
from sbert_studio.ui.page import Page

TOKEN = "hf_test"


class Hub(QuietHandler):
    """Repositories in a folder: made, asked how files are wanted (whole, in the commit), and written by a commit."""

    folder: Path
    taken = "somebody-else/model"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b"".join(self._chunks())
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._answer(401, {"error": "Invalid credentials"})
        if self.path == "/api/validate-yaml":
            return self._answer(200, {"errors": [], "warnings": []})
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'me'}/{asked['name']}"
            if name == self.taken:
                return self._answer(403, {"error": "You don't have the rights to create a model under this namespace"})
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            (self.folder / name / ".private").write_text(str(asked.get("visibility") or asked.get("private")))
            return self._answer(200, {"url": f"{self.base}/{name}", "name": name})
        repository = "/".join(self.path.split("/")[3:5])
        if "/preupload/" in self.path:
            files = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in json.loads(body)["files"]]
            return self._answer(200, {"files": files})
        assert "/commit/" in self.path, self.path
        for line in body.decode().splitlines():
            one = json.loads(line)
            if one["key"] == "file":
                target = self.folder / repository / one["value"]["path"]
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

    def _answer(self, status: int, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    Hub.folder = tmp_path / "hub"
    with served(Hub) as url:
        yield url, Hub.folder


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Studio]:
    with studio_at(tmp_path_factory.mktemp("pushing"), model_folder) as found:
        yield found


@pytest.fixture(scope="module")
def run_id(studio: Studio, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A finished run. Read only."""
    pairs = write_pairs(tmp_path_factory.mktemp("data") / "pairs.csv")
    return studio.fine_tune.train(TrainRequest(pairs, overrides=quick(), name="Mine")).id


def test_a_run_is_pushed_and_opens_again_as_it_was(studio: Studio, run_id: str, hub: tuple[str, Path]) -> None:
    url, folder = hub
    phases: list[str] = []
    done = studio.models.push_to_hub(run_id, "me/my-model", TOKEN, endpoint=url, begin_phase=phases.append)
    assert done.url == f"{url}/me/my-model"
    assert (folder / "me/my-model/.private").read_text() in ("private", "True")
    assert phases[0] == "contacting the Hub" and phases[1].startswith("uploading")
    here, there = studio.catalog.load(run_id), load_folder(folder / "me/my-model")
    assert np.allclose(here.encode(["cat dog"]), there.encode(["cat dog"]), atol=1e-6)
    assert "sentence-transformers" in (folder / "me/my-model/README.md").read_text()
    studio.models.push_to_hub(run_id, "me/my-model", TOKEN, private=False, endpoint=url)  # once more, over what is there


@pytest.mark.parametrize(
    ("repository", "token", "said"),
    [
        ("me/model", "hf_wrong", "does not recognize you"),
        (Hub.taken, TOKEN, "you have no permission to write to somebody-else/model"),
        ("a b", TOKEN, "is not a valid repository name"),
        ("", TOKEN, "is not a valid repository name"),
        ("../../etc", TOKEN, "is not a valid repository name"),
    ],
)
def test_what_the_hub_refuses_is_said_in_words(
    studio: Studio, run_id: str, hub: tuple[str, Path], repository: str, token: str, said: str
) -> None:
    with pytest.raises(StudioError, match=said):
        studio.models.push_to_hub(run_id, repository, token, endpoint=hub[0])


def test_a_hub_that_cannot_be_reached_and_models_of_others(studio: Studio, run_id: str, page: Page, hub: tuple[str, Path]) -> None:
    with pytest.raises(StudioError, match="cannot be reached"):
        studio.models.push_to_hub(run_id, "me/model", TOKEN, endpoint="http://127.0.0.1:9")
    with pytest.raises(StudioError, match="was not trained here"):
        studio.models.push_to_hub("all-MiniLM-L6-v2", "me/model", TOKEN, endpoint=hub[0])
    shared = Page(studio, shared=True)
    with pytest.raises(StudioError, match="not yours"):
        push_model(shared, {"owner": "visitor-0123456789abcdef"}, run_id, "me/model", True, gr.OAuthToken(TOKEN, "", 0))


def test_a_shared_page_never_pushes_with_the_machines_own_token(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_space")
    assert hub_token(Page(studio), None) == "hf_of_the_space"
    with pytest.raises(StudioError, match="not available here"):
        hub_token(Page(studio, shared=True), None)
    monkeypatch.setattr(studio, "settings", replace(studio.settings, sign_in=True))
    with pytest.raises(StudioError, match="you are not signed in"):
        hub_token(Page(studio, shared=True), None)
    assert hub_token(Page(studio, shared=True), "hf_of_the_visitor") == "hf_of_the_visitor"
