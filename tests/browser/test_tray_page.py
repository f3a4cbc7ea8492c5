"""The tray in the header: what is under way, its Stop, and the title of the browser's tab; a training outlives the page."""

from __future__ import annotations

import random
from collections.abc import Callable

from .conftest import Visitor
from .test_training_page import LONG

WORDS = ["cat", "dog", "moon", "red", "blue", "sky", "card", "loss", "bank", "pay", "transfer", "money", "lost", "stolen", "help", "phone"]


def long_corpus() -> str:
    """So many texts that encoding them takes a while on any machine."""
    draw = random.Random(3)
    return "text\n" + "\n".join(f"{' '.join(draw.choices(WORDS, k=14))} {number}" for number in range(12_000)) + "\n"


def test_what_is_under_way_stands_in_the_header_and_is_stopped_there(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.click(".sb-tray-button")
    page.wait_for_selector("text=Nothing is under way.")
    visitor.tab("Map")
    page.get_by_role("button", name="Choose texts of your own").click()
    visitor.upload("map-file", "long.csv", long_corpus())
    visitor.see("#tray .sb-tray-button.sb-live")
    page.click(".sb-tray-button")
    page.wait_for_function("/Map[^]* · [\\d,]+ of 12,000/.test(document.querySelector('#tray-list')?.innerText)")
    page.wait_for_function("/^\\d+% Map – SBERT Studio$/.test(document.title)")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the header fits a phone"
    page.wait_for_function("(({ left, right }) => left >= 0 && right <= 390)(document.querySelector('#tray-list').getBoundingClientRect())")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.click("#tray-list .sb-small-button")
    # Before any answer can have come.
    assert page.evaluate("document.querySelector('#tray-list .sb-small-button').innerText") == "Stopping…"
    visitor.see("#tray-list .sb-stopped")
    page.wait_for_function("document.title.startsWith('■ Map')")
    page.wait_for_function("document.title === 'SBERT Studio'")
    page.wait_for_selector("#map-cancel", state="hidden")

    page.keyboard.press("Escape")
    page.wait_for_selector("#tray-list", state="hidden")
    visitor.tab("Fine-tune")
    page.click("#tune-triplets")
    visitor.see("#tune-findings .sb-verdict")
    visitor.fill("#tune-epochs", "200")
    visitor.fill("#tune-name", "In the tray")
    page.click("#tune-start")
    visitor.see("#tray .sb-tray-button.sb-live", timeout=LONG)
    visitor.reload()  # the training goes on, and is found again without its tab being looked at
    visitor.see("#tray .sb-tray-button.sb-live", timeout=LONG)
    page.click(".sb-tray-button")
    page.wait_for_function(
        "/In the tray[^]*step [\\d,]+ of [\\d,]+[^]*rows a second/.test(document.querySelector('#tray-list')?.innerText)", timeout=LONG
    )
    page.get_by_role("button", name="In the tray", exact=True).click()
    page.wait_for_selector("#tune-stop:visible")
    page.click("#tune-stop")
    page.wait_for_function("document.querySelector('#tune-stop.sb-stopping') || !document.querySelector('#tune-stop')", timeout=2_000)
    # The end is told while another tab of the browser is looked at, and for as long.
    page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })")
    page.wait_for_function("document.title === '■ In the tray: stopped – SBERT Studio'", timeout=LONG)
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_function("document.title === 'SBERT Studio'")
