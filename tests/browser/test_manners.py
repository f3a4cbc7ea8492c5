"""Manners of the page: long work can be cancelled, Stop answers at once, and several runs are seen and stopped."""

from __future__ import annotations

import random
from collections.abc import Callable

from playwright.sync_api import APIResponse, Page, Route

from .conftest import Visitor

LONG = 200_000


def many_texts(rows: int) -> str:
    """A CSV of long texts, no two alike, that takes minutes to encode."""
    draw = random.Random(3)
    words = ["card", "bread", "rain", "money", "storm", "dough", "bank", "flour", "snow", "transfer"]
    return "text\n" + "\n".join(" ".join(draw.choice(words) for _ in range(90)) + f" {number}" for number in range(rows)) + "\n"


def test_cancel_ends_a_long_search_and_the_page_goes_on(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Search")
    assert not page.locator("#search-cancel").is_visible()
    visitor.upload("search-file", "many.csv", many_texts(8000))
    page.locator("#search-cancel").wait_for(timeout=60_000)
    page.click("#search-cancel")
    page.locator(".toast-body", has_text="Cancelled").wait_for(timeout=LONG)
    page.locator("#search-cancel").wait_for(state="hidden", timeout=LONG)
    assert visitor.text("#search-cancelled").startswith("Cancelled.")
    # What Gradio announces of the end of an event comes up to five seconds later, and goes again.
    page.evaluate("""() => {
        const look = () => { window.sbBare ||= document.body.innerText.includes('common.') };
        window.sbUntil = Date.now() + 8000;
        new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
        look();
    }""")
    page.locator("#search-mode label", has_text="By words").click()
    visitor.see("#search-hits tbody tr", timeout=60_000)
    assert page.locator("#search-cancelled").count() == 0
    page.wait_for_function("Date.now() > window.sbUntil", polling=500)
    assert not page.evaluate("window.sbBare"), "a key that Gradio has no words for is seen"


def test_the_last_question_counts_however_long_an_earlier_one_takes(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Search")
    visitor.upload("search-file", "some.csv", many_texts(900))
    page.locator("#search-cancel").wait_for(timeout=60_000)  # the usual query by meaning: its corpus is being encoded
    page.locator("#search-mode label", has_text="By words").click()
    visitor.fill("#search-query", "storm 77")
    page.click("#search-go")
    page.locator("#search-hits th", has_text="BM25").wait_for(timeout=60_000)
    assert page.locator("#search-cancel").is_visible(), "the earlier question is not answered yet"
    page.locator("#search-cancel").wait_for(state="hidden", timeout=LONG)
    page.wait_for_timeout(500)
    assert page.locator("#search-hits th", has_text="BM25").count() == 1
    assert "77" in visitor.text("#search-hits tbody tr:first-child")


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
