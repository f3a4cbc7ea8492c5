"""The address: Back, Forward, a reload or a link lead to what was seen, and results of another model or corpus are marked."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Route, expect
from waiting import wait_until

from .data import corpus_csv, csv_text
from .pages import App
from .serve import BEGUN, HOLD

QUERY = "the ATM took my card"


def test_links_and_reloads_lead_to_what_was_seen(app: App, tmp_path: Path) -> None:
    link = go_back_and_forward(app)
    follow_links(app, link)
    keep_long_texts_out_of_the_address(app)
    replace_results_of_other_data(app)
    come_back_to_near_duplicates(app)
    come_back_to_a_training_form(app)
    stay_where_one_clicked_while_a_link_is_followed(app)
    stay_where_one_went_while_a_search_goes_on(app, tmp_path / "go on")
    app.forgive_interrupted_requests()


def go_back_and_forward(app: App) -> str:
    """Return the address of a search."""
    page, search = app.page, app.search
    search.open()
    app.add_data("messages.csv", corpus_csv())
    assert app.address["corpus"].startswith("file:")
    search.search(QUERY)
    expect(search.rows).to_have_count(10)
    expect(search.made_with).to_contain_text("messages.csv")
    link = page.url

    app.map.open()  # which draws it
    expect(page.locator("#map-view [data-drawn]")).to_be_visible()
    app.expect_address(drawn="1")
    page.go_back()
    app.expect_address(drawn=None)
    page.go_back()
    expect(page.locator("#search-go")).to_be_visible()
    app.expect_address(tab="search")
    expect(search.rows).to_have_count(10)
    page.go_forward()
    page.go_forward()
    expect(page.locator("#map-view [data-drawn]")).to_be_visible()
    return link


def follow_links(app: App, link: str) -> None:
    page, search = app.page, app.search
    page.goto(link)
    app.ready()
    expect(search.rows).to_have_count(10)
    assert page.input_value("#search-query textarea, #search-query input") == QUERY
    expect(app.corpus_name).to_have_value("messages.csv")
    app.remove_data()
    expect(app.corpus_name).to_have_value("Support requests")

    # A link to what is not here says so, and leads to the rest.
    page.goto(f"{app.url}/?tab=search&corpus=file:0123456789ab&model=run-0000000000")
    expect(app.toast.filter(has_text="does not exist here")).to_be_visible()
    expect(page.locator(".sb-gone")).to_contain_text("is gone")
    expect(page.locator("#search-go")).to_be_visible()
    app.settle()


def keep_long_texts_out_of_the_address(app: App) -> None:
    """Every request carries the address, and the server refuses one of more than 64 KB."""
    page, search = app.page, app.search
    for query in ("card " * 18_000, QUERY):
        page.evaluate("() => localStorage.setItem('sbert-studio-last', JSON.stringify({tab: 'search', q: 'card '.repeat(18000)}))")
        page.goto(app.url)
        app.ready()
        assert "q" not in app.address
        search.begin(query)
        expect(search.rows).to_have_count(10)
        app.settle()
        assert len(page.url) < 4_000
    app.expect_address(q=QUERY)


def replace_results_of_other_data(app: App) -> None:
    page, search = app.page, app.search
    page.click("#search-go")
    expect(search.made_with).to_contain_text("Support requests")
    app.choose_corpus("Everyday questions")
    expect(search.made_with).to_contain_text("Everyday questions")
    search.expect_hits_made_again()


def come_back_to_near_duplicates(app: App) -> None:
    """All steps of the slider are one place; what was decided on the groups comes back after a reload."""
    page = app.page
    page.get_by_role("tab", name="Near-duplicates").click()
    page.click("#alike-go")
    app.expect_address(alike="0.950")
    before = page.evaluate("history.length")
    slider = page.locator("#alike-view input[type=range]")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowLeft")
    app.expect_address(alike="0.925")
    assert page.evaluate("history.length") == before + 1
    count = page.locator("#alike-view .sb-alike-count")
    expect(count).to_have_text(re.compile(r"^0\.925"))
    slider.press("Home")
    app.expect_address(alike="0.800")
    expect(count).to_have_text(re.compile(r"^0\.800: \d+ groups?,"))  # the groups at this threshold have come
    page.locator("#alike-view .sb-alike-group").first.get_by_role("button", name="Keep all").click()
    expect(page.locator("#alike-view [aria-pressed=true]").first).to_be_visible()
    app.settle()
    said = count.inner_text()

    app.reload()
    expect(page.locator("#alike-view [aria-pressed=true]").first).to_be_visible()
    expect(count).to_have_text(said)
    page.go_back()
    app.expect_address(alike="0.950")
    expect(count).to_have_text(re.compile(r"^0\.950"))
    # A question about one corpus is no part of the address of another.
    app.choose_corpus("Support requests")
    app.expect_address(alike=None)
    assert app.address["view"] == "near"


def come_back_to_a_training_form(app: App) -> None:
    page = app.page
    app.fine_tune.open()
    rows = [(f"a sentence about {n} cats", f"a sentence about {n % 5} dogs", n % 6) for n in range(40)]
    app.add_data("cats and dogs.csv", csv_text(("one", "two", "score"), rows))
    expect(page.locator("#tune-preview tbody tr").first).to_be_visible()
    app.fill("#tune-epochs", "7")  # at once, as it is pasted: it counts once the box is left
    app.fill("#tune-name", "Cats")
    expect(app.fine_tune.command).to_contain_text("--epochs 7")
    page.locator("#tune-name input, #tune-name textarea").first.blur()
    page.wait_for_function("Object.entries(localStorage).some(([name, value]) => name.endsWith('-form') && value.length > 40)")
    app.settle()
    app.reload()
    app.fine_tune.open()
    expect(page.locator("#tune-preview .sb-caption")).to_contain_text("cats and dogs.csv")
    expect(page.locator("#tune-epochs input")).to_have_value("7")
    expect(page.locator("#tune-name input, #tune-name textarea").first).to_have_value("Cats")


def stay_where_one_clicked_while_a_link_is_followed(app: App) -> None:
    """The answer that leads to the link's tab is held back; a click made meanwhile is the last word."""
    page = app.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        if not held and '"visit"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/queue/join*", hold)
    with page.expect_request(lambda request: '"visit"' in (request.post_data or "")):
        page.goto(f"{app.url}/?tab=evaluate")
    expect(page.locator("#tab-evaluate-button")).to_have_attribute("aria-selected", "true")  # before any answer
    app.models.open()
    held[0].continue_()
    page.unroute("**/queue/join*")
    app.settle()
    expect(page.locator("#tab-models-button")).to_have_attribute("aria-selected", "true")
    app.expect_address(tab="models")
    page.go_back()
    expect(page.locator("#tab-evaluate-button")).to_have_attribute("aria-selected", "true")
    app.settle()


def stay_where_one_went_while_a_search_goes_on(app: App, file: Path) -> None:
    """The answer to a search puts what was asked into the address, and not its tab where another was opened."""
    app.search.open()
    app.fill("#search-query", f"{HOLD}{file}")
    app.page.click("#search-go")
    wait_until(file.with_name(file.name + BEGUN).exists, 60)
    app.map.open()
    app.expect_address(tab="map")
    file.touch()
    app.expect_address(q=f"{HOLD}{file}", tab="map")
