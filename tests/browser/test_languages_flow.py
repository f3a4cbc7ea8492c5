"""The page in Chinese: only visitors' own texts stay in English, choices reach the server unchanged, and back again."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from waiting import wait_until

from .data import MODEL_NAMES, csv_text
from .pages import App

# Visible texts of the page with two Latin words in a row. Names that a text repeats, such as "Delete NAME", are left out.
ENGLISH = r"""() => {
  const found = new Set(), latin = /[A-Za-z]{2,}[ '’-]+[A-Za-z]{2,}/;
  const data = "[translate='no'], textarea, code, pre, .sb-data li, .sb-data .token, .file-preview, head, script, style, noscript";
  const names = [...document.querySelectorAll("[translate='no']")].map((node) => node.textContent.trim()).filter((name) => name);
  const seen = (node) => node.checkVisibility() && !node.closest(data);
  const nameless = (text) => names.reduce((rest, name) => rest.replaceAll(name, ""), text);
  const look = (node, text) => { if (latin.test(text) && seen(node) && latin.test(nameless(text))) found.add(text.trim()); };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) look(node.parentElement, node.data);
  for (const name of ["title", "placeholder", "aria-label", "alt", "data-name"])
    for (const node of document.querySelectorAll(`[${name}]`)) look(node, node.getAttribute(name));
  const shown = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  for (const node of document.querySelectorAll("input[role='combobox']")) if (!node.closest(".sb-data")) look(node, shown.get.call(node));
  return [...found];
}"""
# Names stay as they are in every language.
NAMES = re.compile(
    r"SBERT Studio|tiny-minilm|tiny-multilingual|all-MiniLM-L6-v2|glove-6B-50d|Hugging Face( Hub)?|poly-encoder|universal-sentence-encoder"
    r"|paraphrase-multilingual-MiniLM-L12-v2|"
    + "|".join(MODEL_NAMES)
    + r"|scored_pairs|[\w -]+\.csv|^(编辑|移除)：.*|Support requests|STS Benchmark|SemEval STS|skip-gram|n-gram|/\S+|sts12|stsb"
)
WORDS_OF_THE_PAGE = ["Search", "Similarity", "Draw the map"]
TEXTS = [
    "My card was swallowed by the machine",
    "my card was swallowed by the machine",
    "How long does bread dough rise?",
    "How long does bread dough take to rise?",
    "Will it rain tomorrow?",
    "The museum is closed on Mondays",
]


def expect_chinese(page: Page, where: str) -> None:
    """Wait until nothing that is visible is left in English."""
    left: list[str] = []

    def is_chinese() -> bool:
        left[:] = [text for text in page.evaluate(ENGLISH) if re.search(r"[A-Za-z]{2,}[ '’-]+[A-Za-z]{2,}", NAMES.sub("", text))]
        return not left

    try:
        wait_until(is_chinese, 10)
    except AssertionError:
        raise AssertionError(f"{where} is partly in English: {left}") from None


def test_the_page_in_chinese_and_back(open_app: Callable[..., App]) -> None:
    app = open_app(locale="zh-CN")
    similarity(app)
    search_keeps_visitors_words(app)
    map_and_fine_tune(app)
    evaluate_models_and_header(app)
    back_to_english_and_by_link(app)


# What the inputs of the choosers that are visible show; their ``value`` is what the server gets.
SHOWN = """() => {
  const shown = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  const boxes = [...document.querySelectorAll("[id] input[role='combobox']")].filter((box) => box.checkVisibility());
  return Object.fromEntries(boxes.map((box) => [box.closest("[id]:not(input)").id, shown.get.call(box)]));
}"""


def test_results_and_what_they_were_made_with_stay_in_another_language(open_app: Callable[..., App]) -> None:
    app = open_app("?lang=en")
    page, search = app.page, app.search
    page.click("#tab-search-button")
    app.open_section("#search-beside")
    search.search("Where is my money?")
    hits, before = search.texts.all_inner_texts(), page.evaluate(SHOWN)
    assert before["search-beside"] == "None" and before["corpus"] == "Support requests"

    switch(app, "zh", "相似度")
    assert (
        search.texts.all_inner_texts() == hits and page.input_value("#search-query input, #search-query textarea") == "Where is my money?"
    )
    expect(search.made_with).not_to_have_class(re.compile("sb-made-stale"))
    shown = page.evaluate(SHOWN)
    assert shown == before | {"corpus": "客服请求", "search-column-filter": "无", "search-reranker": "关闭", "search-beside": "无"}
    app.expect_address(lang="zh", corpus="sample:support_requests")
    refuse_files_in_chinese(app)

    app.reload()
    expect(page.locator("#tab-similarity-button")).to_have_text("相似度")
    expect(search.texts.first).to_have_text(hits[0])
    switch(app, "en", "Similarity")
    assert search.texts.all_inner_texts() == hits and page.evaluate(SHOWN) == before
    app.reload()
    expect(page.locator("#tab-similarity-button")).to_have_text("Similarity")
    expect(search.texts.first).to_have_text(hits[0])
    app.expect_address(lang="en", corpus=None)


def switch(app: App, code: str, title: str) -> None:
    app.page.click(".sb-language")
    expect(app.page.locator("#tab-similarity-button")).to_have_text(title)
    app.expect_address(lang=code)
    app.settle()


def refuse_files_in_chinese(app: App) -> None:
    """Errors keep the names of files as they are, and nothing of them is in English but these."""
    page = app.page
    page.click("#data-open")
    app.settle()
    expect_chinese(page, "the dialog of the data")
    for name, text, words in (
        ("bad.parquet", "just a text\n", "bad.parquet 不是 Parquet 文件：其内容是文本。"),
        ("rows.jsonl", '{"text": "a"}\n{"text": }\n', "有一行不是有效的 JSON：缺少值（第 2 行）。"),
        ("tool.bin", "x", "不支持的文件类型：tool.bin。"),
    ):
        app.close_toasts()
        app.upload("data-file", name, text)
        expect(app.toast).to_contain_text(words)
        expect_chinese(page, name)
        if name != "tool.bin":  # which is not listed
            expect(page.locator("#data-file .icon-button-wrapper > button").first).to_have_attribute("aria-label", "添加文件")
    app.close_toasts()
    page.keyboard.press("Escape")
    expect(page.locator("#add-data")).not_to_be_visible()


def similarity(app: App) -> None:
    page = app.page
    expect(page.locator("#tab-similarity-button")).to_have_text("相似度")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.click("#similarity-compare")
    expect(page.locator("#similarity-words .sb-word").first).to_be_visible()
    page.locator("#similarity-gauge .sb-facts .sb-term").first.click()
    expect(page.locator(".sb-help")).to_have_text(re.compile("余弦|内积|点积"))
    expect_chinese(page, "Similarity")
    page.keyboard.press("Escape")


def search_keeps_visitors_words(app: App) -> None:
    """Texts and columns that happen to be words of the page stay as the visitor wrote them."""
    page, search = app.page, app.search
    page.click("#tab-search-button")
    rows = [(text, ("Search", "Map")[number % 2]) for number, text in enumerate([*WORDS_OF_THE_PAGE, *TEXTS])]
    app.add_data("mine.csv", csv_text(("Text", "Model"), rows))
    search.search("Draw the map")
    expect(search.hits.locator("th", has_text="Model")).to_have_count(1)
    assert {"Search", "Draw the map"} <= set(search.hits.locator(".sb-text").all_inner_texts())
    app.open_section("#search-column-filter")
    page.click("#search-column-filter input")
    expect(page.get_by_role("option").last).to_have_text(re.compile("Model$"))
    page.keyboard.press("Escape")
    expect_chinese(page, "Search")
    page.get_by_role("tab", name="近似重复").click()
    page.click("#alike-go")
    expect(page.locator("#alike-view .sb-alike-group").first).to_be_visible()
    expect(page.locator("#alike-view")).to_contain_text("My card")
    expect(page.locator("#alike-view")).not_to_contain_text("我的")
    expect_chinese(page, "Near-duplicates")


def map_and_fine_tune(app: App) -> None:
    page = app.page
    page.click("#tab-map-button")
    page.click("#map-draw")
    page.locator("#map-view .sb-legend li button").first.click()
    expect(page.locator("#map-view .sb-map-list ol li").first).to_be_visible()
    expect(page.locator("#map-view")).to_contain_text("文本列：Text")
    expect_chinese(page, "Map")

    page.click("#tab-fine-tune-button")
    app.choose_corpus("带分数的句对")
    expect(page.locator("#tune-command")).to_contain_text("scored_pairs.csv")
    expect(page.locator("#tune-findings .sb-verdict")).to_be_visible()
    app.open_section("#tune-evaluation")
    expect(page.locator("#tune-evaluation")).to_be_visible()
    expect_chinese(page, "Fine-tune")
    # A dropdown shows Chinese, is searched in Chinese, and sends what it always sent.
    kind = page.locator("#tune-kind input")
    expect(page.locator("#tune-command code")).to_be_visible()
    app.settle()
    app.open_section("#tune-kind")
    kind.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("应在一起的句对")
    wanted = page.get_by_role("option", name="应在一起的句对")
    expect(page.locator("#tune-kind [role=option]")).to_have_count(1)
    wanted.click()
    expect(page.locator("#tune-command")).to_contain_text("--kind positive_pairs")
    assert page.evaluate("document.querySelector('#tune-kind input').value") == "Pairs that belong together"
    assert kind.input_value() == "应在一起的句对"
    app.fill("#tune-epochs", "many")
    page.click("#tune-start")
    expect(app.toast).to_have_text(re.compile("数"))
    expect_chinese(page, "a refused setting")


def evaluate_models_and_header(app: App) -> None:
    page = app.page
    page.click("#tab-evaluate-button")
    page.click("#evaluate-source label >> nth=1")
    expect(page.locator("#evaluate-suite")).to_be_visible()
    expect_chinese(page, "Evaluate")
    page.click("#tab-models-button")
    page.locator("#models-cards .sb-card").first.click()
    expect(page.locator("#models-facts dl").first).to_be_visible()
    page.click("#fit-open > button")
    expect_chinese(page, "Models")
    page.click(".sb-tray-button")
    expect(page.locator("#tray-list")).to_be_visible()
    expect_chinese(page, "the list of running work")
    page.keyboard.press("Escape")
    page.click(".sb-basket-button")
    expect(page.locator("#basket.sb-open")).to_be_visible()
    expect_chinese(page, "the basket")
    page.keyboard.press("Escape")


def back_to_english_and_by_link(app: App) -> None:
    page = app.page
    page.click(".sb-language")
    expect(page.locator("#tab-similarity-button")).to_have_text("Similarity")
    assert page.evaluate("document.documentElement.lang") == "en"
    # What the server had sent is translated again by its next answer.
    wait_until(lambda: not re.search(r"[一-鿿]", page.inner_text("body").replace("中文", "")), 10)
    expect(page.locator("#similarity-gauge")).to_contain_text("random pairs from")  # which the server had sent in Chinese
    page.click(".sb-language")
    expect(page.locator("#tab-similarity-button")).to_have_text("相似度")
    expect(page.locator("#similarity-gauge")).not_to_contain_text("random pairs from")
    expect_chinese(page, "the page in Chinese again")
    page.click(".sb-language")
    expect(page.locator("#tab-similarity-button")).to_have_text("Similarity")
    kind = "#tune-kind input"
    assert page.input_value(kind) == page.evaluate(f"document.querySelector('{kind}').value")
    app.reload()
    expect(page.locator("#tab-similarity-button")).to_have_text("Similarity")  # it is remembered
    app.open("?lang=zh")
    expect(page.locator("#tab-similarity-button")).to_have_text("相似度")
    app.forgive_interrupted_requests()
