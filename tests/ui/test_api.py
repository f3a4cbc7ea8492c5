"""The named endpoints, called as ``gradio_client`` calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from tiny_studio import studio_at, write_pairs

from sbert_studio.services import Studio
from sbert_studio.ui.app import build, launch

NAMED = {"/similarity", "/search", "/mine", "/map", "/topics", "/check", "/train", "/run", "/stop", "/resume", "/evaluate"}


def file_at(path: str) -> dict[str, Any]:
    """A file of the server, as a caller would name it who has not uploaded one."""
    return {"path": path, "meta": {"_type": "gradio.FileData"}}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Studio]:
    with studio_at(tmp_path_factory.mktemp("api"), model_folder) as found:
        yield found


@pytest.fixture(scope="module")
def client(studio: Studio) -> Iterator[Client]:
    blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
    yield Client(url, verbose=False, ssl_verify=False)
    blocks.close()


@pytest.fixture(scope="module")
def http(client: Client) -> Iterator[httpx.Client]:
    """A plain client, which keeps its connections."""
    with httpx.Client(base_url=f"{client.src.rstrip('/')}/gradio_api", timeout=60, trust_env=False) as found:
        yield found


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.csv")


def test_the_named_endpoints_are_public_and_nothing_else(client: Client) -> None:
    api: dict[str, Any] = client.view_api(return_format="dict")  # type: ignore[assignment]
    assert set(api["named_endpoints"]) == NAMED
    assert not api["unnamed_endpoints"]


def test_columns_and_a_first_stage_can_be_named(client: Client, studio: Studio, pairs: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text(pairs.read_text().replace("sentence1,sentence2,score", "one,two,three"))
    found = client.predict(handle_file(odd), columns="two,one", target="three", scale="0-10", kind="scored pairs", api_name="/check")
    assert (found["roles"]["texts"], found["roles"]["target"], found["roles"]["high"]) == (["two", "one"], "three", 10)
    settings = '{"epochs": 0.5, "batch_size": 8, "first.epochs": 0.5, "evaluation": "split"}'
    run = client.predict(
        handle_file(odd), "cosine", "full", settings, "", "", first=handle_file(pairs), columns="one,two", target="three", api_name="/train"
    )
    first = client.predict(run["id"], 0, api_name="/run")
    assert studio.runner.wait(run["id"], 300)
    seen = client.predict(run["id"], first["cursor"] or 0, api_name="/run")
    assert seen["run"]["status"] == "finished", seen["run"]["message"]
    events = [*first["events"], *seen["events"]]
    assert [event["title"] for event in events if event["type"] == "part"] == ["first stage", "second stage"]
    assert len({json.dumps(event) for event in events}) == len(events), "each event is sent once"
    report = client.predict(handle_file(pairs), run["id"], "auto", api_name="/evaluate")
    assert report["task"] == "sts" and -1 <= report["cosine"]["spearman"] <= 1
    with pytest.raises(AppError, match="not a scale"):
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


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("call/nothing", {"data": [1]}),
        ("run/nothing", {"data": [1]}),
        ("run/similarity", {"data": ["a", "b", ""], "fn_index": 99_999}),
        ("run/similarity", {"data": ["a", "b", ""], "fn_index": 99_999, "session_hash": "x"}),
        ("queue/join", {"data": [], "fn_index": 99_999, "session_hash": "x"}),
    ],
)
def test_an_endpoint_that_does_not_exist_is_no_internal_error(http: httpx.Client, path: str, body: dict[str, Any]) -> None:
    answer = http.post(f"/{path}", json=body)
    assert answer.status_code == 404 and "no such endpoint" in answer.json()["error"]


@pytest.fixture(scope="module")
def counts(client: Client) -> dict[str, int]:
    """How many parameters each endpoint has."""
    api: dict[str, Any] = client.view_api(return_format="dict")  # type: ignore[assignment]
    return {name.removeprefix("/"): len(endpoint["parameters"]) for name, endpoint in api["named_endpoints"].items()}


@pytest.fixture(scope="module")
def uploaded(http: httpx.Client, pairs: Path) -> str:
    """Where the server keeps the file of pairs."""
    return str(http.post("/upload", files={"files": ("pairs.csv", pairs.read_bytes())}).json()[0])


def failing(http: httpx.Client, endpoint: str, data: list[Any]) -> str:
    """What an endpoint says when it is called with ``data`` as it stands; a JSON null stays one."""
    body = json.dumps({"data": data})  # half characters stay escaped
    event = http.post(f"/call/{endpoint}", content=body, headers={"Content-Type": "application/json"}).json()["event_id"]
    name, told = http.get(f"/call/{endpoint}/{event}").text.strip().split("\n")[:2]
    assert name == "event: error", told
    said: str = json.loads(told.removeprefix("data: "))["error"]
    assert said and len(said) < 5_000 and "Traceback" not in told and "root:" not in told
    return said


@pytest.mark.parametrize(
    ("endpoint", "data", "words"),
    [
        ("search", ["no file", "x", 3, "semantic", "", ""], "could not be read"),
        *(("search", [file_at(path), "x", 3, "lexical", "", ""], "was not sent") for path in ("/etc/passwd", "studio.db", "/nowhere.csv")),
        ("search", [None, "x", "many", "semantic", "", ""], ""), ("search", [None, "x", 3, "by magic", "", ""], "by magic"),
        ("map", [None, "9" * 5000, 2, "", ""], "clusters"), ("stop", ["run-0123456789", "guess"], "no run"),
        ("similarity", [None, "b", None], "text"), ("similarity", ["a", None, None], "text"),
        ("search", ["FILE", "cat", None, "semantic", "", "sentence1"], "k is"),
        ("search", ["FILE", None, 3, "semantic", "", "sentence1"], "query"),
        ("search", ["FILE", "cat", 10**17, "semantic", "", "sentence1"], "k is"), ("mine", ["FILE", None, "", "sentence1"], "top is"),
        ("map", ["FILE", "auto", None, "", "sentence1"], "dimensions is"), ("run", [None, 0], "no run"),
        ("run", ["run-0123456789", None], "after is"), ("stop", [None, None], "no run"),
        *(("train", ["FILE", "cosine", "full", settings, "", "x"], "not a JSON object") for settings in ("[" * 100_000, "{", "1")),
        *(("train", ["FILE", "cosine", "full", f'{{"epochs": {"9" * size}}}', "", "x"], "digits") for size in (400, 5000)),
        *(("check", ["FILE", *[""] * 7, name], "no encoding called") for name in ("idna", "punycode", "undefined", "rot13", "x\0")),
        ("check", ["FILE", "", "", "a\rb"], "list"), ("check", ["FILE", *[""] * 5, "0-" + "9" * 5000], "not a scale"),
        ("check", ["FILE", *[""] * 9, "maybe"], "header is 'maybe'"), ("check", ["FILE", "", "x" * 100_000], "…"),
        ("check", ["FILE", "", "' 'b" * 25_000], "…"), ("similarity", ["a", "b", "no-model" * 10_000], "…"),
        ("search", ["FILE", "cat", 3, "magic" * 10_000, "", ""], "…"), ("run", ["\ud800", 0], "half of a character"),
        ("train", ["FILE", "cosine", "full", "", "", "\ud800<b>n"], "half of a character"),
        ("train", ["FILE", "cosine", "full", '{"loss": "\\ud800"}', "", "x"], "half of a character"),
        ("train", ["FILE", "auto", "full", '{"loss": []}', "", "x"], "no loss"),
    ],
)  # fmt: skip
def test_arguments_that_are_missing_wrong_or_too_long_are_refused_in_words(
    http: httpx.Client, counts: dict[str, int], uploaded: str, endpoint: str, data: list[Any], words: str
) -> None:
    count = counts[endpoint]
    rest = [None if len(data) + place in (6, 7) and endpoint == "train" else "" for place in range(count - len(data))]
    if endpoint == "train":
        rest[-1] = False
    assert words in failing(http, endpoint, [file_at(uploaded) if value == "FILE" else value for value in data] + rest)


def test_too_few_arguments_are_refused(http: httpx.Client) -> None:
    assert "didn't receive enough" in failing(http, "similarity", ["a"])


@pytest.mark.parametrize("clusters", ["9" * 5000, "-3", "²", "two", "1e3", "1001", "1000000000", "1" + "0" * 10, "++3"])
def test_a_number_of_clusters_that_is_none_is_told_in_words(client: Client, pairs: Path, clusters: str) -> None:
    with pytest.raises(AppError, match=r"clusters is .*auto, or a whole number from 1 to 1,000"):
        client.predict(handle_file(pairs), clusters, 2, "", "sentence1", api_name="/map")


def test_a_run_is_stopped_by_its_token_alone(client: Client, studio: Studio, pairs: Path) -> None:
    settings = '{"epochs": 900, "batch_size": 8, "evaluation": "split"}'
    mine, others = (client.predict(handle_file(pairs), "cosine", "full", settings, "", "x", api_name="/train") for _ in range(2))
    assert len(mine["token"]) == 40 and mine["token"] != others["token"]
    for guess in ("", "x", others["token"], mine["token"][:-1], mine["id"], "ü"):
        with pytest.raises(AppError, match="not the token"):
            client.predict(mine["id"], guess, api_name="/stop")
    assert client.predict(others["id"], others["token"], api_name="/stop")["status"] == "stopped"
    client.predict(mine["id"], mine["token"], api_name="/stop")
    assert studio.runner.wait(mine["id"], 300)
    assert client.predict(mine["id"], 0, api_name="/run")["run"]["status"] == "stopped"
    assert client.predict(mine["id"], mine["token"], api_name="/stop")["status"] == "stopped"


def test_a_model_in_the_settings_counts_and_two_models_do_not(client: Client, pairs: Path) -> None:
    arguments = handle_file(pairs), "cosine", "full"
    with pytest.raises(AppError, match="no-such-model"):
        client.predict(*arguments, '{"model": "no-such-model"}', "", "x", api_name="/train")
    with pytest.raises(AppError, match="another model"):
        client.predict(*arguments, '{"model": "one"}', "two", "x", api_name="/train")
    with pytest.raises(AppError, match="first stage"):
        client.predict(*arguments, '{"first.model": "one"}', "", "x", api_name="/train")


def test_a_shared_page_takes_no_folder_as_a_model(tmp_path: Path, model_folder: Path) -> None:
    with studio_at(tmp_path / "home", model_folder) as studio:
        build(studio, shared=True)
        assert studio.catalog.allow_folders is False


def test_no_summary_of_all_events_is_made_after_each_of_them(client: Client, http: httpx.Client) -> None:
    client.predict("a cat", "a dog", "", api_name="/similarity")
    assert http.get(f"{client.src.rstrip('/')}/monitoring/summary").json() == {"functions": {}}
