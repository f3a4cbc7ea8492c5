"""A cross-encoder from the page: tuned, then used to rank again, and judged."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import Visitor

LONG = 200_000


def test_a_cross_encoder_is_tuned_ranks_again_and_is_judged(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    page.click("#tune-scored_pairs")
    visitor.see("#tune-findings .sb-verdict")
    visitor.judge_by_one_part()
    visitor.see("#tune-pooling")
    assert not page.locator("#tune-head").is_visible()
    page.locator("#tune-architecture label", has_text="Reads both texts at once").click()
    page.wait_for_function("document.querySelector('#tune-reasons')?.innerText.includes('both texts are read at once')")
    visitor.see("#tune-head")
    assert not page.locator("#tune-pooling").is_visible()
    page.locator("#tune-head label", has_text="512 units").click()
    page.wait_for_function("document.querySelector('#tune-command')?.innerText.includes('head=mlp')")
    visitor.fill("#tune-epochs", "0.5")
    visitor.fill("#tune-name", "My reader")
    page.click("#tune-start")
    visitor.see("#tune-run .sb-finished", timeout=LONG)
    assert "Spearman" in visitor.text("#tune-run")
    page.click("#tune-use")
    visitor.see(".toast-body")
    assert "reads pairs" in visitor.text(".toast-body")
    visitor.tab("Search")
    visitor.choose("#search-reranker", "My reader")
    page.click("#search-go")
    page.wait_for_function("document.querySelector('#search-hits')?.innerText.includes('Ranked again')")
    visitor.tab("Evaluate")
    visitor.judge("all-MiniLM-L6-v2", "My reader")
    page.click("#evaluate-go")
    page.wait_for_function("document.querySelectorAll('#evaluate-scores tbody tr').length === 2")
    assert "My reader" in visitor.text("#evaluate-scores")
