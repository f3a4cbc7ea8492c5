"""docs/api.md: written from the code, its examples run, and what it says of the answers held against real ones."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import gradio_client
import httpx
import jsonschema
import pytest
from tiny_studio import awaited, sentences, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.serialization import json_schema
from sbert_studio.services import Studio
from sbert_studio.ui import app
from sbert_studio.ui.endpoints import ANSWERS, to_file_data
from sbert_studio.ui.page import Page

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
URL = "http://127.0.0.1:7860"
CORPUS_ROWS, ROWS = 11, 60  # fewer than twelve texts are mapped by principal components

pytestmark = pytest.mark.slow


def check_answer(endpoint: str, answer: Any) -> None:
    """Hold an answer against the schema of its class."""
    jsonschema.validate(answer, json_schema(ANSWERS[endpoint]))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[tuple[Any, str]]:
    """The page, and where it answers."""
    with pytest.MonkeyPatch.context() as patch, studio_at(tmp_path_factory.mktemp("api-docs") / "home", tiny_model) as studio:
        patch.setattr(app, "_warm_up", lambda _: None)
        blocks, found = app.launch(studio, "127.0.0.1", 0, False, block=False, mcp=True)
        yield blocks, found.rstrip("/")
        blocks.close()


@pytest.fixture(scope="module")
def url(served: tuple[Any, str]) -> str:
    return served[1]


@pytest.fixture(scope="module")
def client(url: str) -> gradio_client.Client:
    """One client for all examples: each reads the whole description of the page when it connects. No certificates are read for HTTP."""
    return gradio_client.Client(url, verbose=False, ssl_verify=False)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose ``assets/samples`` hold the first rows of the samples."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "assets/samples").mkdir(parents=True)
    for path in (ROOT / "assets/samples").glob("*.csv"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        rows = CORPUS_ROWS if path.stem == "support_requests" else ROWS
        (folder / "assets/samples" / path.name).write_text("".join(lines[: 1 + rows]), encoding="utf-8")
    return folder


def test_the_page_is_what_the_code_says(served: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "build", lambda _: served[0])  # it takes seconds to draw
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.drawn() != PAGE:
        pytest.fail("docs/api.md is out of date: run make docs, or python docs/make_api.py")


@pytest.mark.parametrize(
    "code", EXAMPLES, ids=lambda code: found[1] if (found := re.search(r'api_name="/(\w+)"\)\n(?!.*api_name)', code)) else "error"
)
def test_the_examples_run_and_answer_as_the_page_says(
    client: gradio_client.Client, checkout: Path, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    predict = client.predict

    def connect(address: str) -> gradio_client.Client:
        assert address == URL
        return client

    def watched(*args: Any, api_name: str, **named: Any) -> Any:
        answer = predict(*args, api_name=api_name, **named)
        check_answer(api_name.lstrip("/"), answer)
        asked.append(api_name)
        return answer

    monkeypatch.setattr(client, "predict", watched)
    monkeypatch.setattr(gradio_client, "Client", connect)
    monkeypatch.chdir(checkout)
    exec(compile(code.replace("time.sleep(1)", "time.sleep(0.2)"), "docs/api.md", "exec"), {})
    told = capsys.readouterr().out
    assert told.strip()
    assert asked or "hint:" in told


def test_every_endpoint_has_an_example_and_several_models_are_answered_as_the_page_says(
    client: gradio_client.Client, checkout: Path, tmp_path: Path
) -> None:
    assert {name for code in EXAMPLES for name in re.findall(r'api_name="/(\w+)"', code)} == set(ANSWERS)
    file, other = (gradio_client.handle_file(checkout / f"assets/samples/{name}.csv") for name in ("scored_pairs", "nli_pairs"))
    several = client.predict(file=file, files=[other], api_name="/evaluate")
    check_answer("evaluate", several)
    assert len(several["files"]) == 2
    judged = tmp_path / "judged.csv"
    judged.write_text(
        "query,document,grade\n" + "".join(f"cat {word},a {word} dog,1\n" for word in ("red", "blue", "fast")), encoding="utf-8"
    )
    retrieval = client.predict(file=gradio_client.handle_file(judged), retrieval=True, api_name="/evaluate")
    check_answer("evaluate", retrieval)
    assert (retrieval["queries"], len(retrieval["baselines"])) == (3, 2)
    table = tmp_path / "doubtful.csv"
    table.write_text(
        "left,right,tag\n" + "".join(f"a{n} cat,b{n} dog,{'glorp' if n % 2 else 'blarg'}\n" for n in range(40)), encoding="utf-8"
    )
    check_answer("check", client.predict(file=gradio_client.handle_file(table), api_name="/check"))


def test_a_call_over_http_is_two_requests(url: str) -> None:
    data = re.search(r"-d '(.*)'", PAGE)
    assert data is not None
    begun = httpx.post(f"{url}/gradio_api/call/similarity", content=data[1], headers={"Content-Type": "application/json"}).json()
    answer = httpx.get(f"{url}/gradio_api/call/similarity/{begun['event_id']}", timeout=60).text
    assert "event: complete" in answer and '"cosine"' in answer


async def by_mcp(url: str, calls: list[tuple[str, dict[str, Any]]]) -> tuple[dict[str, str], list[str]]:
    """Call tools with a real MCP client: the description of each tool, and what was answered."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(f"{url}/gradio_api/mcp/") as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        told = {tool.name.rpartition("_")[2]: tool for tool in (await session.list_tools()).tools}
        answers = [await session.call_tool(told[name].name, arguments) for name, arguments in calls]
        return {name: str(tool.description) for name, tool in told.items()}, [one.content[0].text for one in answers]  # type: ignore[union-attr]


def test_mcp_clients_find_every_verb_and_call_it_with_data_of_their_own(url: str, tmp_path: Path) -> None:
    texts = "text,topic\n" + "".join(f"{text},{number % 2}\n" for number, text in enumerate(sentences(20)))
    pairs = write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8")
    encoded = f"data:text/csv;base64,{base64.b64encode(texts.encode()).decode()}"
    settings = json.dumps({"epochs": 0.2, "batch_size": 8, "evaluation": "split"})
    path = tmp_path / "texts.csv"
    path.write_text(texts, encoding="utf-8")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("similarity", {"a": "cat dog", "b": "cat dog"}), ("search", {"file": texts, "query": "cat"}),
        ("search", {"file": encoded, "query": "cat"}), ("search", {"file": str(path), "query": "cat"}),
        ("mine", {"file": "\n".join(sentences(20))}), ("map", {"file": texts}), ("check", {"file": pairs}), ("evaluate", {"file": pairs}),
        ("train", {"file": pairs, "loss": "cosine", "settings": settings}),
    ]  # fmt: skip
    told, answers = awaited(by_mcp(url, calls))
    assert set(told) >= set(ANSWERS)
    for name in ("search", "train", "evaluate"):
        assert "as its text" in told[name] and "path of a file" in told[name] and "upload_file_to_gradio" not in told[name]
    for (name, _), answer in zip(calls, answers, strict=True):
        check_answer(name, json.loads(answer))
    assert {answers[1], answers[2], answers[3]} - {""} and all(len(json.loads(one)["hits"]) == 10 for one in answers[1:4])
    run = json.loads(answers[-1])
    after = [("run", {"run_id": run["id"], "after": 0}), ("stop", {"run_id": run["id"], "token": run["token"]})]
    for (name, _), answer in zip(after, awaited(by_mcp(url, after))[1], strict=True):
        check_answer(name, json.loads(answer))


def test_mcp_takes_no_path_of_a_shared_page_and_says_what_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text\na\nb\n", encoding="utf-8")
    assert to_file_data(str(path), True)["path"] and to_file_data(f"file://{path}", True)["path"]
    for given, takes_paths in ((str(path), False), ("/etc/passwd", True), (str(tmp_path / "none.csv"), True), ("one line", True)):
        with pytest.raises(StudioError, match="this is no file") as refused:
            to_file_data(given, takes_paths)
        assert "give its text" in refused.value.hint


def test_mcp_is_off_unless_it_is_asked_for(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gr.Blocks() as bare:  # the page itself takes seconds to draw
        corpus = gr.State()

    def build_bare(_studio: Studio, page: Page) -> gr.Blocks:
        page.corpus = corpus
        return bare

    monkeypatch.setattr(app, "build_page", build_bare)
    monkeypatch.setattr(app, "_warm_up", lambda _: None)
    with studio_at(tmp_path / "home", tiny_model) as studio:
        blocks, found = app.launch(studio, "127.0.0.1", 0, False, block=False)
        try:
            assert httpx.post(f"{found.rstrip('/')}/gradio_api/mcp/", json={}).status_code in (404, 405)
        finally:
            blocks.close()
