"""The window of the studio's own; where pywebview is installed, a real one without a screen."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_studio import studio_at, write_model

from sbert_studio.cli import main
from sbert_studio.cli.page import closing_question

_WINDOW = """
import json, sys, threading, time
from pathlib import Path
import webview
from qtpy.QtCore import QMetaObject, Qt
from qtpy.QtWidgets import QApplication, QMessageBox
from sbert_studio.settings import Settings
from sbert_studio.services import Studio
from sbert_studio.cli import page as command
from sbert_studio.ui.app import launch

told, home, model = {}, Path(sys.argv[1]), sys.argv[2]
with Studio(Settings(home=home, device="cpu", default_model=model), allow_folders=True) as studio:
    blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
    ended = threading.Event()

    class Made:
        model = ""
        def describe(self):
            return "done"

    def work(begin):
        ended.wait(60)
        return Made()

    def answer():
        for _ in range(100):
            boxes = [one for one in QApplication.topLevelWidgets() if isinstance(one, QMessageBox) and one.isVisible()]
            if boxes:
                told["asked"] = boxes[0].text()
                no = next(one for one in boxes[0].buttons() if boxes[0].standardButton(one) in (QMessageBox.No, QMessageBox.Cancel))
                QMetaObject.invokeMethod(no, "click", Qt.QueuedConnection)
                return
            time.sleep(0.1)

    def drive():
        while not webview.windows:
            time.sleep(0.1)
        window = webview.windows[0]
        window.events.loaded.wait(60)
        for _ in range(200):
            told["title"] = window.evaluate_js("document.querySelector('h1') && document.querySelector('h1').innerText")
            if told["title"]:
                break
            time.sleep(0.2)
        studio.embedding_jobs.submit("local", "Word vectors", work)
        time.sleep(0.5)
        window.destroy()
        answer()
        time.sleep(1)
        told["still"] = len(webview.windows)
        ended.set()
        time.sleep(1)
        window.destroy()

    threading.Thread(target=drive, daemon=True).start()
    command.open_window(studio, url)
    told["closed"] = True
    blocks.close()
print("TOLD" + json.dumps(told))
sys.stdout.flush()
import os
os._exit(0)
"""


def test_what_goes_on_is_asked_about(tmp_path: Path) -> None:
    import threading

    class Made:
        model = ""

        def describe(self) -> str:
            return "done"

    ended = threading.Event()

    def work(begin: object) -> Made:
        ended.wait(30)
        return Made()

    with studio_at(tmp_path / "home", write_model(tmp_path / "tiny")) as studio:
        assert closing_question(studio) == ""
        studio.embedding_jobs.submit("local", "Word vectors", work)
        assert closing_question(studio).startswith("Other running tasks: 1")
        ended.set()


@pytest.mark.skipif(importlib.util.find_spec("webview") is not None, reason="pywebview is installed")
def test_without_pywebview_it_says_how_to_get_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["app", "--desktop"])
    assert ended.value.code == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("qtpy") is None, reason="pywebview[qt] is not installed")
def test_a_real_window_shows_the_page_and_asks_before_it_closes_on_work(tmp_path: Path) -> None:
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QTWEBENGINE_DISABLE_SANDBOX": "1"}
    command = [sys.executable, "-c", _WINDOW, str(tmp_path / "home"), str(write_model(tmp_path / "tiny"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environ, check=False)
    told = json.loads(done.stdout.rpartition("TOLD")[2] or "null")
    assert told, done.stderr[-3000:]
    assert told["title"] == "SBERT Studio"
    assert told["asked"].startswith("Other running tasks: 1")
    assert told["still"] == 1, "No was answered"
    assert told["closed"]
