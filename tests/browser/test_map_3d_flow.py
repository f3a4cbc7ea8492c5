"""A map in three dimensions is turned, and the exported file opens without the studio."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from .data import corpus_csv
from .pages import App
from .pages.map import Scene


def test_a_map_in_3d_turns_and_the_exported_file_opens_alone(app: App, tmp_path: Path) -> None:
    app.map.draw_file("messages.csv", corpus_csv(2))
    turn_the_map(app)
    open_the_exported_file(app, tmp_path / "map.html")


def turn_the_map(app: App) -> None:
    scene, page = app.map.scene, app.page
    page.locator("#map-settings .label-wrap").click()
    page.get_by_label("3-D").check()
    expect(scene.drawing).to_have_attribute("data-drawn", re.compile("-3$"))
    app.settle()
    scene.plot.scroll_into_view_if_needed()
    before = scene.spot(0)
    scene.drag((30, 60), (200, 90))
    after = scene.spot(0)
    assert abs(after[0] - before[0]) + abs(after[1] - before[1]) > 5
    scene.click_point(0)
    scene.expect_neighbours()


def open_the_exported_file(app: App, path: Path) -> None:
    with app.opened_alone(app.page.locator("#map-html"), path) as alone:
        scene = Scene(alone, alone.locator("#map"))
        expect(scene.drawing).to_be_visible()
        scene.colour_by("topic")
        scene.legend.get_by_role("button", name="bread").click()
        scene.expect_list("bread · 16", 16)
        scene.click_point(0)
        scene.expect_neighbours()
