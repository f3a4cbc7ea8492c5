"""On a shared page no request for a visitor carries the host's token, whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from hub_server import HubServer, Repository, hub_server
from tiny_studio import studio_at, write_pairs

from sbert_studio.data.loading.hub import fetch_hub_file
from sbert_studio.errors import StudioError
from sbert_studio.identity import current_identity
from sbert_studio.services import Studio
from sbert_studio.ui.app import launch
from sbert_studio.ui.sessions.tasks import TaskRegistry

HOST = "hf_of_the_host"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[HubServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", HOST)
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path_factory.mktemp("usual")))
        with hub_server(patch) as found:
            found.models["all/open"] = Repository(model_folder)
            found.models["host/private"] = Repository(model_folder, readers=(HOST,))
            yield found


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Studio]:
    with studio_at(tmp_path_factory.mktemp("shared"), model_folder, space=True, reranker="host/private") as found:
        yield found


@pytest.fixture(scope="module")
def client(studio: Studio, hub: HubServer) -> Iterator[Client]:
    blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
    yield Client(url, verbose=False, ssl_verify=False)
    blocks.close()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return handle_file(write_pairs(tmp_path_factory.mktemp("data") / "pairs.csv"))


def test_the_endpoints_ask_the_hub_as_nobody(client: Client, studio: Studio, hub: HubServer, pairs: Any) -> None:
    settings = '{"epochs": 0.5, "batch_size": 8, "evaluation": "split"}'
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("/similarity", ("cat", "dog", "MODEL")), ("/search", (pairs, "cat", 3, "semantic", "MODEL", "sentence1")),
        ("/mine", (pairs, 3, "MODEL", "sentence1")), ("/map", (pairs, "auto", 2, "MODEL", "sentence1")),
        ("/train", (pairs, "cosine", "full", settings, "MODEL", "x")), ("/evaluate", (pairs, "MODEL", "auto")),
    ]  # fmt: skip
    for endpoint, arguments in calls:
        given = ["host/private" if value == "MODEL" else value for value in arguments]
        with pytest.raises(AppError, match="no model 'host/private'"):
            client.predict(*given, api_name=endpoint)
    checked = client.predict(pairs, "host/private", api_name="/check")
    assert any("host/private" in finding["message"] for finding in checked["findings"]), "a check goes on without the model, and says so"
    for endpoint, arguments in calls:
        found = client.predict(*("all/open" if value == "MODEL" else value for value in arguments), api_name=endpoint)
        if endpoint == "/train":
            assert studio.runner.wait(found["id"], 300) and studio.store.get(found["id"]).status == "finished"
    assert len(hub.asked) > len(calls) and hub.tokens == {""}


def test_re_rankers_and_public_datasets_are_requested_without_a_token(client: Client, studio: Studio, hub: HubServer) -> None:
    with pytest.raises(StudioError, match="no model 'host/private'"):
        studio.catalog.load_scorer(studio.settings.reranker)
    with pytest.raises(StudioError):
        studio.data.read_table("hf://datasets/host/secret")
    with pytest.raises(StudioError), fetch_hub_file("hf://datasets/host/secret", 1 << 20, identity=studio.catalog.identity):
        pass
    assert any("datasets/host/secret" in path for _, path, _ in hub.asked) and HOST not in hub.tokens


def test_the_work_of_a_visitor_who_has_signed_in_is_done_with_their_token(monkeypatch: pytest.MonkeyPatch) -> None:
    info = {"access_token": "hf_of_a_visitor", "expires_at": 1e12}

    class Request:
        scope: ClassVar[dict[str, Any]] = {"session": {"oauth_info": info}}

    visits = TaskRegistry()
    monkeypatch.setattr("sbert_studio.ui.sessions.tasks._request", Request)
    with visits.run():
        found = current_identity()
        assert found is not None and (found.kind, found.hub_token) == ("visitor", "hf_of_a_visitor")
        assert "hf_of_a_visitor" not in repr(found), "a token is in no log"
    info["expires_at"] = 1.0
    with visits.run():
        assert current_identity() is None
