"""Near-duplicates, click by click: the threshold, what stays, the files, and going on with the rest."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from .conftest import Visitor

ROWS = [
    ("My card was swallowed by the machine", "card"),
    ("my card was swallowed by the machine", "loss"),
    ("My card got swallowed by the machine.", "card"),
    ("How long does bread dough rise?", "bread"),
    ("How long does bread dough take to rise?", "bread"),
    ("Will it rain tomorrow?", "rain"),
    ("The museum is closed on Mondays", "museum"),
]


def test_near_duplicates_are_cleared_away(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    lines = "text,topic\n" + "\n".join(f"{text},{topic}" for text, topic in ROWS) + "\n"
    with page.expect_file_chooser() as asked:  # the header leads to where a file is taken in
        visitor.choose("#corpus", "A file of your own…")
    asked.value.set_files({"name": "requests.csv", "mimeType": "text/csv", "buffer": lines.encode()})
    visitor.see("#search-summary dl")
    page.wait_for_function("document.querySelector('#corpus input')?.value === 'requests.csv'")
    page.get_by_role("tab", name="Near-duplicates").click()
    page.click("#alike-go")
    visitor.see("#alike-view .sb-alike-group")
    said = visitor.text("#alike-view .sb-alike-count")
    assert said.startswith("0.950: ") and "text" in said
    ways, groups = page.locator("#alike-clean").bounding_box(), page.locator("#alike-view").bounding_box()
    assert ways and groups and ways["y"] < groups["y"], "the files are at hand, however many groups there are"
    assert not page.locator("#alike-clean-file").is_visible()
    assert "carry different “topic”" in visitor.text("#alike-view .sb-note")

    slider = page.locator("#alike-view input[type=range]")
    slider.focus()
    slider.press("Home")  # 0.8
    page.wait_for_function("document.querySelectorAll('#alike-view .sb-alike-group').length === 2")
    page.wait_for_function("document.querySelector('#alike-view .sb-alike-count')?.innerText === '0.800: 2 groups, 3 texts go, 4 stay'")
    assert page.evaluate("document.activeElement.type") == "range", "the hand stays on the slider"
    first = page.locator("#alike-view .sb-alike-group").first
    assert "different categories" in first.inner_text()

    # The second click in the moment in which the answer of the first is drawn, which is before its work is told as done: both count.
    page.evaluate("""() => {
        const root = document.querySelector('#alike-view .sb-view');
        new MutationObserver((_, seen) => {
            seen.disconnect();
            root.querySelectorAll('.sb-alike-group')[1].querySelector('button').click();
        }).observe(root, { childList: true });
        root.querySelector('input[aria-label="Keep row 4"]').click();
    }""")
    page.wait_for_function("document.querySelector('#alike-view .sb-stays')?.innerText.includes('row 4')")
    page.wait_for_function("document.querySelector('#alike-view .sb-alike-count')?.innerText === '0.800: 2 groups, 2 texts go, 5 stay'")

    first.get_by_role("button", name="Belong together", exact=True).last.click()
    visitor.see("#alike-view [data-says=together][aria-pressed=true]")

    with page.expect_download() as download:
        page.click("#alike-clean")
    assert download.value.suggested_filename == "requests clean.csv"
    download.value.save_as(tmp_path / "clean.csv")
    kept = list(csv.DictReader((tmp_path / "clean.csv").open(encoding="utf-8-sig", newline="")))
    assert [row["text"] for row in kept] == [ROWS[place][0] for place in (2, 3, 4, 5, 6)]
    with page.expect_download() as download:
        page.click("#alike-gone")
    download.value.save_as(tmp_path / "gone.csv")
    gone = list(csv.DictReader((tmp_path / "gone.csv").open(encoding="utf-8-sig", newline="")))
    assert [(row["row"], row["kept_row"], row["topic"]) for row in gone] == [("2", "4", "card"), ("3", "4", "loss")]

    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off on a phone"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.click("#alike-use")
    page.wait_for_function("document.querySelector('#search-summary')?.innerText.match(/Texts\\s*5/)")
