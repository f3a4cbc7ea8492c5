"""A corpus in a language that the model was not trained on: said above every tab, with what to do."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import Visitor

CHINESE = ["我的银行卡被机器吞了", "怎么申请退款", "今天天气很好", "我忘记了密码", "如何修改预订", "手机无法开机"]


def test_a_corpus_that_the_model_hardly_reads(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.wait_for_selector("#banner .sb-banner", state="detached")
    visitor.tab("Search")
    visitor.upload("search-file", "wenben.csv", "text\n" + "\n".join(CHINESE) + "\n")
    visitor.see("#banner .sb-banner")
    assert "Most texts of wenben.csv look like Chinese" in visitor.text("#banner")
    for tab in ("Similarity", "Map", "Evaluate", "Fine-tune"):
        visitor.tab(tab)
        assert page.is_visible("#banner .sb-banner"), tab
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off on a phone"
    page.set_viewport_size({"width": 1280, "height": 900})
    if page.locator("#banner button:has-text('Use universal-sentence-encoder')").count():
        page.click("#banner button:has-text('Use universal-sentence-encoder')")
        page.wait_for_selector("#banner .sb-banner", state="hidden")
        assert page.input_value("#model input") == "universal-sentence-encoder"
        visitor.choose("#model", "all-MiniLM-L6-v2")
        visitor.see("#banner .sb-banner")
    visitor.choose("#corpus", "Support requests")
    page.wait_for_selector("#banner .sb-banner", state="hidden")
