"""The real app in a process of its own, with its own data folder, and a real Chromium that clicks in it."""

from __future__ import annotations

import contextlib
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError
from processes import Child, started
from waiting import wait_until

from .chromium import FLAGS, find_chromium
from .pages import App
from .serve import serve
from .tiny import MODEL_NAME, MULTILINGUAL_NAME, write_package

_WAIT = 90_000  # milliseconds for anything to appear; a busy machine is slow, a broken page never shows it
_START = 120  # seconds
_LIMIT = 400  # seconds a flow
# Seconds. Twice as often as usual, so that tests wait less; each time costs some hundredths of a second of processor time.
_POLL = "0.5"
_VIEW: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}

expect.set_options(timeout=_WAIT)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(_LIMIT))


_OPENED = pytest.StashKey[list[App]]()
_SHOWN, _SENT = 3_000, 30  # characters of the page and its last requests, in the report of a failure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Report what the page showed when a flow failed, and what it had asked for."""
    report: Any = yield
    if report.when == "call" and report.failed:
        for app in item.stash.get(_OPENED, []):
            with contextlib.suppress(PlaywrightError):
                shown = app.page.locator("body").inner_text(timeout=5_000)
                report.sections += [("page", shown[:_SHOWN]), ("last requests", "\n".join(app.requests[-_SENT:]))]
    return report  # type: ignore[no-any-return]


@pytest.fixture(scope="package")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app with a fresh home and two small random models as its usual ones; one for each worker.

    It ends with the last browser test (which come before all others), since an app takes processor time even while nobody uses it.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tmp_path_factory.mktemp("app")
    environ = {
        "SBERT_STUDIO_HOME": str(home / "data"),
        "SBERT_STUDIO_DEVICE": "cpu",
        "SBERT_STUDIO_MODEL": MODEL_NAME,
        "SBERT_STUDIO_MULTILINGUAL_MODEL": MULTILINGUAL_NAME,
        "SBERT_STUDIO_POLL_SECONDS": _POLL,
    }
    url = f"http://127.0.0.1:{port}"
    with started(home, serve, str(write_package(home / "packages")), port, **environ) as app:
        wait_until(lambda: _answers(url, app), _START, f"{url} answers")
        yield url
        app.send(signal.SIGTERM)
        assert app.wait(30) == 0, app.err.read_text()[-4000:]
        said = app.out.read_text() + app.err.read_text()
    assert "Traceback" not in said, said[-4000:]


def _answers(url: str, app: Child) -> bool:
    assert app.runs, app.err.read_text()[-4000:]
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    assert path, "no Chromium: run python tests/browser/chromium.py"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def usual_context(chromium: Browser) -> BrowserContext:
    """A browser context that flows use one after the other, so that the page's scripts are fetched and compiled once."""
    return chromium.new_context(**_VIEW)


@pytest.fixture
def open_app(
    request: pytest.FixtureRequest, chromium: Browser, usual_context: BrowserContext, app_url: str
) -> Iterator[Callable[..., App]]:
    """Opens the page as a new visitor. At the end no visitor may have seen an error, a dialog or a foreign host.

    Arguments are those of Playwright's ``new_context``, and ``query`` for the address.
    """
    opened = request.node.stash[_OPENED] = list[App]()

    def make(query: str = "", **options: Any) -> App:
        is_usual = not (options or usual_context.pages)
        context = usual_context if is_usual else chromium.new_context(**_VIEW, **options)
        context.set_default_timeout(_WAIT)
        app = App(context.new_page(), app_url)
        opened.append(app)
        app.open(query)
        return app

    yield make
    for app in opened:
        context = app.page.context
        app.page.close()
        if context is not usual_context:
            context.close()
    forget_visitor(usual_context, app_url)
    for app in opened:
        app.expect_clean()


def forget_visitor(context: BrowserContext, url: str) -> None:
    """Clear all that a page has stored in the context, but its cached scripts."""
    page = context.new_page()
    kinds = "cookies,local_storage,indexeddb,service_workers,cache_storage"
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": kinds})
    page.close()


@pytest.fixture
def app(open_app: Callable[..., App]) -> App:
    """The page, opened by a new visitor."""
    return open_app()
