"""What changed from one model to another: both maps, the brush, the slider, and the saved file that opens without the studio."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from .data import REQUESTS, csv_text
from .pages import App
from .pages.evaluate import Changes

TEXTS = [(f"{text} {more}".strip(), topic) for text, topic in REQUESTS for more in ("", "today", "please", "and why")]
LONG = "balance_not_updated_after_cheque_or_cash_deposit"
QUERY = "Where is my card?"


def test_two_models_are_compared_and_the_saved_file_opens_alone(app: App, tmp_path: Path) -> None:
    compare_two_models(app)
    brush_and_find(app)
    ask_another_query(app)
    fit_a_phone(app)
    open_the_saved_file(app, tmp_path / "changes.html")


def compare_two_models(app: App) -> None:
    """A corpus of 28 texts; two models are proposed and compared as the part is opened."""
    changes = app.evaluate.changes
    app.evaluate.open()
    app.add_data("requests.csv", csv_text(("text", "topic"), TEXTS))
    app.evaluate.open_part("Compare models")
    changes.expect_drawn(share=1)
    expect(app.page.locator(".sb-made:visible")).to_contain_text("requests.csv")
    expect(changes.root.locator(".sb-said").first).to_contain_text("10 nearest texts")
    expect(changes.queries).to_have_count(3)
    expect(changes.root.locator(".sb-view[data-texts=ready]")).to_be_visible()


def brush_and_find(app: App) -> None:
    """The slider leads back to the first map; a rectangle on it lists what lies there; words are found in both."""
    changes, page = app.evaluate.changes, app.page
    slider = changes.root.locator(".sb-morph-slider input")
    slider.focus()
    slider.press("Home")
    changes.expect_drawn(share=0)
    expect(changes.root.locator("figcaption").nth(1)).to_contain_text("Before: ")
    frame = changes.root.locator("canvas").first
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4, steps=4)
    page.mouse.up()
    expect(changes.list.locator("h3")).to_contain_text("28 selected")
    changes.root.locator(".sb-changed-find input").fill("bread dough")
    expect(changes.root.locator(".sb-changed-find [role=status]")).to_have_text("8 found")
    changes.open_first_text()


def ask_another_query(app: App) -> None:
    """What was made with other queries is marked, and one click makes it again."""
    app.fill("#changed-queries", QUERY)
    stale = app.page.locator(".sb-made-stale:visible")
    stale.get_by_role("button").click()
    expect(app.evaluate.changes.queries.first.locator("strong")).to_have_text(QUERY)
    expect(stale).to_have_count(0)


def fit_a_phone(app: App) -> None:
    """Nothing is cut off, not even a category named by one long word."""
    app.settle()
    app.resize(390, 800)
    app.page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    confused = app.evaluate.changes.root.locator(".sb-changed-confused th b")
    if confused.count():
        confused.first.evaluate(f"node => {{ node.textContent = '{LONG} · {LONG}' }}")
    assert app.cut_off() == []
    app.resize(1280)


def open_the_saved_file(app: App, path: Path) -> None:
    with app.opened_alone(app.page.locator("#changed-file"), path) as alone:
        changes = Changes(alone, alone.locator("#changed"))
        changes.expect_drawn(share=1)
        changes.open_first_text()
        expect(changes.queries.first.locator("strong")).to_have_text(QUERY)
