"""The page works where the browser denies storage, in the frame of another site, and behind a reverse proxy below a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gradio_client import Client
from playwright.sync_api import Browser, expect
from servers import QuietHandler, proxied, served
from tiny_studio import studio_at

from sbert_studio.ui.app import launch

from .pages import App

# As Chromium does it: even a look at one of the two throws.
DENIED = """for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, {
  configurable: true, get() { throw new DOMException("Access is denied for this document.", "SecurityError"); } });
Object.defineProperty(document, "cookie", { configurable: true, get: () => "", set: () => {} });"""
TOLD = ".sb-unremembered"


def test_every_tab_works_and_it_is_said_once_that_nothing_is_remembered(open_app: Callable[..., App]) -> None:
    app = open_app()
    app.page.add_init_script(DENIED)
    app.reload()
    note = app.page.locator(TOLD)
    expect(note).to_have_count(1)
    expect(note).to_contain_text("blocks storage")
    note.get_by_role("button").click()
    expect(note).to_have_count(0)
    for title in app.tabs:
        app.open_tab(title)
        app.settle()
    app.page.get_by_label("Switch between light and dark").click()  # what is chosen lasts as long as the page
    expect(note).to_have_count(0)


def test_it_works_in_the_frame_of_another_site(chromium: Browser, app_url: str) -> None:
    with framing(app_url) as site:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.add_init_script(f"if (window !== top) {{ {DENIED} }}")
        page.goto(site)
        inside = page.frame_locator("iframe")
        expect(inside.locator(TOLD)).to_have_count(1)
        inside.get_by_role("tab", name="Search", exact=True).first.click()
        inside.locator("#search-query textarea, #search-query input").first.fill("lost card")
        inside.locator("#search-go").click()
        expect(inside.locator("#search-hits")).to_contain_text("card")
        context.close()
        assert errors == []


@contextmanager
def framing(url: str) -> Iterator[str]:
    """A page of another site (localhost is another than 127.0.0.1) with the app in a frame."""

    class Site(QuietHandler):
        def do_GET(self) -> None:
            content = f'<!doctype html><iframe src="{url}" style="width:100%;height:850px"></iframe>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with served(Site) as address:
        yield address.replace("127.0.0.1", "localhost") + "/"


@pytest.mark.filterwarnings("ignore:The value passed into gr.Dropdown")  # the default model is a folder, which no list names
def test_the_page_works_below_a_path(chromium: Browser, tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxied("/studio") as (address, behind), studio_at(tmp_path, tiny_model, trusted_proxies=("127.0.0.1",)) as studio:
        monkeypatch.setenv("GRADIO_ROOT_PATH", address)
        blocks, _ = launch(studio, "127.0.0.1", 0, False, block=False)
        behind.append(f"http://127.0.0.1:{blocks.server_port}")
        app = App(chromium.new_page(viewport={"width": 1280, "height": 900}), address)
        app.open()
        app.search.open()
        app.search.search("lost card")
        expect(app.search.hits).to_contain_text("card")
        app.open_tab("Map")
        app.ask(app.page.locator("#map-draw"))
        app.map.expect_drawn()
        app.page.close()
        app.expect_clean()
        client = Client(f"{address}/", verbose=False, ssl_verify=False)
        assert client.predict("cat dog", "cat dog", "", api_name="/similarity")["cosine"] == pytest.approx(1, abs=1e-5)
        blocks.close()
