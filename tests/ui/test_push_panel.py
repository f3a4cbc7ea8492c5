"""Pushing to a hub: the real client of the Hugging Face Hub, against a server on this machine that speaks its part of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gradio as gr
import numpy as np
import pytest
from push_server import TOKEN, Hub
from servers import served
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.models.io.load import load_folder
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.ui.components import hub_token, push_model
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.models.kept_work import RestoredWork, keep_work, restore_work


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


def test_a_signed_in_visitor_keeps_their_work_and_gets_it_back(
    studio: Studio, hub: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model_folder: Path
) -> None:
    url, folder = hub
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setenv("HF_TOKEN", "hf_other")  # of the host
    page, me, token = Page(studio, shared=True), {"owner": "visitor-0123456789abcdef"}, gr.OAuthToken(TOKEN, "", 0)
    with pytest.raises(StudioError, match="not available here"):
        keep_work(page, me)
    assert restore_work(page, me, 1) == restore_work(page, me, 1, token) == RestoredWork(), "nothing is kept yet"
    page.files.save(me["owner"], write_pairs(tmp_path / "pairs.csv"), "pairs.csv", "sentence1")
    assert keep_work(page, me, token) == {"text": "1 run, model or file kept:", "link": f"{url}/datasets/me/sbert-studio-work"}
    assert keep_work(page, me, token)["text"].startswith("Everything is kept")
    assert [path.name for path in folder.glob("datasets/*")] == ["me"], "never in the account of the host"
    with studio_at(tmp_path / "elsewhere", model_folder) as other:
        there = Page(other, shared=True)
        assert restore_work(there, {"owner": "visitor-3333333333333333"}, 1, gr.OAuthToken("hf_other", "", 0)) == RestoredWork()
        found = restore_work(there, {"owner": "visitor-4444444444444444"}, 1, token)
        assert found.runs_version == 2 and found.kept["text"] == "1 run, model or file restored from"  # type: ignore[index]
        assert [file.name for file in there.files.list_files("visitor-4444444444444444")] == ["pairs.csv"]
        assert not there.files.list_files("visitor-3333333333333333")
        asked = len(list(folder.rglob("*")))
        assert restore_work(there, {"owner": "visitor-4444444444444444"}, 1, token) == RestoredWork(), "once for each sign-in"
        assert len(list(folder.rglob("*"))) == asked
