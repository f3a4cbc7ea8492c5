"""A training that one can feel: pinned texts while it goes on; at its end a plain sentence, the worst mistakes, and what changed."""

from __future__ import annotations

import re
from collections.abc import Callable

from .conftest import Visitor
from .test_training_page import LONG


def test_the_first_sample_ends_in_a_clear_gain_that_is_seen_and_said(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    assert visitor.text(".sb-samples:has(#tune-bank_messages) button >> nth=0") == "Messages to a bank"
    page.click("#tune-bank_messages")
    visitor.see("#tune-findings .sb-verdict")
    visitor.judge_by_one_part()  # its folds take a minute of two idle cores, which tests do not have
    page.locator("#tune-pinned > button").click()
    page.wait_for_selector("#tune-pin-1a:visible")
    visitor.fill("#tune-pin-1a", "it got eaten by the machine")
    page.click("#tune-start")
    page.wait_for_selector("text=only one text of pinned pair 1")
    visitor.fill("#tune-pin-1b", "my card did not come out again")
    page.click("#tune-pin-more")
    page.wait_for_selector("#tune-pin-2a:visible")
    visitor.fill("#tune-pin-query", "somebody robbed me")
    page.click("#tune-start")
    visitor.see("#tune-pins .sb-pins li", timeout=LONG)
    assert "eaten by the machine" in visitor.text("#tune-pins")
    visitor.see("#tune-pins .sb-pin-line", timeout=LONG)  # judged again: there is a line from before to now
    visitor.see("#tune-run .sb-finished", timeout=LONG)
    page.wait_for_function("document.querySelector('#tune-pins')?.innerText.includes('by the model that is kept')")
    pinned = visitor.text("#tune-pins .sb-view")  # without how long Gradio waited for it
    assert re.search(r"0\.\d{3} → 0\.\d{3}", pinned) and "among 240 texts of the file" in pinned
    assert page.locator("#tune-pins .sb-pin-nearest li").count() == 5
    assert re.search(r"of 100 new texts it now puts \d+ in the right category instead of \d+", visitor.text("#tune-run .sb-said"))

    page.locator("#tune-mistakes summary").click()
    first = page.locator("#tune-mistakes li").first
    assert "yours:" in first.inner_text() and "the model:" in first.inner_text()
    wrong = first.locator("p").first.inner_text()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off on a phone"
    page.set_viewport_size({"width": 1280, "height": 900})
    first.get_by_role("button").click()
    page.wait_for_selector("#similarity-compare:visible")
    page.wait_for_function("(text) => document.querySelector('#similarity-a textarea')?.value === text", arg=wrong)
    visitor.see("#similarity-gauge .sb-big")

    visitor.reload()  # whoever looks later finds the same
    visitor.tab("Fine-tune")
    page.wait_for_function("document.querySelector('#tune-pins')?.innerText.includes('by the model that is kept')")
    assert visitor.text("#tune-pins .sb-view") == pinned
    page.locator("#tune-mistakes summary").wait_for()
    page.click("#tune-changes")
    page.wait_for_selector("#tune-changes", state="hidden")
