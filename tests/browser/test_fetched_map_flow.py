"""A map of many points: the page fetches its arrays as bytes, after an edit only those that have changed; a choice is sent as bits."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tiny_studio import studio_at

from sbert_studio.ui.app import launch
from sbert_studio.ui.tabs.map import view_model

from .data import corpus_csv, csv_text
from .pages import App

_TIMES = 45  # so that there are more texts than the page sends one by one


@pytest.fixture
def app(chromium: Browser, tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """A page that fetches the arrays of every map."""
    monkeypatch.setattr(view_model, "FETCHED_POINTS", 1)
    with studio_at(tmp_path, tiny_model) as studio:
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
        page = chromium.new_page(viewport={"width": 1366, "height": 960})
        page.set_default_timeout(90_000)
        app = App(page, url.rstrip("/"))
        app.open()
        yield app
        page.close()
        app.expect_clean()
        blocks.close()


@pytest.mark.filterwarnings("ignore:The value passed into gr.Dropdown")  # the default model is a folder, which no list names
def test_arrays_are_fetched_and_kept_and_many_rows_are_sent_as_bits(app: App) -> None:
    fetched: list[str] = []
    addresses: list[str] = []
    app.page.on("response", lambda answer: fetched.extend(re.findall(r"/map/[\w-]+/(\w+)\?", answer.url)) if answer.ok else None)
    app.page.on("request", lambda request: addresses.append(request.url) if "/map/" in request.url else None)
    rows = list(csv.reader(io.StringIO(corpus_csv())))[1:]
    app.map.draw_file(
        "messages.csv", csv_text(("message", "topic"), [(f"{text} {n}", topic) for n in range(_TIMES) for text, topic in rows])
    )
    scene, total = app.map.scene, len(rows) * _TIMES
    scene.rest()
    assert {"points", "clusters", "typical"} <= set(fetched)
    places = "() => [0, 1, 2].map((row) => SB.map.spot(row)).flatMap(([x, y], _, [first]) => [x - first[0], y - first[1]])"
    before, _ = app.page.evaluate(places), fetched.clear()
    with app.page.expect_request(lambda request: '"bits"' in (request.post_data or "")):
        scene.select_all()
        app.map.label_list("all")
    expect(app.map.label("all")).to_contain_text(f"{total:,}")
    scene.rest()
    assert fetched == [], "a label changes no array"
    assert app.page.evaluate(places) == pytest.approx(before)
    scene.find("bread")
    expect(scene.title).to_contain_text("with “bread”")  # the actions of the former list are closed by it
    app.map.act("Remove these")
    expect(app.map.marks).to_contain_text(f"{total // 3:,} texts removed")
    scene.rest()
    assert fetched == ["hidden"]
    session = app.page.evaluate("SB_SESSION()")
    answers = [app.page.request.get(addresses[0], headers={"x-session": name}).status for name in (session, "", session[::-1])]
    assert answers == [200, 404, 404], "the address alone opens nothing: it may stand in a log or in a history"
    assert app.page.request.get(f"{app.url}/map/no-such-map/points?0", headers={"x-session": session}).status == 404
