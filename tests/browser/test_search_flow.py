"""Search: filters, marked words, two models, long searches, and a corpus in another language."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from waiting import wait_until

from .data import corpus_csv, csv_text
from .pages import App
from .pages.held import requests_held
from .serve import BEGUN, HOLD

MODEL, READER = "all-MiniLM-L6-v2", "universal-sentence-encoder"
CHINESE = ["我的银行卡被机器吞了", "怎么申请退款", "今天天气很好", "我忘记了密码", "如何修改预订", "手机无法开机"]
HOSTILE = "=cash machine ate my <b>card</b>"

# Short texts that appeared anywhere, such as what a screen reader is told.
_WATCH = """() => {
  window.sbSaid = new Set();
  const look = (node) => { const text = (node?.textContent ?? "").trim(); if (text && text.length < 40) window.sbSaid.add(text); };
  new MutationObserver((changes) => changes.forEach((change) => { look(change.target); change.addedNodes.forEach(look); }))
    .observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def test_a_corpus_is_searched_narrowed_and_compared(app: App, tmp_path: Path) -> None:
    app.page.evaluate(_WATCH)
    search_a_file(app)
    search_by_words(app)
    take_the_table_away(app)
    wait_for_a_file_that_is_still_uploaded(app)
    narrow_and_compare(app)
    cancel_a_search(app, tmp_path / "cancelled")
    ask_again_while_a_search_runs(app, tmp_path / "superseded")
    be_warned_of_a_language(app)
    # Gradio announces the end of an event up to five seconds later, by a key that its own words lack.
    app.page.wait_for_function("window.sbSaid.has('Done')")
    assert not [text for text in app.page.evaluate("[...window.sbSaid]") if "common." in text]


def search_a_file(app: App) -> None:
    search = app.search
    search.open()
    expect(search.cancel).to_be_hidden()
    app.add_data("messages.csv", corpus_csv().replace(HOSTILE.replace("=", "").replace("<b>", "").replace("</b>", ""), HOSTILE))
    expect(search.rows).to_have_count(10)  # the texts nearest to the first one
    app.open_section("#search-k")
    expect(app.page.locator("#search-filters")).to_be_visible()
    app.page.locator("#search-advanced > button").click()  # so that question and hits fit on one screen
    search.search("card stuck in the ATM")
    expect(search.rows).to_have_count(10)
    expect(search.texts.first).to_have_text("card stuck in the ATM")
    expect(search.headers).to_contain_text("Cosine")


def search_by_words(app: App) -> None:
    """Words are marked where words are searched; what was found comes into sight with what was asked."""
    search = app.search
    app.fill("#search-query", "my card")
    search.choose_mode("By words")
    expect(search.headers).to_contain_text("BM25")
    marked = search.hits.locator("mark").all_inner_texts()
    assert len(marked) > 5
    assert {word.casefold() for word in marked} == {"my", "card"}
    expect(search.query).to_be_in_viewport()
    expect(search.rows.nth(3)).to_be_in_viewport(ratio=1)


def wait_for_a_file_that_is_still_uploaded(app: App) -> None:
    """The data shown in the dialog, read before, cannot be taken for those of the new file."""
    page, use, name = app.page, app.page.locator("#data-use"), app.page.locator("#data-review h3").first
    app.settle()
    page.click("#data-open")
    app.settle()
    app.upload("data-file", "first.csv", csv_text(["text"], [["one text"], ["another text"]]))
    expect(name).to_have_text("first.csv")
    app.settle()
    expect(use).to_be_visible()
    with requests_held(page, "**/upload?*"):
        app.upload("data-file", "second.csv", corpus_csv())
        expect(use).to_be_hidden()
    expect(name).to_have_text("second.csv")
    expect(use).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#add-data")).to_be_hidden()


def take_the_table_away(app: App) -> None:
    """The table as a file and in the clipboard: every cell whole, and none a formula."""
    page, search = app.page, app.search
    name, rows = app.download_rows(search.hits.get_by_role("button", name="CSV"))
    assert name == "search-hits.csv"
    assert len(rows) == search.rows.count() == 10
    assert any(row["Text"].startswith(f"'{HOSTILE}") for row in rows)
    scores = [float(row["BM25"]) for row in rows]
    assert scores == sorted(scores, reverse=True)

    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=app.url)
    copy = search.hits.get_by_role("button", name="Copy", exact=True)
    copy.evaluate(
        """(button) => { window.sbLabel = new Promise((resolve) => {
          new MutationObserver(() => resolve(button.textContent)).observe(button, { childList: true });
        }); }"""
    )
    copy.click()
    assert page.evaluate("window.sbLabel") == "Copied"
    lines = [line.split("\t") for line in page.evaluate("navigator.clipboard.readText()").split("\n")]
    assert len(lines) == 11
    assert {len(line) for line in lines} == {len(rows[0])}


def narrow_and_compare(app: App) -> None:
    """Only rows of one topic, then what another model finds among them; a thumb works in both tables."""
    search = app.search
    app.choose("#search-column-filter", "topic")
    app.choose("#search-values", "rain")
    search.choose_mode("By meaning")
    expect(search.caption).to_contain_text("10 of 16 texts")
    expect(search.caption).to_contain_text("topic is rain")
    app.choose("#search-beside", MODEL)
    app.ask(app.page.locator("#search-go"))
    expect(search.caption).to_contain_text("found by both")
    expect(search.others).to_contain_text(MODEL)
    expect(search.other_rows).to_have_count(10)
    app.basket.mark(search.other_rows.first, together=False)
    app.expect_fits(390)
    app.choose("#search-column-filter", "None")
    search.search("the ATM took my card")
    for place in range(5):
        expect(search.other_rows.nth(place)).to_contain_text("card")


def cancel_a_search(app: App, file: Path) -> None:
    """Cancel ends the search on the server; what was there stays, and the page goes on."""
    page, search = app.page, app.search
    app.choose("#search-beside", "None")
    search.begin(f"{HOLD}{file}")
    wait_until(file.with_name(file.name + BEGUN).exists, 60)
    search.cancel.click()
    expect(app.toast.filter(has_text="Cancelled")).to_be_visible()
    expect(search.cancel).to_be_hidden()
    cancelled = page.locator("#search-cancelled")
    expect(cancelled).to_contain_text("Cancelled")
    expect(search.rows).to_have_count(10)
    app.fill("#search-query", "rain")
    search.choose_mode("By words")
    expect(search.headers).to_contain_text("BM25")
    expect(cancelled).to_have_count(0)


def ask_again_while_a_search_runs(app: App, file: Path) -> None:
    """The last question counts: the answer to an earlier one, here the search that comes with other data, does not replace it."""
    page, search = app.page, app.search
    search.choose_mode("By meaning")
    app.fill("#search-query", f"{HOLD}{file}")
    app.add_data("other messages.csv", corpus_csv(1), settle=False)
    wait_until(file.with_name(file.name + BEGUN).exists, 60)
    page.fill("#search-query input, #search-query textarea", "storm coming")
    search.mode("By words").click()
    expect(search.headers).to_contain_text("BM25")
    expect(search.made_with).to_contain_text("other messages.csv")
    expect(search.rows.first).to_contain_text("storm")
    expect(search.cancel).to_be_visible()  # the earlier question is not answered yet
    file.touch()
    expect(search.cancel).to_be_hidden()
    app.settle()
    expect(search.headers).to_contain_text("BM25")
    expect(search.rows.first).to_contain_text("storm")


def be_warned_of_a_language(app: App) -> None:
    """The banner stands above every tab and follows both choosers of the header."""
    banner = app.banner
    expect(banner).to_have_count(0)
    app.choose_model(MODEL)
    app.add_data("wenben.csv", csv_text(["text"], [[text] for text in CHINESE]))
    expect(banner).to_contain_text("wenben.csv")
    expect(banner).to_contain_text("Chinese")
    for tab in (app.similarity, app.map, app.evaluate, app.fine_tune):
        tab.open()
        expect(banner).to_be_visible()
    app.expect_fits(390)
    use = banner.get_by_role("button", name=READER)
    if use.count():
        use.click()
        expect(banner).to_be_hidden()
        expect(app.model_name).to_have_value(READER)
        app.choose_model(MODEL)
        expect(banner).to_be_visible()
    app.choose_corpus("Support requests")
    expect(banner).to_be_hidden()
