"""A cross-encoder from the page: tuned, then used to rank again, and judged."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import Visitor

LONG = 200_000


def choose(visitor: Visitor, chooser: str, name: str) -> None:
    """Open the chooser until it offers the new model: an open list does not grow."""
    for _ in range(20):
        visitor.page.click(chooser)
        option = visitor.page.get_by_role("option", name=name)
        visitor.page.wait_for_timeout(500)
        if option.count():
            option.first.click()
            return
        visitor.page.keyboard.press("Escape")
        visitor.page.locator("h1, .sb-intro, .sb-header").first.click()
    raise AssertionError(f"{name} is not offered in {chooser}")


def test_a_cross_encoder_is_tuned_ranks_again_and_is_judged(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    page.click("#tune-scored_pairs")
    visitor.see("#tune-findings .sb-verdict")
    page.locator("#tune-advanced > button").click()
    visitor.see("#tune-pooling")
    assert not page.locator("#tune-head").is_visible()
    page.locator("#tune-architecture label", has_text="Reads both texts at once").click()
    page.wait_for_function("document.querySelector('#tune-reasons').innerText.includes('both texts are read at once')")
    visitor.see("#tune-head")
    assert not page.locator("#tune-pooling").is_visible()
    page.locator("#tune-head label", has_text="512 units").click()
    page.wait_for_function("document.querySelector('#tune-command').innerText.includes('head=mlp')")
    page.fill("#tune-epochs input, #tune-epochs textarea", "0.5")
    page.fill("#tune-name input, #tune-name textarea", "My reader")
    page.click("#tune-start")
    visitor.see("#tune-run .sb-finished", timeout=LONG)
    assert "Spearman" in visitor.text("#tune-run")
    page.click("#tune-use")
    visitor.see(".toast-body")
    assert "reads pairs" in visitor.text(".toast-body")
    visitor.tab("Search")
    choose(visitor, "#search-reranker input", "My reader")
    page.click("#search-go")
    page.wait_for_function("document.querySelector('#search-hits').innerText.includes('Cross-encoder')")
    visitor.tab("Evaluate")
    choose(visitor, "#evaluate-models input", "My reader")
    page.click("#evaluate-go")
    page.wait_for_function("document.querySelectorAll('#evaluate-scores tbody tr').length === 2")
    assert "My reader" in visitor.text("#evaluate-scores")
