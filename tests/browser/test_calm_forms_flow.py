"""First screens with few words and controls, and forms that keep what was just chosen or typed."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from .data import scored_pairs_csv
from .pages import App

# Visible words, and controls: a group of radio buttons or of tabs is one, as it is one stop of the Tab key.
_COUNT = """() => {
  const isInside = (box) => box.width > 1 && box.height > 1
    && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  const isSeen = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const groups = new Set();
  const controls = [...document.querySelectorAll("button, input, select, textarea, summary, a[href]")].filter((node) => {
    if (!isSeen(node) || !isInside(node.getBoundingClientRect()) || node.parentElement.closest("button, a[href], summary")) return false;
    const group = node.type === "radio" ? node.name : node.getAttribute("role") === "tab" ? node.closest("[role=tablist]") : null;
    if (group === null) return true;
    return groups.has(group) ? false : Boolean(groups.add(group));
  });
  let words = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange();
    if (!node.data.trim() || !isSeen(node.parentElement) || node.parentElement.closest("script, style, option, .sb-table tbody")) continue;
    range.selectNodeContents(node);
    if ([...range.getClientRects()].some(isInside)) words += node.data.split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word)).length;
  }
  return [words, controls.length];
}"""
LIMITS = {"fine-tune": (130, 20), "search": (90, 16)}
ADVANCED = {"fine-tune": ("tune-advanced", "tune-epochs"), "search": ("search-advanced", "search-k")}


def test_first_screens_are_calm_and_advanced_settings_stay_open_after_a_reload(app: App) -> None:
    page = app.page
    app.resize(1366, 657)
    for tab, (most_words, most_controls) in LIMITS.items():
        page.click(f"#tab-{tab}-button")
        app.settle()
        words, controls = page.evaluate(_COUNT)
        assert 20 < words <= most_words, f"{tab}: {words} words"
        assert 5 < controls <= most_controls, f"{tab}: {controls} controls"
    for opens in (True, False, None):
        for tab, (section, control) in ADVANCED.items():
            page.click(f"#tab-{tab}-button")
            app.settle()
            expect(page.locator(f"#{control}")).to_be_visible(visible=opens is False)
            if opens is not None:
                page.locator(f"#{section} > button").click()
                expect(page.locator(f"#{control}")).to_be_visible(visible=opens)
        app.open()
    app.forgive_interrupted_requests()


def test_a_form_sends_the_last_choice_and_keeps_what_is_typed(app: App) -> None:
    form, page = app.fine_tune, app.page
    form.open()
    form.upload("pairs.csv", scored_pairs_csv(300))
    form.judge_by_one_part()
    type_while_the_columns_are_read_again(app, page)
    form.set("epochs", "100")
    app.settle()
    press_start_at_once_after_a_choice(page)
    expect(form.run).to_contain_text("LoRA")
    form.stop.click()
    app.forgive_interrupted_requests()


def type_while_the_columns_are_read_again(app: App, page: Page) -> None:
    """The answer about the columns does not know of the number."""
    box = page.locator("#tune-epochs input")
    app.open_section("#tune-low")
    page.locator("#tune-low input").fill("-1")
    page.locator("#tune-low input").blur()
    box.fill("7")
    app.settle()
    expect(box).to_have_value("7")
    expect(app.fine_tune.command).to_contain_text("--epochs 7")


def press_start_at_once_after_a_choice(page: Page) -> None:
    page.evaluate(
        """() => {
          document.querySelectorAll("#tune-method input")[1].click();
          document.querySelector("#tune-start").click();
        }"""
    )
