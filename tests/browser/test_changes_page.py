"""What changed, click by click: from a run in the Models tab to both maps, the brush, the slider, and the file that opens alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from .conftest import WAIT, Visitor
from .test_clearing_page import ROWS

PAIRS = "sentence1,sentence2,score\n" + "\n".join(
    f"{ROWS[one][0]},{ROWS[two][0]},{5 if ROWS[one][1] == ROWS[two][1] else (one + two) % 3}"
    for one in range(7)
    for two in range(7)
    if one < two
)
LONG = "balance_not_updated_after_cheque_or_cash_deposit"
TEXTS = [f"{text} {more}".strip() for text, _ in ROWS for more in ("", "today", "please", "and why")]


def drawn(page: Page, share: str) -> None:
    page.wait_for_function(f"document.querySelector('#changed-view .sb-changed-maps')?.dataset.drawn === '{share}'")


def tuned(visitor: Visitor) -> None:
    """A corpus of 28 texts, and a run that learned from pairs of such texts."""
    page = visitor.page
    visitor.tab("Search")
    topics = [topic for _, topic in ROWS for _ in range(4)]
    lines = "\n".join(f'"{text}",{topic}' for text, topic in zip(TEXTS, topics, strict=True))
    visitor.upload("search-file", "requests.csv", f"text,topic\n{lines}\n")
    visitor.see("#search-summary dl")
    visitor.tab("Fine-tune")
    visitor.upload("tune-file", "pairs.csv", PAIRS)
    visitor.see("#tune-findings .sb-verdict")
    visitor.judge_by_one_part()
    page.click("#tune-start")
    page.wait_for_selector("#tune-use:visible", timeout=WAIT)


def brushed(visitor: Visitor) -> None:
    """The slider leads back to the first map; a rectangle on it lists what lies there; words are found in both."""
    page = visitor.page
    slider = page.locator("#changed-view .sb-morph-slider input")
    slider.focus()
    slider.press("Home")
    drawn(page, "0")
    assert page.locator("#changed-view figcaption").nth(1).inner_text().startswith("Before: ")
    frame = page.locator("#changed-view canvas").first
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4, steps=4)
    page.mouse.up()
    assert visitor.text("#changed-view .sb-changed-list h3") == "28 chosen, what moved most first"
    page.fill("#changed-view .sb-changed-find input", "bread dough")
    assert visitor.text("#changed-view .sb-changed-find [role=status]") == "8 found"
    page.locator("#changed-view .sb-changed-list li button").first.click()
    assert page.locator("#changed-view .sb-changed-list .sb-sides li").count() == 20, "its neighbours before and after"


def test_what_changed_is_seen_brushed_and_asked_again(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    tuned(visitor)
    visitor.tab("Models")
    page.locator("#models-cards .sb-card", has_text="pairs").first.click()
    page.click("#models-changes")
    drawn(page, "1")
    assert page.get_by_role("tab", name="What changed").get_attribute("aria-selected") == "true"
    assert "requests.csv" in visitor.text(".sb-made:visible")
    assert "of its 10 nearest texts on average" in visitor.text("#changed-view .sb-said >> nth=0")
    assert page.locator("#changed-view .sb-changed-query").count() == 3
    page.wait_for_selector("#changed-view .sb-view[data-texts=ready]")
    brushed(visitor)

    # Another query: what stands there is marked, and one click makes it anew.
    visitor.fill("#changed-queries", "Where is my card?")
    page.wait_for_selector(".sb-made-stale:visible")
    page.click(".sb-made-stale:visible button")
    page.wait_for_function("document.querySelector('#changed-view .sb-changed-query strong')?.textContent === 'Where is my card?'")
    page.wait_for_selector(".sb-made-stale", state="hidden")

    opens_alone(visitor, tmp_path / "changed.html")


def opens_alone(visitor: Visitor, path: Path) -> None:
    """What was saved is opened from disk: it asks for nothing, and its lists can be clicked."""
    page = visitor.page
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off on a phone"
    # A category may be named by one long word.
    if page.locator("#changed-view .sb-changed-confused th b").count():
        page.locator("#changed-view .sb-changed-confused th b").first.evaluate(f"node => {{ node.textContent = '{LONG} · {LONG}' }}")
    assert visitor.cut_off() == []
    page.set_viewport_size({"width": 1280, "height": 900})
    with page.expect_download() as download:
        page.click("#changed-file")
    download.value.save_as(path)
    alone = page.context.new_page()
    asked: list[str] = []
    broken: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("pageerror", lambda error: broken.append(str(error)))
    alone.goto(path.as_uri())
    alone.wait_for_selector(".sb-changed-maps[data-drawn='1']")
    alone.locator(".sb-changed-list li button").first.click()
    assert alone.locator(".sb-changed-list .sb-sides li").count() == 20
    assert alone.locator(".sb-changed-query strong").first.inner_text() == "Where is my card?"
    assert len(asked) == 1 and asked[0].startswith("file:") and broken == []
