"""Manners of the page: Stop answers at once, and several runs are seen and stopped."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import APIResponse, Page, Route

from .conftest import Visitor

LONG = 200_000


class LateAnswer:
    """An answer to the page's timer about the run ``name`` that is on its way for as long as one likes."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name = page, name
        self.kept: list[tuple[Route, APIResponse]] = []

    def hold(self) -> None:
        """Keep the next such answer back, if none is kept yet; come back when it is."""
        if not self.kept:
            self.page.route("**/run/predict*", self._on_request)
            while not self.kept:
                self.page.wait_for_timeout(100)

    def come(self) -> None:
        """Let it arrive."""
        for route, answer in self.kept:
            route.fulfill(response=answer)

    def _on_request(self, route: Route) -> None:
        if self.kept:
            return route.continue_()
        answer = route.fetch()
        if not self.kept and f'"title":"{self.name}"' in answer.text():
            self.kept.append((route, answer))
        else:
            route.fulfill(response=answer)


def test_two_runs_are_seen_followed_and_stopped(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    page.click("#tune-triplets")
    visitor.see("#tune-findings .sb-verdict")
    visitor.fill("#tune-epochs", "200")
    late = LateAnswer(page, "The first")
    for name in ("The first", "The second"):
        visitor.fill("#tune-name", name)
        page.click("#tune-start")
        page.locator("#tune-run .sb-run-head", has_text=name).wait_for(timeout=LONG)
        late.hold()
    late.come()
    page.locator("#tune-run .sb-run-head", has_text="The first").wait_for(timeout=LONG)
    page.locator("#tune-run .sb-run-head", has_text="The second").wait_for(timeout=LONG)
    rows = page.locator("#tune-runs .sb-runs-row")
    page.wait_for_function("document.querySelectorAll('#tune-runs .sb-runs-row').length === 2", timeout=LONG)
    assert "1 before it" in rows.filter(has_text="The second").inner_text()
    rows.filter(has_text="The first").get_by_role("button", name="Follow").click()
    page.locator("#tune-run .sb-run-head", has_text="The first").wait_for(timeout=LONG)
    rows.filter(has_text="The second").get_by_role("button", name="Stop").click()
    page.wait_for_function("!document.querySelector('#tune-runs .sb-view:not([hidden])')", timeout=LONG)
    page.click("#tune-stop")
    page.locator("#tune-run", has_text="Stopping…").or_(page.locator("#tune-run .sb-stopped")).wait_for(timeout=3_000)
    visitor.see("#tune-run .sb-stopped", timeout=LONG)
