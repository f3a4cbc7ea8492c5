"""Waiting for the next frames of the page."""

from __future__ import annotations

from playwright.sync_api import Page


def drawn(page: Page) -> None:
    """Wait until the page has been drawn twice, with all that followed from the last action."""
    page.evaluate("() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
