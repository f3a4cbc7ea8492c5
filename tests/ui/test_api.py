"""The named endpoints, called as ``gradio_client`` calls them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from tiny_studio import studio_at, write_model, write_pairs

from sbert_studio.ui.app import build, launch

NAMED = {"/similarity", "/search", "/mine", "/map", "/check", "/train", "/run", "/evaluate"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("api")
    with studio_at(folder / "home", write_model(folder / "tiny")) as studio:
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
        yield Client(url, verbose=False)
        blocks.close()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.csv")


def test_the_named_endpoints_are_public_and_nothing_else(client: Client) -> None:
    api: dict[str, Any] = client.view_api(return_format="dict")  # type: ignore[assignment]
    assert set(api["named_endpoints"]) == NAMED
    assert not api["unnamed_endpoints"]


def test_similarity_and_search_answer_without_a_session(client: Client, pairs: Path) -> None:
    assert client.predict("cat dog", "cat dog", "", api_name="/similarity")["cosine"] == pytest.approx(1, abs=1e-5)
    found = client.predict(handle_file(pairs), "cat dog", 3, "hybrid", "", "sentence1", api_name="/search")
    assert len(found["hits"]) == 3 and {"row", "text", "score"} <= set(found["hits"][0])
    assert len(client.predict(handle_file(pairs), 4, "", "", api_name="/mine")["pairs"]) == 4


def test_check_train_run_and_evaluate_follow_one_another(client: Client, pairs: Path) -> None:
    assert client.predict(handle_file(pairs), "", api_name="/check")["kind"] == "scored_pairs"
    run = client.predict(handle_file(pairs), "cosine", "full", '{"epochs": 0.5, "batch_size": 8}', "", "x", api_name="/train")
    cursor, status = 0, run["status"]
    for _ in range(600):
        seen = client.predict(run["id"], cursor, api_name="/run")
        cursor, status = seen["cursor"] or cursor, seen["run"]["status"]
        if status not in ("queued", "running"):
            break
    assert status == "finished"
    report = client.predict(handle_file(pairs), run["id"], "auto", api_name="/evaluate")
    assert report["task"] == "sts" and -1 <= report["cosine"]["spearman"] <= 1


def test_columns_and_a_first_stage_can_be_named(client: Client, pairs: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text(pairs.read_text().replace("sentence1,sentence2,score", "one,two,three"))
    found = client.predict(handle_file(odd), columns="two,one", target="three", scale="0-10", kind="scored pairs", api_name="/check")
    assert (found["roles"]["texts"], found["roles"]["target"], found["roles"]["high"]) == (["two", "one"], "three", 10)
    settings = '{"epochs": 0.5, "batch_size": 8, "first.epochs": 0.5}'
    run = client.predict(
        handle_file(odd), "cosine", "full", settings, "", "", first=handle_file(pairs), columns="one,two", target="three", api_name="/train"
    )
    for _ in range(600):
        seen = client.predict(run["id"], 0, api_name="/run")
        if seen["run"]["status"] not in ("queued", "running"):
            break
    assert seen["run"]["status"] == "finished", seen["run"]["message"]
    assert [event["title"] for event in seen["events"] if event["type"] == "part"] == ["first stage", "second stage"]
    with pytest.raises(AppError, match="no scale"):
        client.predict(handle_file(odd), scale="high", api_name="/check")


@pytest.mark.parametrize(
    ("endpoint", "arguments", "words"),
    [
        ("/similarity", ("", "x", ""), "text"),
        ("/similarity", ("a", "b", "no-such-model-anywhere"), "no-such-model-anywhere"),
        ("/search", (None, "x", 3, "semantic", "", ""), "no file"),
        ("/run", ("../../etc", 0), "etc"),
    ],
)
def test_what_can_be_mended_is_told_in_words(client: Client, endpoint: str, arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(AppError, match=words) as caught:
        client.predict(*arguments, api_name=endpoint)
    assert "Traceback" not in str(caught.value)


def test_a_path_of_the_server_is_not_a_file_of_the_caller(client: Client) -> None:
    stolen = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    with pytest.raises(Exception) as caught:
        client.predict(stolen, "root", 3, "lexical", "", "", api_name="/search")
    assert "root:" not in str(caught.value)


def test_a_shared_page_takes_no_folder_as_a_model(tmp_path: Path) -> None:
    with studio_at(tmp_path / "home", write_model(tmp_path / "tiny")) as studio:
        build(studio, shared=True)
        assert studio.catalog.allow_folders is False
