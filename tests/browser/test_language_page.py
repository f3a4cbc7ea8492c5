"""The page in Chinese: nothing is left in English but what visitors wrote, choices reach the server as they are, and back again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .conftest import ROOT, Visitor
from .test_clearing_page import ROWS

# Two Latin words in a row that a text of the page still holds, and the whole text.
ENGLISH = r"""() => {
  const found = new Set(), latin = /[A-Za-z]{2,}[ '’-]+[A-Za-z]{2,}/;
  const data = "[translate='no'], textarea, code, pre, .sb-data li, .sb-data .token, .file-preview, head, script, style, noscript";
  const seen = (node) => node.checkVisibility() && !node.closest(data);
  const look = (node, text) => { if (latin.test(text) && seen(node)) found.add(text.trim()); };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) look(node.parentElement, node.data);
  for (const name of ["title", "placeholder", "aria-label", "alt", "data-name"])
    for (const node of document.querySelectorAll(`[${name}]`)) look(node, node.getAttribute(name));
  for (const node of document.querySelectorAll("input[role='listbox']")) if (!node.closest(".sb-data")) look(node, node.value);
  return [...found];
}"""
NAMES = re.compile(
    r"SBERT Studio|all-MiniLM-L6-v2|glove-6B-50d|Hugging Face( Hub)?|poly-encoder|universal-sentence-encoder"
    r"|paraphrase-multilingual-MiniLM-L12-v2"
    r"|scored_pairs|[\w -]+\.csv|^(编辑|移除)：.*|Support requests|STS Benchmark|SemEval STS|Hugging Face|skip-gram|n-gram|/\S+|sts12|stsb"
    r"|My reader|My first model"  # runs of earlier tests
)


def chinese(page: Page, where: str) -> None:
    """Wait until nothing that is seen is left in English."""
    left: list[str] = []
    for _ in range(20):
        left = [text for text in page.evaluate(ENGLISH) if re.search(r"[A-Za-z]{2,}[ '’-]+[A-Za-z]{2,}", NAMES.sub("", text))]
        if not left:
            return
        page.wait_for_timeout(100)
    pytest.fail(f"{where}: {left}")


def shown(page: Page, box: str) -> str:
    """What a list shows as chosen; the page itself is told the English."""
    return str(page.input_value(f"{box} input"))


def test_the_page_speaks_chinese_and_english(visit: Callable[..., Visitor]) -> None:
    visitor = visit(locale="zh-CN")
    visitor.page.set_default_timeout(60_000)
    similarity(visitor)
    searching(visitor)
    mapping(visitor)
    tuning(visitor)
    the_rest(visitor)
    back_to_english(visitor)


def similarity(visitor: Visitor) -> None:
    page = visitor.page
    page.wait_for_selector("#tab-similarity-button:has-text('相似度')")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.click("#similarity-compare")
    visitor.see("#similarity-words .sb-word")
    page.locator("#similarity-gauge .sb-facts .sb-term").first.click()
    visitor.see(".sb-help")
    assert "余弦" in visitor.text(".sb-help") or "内积" in visitor.text(".sb-help") or "点积" in visitor.text(".sb-help")
    chinese(page, "Similarity")
    page.keyboard.press("Escape")


def searching(visitor: Visitor) -> None:
    """A visitor's texts are words of the page, and stay; so do the names of their columns."""
    page = visitor.page
    page.click("#tab-search-button")
    texts = ["Search", "Similarity", "Draw the map", *(text for text, _ in ROWS)]
    visitor.upload(
        "search-file",
        "mine.csv",
        "Text,Model\n" + "\n".join(f"{text},{('Search', 'Map')[number % 2]}" for number, text in enumerate(texts)) + "\n",
    )
    visitor.see("#search-summary dl")
    page.fill("#search-query textarea, #search-query input", "Draw the map")
    page.click("#search-go")
    page.wait_for_function("document.querySelector('#search-hits tbody')?.innerText.includes('Draw the map')")
    assert page.locator("#search-hits th", has_text="Model").count() == 1
    assert {"Search", "Draw the map"} <= set(page.locator("#search-hits .sb-text").all_inner_texts())
    page.click("#search-column-filter input")
    assert page.get_by_role("option").all_inner_texts()[-1].endswith("Model")
    page.keyboard.press("Escape")
    chinese(page, "Search")
    page.get_by_role("tab", name="近似重复").click()
    page.click("#alike-go")
    visitor.see("#alike-view .sb-alike-group")
    assert "我的" not in visitor.text("#alike-view") and "My card" in visitor.text("#alike-view")
    chinese(page, "Near-duplicates")


def mapping(visitor: Visitor) -> None:
    page = visitor.page
    page.click("#tab-map-button")
    page.click("#map-draw")
    page.locator("#map-view .sb-legend li button").first.click()
    visitor.see("#map-view .sb-map-list ol li")
    chinese(page, "Map")


def tuning(visitor: Visitor) -> None:
    page = visitor.page
    page.click("#tab-fine-tune-button")
    page.click("#tune-scored_pairs")
    visitor.see("#tune-findings .sb-verdict")
    page.click("#tune-advanced > button")
    visitor.see("#tune-judge")
    chinese(page, "Fine-tune")
    # Lists show Chinese, are searched in Chinese, and send what they always sent.
    chosen_by_typing(page)
    visitor.fill("#tune-epochs", "many")
    page.click("#tune-start")
    visitor.see(".toast-body")
    assert "整数" in visitor.text(".toast-body") or "数" in visitor.text(".toast-body")
    chinese(page, "a refused setting")


def the_rest(visitor: Visitor) -> None:
    page = visitor.page
    page.click("#tab-evaluate-button")
    visitor.see("#evaluate-go")
    page.click("#evaluate-source label >> nth=1")
    visitor.see("#evaluate-suite")
    chinese(page, "Evaluate")
    page.click("#tab-models-button")
    page.locator("#models-cards .sb-card").first.click()
    visitor.see("#models-facts dl")
    page.click("#fit-open > button")
    chinese(page, "Models")
    page.click(".sb-tray-button")
    visitor.see("#tray-list")
    chinese(page, "the tray")
    page.keyboard.press("Escape")
    page.click(".sb-basket-button")
    visitor.see("#basket.sb-open")
    chinese(page, "the basket")
    page.keyboard.press("Escape")


def back_to_english(visitor: Visitor) -> None:
    page = visitor.page
    page.click(".sb-language")
    page.wait_for_selector("#tab-similarity-button:has-text('Similarity')")
    assert page.evaluate("document.documentElement.lang") == "en"
    assert not re.search(r"[一-鿿]", visitor.text("body").replace("中文", ""))
    assert shown(page, "#tune-objective") == page.evaluate("document.querySelector('#tune-objective input').value")
    visitor.reload()
    page.wait_for_selector("#tab-similarity-button:has-text('Similarity')")
    page.click(".sb-language")
    page.wait_for_selector("#tab-similarity-button:has-text('相似度')")


def chosen_by_typing(page: Page) -> None:
    """By typing in Chinese; by the list; and as the server is told of it."""
    assert re.search(r"[一-鿿]", shown(page, "#tune-objective"))
    page.wait_for_selector("#tune-command code")
    option = page.get_by_role("option", name="余弦回归 + CoSENT")
    for _ in range(20):  # the form may be opening still, and then closes the list
        page.click("#tune-objective input")
        page.keyboard.press("Control+A")
        page.keyboard.insert_text("余弦回归 +")
        page.wait_for_timeout(300)
        if page.get_by_role("option").count() == option.count() == 1:
            break
        page.keyboard.press("Escape")
    option.click()
    page.wait_for_function("document.querySelector('#tune-objective input')?.value === 'Cosine regression + CoSENT'")
    assert shown(page, "#tune-objective") == "余弦回归 + CoSENT"
    page.wait_for_function("document.querySelector('#tune-command')?.innerText.includes('--objective cosine+cosent')")


def test_the_translator(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.wait_for_function("() => Boolean(window.SB?.translator)")
    words = {
        **{
            "the file {0} is empty": "文件 {0} 是空的",
            "{0} rows": "{0} 行",
            "{0} of {1}": "{1}中的 {0}",
            "{0} is {1}": "{0} 是 {1}",
            "row": "行",
        },
        **{"give a file": "请给出文件", "Search": "搜索", "Removed “{0}”": "移除了“{=0}”", "and {0} more": "还有 {0}", "texts": "条文本"},
    }
    said = {
        "Search": "搜索",
        " Search\n": " 搜索\n",
        "2 of 3 rows": "3中的 2 行",
        "The file a.csv is empty. Give a file.": "文件 a.csv 是空的。请给出文件。",
        "Removed “Search”": "移除了“Search”",
        "and 5 texts more": "还有 5 条文本",
        "Search · 1,204 rows": "搜索 · 1,204 行",
    }
    answers = page.evaluate(
        "([words, texts]) => { const translate = SB.translator(words); return texts.map(translate); }", [words, list(said)]
    )
    assert answers == list(said.values())
    none = ["12", "nobody wrote this sentence, and it is about nothing that we know", "The museum is closed"]
    assert page.evaluate(
        "([words, texts]) => { const translate = SB.translator(words); return texts.map(translate); }", [words, none[:1]]
    ) == [None]
    catalogue = json.loads((ROOT / "assets" / "languages" / "zh.json").read_text(encoding="utf-8"))["words"]
    put_together = {
        "60 rows read, 58 judged, 2 left out": "读取 60 行，评判 58，略去 2",
        "120 rows read, 66 learned from, 8 held out, 46 left out": "读取 120 行，用于学习 66，留出 8，略去 46",
        "small pairs.csv · Similarity with scores (STS) · 60 rows read, 60 judged, 0 left out": "small pairs.csv · 带分数的相似度（STS）"
        " · 读取 60 行，评判 60，略去 0",
        "2 rows without text in 'Text', left out (rows 42, 43).": "'Text' 中有 2 行没有文本，已略去（第 42、43 行）。",
        "Edit: Where is my parcel now?": "编辑：Where is my parcel now?",
        "my-model: Cosine Spearman 0.6041, between 0.5188 and 0.6785 in 95 of 100 draws of such rows.": "my-model：余弦 Spearman 0.6041，"
        "100 次重抽这样的行有 95 次落在 0.5188 与 0.6785 之间。",
        "Scored pairs · Similarity with scores (STS) · 400 rows read, 400 judged, 0 left out": "带分数的句对 · 带分数的相似度（STS）"
        " · 读取 400 行，评判 400，略去 0",
    }
    answers = page.evaluate(
        "([words, texts]) => { const translate = SB.translator(words); return texts.map(translate); }", [catalogue, list(put_together)]
    )
    assert answers == list(put_together.values())
    assert page.evaluate("document.documentElement.lang") == "en", "the browser's language is English"
    page.goto(page.url.split("?")[0] + "?lang=zh")
    page.wait_for_selector("#tab-similarity-button:has-text('相似度')")
    visitor.forgive()
