"""Every tab and dialog can be used by keyboard and with a screen reader: axe-core finds nothing serious, and Tab reaches all controls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .pages import App
from .pages.drawn import drawn
from .tiny import MODEL_NAME, MULTILINGUAL_NAME

_LAPTOP, _PHONE = (1366, 657), (390, 844)
_STILL = "!document.getAnimations().some((one) => one instanceof CSSTransition)"  # colors fade into those of the other scheme
_MOST = 400  # presses of Tab in one tab of the page
# Run the rules of axe-core whose violations are serious or critical. The page has no frames; style sheets are fetched for one rule, once.
_RUN = """async (within) => {
  const isUsed = (rule) => rule.enabled && !rule.tags.includes("experimental") && ["serious", "critical"].includes(rule.impact);
  const rules = axe._audit.rules.filter(isUsed).map((rule) => rule.id);
  const options = { runOnly: { type: "rule", values: rules }, resultTypes: ["violations"], iframes: false, preload: !window.axeRan };
  window.axeRan = true;
  const found = (await axe.run(within, options)).violations;
  return [rules.length, found.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.html.slice(0, 160)}`))];
}"""

# Controls that are seen and can be used; those of a group with arrow keys, of which Tab reaches one, are left out.
_CONTROLS = """() => {
  const reach = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const shown = { visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true };
  const isSeen = (node) => node.checkVisibility(shown) && node.getClientRects().length;
  const drawer = document.querySelector(".sb-drawer.sb-open");
  return [...(drawer ?? document).querySelectorAll(reach)].filter((node) => isSeen(node) && !node.disabled && node.tabIndex >= 0
    && node.type !== "radio" && node.type !== "file" && !node.closest("[inert], [aria-hidden=true]"));
}"""
_LOOK = """(node) => {
  let look = "";
  for (let up = node, steps = 0; up && steps < 4; up = up.parentElement, steps += 1) {
    const style = getComputedStyle(up);
    look += [style.outlineStyle, style.outlineColor, style.boxShadow, style.borderColor, style.backgroundColor].join();
  }
  return look;
}"""
_DESCRIBE = """(node) => `${node.tagName.toLowerCase()}#${node.id || node.closest("[id]")?.id}.${node.className} \
${(node.getAttribute("aria-label") || node.innerText || "").slice(0, 40)}`"""
_FOCUSED = f"""() => {{
  const look = {_LOOK}, describe = {_DESCRIBE}, node = document.activeElement, last = window.focusedBefore;
  const isSame = last?.node.isConnected && last.look === look(last.node);
  const unmarked = isSame && getComputedStyle(last.node).outlineStyle === "none" ? describe(last.node) : null;
  if (!node || node === document.body) {{ window.focusedBefore = null; return [null, unmarked]; }}
  window.reached ??= new Set();
  const again = window.reached.has(node);
  window.reached.add(node);
  window.focusedBefore = {{ node, look: look(node) }};
  return [again ? "again" : describe(node), unmarked];
}}"""
# Without a dialog, from the top of the page on.
_BEGIN = """(isDialog) => {
  window.reached = new Set(isDialog ? [document.activeElement] : []);
  window.focusedBefore = null;
  if (isDialog) return;
  document.body.setAttribute("tabindex", "-1");
  document.body.focus();
  document.body.removeAttribute("tabindex");
  scrollTo(0, 0);
}"""
_MISSED = f"() => ({_CONTROLS})().filter((node) => !window.reached.has(node)).map({_DESCRIBE})"


@pytest.fixture
def check(language: str) -> Iterator[Callable[..., None]]:
    """Look for faults in what the page shows, on a laptop and on a phone; both languages together see each in light and in dark.

    All faults are listed at the end.
    """
    reason = "axe-core is missing: run pip install -r requirements-dev.txt"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=reason).Axe()
    faults: dict[str, list[str]] = {}

    def look(page: Page, where: str, within: str = "html") -> None:
        for (width, height), is_dark in ((_PHONE, language == "zh"), (_LAPTOP, language == "en")):
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("SB.setTheme", is_dark)
            drawn(page)
            page.wait_for_function(_STILL)
            if not page.evaluate("Boolean(window.axe)"):
                page.evaluate(axe.axe_script)
            rules, found = page.evaluate(_RUN, within)
            assert rules > 50
            if found:  # what is seen for a moment only, such as a result that is made again, is no fault
                drawn(page)
                page.wait_for_function(_STILL)
                again = page.evaluate(_RUN, within)[1]
                found = [fault for fault in found if fault in again]
            for fault in found:
                faults.setdefault(fault, []).append(f"{where}, {'dark' if is_dark else 'light'}, {width}")

    yield look
    assert not faults, "\n".join(f"{found}\n    {'; '.join(where)}" for found, where in faults.items())


def first_results(app: App) -> Iterator[str]:
    """Open every tab and wait for what it opens with; yield its place in the bar, which no language changes."""
    shown = (
        "#similarity-gauge .sb-big",
        "#search-hits tbody tr",
        "#map-view [data-drawn]",
        "#tune-preview tbody tr",
        "#evaluate-scores tbody tr",
        "#models-cards .sb-card",
    )
    for place, result in enumerate(shown):
        tab = app.tab_bar.get_by_role("tab").nth(place)
        tab.click()
        expect(app.page.locator(result).first).to_be_visible()
        app.settle()
        yield tab.inner_text()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_axe_finds_nothing_serious(open_app: Callable[..., App], check: Callable[..., None], language: str) -> None:
    app = open_app(query=f"?lang={language}", color_scheme="light")
    page = app.page
    for title in first_results(app):
        check(page, title)
        if page.locator("#map-view").is_visible():
            app.map.scene.rest()
            page.locator(".sb-map-parts [data-part=filters]").click()
            page.locator(".sb-map-filter > summary").first.click()
            check(page, "filters of the map", "#map-view")
            page.locator(".sb-map-parts [data-part=legend]").click()
            page.locator(".sb-legend li > button").first.click()
            page.locator(".sb-map-list ol li > button").first.click()
            app.map.scene.expect_neighbours() if language == "en" else expect(app.map.scene.items).to_have_count(13)
            page.locator(".sb-map-acts .sb-map-menu > summary").click()
            check(page, "list of the map", "#map-view")
            page.keyboard.press("Escape")
    page.click("#data-open")
    expect(page.locator("#data-review table")).to_be_visible()
    for part in page.locator("#add-data .sb-subtabs [role=tab]:visible").all():
        part.click()
        check(page, f"Add data, {part.inner_text()}", "#add-data")
    page.keyboard.press("Escape")
    page.locator(".sb-basket-button").click()
    check(page, "basket", "#basket")
    page.keyboard.press("Escape")
    app.tab_bar.get_by_role("tab").first.click()
    app.ask(page.locator("#similarity-compare"))  # what was asked for is not made again with another model
    app.choose_model(MULTILINGUAL_NAME if language == "en" else MODEL_NAME)
    app.settle()
    expect(page.locator("#similarity-gauge .sb-stale")).to_be_visible()
    check(page, "a result that is stale", "#similarity-gauge")


def test_tab_reaches_every_control_and_shows_where_it_is(app: App) -> None:
    page = app.page
    page.add_style_tag(content=".options { max-height: 40px !important; }")  # lists of choices scroll, as those of many data and models do
    wrong: list[str] = []
    for title in first_results(app):
        wrong += walk(app, title)
    page.click("#data-open")
    expect(page.locator("#data-review table")).to_be_visible()
    wrong += walk(app, "Add data")
    page.keyboard.press("Escape")
    expect(page.locator("#data-open")).to_be_focused()
    assert not wrong, "\n".join(wrong)


def walk(app: App, where: str) -> list[str]:
    """Press Tab until the focus comes back; return the controls that were not reached, or do not show that they have the focus."""
    page, wrong = app.page, list[str]()
    app.settle()
    is_dialog = page.locator(".sb-drawer.sb-open").count() > 0  # which has the focus already
    page.evaluate(_BEGIN, is_dialog)
    seen: Any = ""
    for _ in range(_MOST):
        page.keyboard.press("Tab")
        seen, unmarked = page.evaluate(_FOCUSED)
        wrong += [f"{where}: no mark of the focus on {unmarked}"] if unmarked else []
        if seen in (None, "again"):
            break
    else:
        wrong.append(f"{where}: the focus does not come back after {_MOST} presses of Tab; it is at {seen}")
    return wrong + [f"{where}: not reached by Tab: {missed}" for missed in page.evaluate(_MISSED)]
