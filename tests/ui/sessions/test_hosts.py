"""Foreign names and foreign sites are refused, whatever they ask for."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tiny_studio import studio_at, write_model

from sbert_studio.settings import Settings
from sbert_studio.ui.app import launch
from sbert_studio.ui.sessions.middleware import AllowedHosts


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("hosts")
    with studio_at(folder / "home", write_model(folder / "tiny")) as studio:
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False, mcp=True)
        yield urlsplit(url).port or 0
        blocks.close()


def ask(port: int, method: str, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "data": []}) if method == "POST" else None
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body or "")), **headers}.items():
        connection.putheader(name, value)
    connection.endheaders(body.encode() if body else None)
    answer = connection.getresponse()
    found = answer.status, answer.read(2000).decode(errors="replace")
    connection.close()
    return found


ROUTES = [("GET", path) for path in ("/", "/config", "/gradio_api/info", "/gradio_api/mcp/sse", "/nothing-here")]
ROUTES += [("POST", f"/gradio_api/{path}") for path in ("call/similarity", "queue/join", "upload", "mcp/")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_foreign_hosts_and_origins_are_refused_on_every_route(port: int, method: str, path: str) -> None:
    foreign = ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", f"localhost.evil.example:{port}", "", "a@localhost", "x:y")
    for host in foreign:
        status, words = ask(port, method, path, Host=host)
        assert (status, "is not served under that host name" in words) == (403, True), host
    for origin in ("http://evil.example", "null", "http://localhost:1", f"http://evil.example:{port}", "file://", "http://[x"):
        status, words = ask(port, method, path, Host=f"127.0.0.1:{port}", Origin=origin)
        assert (status, "no requests from other sites" in words) == (403, True), origin


def test_the_page_itself_is_served_under_its_own_names(port: int) -> None:
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LocalHost.:{port}"):
        assert ask(port, "GET", "/config", Host=host)[0] == 200, host
        assert ask(port, "GET", "/config", Host=host, Origin=f"http://{host.lower()}")[0] == 200, host


def test_a_page_that_is_not_shared_answers_no_proxy(port: int) -> None:
    for name, value in (
        ("X-Forwarded-For", "203.0.113.7"),
        ("X-Real-IP", "203.0.113.7"),
        ("Forwarded", "for=203.0.113.7"),
        ("Via", "1.1 proxy"),
    ):
        status, words = ask(port, "GET", "/config", Host=f"127.0.0.1:{port}", **{name: value})
        assert status == 403 and "SBERT_STUDIO_TRUSTED_PROXIES" in words
    assert Settings.from_env({"SBERT_STUDIO_ALLOWED_HOSTS": "studio.example"}).shared
    assert not Settings.from_env({"SBERT_STUDIO_ALLOWED_HOSTS": "LOCALHOST, [::1]"}).shared


def test_hosts_of_the_settings_and_of_a_space_are_trusted() -> None:
    allowed = AllowedHosts("0.0.0.0", ("studio.example", "*.lab.example"), share=True)
    known = ("studio.example", "Studio.Example:8443", "a.lab.example", "192.168.1.7:7860", "[fe80::1]:7860", "x.gradio.live")
    assert all(allowed.is_host(host) for host in known)
    assert not any(allowed.is_host(host) for host in ("lab.example", "evil-lab.example", "studio.example.evil", "gradio.live.evil"))
    assert allowed.is_origin("https://studio.example", "http", "127.0.0.1:7860")
    assert allowed.is_origin("https://tool.example", "http", "tool.example")  # TLS was taken off on the way
    assert not allowed.is_origin("https://evil.example", "https", "studio.example")
    assert AllowedHosts("127.0.0.1", ("*",)).is_host("anything.example")
    assert not AllowedHosts("127.0.0.1").is_host("192.168.1.7")
    settings = Settings.from_env({"SPACE_ID": "a/b", "SPACE_HOST": "a-b.hf.space", "SBERT_STUDIO_ALLOWED_HOSTS": "x.example, y.example"})
    assert settings.allowed_hosts == ("x.example", "y.example", "a-b.hf.space")
