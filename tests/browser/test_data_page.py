"""A file of examples on the page: mended, converted, undone, its scale changed, downloaded."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import Visitor

ROWS = "".join(f"text {number} of the one kind,words {number} of the other,{number % 6}\n" for number in range(120))


def wait_for(visitor: Visitor, words: str, where: str = "#tune-findings .sb-verdict") -> None:
    visitor.page.wait_for_function("([where, words]) => document.querySelector(where)?.innerText.includes(words)", arg=[where, words])


def test_a_file_is_mended_converted_downloaded_and_brought_back(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    visitor.upload("tune-file", "mine.csv", "sentence1,sentence2,score\n" + ROWS + "only one side,,3\n")
    wait_for(visitor, "121 rows")
    assert not page.is_visible("#tune-mended")
    page.get_by_role("button", name="Remove 1 row from the file").click()
    wait_for(visitor, "120 rows")
    page.locator("#tune-findings .sb-offers button", has_text="0/1 labels").click()
    wait_for(visitor, "Pairs with a label")
    changes = visitor.text("#tune-findings .sb-changes")
    assert "Remove 1 row from the file" in changes and "0/1 labels" in changes
    wait_for(visitor, "mine-mended.csv", "#tune-command")
    with page.expect_download() as download:
        page.click("#tune-mended")
    assert download.value.suggested_filename == "mine-mended.csv"
    page.get_by_role("button", name="Undo", exact=True).click()
    wait_for(visitor, "121 rows")
    assert page.locator("#tune-findings .sb-changes").count() == 0
    page.fill("#tune-high input", "10")
    page.press("#tune-high input", "Enter")
    wait_for(visitor, "divided by 10")
    wait_for(visitor, "--scale 0-10", "#tune-command")
    page.fill("#tune-high input", "0")
    page.press("#tune-high input", "Enter")
    wait_for(visitor, "is empty", "#tune-findings")
    page.fill("#tune-high input", "20")
    page.press("#tune-high input", "Enter")
    wait_for(visitor, "divided by 20")
