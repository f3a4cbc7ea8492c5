"""Near-duplicates: the threshold, what stays, both files, and going on with the rest."""

from __future__ import annotations

from playwright.sync_api import expect

from .data import REQUESTS, csv_text
from .pages import App

# Keep row 4, and in the very moment in which the answer is drawn, before the page knows that its work is done, keep all of the other group.
_TWO_CLICKS = """() => {
  const root = document.querySelector("#alike-view .sb-view");
  new MutationObserver((_, seen) => {
    seen.disconnect();
    root.querySelectorAll(".sb-alike-group")[1].querySelector("button").click();
  }).observe(root, { childList: true });
  root.querySelector("input[aria-label='Keep row 4']").click();
}"""


def test_near_duplicates_are_found_and_removed(app: App) -> None:
    add_a_file(app)
    find_groups(app)
    move_the_threshold(app)
    choose_what_stays(app)
    download_both_files(app)
    go_on_with_what_stays(app)


def add_a_file(app: App) -> None:
    app.search.open()
    app.add_data("requests.csv", csv_text(["text", "topic"], REQUESTS))
    expect(app.search.rows).to_have_count(6)  # the texts nearest to the first one


def find_groups(app: App) -> None:
    """The downloads stand above the groups, however many there are."""
    page, part = app.page, app.search.duplicates
    part.open()
    part.find()
    expect(part.count).to_contain_text("0.950: ")
    ways, groups = page.locator("#alike-clean").bounding_box(), page.locator("#alike-view").bounding_box()
    assert ways and groups and ways["y"] < groups["y"]
    expect(page.locator("#alike-clean-file")).to_be_hidden()
    expect(page.locator("#alike-view .sb-note")).to_contain_text("topic")


def move_the_threshold(app: App) -> None:
    """The groups follow the slider, which keeps the focus; those with different categories come first."""
    part = app.search.duplicates
    part.slider.focus()
    part.slider.press("End")
    expect(part.groups).to_have_count(1)
    expect(part.count).to_have_text("1.000: 1 group, 1 text removed, 6 kept")
    for _ in range(8):
        part.slider.press("ArrowLeft")
    expect(part.groups).to_have_count(2)
    expect(part.count).to_have_text("0.960: 2 groups, 3 texts removed, 4 kept")
    expect(part.slider).to_be_focused()
    expect(part.groups.first).to_contain_text("different categories")


def choose_what_stays(app: App) -> None:
    """Two quick clicks both count; a thumb puts a pair of a group into the basket."""
    part = app.search.duplicates
    app.page.evaluate(_TWO_CLICKS)
    expect(part.kept.first).to_contain_text("row 4")
    expect(part.count).to_have_text("0.960: 2 groups, 2 texts removed, 5 kept")
    thumb = app.basket.thumb(part.groups.first, together=True).last
    thumb.click()
    expect(thumb).to_have_attribute("aria-pressed", "true")


def download_both_files(app: App) -> None:
    page = app.page
    name, rows = app.download_rows(page.locator("#alike-clean"))
    assert name == "requests clean.csv"
    assert [row["text"] for row in rows] == [REQUESTS[place][0] for place in (2, 3, 4, 5, 6)]
    name, rows = app.download_rows(page.locator("#alike-gone"))
    assert name == "requests removed.csv"
    assert [(row["row"], row["kept_row"]) for row in rows] == [("2", "4"), ("3", "4")]
    app.expect_fits(390)


def go_on_with_what_stays(app: App) -> None:
    app.ask(app.page.locator("#alike-use"))
    app.page.click("#view-first-hits-button")
    expect(app.search.rows).to_have_count(4)  # the others of the five that are left
