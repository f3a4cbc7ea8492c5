"""Hold back what the page asks or what the server answers, so that a test decides when it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import APIResponse, Page, Route


@contextmanager
def requests_held(page: Page, address: str) -> Iterator[None]:
    """Within this, requests to addresses that match a glob wait: what the page shows then, it shows by itself."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(address, hold)
    try:
        yield
    finally:
        for route in held:
            route.continue_()
        page.unroute(address, hold)  # lets go what came meanwhile


class HeldAnswer:
    """The first answer from addresses that match a glob and that contains ``text``, held back until :meth:`release`."""

    def __init__(self, page: Page, address: str, text: str) -> None:
        self._page, self._address, self._text = page, address, text
        self._held: tuple[Route, APIResponse] | None = None
        page.route(address, self._on_request)

    def wait(self) -> None:
        """Wait until the answer is held."""
        self._page.wait_for_function("window.heldAnswer")

    def release(self) -> None:
        """Let the answer arrive, and hold back no other."""
        assert self._held is not None
        route, answer = self._held
        route.fulfill(response=answer)
        self._page.unroute(self._address, self._on_request)

    def _on_request(self, route: Route) -> None:
        if self._held:
            route.continue_()
            return
        answer = route.fetch()
        if self._held or self._text not in answer.text():
            route.fulfill(response=answer)
            return
        self._held = route, answer
        self._page.evaluate("window.heldAnswer = true")
