"""The address: a reload, a link, Back and Forward lead to what was seen; and results of another model or corpus are marked."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import Route

from .conftest import Visitor
from .test_page import corpus_csv


def address(visitor: Visitor) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(visitor.page.url).query).items()}


def test_what_was_seen_comes_back(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Search")
    visitor.upload("search-file", "messages.csv", corpus_csv())
    page.wait_for_function("location.search.includes('corpus=file')")
    page.wait_for_function("document.querySelector('#corpus input')?.value === 'messages.csv'")
    page.wait_for_function("document.querySelectorAll('#search-hits tbody tr').length === 10")
    visitor.fill("#search-query", "the ATM took my card")
    page.click("#search-go")
    page.wait_for_function("location.search.includes('q=the')")
    page.wait_for_function("document.querySelector('#search-hits tbody tr')?.innerText.includes('card')")
    first = visitor.text("#search-hits tbody tr:first-child .sb-main")
    assert "all-MiniLM-L6-v2 · messages.csv" in visitor.text("#search-hits .sb-made")
    link = page.url

    visitor.tab("Map")
    page.click("#map-draw")
    visitor.see("#map-view [data-drawn]")
    page.wait_for_function("location.search.includes('drawn=1')")
    page.go_back()
    page.wait_for_function("!location.search.includes('drawn')")
    page.go_back()
    page.wait_for_selector("#search-go:visible")
    assert address(visitor)["tab"] == "search"
    page.wait_for_function("document.querySelector('#search-hits tbody tr')?.innerText.includes('card')")
    page.go_forward()
    page.go_forward()
    page.wait_for_selector("#map-view [data-drawn]:visible")

    page.goto(link)
    page.wait_for_selector("#search-hits tbody tr:visible")
    assert visitor.text("#search-hits tbody tr:first-child .sb-main") == first
    assert page.input_value("#search-query textarea, #search-query input") == "the ATM took my card"
    page.wait_for_function("document.querySelector('#corpus input')?.value === 'messages.csv'")
    page.click("#search-forget")
    page.wait_for_function("document.querySelector('#corpus input')?.value === 'Support requests'")
    page.wait_for_selector("#search-forget", state="hidden")
    visitor.forgive()


def test_a_result_of_another_corpus_is_marked_and_a_link_to_what_is_gone_says_so(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Search")
    page.click("#search-go")
    visitor.see("#search-hits tbody tr")
    assert "Support requests" in visitor.text("#search-hits .sb-made")
    visitor.choose("#corpus", "Questions")
    visitor.see("#search-hits .sb-made-stale")
    assert "another corpus is chosen now" in visitor.text("#search-hits .sb-made")
    page.get_by_role("button", name="Do it again").click()
    page.wait_for_selector("#search-hits .sb-made:not(.sb-made-stale)")
    assert "Support requests" not in visitor.text("#search-hits .sb-made")

    # A link to what is not here says so, and leads to the rest.
    page.goto(f"{visitor.url}/?tab=search&corpus=file:0123456789ab&model=run-0000000000")
    page.wait_for_selector("#search-go:visible")
    page.wait_for_selector("text=is not at hand here")
    assert page.is_visible("text=no longer kept here")
    visitor.forgive()


def test_a_click_made_while_a_link_is_followed_stands_and_steps_of_a_slider_are_one_place(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        if '"visit"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/queue/join*", hold)
    page.goto(f"{visitor.url}/?tab=evaluate")
    page.wait_for_selector("#tab-evaluate-button[aria-selected=true]")  # at once: the answer is held back
    visitor.tab("Models")
    while not held:
        page.wait_for_timeout(50)
    held[0].continue_()
    page.unroute("**/queue/join*")
    page.wait_for_timeout(1500)
    assert page.get_attribute("#tab-models-button", "aria-selected") == "true", "who went on is not fetched back"
    page.wait_for_timeout(2000)

    visitor.tab("Search")
    page.get_by_role("tab", name="Near-duplicates").click()
    page.click("#alike-go")
    page.wait_for_function("location.search.includes('alike=0.950')")
    before = page.evaluate("history.length")
    page.locator("#alike-view input[type=range]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("location.search.includes('alike=0.925')")
    assert page.evaluate("history.length") == before + 1
    page.wait_for_function("document.querySelector('#alike-view .sb-alike-count')?.innerText.startsWith('0.925')")
    visitor.forgive()


def test_the_form_of_a_training_comes_back(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    rows = "".join(f"a sentence about {n} cats,a sentence about {n % 5} dogs,{n % 6}\n" for n in range(40))
    visitor.upload("tune-file", "cats and dogs.csv", "one,two,score\n" + rows)
    visitor.see("#tune-preview tbody tr")
    visitor.fill("#tune-epochs", "7")
    visitor.fill("#tune-name", "Cats")
    page.locator("#tune-name input, #tune-name textarea").first.blur()
    kept = "Object.entries(localStorage).filter(([name]) => name.endsWith('-form')).map(([, value]) => value).join()"
    before = page.evaluate(kept)
    page.wait_for_function(f"({kept}).length > 40")
    page.wait_for_timeout(2000)  # the last of the changes is on its way
    assert page.evaluate(kept) and before is not None

    visitor.reload()
    visitor.tab("Fine-tune")
    visitor.see("#tune-preview tbody tr")
    assert "cats and dogs.csv" in visitor.text("#tune-preview .sb-caption")
    page.wait_for_function("document.querySelector('#tune-epochs input')?.value === '7'")
    page.wait_for_function("document.querySelector('#tune-name input, #tune-name textarea')?.value === 'Cats'")


def test_the_part_of_a_tab_and_what_was_done_there_come_back(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.set_default_timeout(90_000)
    page.get_by_role("tab", name="A file of pairs").click()
    visitor.upload("pairs-file", "mine.csv", "one,two,score\nA cat sleeps.,A kitten naps.,5\nIt rains.,Bread rises.,0\nA dog.,A hound.,4\n")
    page.wait_for_function("document.querySelectorAll('#pairs-table tbody tr').length === 3")
    page.wait_for_function("location.search.includes('file=')")
    assert address(visitor)["view"] == "pairs"
    visitor.tab("Search")
    page.get_by_role("tab", name="Near-duplicates").click()
    page.click("#alike-go")
    page.wait_for_function("location.search.includes('alike=0.950')")
    slider = page.locator("#alike-view input[type=range]")
    slider.focus()
    slider.press("Home")
    page.wait_for_function("location.search.includes('alike=0.800')")
    page.locator("#alike-view .sb-alike-group").first.get_by_role("button", name="Keep all").click()
    visitor.see("#alike-view [aria-pressed=true]")
    page.wait_for_timeout(1500)  # the browser keeps it
    said = visitor.text("#alike-view .sb-alike-count")

    page.reload()
    visitor.see("#alike-view [aria-pressed=true]")
    page.wait_for_function("(said) => document.querySelector('#alike-view .sb-alike-count')?.innerText === said", arg=said)
    link = f"{visitor.url}/?tab=evaluate&view=changed&from=all-MiniLM-L6-v2&to=glove-6B-50d"
    page.go_back()
    page.wait_for_function("location.search.includes('alike=0.950')")
    page.wait_for_function("document.querySelector('#alike-view .sb-alike-count')?.innerText.startsWith('0.950')")
    page.goto(link)
    visitor.see("#changed-go")
    page.wait_for_function("document.querySelector('#changed-after input')?.value === 'glove-6B-50d'")
    page.wait_for_selector("#changed-view .sb-made", timeout=120_000)
    # What was asked of one corpus is no part of the address of another.
    visitor.choose("#corpus", "Questions")
    page.wait_for_function("!location.search.includes('from=')")
    assert "view=changed" in page.url and "corpus=sample" in page.url
    visitor.forgive()
