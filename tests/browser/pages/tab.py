"""What the page objects of all tabs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playwright.sync_api import Locator, Page

if TYPE_CHECKING:
    from .app import App


class Part:
    """A part of a page object by its selector, within ``root`` where it has one."""

    def __init__(self, selector: str) -> None:
        self.selector = selector

    def __get__(self, owner: Any, kind: type | None = None) -> Locator:
        base = owner.root if hasattr(owner, "root") else owner.page
        return base.locator(self.selector)  # type: ignore[no-any-return]


class Tab:
    """One tab of the page; ``title`` is what its button shows in English."""

    title: ClassVar[str]

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def page(self) -> Page:
        return self.app.page

    def open(self) -> None:
        self.app.open_tab(self.title)

    def at(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def open_part(self, name: str) -> None:
        """Open one of the sub-tabs."""
        self.page.get_by_role("tab", name=name).click()
