"""Help for a term on a tap, and the keys that move between tabs."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import Visitor


def test_a_term_explains_itself_and_arrow_keys_move_between_tabs(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    first = page.get_by_role("tab", name="Similarity", exact=True).first
    first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#search-go:visible")
    assert page.evaluate("document.activeElement.innerText.trim()") == "Search", "the focus goes with it"
    page.keyboard.press("End")
    page.wait_for_selector("#models-cards:visible")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#similarity-compare:visible")

    page.click("#similarity-compare")
    visitor.see("#similarity-gauge .sb-facts .sb-term")
    mark = page.locator("#similarity-gauge .sb-facts .sb-term").first
    mark.click()
    visitor.see(".sb-help")
    assert visitor.text(".sb-help").strip()
    page.keyboard.press("Escape")
    page.wait_for_selector(".sb-help", state="detached")
    assert page.evaluate("document.activeElement.className") == "sb-term", "the focus comes back"
    page.set_viewport_size({"width": 390, "height": 800})
    mark.click()
    box = page.locator(".sb-help").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.mouse.click(5, 5)
    page.wait_for_selector(".sb-help", state="detached")
    page.set_viewport_size({"width": 1280, "height": 900})

    visitor.tab("Map")
    page.click("#map-settings > button")
    visitor.see("#map-neighbours .sb-term")  # Gradio's own boxes have one too
    page.locator("#map-neighbours .sb-term").click()
    visitor.see(".sb-help")
    assert "nearest texts" in visitor.text(".sb-help")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    visitor.see(".sb-help")
    marked = "[...document.querySelectorAll('label')].filter((label) => label.querySelector('.sb-term') && label.control)"
    assert page.evaluate(f"{marked}.length") > 0
    assert page.evaluate(f"{marked}.every((label) => label.control.matches('input, textarea, select'))"), "a label names its field"
    assert not page.locator("footer").is_visible(), "Gradio's own settings are out of the way"
