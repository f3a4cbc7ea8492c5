"""Similarity: the gauge on its scale, the words that made the score by pointer and keyboard, other models beside, and a large matrix."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from .conftest import Visitor


def test_two_texts_word_by_word_and_a_matrix_that_fits(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    page.fill("#similarity-a textarea", "Where is my parcel <b>now</b>?")
    page.fill("#similarity-b textarea", "The package never came to me.")
    page.click("#similarity-compare")
    visitor.see("#similarity-words .sb-word")
    assert "pairs taken at random from everyday sentences" in visitor.text("#similarity-gauge")
    assert page.locator("#similarity-words .sb-words-text").first.inner_text() == "Where is my parcel <b>now</b>?"
    page.locator("#similarity-words .sb-word", has_text="parcel").focus()
    page.wait_for_function(
        "document.querySelector('#similarity-words .sb-words-told').innerText.startsWith('“parcel” is most like “package”')"
    )
    assert page.locator("#similarity-words .sb-word.sb-chosen").all_inner_texts() == ["parcel", "package"]
    assert page.locator("#similarity-words path").count() == 1
    page.keyboard.press("Tab")
    page.wait_for_function("document.querySelector('#similarity-words .sb-words-told')?.innerText.includes('“parcel” is') === false")
    page.locator("#similarity-gauge").get_by_role("button", name="Belong together", exact=True).click()
    visitor.see("#similarity-gauge [data-says=together][aria-pressed=true]")

    page.get_by_role("tab", name="Several sentences").click()
    page.click("#matrix-compare")
    page.wait_for_function("document.querySelectorAll('#matrix-view .sb-matrix tbody td').length === 25")
    lines = [f"{word} number {number}" for number in range(8) for word in ("parcel", "bread", "rain")]
    page.fill("#matrix-lines textarea", "\n".join(lines))
    page.click("#matrix-compare")
    visitor.see("#matrix-view canvas")
    page.locator("#matrix-view canvas").focus()
    page.keyboard.press("ArrowRight")
    told = visitor.text("#matrix-view .sb-matrix-told")
    assert len([line for line in lines if line in told]) >= 2 and page.locator("#matrix-view .sb-matrix-near li").count() == 8
    with page.expect_download() as download:
        page.locator("#matrix-view").get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "matrix.csv")
    rows = list(csv.reader((tmp_path / "matrix.csv").open(encoding="utf-8", newline="")))
    assert len(rows) == 25 and sorted(rows[0][1:]) == sorted(lines)
    assert all(float(row[place]) > 0.999 for place, row in enumerate(rows) if place), "each beside itself on the diagonal"
    assert len({row[0].split()[0] for row in rows[1:9]}) == 1, "alike ones stand side by side"
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"
