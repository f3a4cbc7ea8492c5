"""The basket: thumbs beside texts, the drawer, undo, a reload, and Fine-tune opened with it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from .conftest import Visitor
from .test_page import corpus_csv


def test_pairs_gather_fine_tune_opens_with_them_and_more_are_suggested(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    pairs_gather_by_thumbs(visitor)
    kept_over_a_reload_mended_and_trained_on(visitor, tmp_path)
    pairs_worth_labelling_are_suggested(visitor)


def pairs_gather_by_thumbs(visitor: Visitor) -> None:
    """Thumbs beside hits put pairs into the basket; a second click takes one out."""
    page = visitor.page
    page.click("#basket-open button")
    if visitor.text("#basket-open .sb-badge") != "0":  # what another test has left: the visitors of one machine are one
        page.locator("#basket-list").get_by_role("button", name="Empty it").click()
        page.wait_for_function("document.querySelector('#basket-open .sb-badge')?.innerText === '0'")
    page.keyboard.press("Escape")
    visitor.tab("Search")
    visitor.upload("search-file", "messages.csv", corpus_csv())
    page.wait_for_function("document.querySelectorAll('#search-hits tbody tr').length === 10")  # the upload's own search
    visitor.fill("#search-query", "the ATM took my card")
    page.click("#search-go")
    page.wait_for_function("location.search.includes('q=the')")  # written once the hits are drawn
    rows = page.locator("#search-hits tbody tr")
    for place in range(6):
        rows.nth(place).get_by_role("button", name="Belong together", exact=True).click()
    for place in range(6, 9):
        rows.nth(place).get_by_role("button", name="Do not belong together").click()
    page.wait_for_function("document.querySelector('#basket-open .sb-badge')?.innerText === '9'")
    visitor.see("#search-hits tbody tr:first-child [data-says=together][aria-pressed=true]")
    rows.nth(5).get_by_role("button", name="Belong together", exact=True).click()  # once more: taken back
    page.wait_for_function("document.querySelector('#basket-open .sb-badge')?.innerText === '8'")


def kept_over_a_reload_mended_and_trained_on(visitor: Visitor, tmp_path: Path) -> None:
    """The drawer after a reload: a pair flipped, edited, all gone and back, saved; and Fine-tune opened with them."""
    page = visitor.page
    visitor.reload()
    page.wait_for_function("document.querySelector('#basket-open .sb-badge')?.innerText === '8'")
    page.click("#basket-open button")
    visitor.see("#basket-list .sb-pair")
    assert "5 belong together, 3 do not" in visitor.text("#basket-list")
    page.locator("#basket-list .sb-flip").first.click()
    page.wait_for_function("document.querySelector('#basket-list')?.innerText.includes('6 belong together, 2 do not')")
    page.locator("#basket-list .sb-pair").first.get_by_role("button", name="Edit").click()
    page.locator("#basket-list textarea").first.fill("<b>the machine ate it</b>")
    page.locator("#basket-list").get_by_role("button", name="Save").click()
    page.wait_for_function("document.querySelector('#basket-list .sb-pair')?.innerText.includes('<b>the machine ate it</b>')")
    page.locator("#basket-list").get_by_role("button", name="Empty it").click()
    page.wait_for_function("document.querySelector('#basket-open .sb-badge')?.innerText === '0'")
    page.locator("#basket-list").get_by_role("button", name="Undo").click()
    page.wait_for_function("document.querySelector('#basket-open .sb-badge')?.innerText === '8'")
    with page.expect_download() as download:
        page.click("#basket-save")
    download.value.save_as(tmp_path / "pairs.csv")
    kept = list(csv.DictReader((tmp_path / "pairs.csv").open(encoding="utf-8-sig", newline="")))
    assert [row["label"] for row in kept] == ["1"] * 5 + ["0"] * 2 + ["1"]

    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off on a phone"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.click("#basket-train")
    visitor.see("#tune-preview .sb-caption:visible")
    page.wait_for_function("document.querySelector('#tune-preview')?.innerText.includes('my pairs.csv · 8 rows')")
    assert "tab=fine-tune" in page.url
    assert "Pairs with a label" in page.input_value("#tune-kind input")
    page.keyboard.press("Escape")
    assert not page.locator("#basket").is_visible()


def pairs_worth_labelling_are_suggested(visitor: Visitor) -> None:
    """Of another corpus; one of them goes into the basket."""
    page = visitor.page
    visitor.tab("Search")
    visitor.upload("search-file", "messages.csv", corpus_csv(2))
    visitor.see("#search-summary dl")
    page.wait_for_function("document.querySelectorAll('#search-hits tbody tr').length === 10")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visitor.url)
    page.locator("#search-hits").get_by_role("button", name="Copy", exact=True).click()
    visitor.see("#search-hits .sb-takeaway:has-text('Copied')")
    copied = [line.split("\t") for line in page.evaluate("navigator.clipboard.readText()").split("\n")]
    assert len(copied) == 11 and len({len(line) for line in copied}) == 1, "a line a row, the columns' names above them"
    page.click("#basket-open button")
    held = int(visitor.text("#basket-open .sb-badge"))  # what an earlier test has left: this machine's visitors are one
    page.click("#basket-suggest > button")
    page.click("#basket-suggest-go")
    visitor.see("#basket-suggestions .sb-pair")
    assert "these lie nearest to it" in visitor.text("#basket-suggestions")
    page.locator("#basket-suggestions .sb-pair").first.get_by_role("button", name="Do not belong together").click()
    page.wait_for_function(f"document.querySelector('#basket-open .sb-badge')?.innerText === '{held + 1}'")
    visitor.see("#basket-suggestions .sb-pair:first-child [data-says=apart][aria-pressed=true]")
