"""``python app.py`` as a service manager or a Space runs it: a process with an environment, ended by SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gradio_client import Client, handle_file
from tiny_studio import studio_at, write_model, write_pairs

from sbert_studio.cli import main

ROOT = Path(__file__).resolve().parents[1]


def start(home: Path, port: object, **more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "SBERT_STUDIO_HOME": str(home), "SBERT_STUDIO_PORT": str(port), "SBERT_STUDIO_DEVICE": "cpu", **more}
    return subprocess.Popen(
        [sys.executable, "app.py"], cwd=ROOT, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_port_that_is_taken_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = start(tmp_path, taken.getsockname()[1])
        _, words = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot be used" in words
    assert len(words.strip().splitlines()) == 1, words


@pytest.mark.parametrize(("port", "said"), [("eight", "is not a whole number"), ("70000", "there is no port 70000")])
def test_a_port_that_cannot_be_is_one_line_and_exit_code_2(
    home: Path, port: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_PORT", port)
    with pytest.raises(SystemExit) as ended:
        main(["app"])
    words = capsys.readouterr().err
    assert ended.value.code == 2 and said in words
    assert len(words.strip().splitlines()) == 1, words


def test_a_request_to_terminate_keeps_what_a_training_has_learned(tmp_path: Path) -> None:
    port, model = free_port(), write_model(tmp_path / "tiny")
    sent = tmp_path / "temporary"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name in (left := [f"sbert-studio-sent-{number}-x" for number in (gone.pid, os.getpid())]):
        (sent / name).mkdir(parents=True)
        os.utime(sent / name, (0, 0))
    process = start(tmp_path / "home", port, SBERT_STUDIO_MODEL=str(model), TMPDIR=str(sent), GRADIO_TEMP_DIR="")
    try:
        client = None
        for _ in range(240):
            assert process.poll() is None
            try:
                client = Client(f"http://127.0.0.1:{port}", verbose=False)
                break
            except Exception:
                time.sleep(0.25)
        assert client is not None
        settings = '{"epochs": 900, "batch_size": 8, "objective": "cosine", "judge": "split"}'
        run = client.predict(handle_file(write_pairs(tmp_path / "pairs.csv")), "auto", "full", settings, "", "x", api_name="/train")
        while client.predict(run["id"], 0, api_name="/run")["run"]["step"] < 5:
            assert process.poll() is None
        assert list(sent.glob("sbert-studio-sent-*/*/pairs.csv"))  # in a folder of this page's own
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        _, words = process.communicate(timeout=60)
        assert time.monotonic() - began < 30  # of which 20 at most are waited for the training
        assert process.returncode == 0, words
        assert "Traceback" not in words and "terminate" not in words
        assert [path.name for path in sent.glob("sbert-studio-sent-*")] == left[1:], "what was sent is gone, and what a killed page left"
    finally:
        process.kill()
    with studio_at(tmp_path / "home", model) as studio:
        left = studio.tune.run(run["id"]).run
        assert left.status == "interrupted"
        assert "resume" in left.message
        assert list((studio.workspace.run(left.id) / "checkpoints").iterdir())
