"""The repository as a Space: ``python app.py`` with a Space's environment, as somebody who may not write to the checkout."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from processes import UNPRIVILEGED
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[1]


def test_the_front_matter_is_that_of_this_app() -> None:
    front = yaml.safe_load((ROOT / "README.md").read_text(encoding="utf-8").split("---")[1])
    pinned = next(line for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines() if line.startswith("gradio"))
    assert front["sdk"] == "gradio" and pinned.endswith(f"=={front['sdk_version']}")
    assert (ROOT / front["app_file"]).is_file()
    assert front["hf_oauth"] is True and front["hf_oauth_scopes"] == ["contribute-repos"], (
        "pushing makes repositories, and touches no other"
    )
    assert len(front["short_description"]) <= 60


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
    # Gradio asks in a thread of its own for a package that every Space brings, and says so here where there is none.
    assert "/sbert_studio/" not in log.read_text(), log.read_text()
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
