"""What a visitor does on the first visit, click by click."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from .conftest import Visitor

TOPICS = {
    "card": ["my card was swallowed by the machine", "the machine kept my bank card", "cash machine ate my card", "card stuck in the ATM"],
    "bread": ["how long does bread dough rise", "my sourdough bread is too dense", "which flour makes soft bread", "bread without yeast"],
    "rain": ["will it rain tomorrow", "the weather forecast says heavy rain", "is there a storm coming", "it rained the whole weekend"],
}


def corpus_csv(seed: int = 0) -> str:
    """Forty short texts in three topics, no two alike."""
    rows = [
        f"{text}{suffix},{topic}" for topic, texts in TOPICS.items() for text in texts for suffix in ("", " please", " today", " again")
    ]
    random.Random(seed).shuffle(rows)
    return "message,topic\n" + "\n".join(rows) + "\n"


def test_every_tab_does_something_on_the_first_click_and_an_upload_is_searched(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.click("#similarity-compare")
    visitor.see("#similarity-gauge .sb-big")
    assert 0 < float(visitor.text("#similarity-gauge .sb-big")) < 1
    visitor.tab("Search")
    page.click("#search-go")
    visitor.see("#search-hits tbody tr")
    assert page.locator("#search-hits tbody tr").count() == 10
    visitor.tab("Fine-tune")
    page.click("#tune-triplets")
    visitor.see("#tune-findings .sb-verdict")
    assert "Triplets" in visitor.text("#tune-findings")
    visitor.tab("Evaluate")
    visitor.judge("all-MiniLM-L6-v2")
    page.click("#evaluate-go")
    page.wait_for_function("document.querySelector('#evaluate-scores')?.innerText.includes('all-MiniLM-L6-v2')")
    visitor.tab("Models")
    page.locator("#models-cards .sb-card").first.click()
    visitor.see("#models-facts dl")
    assert "384" in visitor.text("#models-facts")
    page.set_viewport_size({"width": 390, "height": 500})  # the list is longer than the screen: what was chosen comes into sight
    page.evaluate("window.scrollTo(0, 0)")
    page.locator("#models-cards .sb-card").first.click()
    page.wait_for_function("document.querySelector('#models-whole').getBoundingClientRect().top < 350")
    page.set_viewport_size({"width": 1280, "height": 900})
    visitor.tab("Map")
    page.click("#map-draw")
    visitor.see("#map-view [data-drawn]")
    assert page.locator("#map-view .sb-legend li").count() > 3

    # And with a file of one's own.
    visitor.tab("Search")
    visitor.upload("search-file", "messages.csv", corpus_csv())
    page.wait_for_function("document.querySelector('#search-summary dl')?.innerText.includes('48')")
    visitor.fill("#search-query", "the ATM took my card")
    page.click("#search-go")
    page.wait_for_function("location.search.includes('q=the')")  # written once the hits are drawn
    page.wait_for_function("document.querySelectorAll('#search-hits tbody tr').length === 10")
    page.wait_for_function(
        "[...document.querySelectorAll('#search-hits tbody tr')].slice(0, 5).every(row => row.innerText.includes('card'))"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_fits_and_its_colours_follow_the_system_until_they_are_switched(visit: Callable[..., Visitor], scheme: str) -> None:
    visitor = visit(color_scheme=scheme)
    page = visitor.page
    page.set_viewport_size({"width": 375, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 375")
    for title in ("Search", "Map", "Fine-tune", "Evaluate", "Models", "Similarity"):
        visitor.tab(title)
        page.wait_for_timeout(300)
        assert visitor.cut_off() == [], title
    page.wait_for_function(f"document.body.classList.contains('dark') === {str(scheme == 'dark').lower()}")
    page.get_by_label("Switch between light and dark").click()
    page.wait_for_function(f"document.body.classList.contains('dark') === {str(scheme != 'dark').lower()}")
    visitor.reload()
    page.wait_for_function(f"document.body.classList.contains('dark') === {str(scheme != 'dark').lower()}")
