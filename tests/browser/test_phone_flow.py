"""A narrow screen: every tab fits, and the colours follow the system until they are switched."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from .pages import TABS, App

DARK = re.compile(r"(^|\s)dark(\s|$)")


def test_every_tab_fits_a_phone_and_colours_are_remembered(open_app: Callable[..., App]) -> None:
    app = open_app(color_scheme="dark")
    page, body = app.page, app.page.locator("body")
    app.resize(375, 800)
    expect(body).to_have_class(DARK)
    for title in TABS:
        app.open_tab(title)
        app.settle()
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        assert app.cut_off() == [], title

    # What was chosen in a list longer than the screen comes into sight.
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
