"""How much a visitor may send, counted while it arrives, and who a visitor is behind a proxy."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tiny_studio import studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio
from sbert_studio.settings import Limits, Settings
from sbert_studio.ui.app import launch
from sbert_studio.ui.sessions.uploads import UploadLedger

MIB = 1 << 20
LIMITS = Limits(runs=1, uploads_mb=3, all_uploads_mb=5)


@pytest.fixture
def opened(tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Studio, httpx.Client]]]:
    """Opens a page of which a client on the loopback is told, which stands for a proxy where the settings trust it."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "sent"))
    ends: list[Callable[[], Any]] = []

    def make(**settings: Any) -> tuple[Studio, httpx.Client]:
        context = studio_at(tmp_path / "home", model_folder, space=True, limits=LIMITS, **settings)
        studio = context.__enter__()
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
        client = httpx.Client(base_url=f"{url.rstrip('/')}/gradio_api", timeout=60, trust_env=False)
        ends[:] = [client.close, blocks.close, lambda: context.__exit__(None, None, None)]
        return studio, client

    yield make
    for end in ends:
        end()


def send(client: httpx.Client, size: int, address: str = "", name: str = "a.csv") -> httpx.Response:
    return client.post("/upload", files={"files": (name, os.urandom(size))}, headers={"X-Forwarded-For": address} if address else {})


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


HEAD = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
MULTIPART = {"Content-Type": "multipart/form-data; boundary=x"}


def test_uploads_have_a_budget_for_each_address_and_for_all(opened: Any, tmp_path: Path) -> None:
    """Also one whose length is not announced, which is counted as it arrives."""
    _, client = opened(trusted_proxies=("127.0.0.1",))

    def pieces() -> Iterator[bytes]:
        yield HEAD
        for _ in range(40):
            yield os.urandom(MIB)
        yield b"\r\n--x--\r\n"

    answer = client.post("/upload", content=pieces(), headers=MULTIPART)  # the connection stays open until all was sent
    assert answer.status_code == 413 and "maximum allowed size" in answer.text
    answer = client.post("/upload", content=pieces(), headers={**MULTIPART, "Content-Length": str(40 * MIB + len(HEAD) + 9)})
    assert answer.status_code == 413 and "maximum allowed size" in answer.text
    assert on_disk(tmp_path / "sent") < 4 * MIB, "what was written is removed"
    assert send(client, 2 * MIB, "203.0.113.1").status_code == 200
    refused = send(client, 2 * MIB, "203.0.113.1")
    assert refused.status_code == 413 and "3 MiB" in refused.text
    assert send(client, 2 * MIB, "203.0.113.2").status_code == 200, "another visitor has a budget of their own"
    refused = send(client, 2 * MIB, "203.0.113.3")
    assert refused.status_code == 413 and "for all visitors" in refused.text
    assert on_disk(tmp_path / "sent") < 5 * MIB


@pytest.mark.slow
def test_without_a_trusted_proxy_sizes_are_limited_and_addresses_cannot_be_forged(opened: Any, tmp_path: Path) -> None:
    studio, client = opened()
    answer = client.post("/call/similarity", content=b" " * (65 * MIB), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413 and "send the texts as a file" in answer.text
    pieces = (b" " * MIB for _ in range(66))  # of a length that is not announced
    answer = client.post("/queue/join", content=pieces, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413 and "send the texts as a file" in answer.text
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=20) as waiting:  # for permission to send
        head = f"POST {client.base_url.path}upload HTTP/1.1\r\nHost: {client.base_url.host}:{client.base_url.port}\r\n"
        waiting.sendall(f"{head}Content-Length: {1 << 40}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert b" 413 " in b"".join(iter(lambda: waiting.recv(4096), b"")), "the connection is closed at once"
    pairs = write_pairs(tmp_path / "pairs.csv")
    assert "event: complete" in begin(client, pairs, "203.0.113.1")
    assert "a time here" in begin(client, pairs, "203.0.113.2")
    assert len(studio.fine_tune.list_runs()) == 1
    before = on_disk(tmp_path / "sent")
    for _ in range(3):  # uploads that are cut are removed and do not count
        with socket.create_connection((client.base_url.host, client.base_url.port)) as cut:
            head = f"POST {client.base_url.path}upload HTTP/1.1\r\nHost: {client.base_url.host}:{client.base_url.port}\r\n"
            head += f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {5 * MIB // 2}\r\n\r\n"
            cut.sendall(head.encode() + HEAD + os.urandom(2 * MIB))
    wait_until(lambda: on_disk(tmp_path / "sent") == before, 30, "the end of the uploads that were cut")
    wait_until(lambda: send(client, 2 * MIB).status_code == 200, 30, "an upload of as much as is allowed")


def test_a_ledger_forgets_after_its_time() -> None:
    now = 0.0
    ledger = UploadLedger(10, 0, 100, lambda: now)
    for _ in range(5):
        ledger.add("a", 2)
    assert ledger.refusal("a", 1) and ledger.refusal("b", 10) is None
    now = 200.0
    assert ledger.refusal("a", 10) is None


def begin(client: httpx.Client, pairs: Path, address: str) -> str:
    """Ask for a training as a caller at ``address``; what came of it."""
    headers = {"X-Forwarded-For": address}
    (path,) = client.post("/upload", files={"files": ("pairs.csv", pairs.read_bytes())}, headers=headers).json()
    settings = json.dumps({"epochs": 900, "batch_size": 8, "evaluation": "split"})
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    data = [file, "cosine", "full", settings, "", "x", None, None, *[""] * 10, False]
    event = client.post("/call/train", json={"data": data}, headers=headers).json()["event_id"]
    return client.get(f"/call/train/{event}", headers=headers).text


@pytest.mark.slow
def test_callers_behind_a_trusted_proxy_are_told_apart(opened: Any, tmp_path: Path) -> None:
    studio, client = opened(trusted_proxies=("127.0.0.1",))
    pairs = write_pairs(tmp_path / "pairs.csv")
    for address in ("203.0.113.1", "203.0.113.2"):
        assert "event: complete" in begin(client, pairs, address)
    assert "a time here" in begin(client, pairs, "203.0.113.1")
    # What a caller adds in front of what the proxy writes is not believed.
    assert "a time here" in begin(client, pairs, "198.51.100.7, 203.0.113.2")
    assert len({run.owner for run in studio.fine_tune.list_runs()}) == 2


def test_proxies_are_named_by_address_or_network() -> None:
    found = Settings.from_env({"SBERT_STUDIO_HOME": "x", "SBERT_STUDIO_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8"})
    assert found.trusted_proxies == ("127.0.0.1", "10.0.0.0/8") and found.shared, "who comes through a proxy is a stranger"
    for wrong in ("*", "proxy.example.org", "10.0.0.1/8"):
        with pytest.raises(StudioError, match="not an address or network"):
            Settings.from_env({"SBERT_STUDIO_HOME": "x", "SBERT_STUDIO_TRUSTED_PROXIES": wrong})
    assert not Settings.from_env({"SBERT_STUDIO_HOME": "x"}).shared
    assert Settings.from_env({"SPACE_ID": "a/b", "SBERT_STUDIO_HOME": "x"}).trusted_proxies, "a Space lies behind its own network"


def test_what_is_refused_does_not_count(opened: Any, tmp_path: Path) -> None:
    _, client = opened(max_upload_mb=1)
    for _ in range(3):
        refused = send(client, 3 * MIB)
        assert refused.status_code == 413 and "exceeds the limit of 1 MiB" in refused.text
    for _ in range(3):
        answer = client.post("/upload", content=iter([HEAD, os.urandom(2 * MIB), b"\r\n--x--\r\n"]), headers=MULTIPART)
        assert answer.status_code == 413
    assert send(client, MIB // 2).status_code == 200
    assert on_disk(tmp_path / "sent") < 2 * MIB
