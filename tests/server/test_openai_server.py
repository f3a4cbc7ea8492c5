"""The server of ``serve``: real requests over the loopback interface to models of this package."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from processes import command_line
from tiny_studio import sentences
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.cross_encoder import create_cross_encoder
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.poly_encoder import create_poly_encoder
from sbert_studio.models.prompts import SearchSettings
from sbert_studio.models.similarity import unit
from sbert_studio.server.app import Server, open_listener
from sbert_studio.server.batcher import Batcher, ServerStoppingError
from sbert_studio.server.engine import ServerEngine, ServerOptions
from sbert_studio.server.gate import Gate, Metrics, ServerLimits
from sbert_studio.workspace import Workspace

PROMPTS = {"query": "red ", "passage": "blue "}
QUERY, DOCUMENTS = "fast red cat", ["a slow dog in the park", "red cat on the mat", "lost bank card", "blue moon"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> dict[str, str]:
    """Folders of an encoder with and without prompts, and of two re-rankers."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(tiny_model, folder / "prompted")
    settings = folder / "prompted" / "config_sentence_transformers.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"prompts": PROMPTS}))
    create_cross_encoder(tiny_model, name="cross").save(folder / "cross")
    create_cross_encoder(tiny_model, labels=3, name="classes").save(folder / "classes")
    create_poly_encoder(load_folder(tiny_model), tiny_model, codes=4, seed=1).save(folder / "poly")
    return {"plain": str(tiny_model), **{path.name: str(path) for path in folder.iterdir()}}


class Client(httpx.Client):
    """Client of a server in this process."""

    server: Server
    stop: Callable[[], None]

    def embed(self, texts: Any, model: str = "tiny-bert", **fields: Any) -> httpx.Response:
        return self.post("/v1/embeddings", json={"model": model, "input": texts, **fields})

    def vectors(self, *args: Any, **fields: Any) -> np.ndarray:
        answer = self.embed(*args, **fields)
        assert answer.status_code == 200, answer.text
        assert [row["index"] for row in answer.json()["data"]] == list(range(len(answer.json()["data"])))
        return np.array([row["embedding"] for row in answer.json()["data"]], np.float32)

    def rerank(self, model: str = "tiny-bert", **fields: Any) -> httpx.Response:
        return self.post("/v1/rerank", json={"model": model, "query": QUERY, "documents": DOCUMENTS, **fields})

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Keep the worker of the server busy."""
        begun, over = threading.Event(), threading.Event()

        def hold(items: Sequence[Any]) -> np.ndarray:
            begun.set()
            over.wait(30)
            return np.zeros(len(items))

        self.server.engine.batcher.submit(hold, [0], [1])
        assert begun.wait(10)
        try:
            yield
        finally:
            over.set()


@contextmanager
def serving(home: Path, options: ServerOptions, limits: ServerLimits | None = None, keys: Sequence[str] = ()) -> Iterator[Client]:
    catalog = Catalog(Workspace(home), device="cpu")
    server = Server(lambda observe: ServerEngine(catalog, options, observe), limits or ServerLimits(), keys)
    listener, ready, stop = open_listener("127.0.0.1", 0), threading.Event(), threading.Event()
    assert listener.proto == socket.IPPROTO_TCP, "otherwise asyncio delays small packets"
    thread = threading.Thread(target=server.serve, args=(listener, ready.set, stop.wait))
    thread.start()
    assert ready.wait(30)
    try:
        with Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=30) as client:
            client.server, client.stop = server, stop.set
            yield client
    finally:
        stop.set()
        thread.join(20)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def client(models: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    options = ServerOptions(models["plain"], reranker=models["cross"])
    with serving(tmp_path_factory.mktemp("home"), options) as client:
        yield client


@pytest.fixture(scope="module")
def prompted(models: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("home"), ServerOptions(models["prompted"])) as client:
        yield client


def test_vectors_are_those_of_the_encoder_also_when_many_ask_at_once(client: Client, models: dict[str, str]) -> None:
    encoder = load_folder(Path(models["plain"])).freeze()
    requests = [sentences(count, seed) for seed, count in enumerate([1, 2, 700, 1, 33, 5] * 4)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(client.vectors, requests))
    for texts, vectors in zip(requests, found, strict=True):
        np.testing.assert_allclose(vectors, encoder.encode(texts), atol=1e-6)
    np.testing.assert_allclose(client.vectors(QUERY), encoder.encode([QUERY]), atol=1e-6)


def test_formats_dimensions_and_usage(client: Client, models: dict[str, str]) -> None:
    encoder = load_folder(Path(models["plain"])).freeze()
    whole = encoder.encode(DOCUMENTS)
    answer = client.embed(DOCUMENTS, encoding_format="base64").json()
    decoded = [np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in answer["data"]]
    np.testing.assert_allclose(np.stack(decoded), whole, atol=1e-6)
    tokens = sum(map(len, encoder.tokens.ids(DOCUMENTS)))
    assert answer["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens} and answer["model"] == "tiny-bert"
    assert "truncated" not in answer
    np.testing.assert_array_equal(client.vectors(DOCUMENTS, dimensions=32), client.vectors(DOCUMENTS))
    cut = unit(whole[:, :8]) if encoder.normalizes else whole[:, :8]
    np.testing.assert_allclose(client.vectors(DOCUMENTS, dimensions=8), cut, atol=1e-6)
    long = ["cat " * 62, "cat " * 63]
    answer = client.embed(long).json()
    assert answer["truncated"] == [1] and answer["usage"]["total_tokens"] == 128
    refused = client.embed(long, truncation=False)
    assert refused.status_code == 400 and "input[1]" in refused.json()["error"]["message"]


def test_short_dimensions_have_unit_length_if_the_model_normalizes(tmp_path: Path) -> None:
    with serving(tmp_path, ServerOptions("all-MiniLM-L6-v2")) as client:
        whole, cut = client.vectors(DOCUMENTS, "all-MiniLM-L6-v2"), client.vectors(DOCUMENTS, "all-MiniLM-L6-v2", dimensions=64)
        assert [model["id"] for model in client.get("/v1/models").json()["data"]] == ["all-MiniLM-L6-v2"]
        np.testing.assert_array_equal(client.vectors(DOCUMENTS, "all-MiniLM-L6-v2:query"), whole)  # a model without prompts
        assert client.get("/v1/models/all-MiniLM-L6-v2:query").json()["id"] == "all-MiniLM-L6-v2:query"
    np.testing.assert_allclose(cut, unit(whole[:, :64]), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1), 1, atol=1e-6)


def test_a_model_with_prompts_is_never_served_without_them(prompted: Client, models: dict[str, str], tmp_path: Path) -> None:
    encoder = load_folder(Path(models["prompted"])).freeze()
    query, document = (encoder.for_role(role).encode(DOCUMENTS) for role in ("query", "document"))  # type: ignore[arg-type]
    assert abs(query - document).max() > 1e-3
    for expected, fields in (
        (query, {"input_type": "query"}),
        (query, {"input_type": "search_query"}),
        (query, {"model": "prompted:query"}),
        (document, {"input_type": "document"}),
        (document, {"model": "prompted:document"}),
        (document, {"model": "prompted:document", "input_type": "passage"}),
    ):
        np.testing.assert_allclose(prompted.vectors(DOCUMENTS, **{"model": "prompted", **fields}), expected, atol=1e-6)
    for fields in ({}, {"input_type": "poem"}, {"model": "prompted:query", "input_type": "document"}):
        refused = prompted.embed(DOCUMENTS, **{"model": "prompted", **fields})
        assert refused.status_code == 400 and refused.json()["error"]["param"] == "input_type", fields
    listed = prompted.get("/v1/models").json()["data"]
    assert [model["id"] for model in listed] == ["prompted", "prompted:query", "prompted:document"]
    assert listed[0]["prompts"] == {"query": "red ", "document": "blue ", "similarity": "red "}
    assert prompted.server.engine.encoder is not None
    assert "'red ' before queries, 'blue ' before documents" in prompted.server.engine.encoder.describe_prompts()
    scores = [row["relevance_score"] for row in sorted(prompted.rerank("prompted").json()["results"], key=lambda row: row["index"])]
    expected = unit(encoder.for_role("query").encode([QUERY])) @ unit(document).T
    np.testing.assert_allclose(scores, expected[0], atol=1e-6)
    options = ServerOptions(models["prompted"], "mine", input_type="query", prompts=SearchSettings("fast ", "none"))
    with serving(tmp_path, options) as client:
        np.testing.assert_allclose(client.vectors(DOCUMENTS, "mine"), encoder.with_settings("fast ").encode(DOCUMENTS), atol=1e-6)
        plain = client.vectors(DOCUMENTS, "mine", input_type="document")
        np.testing.assert_allclose(plain, encoder.with_settings("").encode(DOCUMENTS), atol=1e-6)


@pytest.mark.parametrize("kind", ["cross", "poly"])
def test_documents_are_ranked_as_the_reranker_scores_them(kind: str, models: dict[str, str], tmp_path: Path) -> None:
    scorer = Catalog(Workspace(tmp_path), device="cpu").load_scorer(models[kind])
    scores = scorer.predict([(QUERY, document) for document in DOCUMENTS])
    order = list(np.argsort(-scores, kind="stable"))
    with serving(tmp_path, ServerOptions(models[kind])) as client:
        answer = client.rerank(kind, documents=[*DOCUMENTS[:1], *({"text": text} for text in DOCUMENTS[1:])], return_documents=True).json()
        assert [row["index"] for row in answer["results"]] == order and answer["method"] == f"{kind}-encoder"
        np.testing.assert_allclose([row["relevance_score"] for row in answer["results"]], scores[order], atol=1e-6)
        assert [row["document"]["text"] for row in answer["results"]] == [DOCUMENTS[index] for index in order]
        assert answer["usage"]["total_tokens"] > len(DOCUMENTS)
        assert [row["index"] for row in client.rerank(kind, top_n=2).json()["results"]] == order[:2]
        refused = client.embed(QUERY, kind)
        assert refused.status_code == 400 and "/v1/rerank" in refused.json()["error"]["message"]


def test_an_encoder_and_a_reranker_rank_beside_each_other(client: Client) -> None:
    assert client.rerank().json()["method"] == "cosine similarity of embeddings"
    assert client.rerank("cross").json()["method"] == "cross-encoder"
    assert {model["id"]: model["type"] for model in client.get("/v1/models").json()["data"]} == {
        "tiny-bert": "embedding",
        "cross": "reranker",
    }
    assert client.get("/v1/models/tiny-bert").json()["dimensions"] == 32
    assert client.get("/v1/models/none").json()["error"]["code"] == "model_not_found"


def test_models_that_cannot_be_served_are_refused_at_the_start(models: dict[str, str], tmp_path: Path) -> None:
    catalog = Catalog(Workspace(tmp_path), device="cpu")
    for options, words in (
        (ServerOptions(models["classes"]), "3 classes"),
        (ServerOptions(models["plain"], reranker=models["plain"]), "not a cross-encoder"),
        (ServerOptions(models["cross"], input_type="query"), "no embeddings"),
        (ServerOptions(models["plain"], input_type="poem"), "input type"),
    ):
        with pytest.raises(StudioError, match=words):
            ServerEngine(catalog, options)


@pytest.mark.parametrize(
    ("path", "body", "status", "param", "words"),
    [
        ("/v1/embeddings", {"input": "a", "model": "gpt"}, 404, "model", "this server has tiny-bert, cross"),
        ("/v1/embeddings", {"input": "a"}, 400, "model", "required"),
        ("/v1/embeddings", {"input": []}, 400, "input", "at least one"),
        ("/v1/embeddings", {"input": ["a", ""]}, 400, "input", r"input\[1\]"),
        ("/v1/embeddings", {"input": [1, 2]}, 400, "input", "Token ids are refused"),
        ("/v1/embeddings", {"input": [[1, 2], [3]]}, 400, "input", "Token ids are refused"),
        ("/v1/embeddings", {"input": ["a"] * 2049}, 400, "input", "limit is 2,048"),
        ("/v1/embeddings", {"input": "a", "dimensions": 33}, 400, "dimensions", "have 32"),
        ("/v1/embeddings", {"input": "a", "dimensions": 0}, 400, "dimensions", "have 32"),
        ("/v1/embeddings", {"input": "a", "encoding_format": "hex"}, 400, "encoding_format", "base64"),
        ("/v1/embeddings", {"input": "a", "task": "retrieval.query"}, 400, "task", "input_type"),
        ("/v1/embeddings", {"input": "a", "model": "cross"}, 400, "model", "from tiny-bert"),
        ("/v1/embeddings", b"{", 400, None, "JSON"),
        ("/v1/embeddings", b"[" * 100_000, 400, None, "body"),
        ("/v1/rerank", {"query": "", "documents": ["a"]}, 400, "query", "empty"),
        ("/v1/rerank", {"query": "a", "documents": []}, 400, "documents", "at least one"),
        ("/v1/rerank", {"query": "a", "documents": ["a"], "top_n": 0}, 400, "top_n", "greater"),
        ("/v1/completions", {}, 404, None, "there is no /v1/completions"),
    ],
)
def test_errors_have_the_shape_of_openai(client: Client, path: str, body: Any, status: int, param: str | None, words: str) -> None:
    if isinstance(body, dict) and words != "required":
        body = {"model": "tiny-bert", **body}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["type"]) == (status, param, "invalid_request_error")
    assert re.search(words, error["message"]), error
    assert "Traceback" not in answer.text


def test_unusual_texts_and_requests(client: Client) -> None:
    raw = b'{"model": "tiny-bert", "input": "\\ud800 cat"}'
    assert client.post("/v1/embeddings", content=raw, headers={"Content-Type": "application/json"}).status_code == 200
    raw = b'{"model": "\\ud800", "input": "cat"}'
    assert client.post("/v1/embeddings", content=raw, headers={"Content-Type": "application/json"}).status_code == 404
    assert client.post("/v1/embeddings", content=raw, headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.get("/v1/embeddings").status_code == 405
    assert "/v1/embeddings" in client.get("/v1/openapi.json").json()["paths"]


def test_an_unexpected_error_is_logged_but_not_sent(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(client.server.engine, "embed", fail)
    answer = client.embed("a")
    assert answer.status_code == 500 and "secret" not in answer.text
    assert answer.json()["error"]["type"] == "server_error"
    assert [record.exc_text for record in caplog.records if record.exc_info] and "secret detail" in caplog.text
    monkeypatch.undo()
    assert client.embed("a").status_code == 200


def test_keys_protect_everything_but_the_health(models: dict[str, str], tmp_path: Path) -> None:
    with serving(tmp_path, ServerOptions(models["plain"]), keys=("sk-one", "sk-two")) as client:
        for headers in ({}, {"Authorization": "Bearer sk-o"}, {"Authorization": "sk-one"}, {"Authorization": "Bearer sk-öne".encode()}):
            for path in ("/v1/models", "/metrics", "/v1/openapi.json", "/none"):
                refused = client.get(path, headers=headers)
                assert refused.status_code == 401 and refused.json()["error"]["code"] == "invalid_api_key"
            assert client.post("/v1/embeddings", headers=headers, json={"model": "tiny-bert", "input": "a"}).status_code == 401
        assert client.get("/health").json()["status"] == "ok"
        for key in ("sk-one", "sk-two"):
            assert client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200
        metrics = client.get("/metrics", headers={"Authorization": "bearer sk-two"}).text
        assert 'requests_total{path="/v1/models",status="401"} 4' in metrics and "sk-" not in metrics


def test_limits(models: dict[str, str], tmp_path: Path) -> None:
    limits = ServerLimits(inputs=5, tokens=100, body_mb=1, queue=2, seconds=2.5)
    with serving(tmp_path, ServerOptions(models["plain"]), limits) as client:
        assert "limit is 5" in client.embed(["cat"] * 6).json()["error"]["message"]
        assert "limit is 100" in client.embed(["cat " * 40] * 5).json()["error"]["message"]
        large = json.dumps({"model": "tiny-bert", "input": "c" * (1 << 20)}).encode()
        headers = {"Content-Type": "application/json"}
        assert client.post("/v1/embeddings", content=large, headers=headers).status_code == 413
        pieces = (large[start : start + 65536] for start in range(0, len(large), 65536))
        assert client.post("/v1/embeddings", content=pieces, headers=headers).status_code == 413
        with socket.create_connection(("127.0.0.1", client.base_url.port)) as slow:  # type: ignore[arg-type]
            slow.sendall(b"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")
        with client.busy(), ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(client.embed, "cat") for _ in range(2)]
            wait_until(lambda: client.server.gate.active == 2)
            refused = client.embed("cat")
            assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1
            assert client.get("/health").status_code == 200
            late = [future.result() for future in waiting]
            assert [answer.status_code for answer in late] == [504, 504] and late[0].json()["error"]["type"] == "timeout_error"
            assert client.server.engine.batcher.waiting == (0, 0)
        assert client.embed("cat").status_code == 200
        assert 'requests_total{path="/v1/embeddings",status="429"} 1' in client.get("/metrics").text


def test_a_request_that_takes_too_long_is_cancelled_before_its_answer() -> None:
    events: list[object] = []

    async def endless(_scope: object, _receive: object, _send: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            events.append("cancelled")

    async def request() -> None:
        body = [{"type": "http.request", "body": b"{}", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return body.pop() if body else await asyncio.Event().wait()  # type: ignore[return-value]

        async def send(message: Any) -> None:
            events.append(message.get("status"))

        scope = {"type": "http", "method": "POST", "path": "/v1/embeddings", "headers": [(b"content-type", b"application/json")]}
        await Gate(endless, ServerLimits(seconds=0.05), (), Metrics(), lambda: 0.0)(scope, receive, send)

    asyncio.run(request())
    assert events == ["cancelled", 504, None]


def test_a_client_that_disconnects_cancels_what_waits(client: Client) -> None:
    body = json.dumps({"model": "tiny-bert", "input": "cat"}).encode()
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with client.busy():
        with socket.create_connection(("127.0.0.1", client.base_url.port)) as gone:  # type: ignore[arg-type]
            gone.sendall(head.encode() + body)
            wait_until(lambda: client.server.engine.batcher.waiting[0] == 1)
        wait_until(lambda: client.server.engine.batcher.waiting[0] == 0)
        wait_until(lambda: client.server.gate.active == 0)
    assert 'status="499"' in client.get("/metrics").text


def test_metrics_are_valid(client: Client) -> None:
    client.embed(DOCUMENTS)
    lines = client.get("/metrics").text.splitlines()
    assert all(re.fullmatch(r'# TYPE \w+ (counter|gauge|histogram)|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.e+-]+', line) for line in lines)
    assert len({line for line in lines if line.startswith("#")}) == sum(line.startswith("#") for line in lines)
    buckets = [line for line in lines if line.startswith('sbert_studio_request_seconds_bucket{path="/v1/embeddings"')]
    counts = [int(line.split()[-1]) for line in buckets]
    assert counts == sorted(counts) and 'le="+Inf"' in buckets[-1]
    assert f'sbert_studio_request_seconds_count{{path="/v1/embeddings"}} {counts[-1]}' in lines


def test_a_long_request_does_not_hold_up_a_short_one() -> None:
    batches: list[list[int]] = []
    held = threading.Event()

    def compute(items: Sequence[int]) -> np.ndarray:
        held.wait(10)
        batches.append(list(items))
        return np.array(items) * 2

    batcher = Batcher(10)
    first = batcher.submit(compute, [0], [1])
    wait_until(lambda: batcher.waiting[0] == 0)
    long = batcher.submit(compute, list(range(1, 31)), [1] * 29 + [25])
    short = batcher.submit(compute, [100, 101], [2, 3])
    other = batcher.submit(lambda items: np.array(items) * 3, [7], [1])
    doomed = batcher.submit(compute, [999] * 50, [5] * 50)
    doomed.cancel()
    held.set()
    assert (first.result(10), other.result(10), list(short.result(10))) == ([0], [21], [200, 202])
    np.testing.assert_array_equal(long.result(10), np.arange(1, 31) * 2)
    assert batches[1] == [30], "the longest text comes first, and fills a batch by itself"
    assert batches[2][:2] == [101, 100], "the short request is in the next batch"
    assert all(len(batch) <= 10 and 999 not in batch for batch in batches)
    batcher.close()


def test_an_error_ends_only_its_own_request_and_closing_fails_those_that_wait() -> None:
    def fail(_: Sequence[Any]) -> np.ndarray:
        raise ValueError("no")

    begun, over = threading.Event(), threading.Event()

    def hold(items: Sequence[int]) -> np.ndarray:
        begun.set()
        over.wait(10)
        return np.array(items)

    batcher = Batcher(10)
    with pytest.raises(ValueError, match="no"):
        batcher.submit(fail, list(range(30)), [1] * 30).result(10)
    running = batcher.submit(hold, [5], [1])
    assert begun.wait(10)
    waiting = batcher.submit(hold, [6], [1])
    threading.Timer(0.05, over.set).start()
    batcher.close()
    assert running.result(10) == [5]
    for future in (lambda: waiting.result(10), lambda: batcher.submit(hold, [7], [1])):
        with pytest.raises(ServerStoppingError):
            future()


def test_a_server_that_stops_finishes_what_it_accepted(models: dict[str, str], tmp_path: Path) -> None:
    with serving(tmp_path, ServerOptions(models["plain"])) as client, ThreadPoolExecutor(1) as pool:
        with client.busy():
            accepted = pool.submit(client.embed, "cat")
            wait_until(lambda: client.server.gate.active == 1)
            client.stop()
            wait_until(lambda: client.server.gate.stopping)
            refused = client.embed("dog")
            assert refused.status_code == 503 and refused.json()["error"]["code"] == "stopping" and refused.headers["Retry-After"]
            assert client.get("/health").status_code == 503
        assert accepted.result().status_code == 200


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_the_command_serves_until_it_is_told_to_stop(models: dict[str, str], tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("# sk-comment\nsk-file\n\n")
    options = ("--port", 0, "--api-key-file", keys, "--reranker", models["cross"], "--max-inputs", 3)
    with command_line(
        tmp_path, "serve", models["prompted"], *options, SBERT_STUDIO_API_KEYS="sk-a, sk-b", SBERT_STUDIO_DEVICE="cpu"
    ) as child:
        wait_until(lambda: "re-ranking" in child.err.read_text() or not child.runs)
        told = child.err.read_text()
        url = re.search(r"at (http://127\.0\.0\.1:\d+/v1)", told)
        assert url is not None, told
        assert "before queries" in told and "requests without either are refused" in told and "sk-" not in told and "no API key" not in told
        for key in ("sk-file", "sk-a", "sk-b"):
            answer = httpx.post(
                f"{url[1]}/embeddings", json={"model": "prompted:query", "input": "cat"}, headers={"Authorization": f"Bearer {key}"}
            )
            assert answer.status_code == 200
        for other in ("sk-c", "# sk-comment"):
            assert httpx.get(f"{url[1]}/models", headers={"Authorization": f"Bearer {other}"}).status_code == 401
        child.send(signal.SIGTERM)
        assert child.wait(30) == 0
        assert "Traceback" not in child.err.read_text()


def test_the_client_of_openai(client: Client) -> None:
    openai = pytest.importorskip("openai", reason="openai is not installed")
    with openai.OpenAI(base_url=f"{client.base_url}/v1", api_key="none", max_retries=0) as api:
        found = api.embeddings.create(model="tiny-bert", input=DOCUMENTS)
        floats = api.embeddings.create(model="tiny-bert", input=DOCUMENTS, encoding_format="float", dimensions=8)
        assert [len(row.embedding) for row in floats.data] == [8] * 4 and found.usage.total_tokens > 0
        np.testing.assert_allclose([row.embedding for row in found.data], client.vectors(DOCUMENTS), atol=1e-6)
        typed = api.embeddings.create(model="tiny-bert", input=QUERY, extra_body={"input_type": "query"})
        np.testing.assert_allclose(typed.data[0].embedding, client.vectors(QUERY)[0], atol=1e-6)
        assert [model.id for model in api.models.list()] == ["tiny-bert", "cross"]
        with pytest.raises(openai.NotFoundError, match="this server has"):
            api.embeddings.create(model="none", input="a")
        with pytest.raises(openai.BadRequestError, match="dimensions"):
            api.embeddings.create(model="tiny-bert", input="a", dimensions=1000)


@pytest.mark.parametrize("library", ["openai", "langchain_openai"])
def test_the_examples_of_the_documentation_run(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    text = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    (example,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if f"from {library} " in block)
    with serving(tmp_path, ServerOptions("all-MiniLM-L6-v2")) as client:
        found: dict[str, Any] = {}
        exec(example.replace("http://127.0.0.1:8000", str(client.base_url).rstrip("/")), found)
        expected = client.vectors("A plane is taking off.", "all-MiniLM-L6-v2", **({"dimensions": 128} if library == "openai" else {}))
    np.testing.assert_allclose(found.get("vector") or found["vectors"][0], expected[0], atol=1e-6)


def test_the_embeddings_of_langchain(prompted: Client, models: dict[str, str]) -> None:
    langchain = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")

    def embeddings(model: str, **more: Any) -> Any:
        return langchain.OpenAIEmbeddings(model=model, base_url=f"{prompted.base_url}/v1", api_key="none", **more)

    encoder = load_folder(Path(models["prompted"])).freeze()
    documents = embeddings("prompted:document", check_embedding_ctx_length=False).embed_documents(DOCUMENTS)
    query = embeddings("prompted", check_embedding_ctx_length=False, model_kwargs={"extra_body": {"input_type": "query"}}).embed_query(
        QUERY
    )
    np.testing.assert_allclose(documents, encoder.for_role("document").encode(DOCUMENTS), atol=1e-6)
    np.testing.assert_allclose(query, encoder.for_role("query").encode([QUERY])[0], atol=1e-6)
