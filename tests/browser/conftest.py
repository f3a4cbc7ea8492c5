"""The real app in a process of its own, with a data folder of its own, and a real Chromium that clicks in it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from .chromium import FLAGS, find_chromium

ROOT = Path(__file__).resolve().parents[2]
WAIT = 150_000
_START = 120
_LIMIT = 600  # seconds a test, with the start of the app: two busy cores train, serve and draw at the same time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(_LIMIT))


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running app with a fresh home."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tmp_path_factory.mktemp("home")
    log = home / "app.log"
    environ = {**os.environ, "SBERT_STUDIO_HOME": str(home / "data"), "HF_HUB_OFFLINE": "1", "SBERT_STUDIO_DEVICE": "cpu"}
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "sbert_studio", "app", "--port", str(port)], cwd=ROOT, env=environ, stdout=out, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _await(url, process, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert "Traceback" not in log.read_text(), log.read_text()[-4000:]


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(_START * 2):
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise AssertionError(f"the app did not answer within {_START} s: {log.read_text()[-4000:]}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    assert path, "no Chromium: run python tests/browser/chromium.py"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


_CUT_OFF = """() => [...document.querySelectorAll("main *, .gradio-container *")].filter((node) => {
  if (!node.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  if (node.closest("svg, .sb-hidden, .sb-drawer")) return false;
  const box = node.getBoundingClientRect();
  if (box.width < 2 || box.height < 2 || box.right <= innerWidth + 1) return false;
  for (let up = node.parentElement; up && up !== document.body; up = up.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(up).overflowX) && up.clientWidth < up.scrollWidth) return false;
  return true;
}).map((node) => `${node.tagName}.${node.className} ${node.innerText?.slice(0, 60) ?? ""}`)"""


@dataclass
class Visitor:
    """A browser context of its own: what it saw in the console, which dialogs opened, which hosts it asked."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def open(self) -> None:
        self.page.goto(self.url)
        self.page.wait_for_selector("#similarity-compare", timeout=WAIT)

    def reload(self) -> None:
        """Open the page again; what Gradio says of its own requests that are cut short by leaving is no fault of the page."""
        self.open()
        self.forgive()

    def forgive(self) -> None:
        """Forget what Gradio said of its own requests that were cut short because the page was left."""
        cut_short = ("AbortError", "errored out", "Failed to fetch", "network error")
        self.complaints = [line for line in self.complaints if not any(words in line for words in cut_short)]

    def tab(self, title: str) -> None:
        self.page.get_by_role("tab", name=title, exact=True).first.click()

    def judge_by_one_part(self) -> None:
        """Set, in the advanced settings, that a tenth of the rows judges the training: folds would train four or five times."""
        self.page.locator("#tune-advanced > button").click()
        self.choose("#tune-judge", "split")

    def fill(self, box: str, text: str) -> None:
        """Type into a box of a form, which may be opening still and then forgets what was typed."""
        place = f"{box} input, {box} textarea"
        for _ in range(20):
            self.page.fill(place, text)
            self.page.wait_for_timeout(300)
            if self.page.input_value(place) == text:
                return
        raise AssertionError(f"{box} does not keep {text!r}")

    def choose(self, chooser: str, name: str) -> None:
        """Choose in a list by what it offers; open it until it offers the name, for an open list does not grow."""
        for _ in range(20):
            self.page.click(f"{chooser} input")
            option = self.page.get_by_role("option", name=name)
            self.page.wait_for_timeout(500)
            if option.count():
                option.first.click()
                return
            self.page.keyboard.press("Escape")
            self.page.locator("h1, .sb-intro, .sb-header").first.click()
        raise AssertionError(f"{name} is not offered in {chooser}")

    def judge(self, *names: str) -> None:
        """Choose in Evaluate these models and none besides: the form of an earlier visitor's evaluation may come back, and late."""
        chosen = self.page.locator("#evaluate-models .token")
        for _ in range(5):
            while chosen.count():
                self.page.locator("#evaluate-models .token-remove:not(.hidden)").last.click()
            for name in names:
                self.choose("#evaluate-models", name)
                self.page.keyboard.press("Escape")
            self.page.wait_for_timeout(700)
            if sorted(text.strip() for text in chosen.all_inner_texts()) == sorted(names):
                return
        raise AssertionError(f"{names} cannot be chosen: {chosen.all_inner_texts()}")

    def upload(self, elem_id: str, name: str, text: str) -> None:
        """Choose a file as the file dialog would; the input is not seen, so it is addressed by its place."""
        payload: Any = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
        self.page.wait_for_selector(f"#{elem_id} input[type=file]", state="attached", timeout=WAIT)
        self.page.set_input_files(f"#{elem_id} input[type=file]", payload)

    def cut_off(self) -> list[str]:
        """What is seen beyond the right edge and cannot be scrolled to: a box of its own that scrolls sideways is none."""
        return list(self.page.evaluate(_CUT_OFF))

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def see(self, selector: str, timeout: float = WAIT) -> None:
        self.page.wait_for_selector(selector, timeout=timeout)


@pytest.fixture
def visit(chromium: Browser, app_url: str) -> Iterator[Callable[..., Visitor]]:
    """Opens the page as a new visitor; at the end no visitor may have seen an error, a dialog or a foreign host."""
    visitors: list[Visitor] = []

    def make(**options: Any) -> Visitor:
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        visitor = Visitor(context.new_page(), app_url)
        page = visitor.page
        page.set_default_timeout(WAIT)
        page.on("console", lambda message: visitor.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
        page.on("request", lambda request: visitor.strangers.append(request.url) if _foreign(request.url, app_url) else None)

        def on_dialog(dialog: Any) -> None:
            visitor.dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", on_dialog)
        visitors.append(visitor)
        visitor.open()
        return visitor

    yield make
    for visitor in visitors:
        visitor.page.context.close()
        assert visitor.complaints == []
        assert visitor.dialogs == []
        assert visitor.strangers == []


def _foreign(url: str, own: str) -> bool:
    return not url.startswith((own, "data:", "blob:", "about:"))
