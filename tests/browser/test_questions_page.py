"""A file that can be read in two ways: asked about with its own rows, answered by one click, and trained on."""

from __future__ import annotations

import random
from collections.abc import Callable

from .conftest import Visitor

LONG = 200_000
_WORDS = "cat dog mat park red blue fast slow hello world bank card lost found river stone bread milk moon star"
HOSTILE = "<img src=x onerror=alert(1)> ${alert(2)}"


def doubtful_csv() -> str:
    """Pairs with labels of no language that stand beside their texts by chance, a hostile text among them."""
    draw = random.Random(3)
    words = _WORDS.split()
    labels = ["glorp", "blarg"] * 40
    draw.shuffle(labels)
    rows = [f"{' '.join(draw.sample(words, 5))},{' '.join(draw.sample(words, 4))} {HOSTILE},{label}" for label in labels]
    return "left,right,tag\n" + "\n".join(rows) + "\n"


def test_a_question_stands_above_start_and_one_click_answers_it(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    visitor.upload("tune-file", "mine.csv", doubtful_csv())
    visitor.see("#tune-questions .sb-question")
    asked = visitor.text("#tune-questions")
    assert "glorp" in asked and "blarg" in asked and HOSTILE in asked
    assert page.locator("img[src='x']").count() == 0
    above, below = (page.locator(name).bounding_box() for name in ("#tune-questions", "#tune-start"))
    assert above is not None and below is not None and above["y"] + above["height"] <= below["y"]
    visitor.fill("#tune-epochs", "0.5")
    page.click("#tune-start")
    visitor.see(".toast-body")
    assert "question is open" in visitor.text(".toast-body").lower()
    page.locator("#tune-questions button", has_text="the other way round").click()
    page.wait_for_function("!document.querySelector('#tune-questions .sb-view:not([hidden])')")
    page.wait_for_function("document.querySelector('#tune-command')?.innerText.includes('--order')")
    page.click("#tune-start")
    visitor.see("#tune-run .sb-finished, #tune-run .sb-asks", timeout=LONG)
