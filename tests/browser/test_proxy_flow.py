"""Behind a reverse proxy and below a path (``GRADIO_ROOT_PATH``), the page and its endpoints work as they do by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from gradio_client import Client
from playwright.sync_api import Browser, expect
from proxy import proxied
from tiny_studio import studio_at

from sbert_studio.ui.app import launch

from .pages import App


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
