"""The basket: thumbs beside texts, the drawer, undo, a reload, training on its pairs, and pairs worth labelling."""

from __future__ import annotations

from playwright.sync_api import expect

from .data import corpus_csv
from .pages import App

EDITED = "<b>the machine ate it</b>"


def test_pairs_are_gathered_changed_and_trained_on(app: App) -> None:
    gather_pairs_by_thumbs(app)
    change_them_after_a_reload(app)
    train_on_them(app)
    label_suggested_pairs(app)


def gather_pairs_by_thumbs(app: App) -> None:
    """Thumbs beside hits put pairs into the basket; a second click takes one out."""
    search, basket = app.search, app.basket
    if basket.badge.inner_text() != "0":  # pairs of an earlier flow
        basket.open()
        basket.clear()
        basket.close()
    search.open()
    app.add_data("messages.csv", corpus_csv())
    search.search("the ATM took my card")
    for place in range(9):
        basket.mark(search.rows.nth(place), together=place < 6)
    basket.expect_count(9)
    basket.thumb(search.rows.nth(5), together=True).click()
    basket.expect_count(8)
    expect(basket.thumb(search.rows.nth(5), together=True)).to_have_attribute("aria-pressed", "false")


def change_them_after_a_reload(app: App) -> None:
    """A pair is flipped and edited, all are removed and brought back, and the file holds what is left."""
    basket = app.basket
    app.reload()
    basket.expect_count(8)
    basket.open()
    expect(basket.pairs).to_have_count(8)
    expect(basket.list).to_contain_text("Similar pairs: 5, dissimilar pairs: 3.")
    basket.pairs.first.locator(".sb-flip").click()
    expect(basket.list).to_contain_text("Similar pairs: 6, dissimilar pairs: 2.")
    basket.pairs.first.get_by_role("button", name="Edit").click()
    basket.list.locator("textarea").first.fill(EDITED)
    basket.list.get_by_role("button", name="Save").click()
    expect(basket.pairs.first).to_contain_text(EDITED)
    basket.clear()
    basket.undo()
    basket.expect_count(8)
    name, saved = app.download_rows(app.page.locator("#basket-save"))
    assert name == "my pairs.csv"
    assert [row["label"] for row in saved] == ["1"] * 5 + ["0"] * 2 + ["1"]
    assert EDITED in saved[-1].values()
    app.expect_fits(390)


def train_on_them(app: App) -> None:
    """Fine-tune opens with the pairs, and the drawer closes."""
    page = app.page
    page.click("#basket-train")
    caption = page.locator("#tune-preview .sb-caption")
    expect(caption).to_contain_text("my pairs.csv")
    expect(caption).to_contain_text("8 rows")
    expect(caption).to_be_visible()
    app.expect_address(tab="fine-tune")
    expect(page.locator("#tune-roles")).to_be_visible()
    app.open_section("#tune-kind")
    assert "Pairs with a label" in page.input_value("#tune-kind input")
    expect(app.basket.drawer).to_be_hidden()


def label_suggested_pairs(app: App) -> None:
    """Pairs of the corpus that are worth labelling appear in the drawer, and a thumb puts one into the basket."""
    page, basket = app.page, app.basket
    app.search.open()
    app.add_data("more messages.csv", corpus_csv(2))
    basket.open()
    page.click("#basket-suggest > button")
    page.click("#basket-suggest-go")
    suggested = page.locator("#basket-suggestions .sb-pair")
    expect(suggested.first).to_be_visible()
    expect(page.locator("#basket-suggestions")).to_contain_text("more messages.csv")
    basket.mark(suggested.first, together=False)
    basket.expect_count(9)
