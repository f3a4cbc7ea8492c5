"""A narrow screen: every tab fits, also if there are more of them, and the colours follow the system until they are switched."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations

from playwright.sync_api import expect

from .pages import App

_ADD_TABS = """(bar, titles) => titles.forEach((title) => {
  const tab = bar.querySelector("[role=tab]:not(.selected)").cloneNode(true);
  tab.textContent = title;
  bar.append(tab);
})"""
DARK = re.compile(r"(^|\s)dark(\s|$)")


def test_every_tab_fits_a_phone_and_colours_are_remembered(open_app: Callable[..., App]) -> None:
    app = open_app(color_scheme="dark")
    page, body = app.page, app.page.locator("body")
    app.resize(375, 800)
    expect(body).to_have_class(DARK)
    for title in app.tabs:
        app.open_tab(title)
        app.settle()
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        assert app.cut_off() == [], title

    app.resize(360, 800)
    rows = {(tab.bounding_box() or {})["y"] for tab in app.tab_bar.get_by_role("tab").all()}
    assert len(rows) == 1, "all tabs are in one row"
    boxes = [box for button in page.locator(".sb-header button:visible").all() if (box := button.bounding_box())]
    for one, other in combinations(boxes, 2):
        beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        assert beside or one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"], (one, other)

    # What was chosen in a list longer than the screen comes into sight.
    app.models.open()
    app.resize(375, 500)
    page.locator("#models-cards .sb-card").first.click()
    expect(page.locator("#models-facts dl").first).to_be_visible()
    page.wait_for_function("document.querySelector('#models-whole').getBoundingClientRect().top < 350")

    # The colours follow the system, then the visitor's switch, also after a reload.
    page.emulate_media(color_scheme="light")
    app.reload()
    expect(body).not_to_have_class(DARK)
    page.get_by_label("Switch between light and dark").click()
    expect(body).to_have_class(DARK)
    app.reload()
    expect(body).to_have_class(DARK)


def test_two_more_tabs_fit_a_phone_in_each_language(app: App) -> None:
    """The bar wraps; nothing of it is cut off or hidden in a menu."""
    titles = app.tabs
    app.tab_bar.get_by_role("tablist").evaluate(_ADD_TABS, ["Clustering", "Annotation"])
    for language in ("en", "zh"):
        if language == "zh":
            app.page.click(".sb-language")
            expect(app.page.locator("#tab-similarity-button")).to_have_text("相似度")
            app.settle()
        for width in (360, 375, 390, 1280):
            app.resize(width)
            app.page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
            places = [tab.bounding_box() for tab in app.tab_bar.get_by_role("tab").all()]
            assert len(places) == len(titles) + 2
            for place in places:
                assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= width and place["height"] >= 40
            assert app.cut_off() == [], (language, width)
            expect(app.page.locator(".overflow-menu:visible")).to_have_count(0)
