"""The tray in the header: what is under way, wherever it was begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import Locator, expect

if TYPE_CHECKING:
    from .app import App


class Tray:
    """The button in the header and the list that it opens."""

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def button(self) -> Locator:
        return self.app.page.locator("#tray .sb-tray-button")

    @property
    def list(self) -> Locator:
        return self.app.page.locator("#tray-list")

    def entry(self, title: str) -> Locator:
        """The entry of a piece of work by its title."""
        return self.list.locator("li").filter(has=self.app.page.get_by_role("button", name=title, exact=True))

    def stop_button(self, title: str) -> Locator:
        return self.entry(title).locator(".sb-small-button")

    def open(self) -> None:
        self.button.click()
        expect(self.list).to_be_visible()

    def expect_live(self) -> None:
        """Wait until the button says that something is under way."""
        expect(self.app.page.locator("#tray .sb-tray-button.sb-live")).to_be_visible()

    def expect_within(self, width: int) -> None:
        """Wait until the whole list lies between the edges of a page of that width."""
        box = "document.querySelector('#tray-list').getBoundingClientRect()"
        self.app.page.wait_for_function(f"(width) => {box}.left >= 0 && {box}.right <= width", arg=width)
