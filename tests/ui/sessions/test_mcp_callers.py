"""Who a caller of MCP is on a shared page, and how much it may send."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest
from gradio.mcp import GradioMCPServer
from tiny_studio import studio_at, write_pairs

from sbert_studio.services import Studio
from sbert_studio.settings import Limits, Settings
from sbert_studio.ui.app import launch
from sbert_studio.ui.endpoints import ANSWERS, build_api, configure_mcp
from sbert_studio.ui.page import Page
from sbert_studio.ui.sessions.middleware import CALLER_HEADER
from sbert_studio.ui.sessions.uploads import UploadLedger

MIB = 1 << 20
pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="127.0.0.2 has to be an address of this machine")


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of uploads."""
    return tmp_path_factory.mktemp("sent")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, model_folder: Path, sent: Path) -> Iterator[tuple[Studio, str]]:
    """A shared page that serves MCP: (studio, address). Each test calls from addresses of its own."""
    limits, home = Limits(runs=1, uploads_mb=6, all_uploads_mb=20), tmp_path_factory.mktemp("mcp") / "home"
    with pytest.MonkeyPatch.context() as patch, studio_at(home, model_folder, space=True, limits=limits) as studio:
        patch.setenv("GRADIO_TEMP_DIR", str(sent))
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False, mcp=True)
        yield studio, url.rstrip("/")
        blocks.close()


def client_at(address: str) -> Callable[..., httpx.AsyncClient]:
    def make(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx.AsyncClient:
        transport = httpx.AsyncHTTPTransport(local_address=address)
        # What a caller writes into the header by itself is not believed.
        return httpx.AsyncClient(
            transport=transport, headers={**(headers or {}), CALLER_HEADER: "0 203.0.113.9"}, timeout=timeout, auth=auth
        )

    return make


def call(url: str, address: str, name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    """Call a tool from ``address``: (whether it failed, its answer)."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async def done() -> tuple[bool, str]:
        place = f"{url}/gradio_api/mcp/"
        async with (
            streamablehttp_client(place, httpx_client_factory=client_at(address)) as (read, write, _),
            ClientSession(read, write) as one,
        ):
            await one.initialize()
            answer = await one.call_tool(name, arguments)
            return bool(answer.isError), str(answer.content)

    return asyncio.run(done())


@pytest.mark.slow
def test_callers_of_mcp_are_told_apart(page: tuple[Studio, str], tmp_path: Path) -> None:
    studio, url = page
    settings = '{"epochs": 900, "evaluation": "split"}'
    given = {"file": write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8"), "loss": "cosine", "settings": settings, "name": "x"}
    for address in ("127.0.0.2", "127.0.0.3"):
        failed, words = call(url, address, "train", given)
        assert not failed, words
    failed, words = call(url, "127.0.0.2", "train", given)
    assert failed and "a time here" in words
    runs = studio.fine_tune.list_runs()
    assert len({run.owner for run in runs}) == 2
    for run in runs:
        studio.fine_tune.stop(run.id)


@pytest.mark.slow
def test_uploads_of_mcp_callers_are_counted_before_they_are_on_disk(page: tuple[Studio, str], sent: Path) -> None:
    url = page[1]
    table = b"sentence1,sentence2,score\n" + b"".join(b"a cat %d,a kitten %d,%d\n" % (n, n, n % 5) for n in range(90_000))
    data = "data:text/csv;base64," + base64.b64encode(table[: 4 * MIB - 40]).decode()
    accepted, before = 0, bytes_in(sent)
    for _ in range(20):
        failed, words = call(url, "127.0.0.5", "check", {"file": data})
        if failed:
            assert "6 MiB" in words
            break
        accepted += len(data)
    assert 0 < accepted <= 6 * MIB
    assert bytes_in(sent) - before <= 7 * MIB
    assert call(url, "127.0.0.6", "check", {"file": "sentence1,sentence2,score\na,b,1\nc,d,3\n"})[0] is False
    line = "the cat {} sat on the mat and looked at the rain for a while, then at bird {}\n"
    text = "text\n" + "".join(line.format(number, number) for number in range(60_000))
    assert len(text) > 4 * MIB
    failed, words = call(url, "127.0.0.7", "check", {"file": text})
    assert not failed, words


@pytest.mark.slow
def test_a_space_offers_mcp_clients_only_what_changes_nothing(tmp_path: Path, model_folder: Path) -> None:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async def tools(url: str) -> set[str]:
        async with streamablehttp_client(f"{url}gradio_api/mcp/") as (read, write, _), ClientSession(read, write) as one:
            await one.initialize()
            return {tool.name for tool in (await one.list_tools()).tools}

    space = {"SPACE_ID": "a/b", "SBERT_STUDIO_HOME": "x"}
    found = {value: Settings.from_env({**space, "SBERT_STUDIO_MCP": value}) for value in ("", "0", "1")}
    assert [(one.mcp, one.mcp_reads_only) for one in found.values()] == [(True, True), (False, False), (True, False)]
    assert not Settings.from_env({"SBERT_STUDIO_HOME": "x"}).mcp
    with studio_at(tmp_path / "home", model_folder, space=True, mcp_reads_only=True) as studio:
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False, mcp=True)
        try:
            assert asyncio.run(tools(url)) == set(ANSWERS) - {"train", "stop", "resume"}
            for name in ("train", "stop", "resume"):
                failed, words = call(url.rstrip("/"), "127.0.0.9", name, {})
                assert failed and "Unknown tool" in words
            assert not call(url.rstrip("/"), "127.0.0.9", "similarity", {"a": "a cat", "b": "a dog"})[0]
        finally:
            blocks.close()


def test_tools_of_gradio_itself_are_not_offered(tmp_path: Path, tiny_model: Path) -> None:
    def check_login() -> str:
        return "nobody"

    with studio_at(tmp_path / "home", tiny_model) as studio, gr.Blocks() as blocks:
        build_api(Page(studio))
        gr.Button().click(check_login, None, gr.Textbox())
    server = GradioMCPServer(blocks)
    assert any("login" in tool for tool in server.tool_to_endpoint)
    configure_mcp(server, takes_paths=False, reads_only=False, ledger=UploadLedger(1, 1, 1), max_file=1)
    assert set(server.tool_to_endpoint) == {server.tool_prefix + name for name in ANSWERS}


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_shared_page_fetches_no_web_address(page: tuple[Studio, str]) -> None:
    _, url = page
    file = {"path": "https://example.org/table.csv", "meta": {"_type": "gradio.FileData"}}
    event = httpx.post(f"{url}/gradio_api/call/check", json={"data": [file, *[""] * 10]}).json()["event_id"]
    answer = httpx.get(f"{url}/gradio_api/call/check/{event}", timeout=30).text
    assert "files are not fetched from web addresses here" in answer
    failed, words = call(url, "127.0.0.8", "check", {"file": "https://example.org/table.csv"})
    assert failed and "not fetched from web addresses" in words
