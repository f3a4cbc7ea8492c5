"""The page in Chinese opens with Chinese texts and the model that reads them; the model follows the language of what is brought."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, expect

from .data import csv_text
from .pages import App
from .tiny import MODEL_NAME, MULTILINGUAL_NAME

HAN = re.compile(r"[一-鿿]")
TEXTS = ["我的银行卡被机器吞了", "怎么申请退款", "今天天气很好", "我忘记了密码", "如何修改预订", "手机无法开机"]


def selected(app: App) -> Locator:
    """The line that says which model was selected for the visitor."""
    return app.page.locator("#banner .sb-banner-quiet")


def expect_opened(app: App, corpus: str, model: str) -> None:
    app.page.wait_for_function("([id, value]) => document.querySelector(`${id} input`).value === value", arg=["#corpus", corpus])
    expect(app.model_name).to_have_value(model)
    app.settle()


def test_the_first_screen_in_chinese(open_app: Callable[..., App]) -> None:
    app = open_app(locale="zh-CN")
    page = app.page
    expect_opened(app, "Chinese messages", MULTILINGUAL_NAME)
    for box in ("#similarity-a textarea", "#similarity-b textarea"):
        expect(page.locator(box)).to_have_value(HAN)
    expect(selected(app)).to_be_hidden()
    app.similarity.compare()
    expect(page.locator("#similarity-gauge .sb-made, .sb-made").first).to_contain_text(MULTILINGUAL_NAME)
    page.click("#view-several-button")
    expect(page.locator("#matrix-lines textarea")).to_have_value(HAN)

    page.click("#tab-search-button")
    expect(app.search.query.locator("input, textarea")).to_have_value(HAN)
    page.click("#search-go")
    expect(app.search.texts.first).to_have_text(HAN)
    expect(page.locator(".sb-made", has_text=MULTILINGUAL_NAME).last).to_be_visible()
    page.click("#data-open")
    page.locator("#add-data [role=tab]").nth(1).click()
    buttons = page.locator("#data-chinese_messages, #data-support_requests")
    expect(buttons).to_have_count(2)
    left = {button.get_attribute("id"): (button.bounding_box() or {"x": 0, "y": 0}) for button in buttons.all()}
    chinese, english = left["data-chinese_messages"], left["data-support_requests"]
    assert (chinese["y"], chinese["x"]) < (english["y"], english["x"]), "samples in the page's language come first"
    page.keyboard.press("Escape")

    page.click("#tab-map-button")
    page.click("#map-draw")
    expect(page.locator("#map-view canvas").first).to_be_visible()
    expect(app.map.scene.heading).to_contain_text(MULTILINGUAL_NAME)

    app.reload()
    expect_opened(app, "Chinese messages", MULTILINGUAL_NAME)


def test_the_model_follows_the_corpus_and_a_click_leads_back(app: App) -> None:
    page = app.page
    expect_opened(app, "Support requests", MODEL_NAME)
    page.click("#tab-search-button")
    app.add_data("mine.csv", csv_text(("text", "number"), [(text, number) for number, text in enumerate(TEXTS)]))
    expect(app.model_name).to_have_value(MULTILINGUAL_NAME)
    expect(page.locator(".sb-made", has_text=MULTILINGUAL_NAME).last).to_be_visible()
    expect(page.locator(".sb-made-stale:visible")).to_have_count(0)
    expect(selected(app)).to_contain_text(f"Most texts of mine.csv look like Chinese: {MULTILINGUAL_NAME} is selected.")
    assert "model" not in app.address
    app.choose_corpus("Support requests")
    expect(app.model_name).to_have_value(MODEL_NAME)
    expect(selected(app)).to_be_hidden()
    app.choose_corpus("mine.csv")
    expect(app.model_name).to_have_value(MULTILINGUAL_NAME)
    selected(app).get_by_role("button", name=f"Use {MODEL_NAME}").click()
    expect(app.model_name).to_have_value(MODEL_NAME)
    expect(selected(app)).to_be_hidden()
    app.choose_corpus("Support requests")
    app.choose_corpus("mine.csv")
    app.settle()
    expect(app.model_name).to_have_value(MODEL_NAME)


_IS_FIRST = "SB.isFirst(document.querySelector('#similarity-gauge .sb-view'))"


def test_an_address_without_a_place_continues_where_one_was(app: App) -> None:
    """Each tab opens with a result; a second page continues with the data and the map of the first, until one starts fresh."""
    page = app.page
    expect(app.similarity.score).to_be_visible()
    app.settle()
    assert page.evaluate(_IS_FIRST)
    assert page.evaluate(f"() => {{ document.getElementById('similarity-compare').click(); return !{_IS_FIRST}; }}")
    app.settle()
    app.search.open()
    expect(app.search.rows).to_have_count(10)
    expect(page.locator(".sb-continued")).to_have_count(0)
    app.similarity.open()
    app.fill("#similarity-a", "my own text")
    app.settle()
    app.map.open()
    app.add_data("mine.csv", csv_text(("text", "number"), [(text, number) for number, text in enumerate(TEXTS)]))
    app.expect_address(tab="map", drawn="1")
    before, tabs = app.address, app.tab_bar.bounding_box()
    page.goto(app.url)
    app.ready()
    expect(page.locator(".sb-continued")).to_contain_text("Continued")
    assert app.tab_bar.bounding_box() == tabs, "the note moves nothing down"
    expect(app.map.scene.drawing).to_be_visible()
    expect(app.corpus_name).to_have_value("mine.csv")
    assert app.address == before
    app.similarity.open()
    expect(page.locator("#similarity-a textarea")).to_have_value("my own text")
    page.get_by_role("button", name="Start fresh").click()
    expect(page.locator(".sb-continued")).to_have_count(0)
    expect(app.corpus_name).to_have_value("Support requests")
    app.ready()
    assert "corpus" not in app.address
    expect(page.locator("#similarity-a textarea")).not_to_have_value("my own text")
    app.forgive_interrupted_requests()


def test_each_part_of_a_tab_opens_with_a_result(app: App) -> None:
    """The sample has no pairs, for which another sample stands in; two models are proposed, and the model that was selected is kept."""
    page = app.page
    app.similarity.open_part("Pairs of your data")
    expect(page.locator("#pairs-missing")).to_contain_text("Support requests has only one text column")
    expect(page.locator("#pairs-table tbody tr").first).to_be_visible()
    expect(page.locator("#pairs-go")).to_be_disabled()
    app.search.open()
    page.get_by_role("tab", name="Near-duplicates").click()
    expect(page.locator("#alike-view .sb-alike-group").first).to_be_visible()
    assert "alike" not in app.address
    app.evaluate.open()
    page.get_by_role("tab", name="Compare models").click()
    app.evaluate.changes.expect_drawn(share=1)
    assert "to" not in app.address
    app.models.open()
    expect(page.locator("#models-facts h3")).to_have_text(MODEL_NAME)
    app.models.cards.filter(has_text=MULTILINGUAL_NAME).click()
    expect(page.locator("#models-facts h3")).to_have_text(MULTILINGUAL_NAME)
    expect(page.locator(".sb-empty:visible")).to_have_count(0)
    app.settle()
    page.goto(app.url)
    app.ready()
    expect(page.locator("#models-facts h3")).to_have_text(MULTILINGUAL_NAME)
    app.forgive_interrupted_requests()


def test_deleted_data_is_named_and_other_data_is_offered(app: App, open_app: Callable[..., App]) -> None:
    page = app.page
    app.search.open()
    app.add_data("mine.csv", csv_text(("text", "number"), [(text, number) for number, text in enumerate(TEXTS)]))
    app.expect_address(tab="search")
    other = open_app(f"?corpus={app.address['corpus']}", locale="en-US")
    expect(other.corpus_name).to_have_value("mine.csv")
    other.settle()
    other.remove_data()
    page.goto(app.url)
    app.ready()
    note = page.locator(".sb-gone")
    expect(note).to_contain_text("The data “mine.csv” is gone")
    expect(page.locator(".sb-continued:not(.sb-gone)")).to_have_count(0)
    assert "corpus" not in app.address and app.address["tab"] == "search"
    note.get_by_role("button", name="Choose data").click()
    page.get_by_role("option", name="Support requests").first.click()
    note.get_by_role("button", name="Add data").click()
    expect(page.locator("#add-data")).to_be_visible()
    page.keyboard.press("Escape")
    app.choose_corpus("Everyday questions")
    expect(note).to_have_count(0)
    app.forgive_interrupted_requests()
    other.forgive_interrupted_requests()
