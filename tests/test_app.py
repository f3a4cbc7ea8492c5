"""``python app.py`` as a service manager or a Space runs it: a process with an environment, ended by SIGTERM."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from gradio_client import Client, handle_file
from processes import UNPRIVILEGED
from tiny_studio import studio_at, write_pairs
from waiting import wait_until

from sbert_studio.cli import main
from sbert_studio.settings import DEFAULT_RERANKER

ROOT = Path(__file__).resolve().parents[1]
NOBODY = 4_194_305  # a process id beyond the largest that Linux gives


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SBERT_STUDIO_PORT", "eight"),
        ("SBERT_STUDIO_PORT", "70000"),
        ("SBERT_STUDIO_HOST", "http://0.0.0.0"),
        ("SBERT_STUDIO_HOST", "ü" * 70),
        ("GRADIO_ROOT_PATH", "studio"),
        ("SBERT_STUDIO_LLM_URL", "localhost:11434"),
    ],
)
def test_a_variable_with_an_invalid_value_is_named_in_one_line_with_exit_code_2(
    home: Path, variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as ended:
        main(["app"])
    words = capsys.readouterr().err
    assert ended.value.code == 2 and variable in words
    assert len(words.strip().splitlines()) == 1, words


def test_misspelled_variables_are_named_before_the_page_starts(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_LIMIT_MINUTE", "30")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for command in (["app"], ["serve", "all-MiniLM-L6-v2"]):
            with pytest.raises(SystemExit):
                main([*command, "--port", str(taken.getsockname()[1])])
            warning, error = capsys.readouterr().err.splitlines()
            assert warning.startswith("warning: ") and "SBERT_STUDIO_LIMIT_MINUTE (did you mean SBERT_STUDIO_LIMIT_MINUTES?)" in warning
            assert error.startswith("error: ")


@pytest.mark.process
@pytest.mark.slow
def test_a_request_to_terminate_keeps_what_a_training_has_learned(tmp_path: Path, tiny_model: Path) -> None:
    """``python app.py`` is sent SIGTERM while it trains, with a proxy. Uploads of dead processes are removed, the others stay."""
    port, sent = free_port(), tmp_path / "temporary"
    for owner in (NOBODY, os.getpid()):
        (sent / f"sbert-studio-sent-{owner}-x").mkdir(parents=True)
        os.utime(sent / f"sbert-studio-sent-{owner}-x", (0, 0))
    environment = {
        **os.environ,
        "SBERT_STUDIO_HOME": str(tmp_path / "home"),
        "SBERT_STUDIO_PORT": str(port),
        "SBERT_STUDIO_DEVICE": "cpu",
        "SBERT_STUDIO_MODEL": str(tiny_model),
        "TMPDIR": str(sent),
        "GRADIO_TEMP_DIR": "",
        "HTTP_PROXY": "http://127.0.0.1:9",  # which does not answer, and is not needed to reach this machine
    }
    process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

    def listens() -> bool:
        assert process.poll() is None
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens, 120)
        client = Client(f"http://127.0.0.1:{port}", verbose=False, ssl_verify=False)
        settings = '{"epochs": 900, "batch_size": 8, "loss": "cosine", "evaluation": "split"}'
        run = client.predict(handle_file(write_pairs(tmp_path / "pairs.csv")), "auto", "full", settings, "", "x", api_name="/train")
        wait_until(lambda: client.predict(run["id"], 0, api_name="/run")["run"]["step"] >= 5, 60)
        assert list(sent.glob("sbert-studio-sent-*/*/pairs.csv"))  # in a folder of this page's own
        process.send_signal(signal.SIGTERM)
        _, words = process.communicate(timeout=60)
        assert process.returncode == 0, words
        assert "Traceback" not in words and "terminate" not in words and "ending the studio" in words
        assert [path.name for path in sent.glob("sbert-studio-sent-*")] == [f"sbert-studio-sent-{os.getpid()}-x"]
    finally:
        process.kill()
        process.wait()
    with studio_at(tmp_path / "home", tiny_model) as studio:
        left = studio.fine_tune.get_run(run["id"]).run
        assert left.status == "interrupted"
        assert "resume" in left.message
        assert list((studio.workspace.run(left.id) / "checkpoints").iterdir())


def test_the_front_matter_is_that_of_this_app() -> None:
    front = yaml.safe_load((ROOT / "README.md").read_text(encoding="utf-8").split("---")[1])
    pinned = next(line for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines() if line.startswith("gradio"))
    assert front["sdk"] == "gradio" and pinned.endswith(f"=={front['sdk_version']}")
    assert (ROOT / front["app_file"]).is_file()
    assert front["hf_oauth"] is True and front["hf_oauth_scopes"] == ["contribute-repos"], (
        "pushing makes repositories, and touches no other"
    )
    assert len(front["short_description"]) <= 60
    preloaded = [line.split(" ") for line in front["preload_from_hub"]]  # repository, and files separated by commas
    assert [one[0] for one in preloaded] == [DEFAULT_RERANKER], "the other default models are installed as packages"
    assert {name for name, *_ in preloaded} <= set(front["models"])
    assert preloaded[0][1].split(",") == ["config.json", "model.safetensors"]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(bool(UNPRIVILEGED) and shutil.which("setpriv") is None, reason="root cannot give up its capabilities here")
def test_it_runs_as_an_unprivileged_user_on_a_checkout_that_nobody_may_write(tmp_path: Path) -> None:
    checkout, home = tmp_path / "app", tmp_path / "user"
    for name in ("sbert_studio", "assets"):
        shutil.copytree(ROOT / name, checkout / name)  # with the compiled modules, which take seconds to compile
    for name in ("app.py", "README.md", "requirements.txt"):
        shutil.copy(ROOT / name, checkout / name)
    home.mkdir()
    for path in (checkout, *checkout.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(home), "SYSTEM": "spaces", "SPACE_ID": "somebody/studio",
        "SPACE_HOST": "somebody-studio.hf.space", "OAUTH_CLIENT_ID": "id", "OAUTH_CLIENT_SECRET": "secret",
        "OAUTH_SCOPES": "openid profile contribute-repos", "OPENID_PROVIDER_URL": "http://127.0.0.1:9", "SBERT_STUDIO_PORT": str(port),
        "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    log = home / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [*UNPRIVILEGED, sys.executable, "app.py"], cwd=checkout, env=environ, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        page = _page(port, process, log)
        refused = subprocess.run([*UNPRIVILEGED, "touch", str(checkout / "written")], capture_output=True, check=False)
    finally:
        process.terminate()  # often while the page still looks for cycles, where an exception in the main thread would be dropped
        code = process.wait(60)
    assert code == 0, log.read_text()
    assert refused.returncode, "the checkout could be written to"
    assert "SBERT Studio" in page
    assert "Traceback" not in log.read_text() and "HOT_RELOAD" not in log.read_text(), log.read_text()
    assert (home / ".local/share/sbert-studio").is_dir()


def _page(port: int, process: subprocess.Popen[bytes], log: Path) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": "somebody-studio.hf.space"})

    def page() -> str:
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    return wait_until(page, 120, "the page of the Space")
