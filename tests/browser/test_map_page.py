"""The map, click by click: what is chosen is listed beside it, found, labelled, cleared away, saved; on a phone too."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from .conftest import Visitor
from .test_page import corpus_csv

LIST = "#map-view .sb-map-list"
# Four hundred clusters on a grid: which are named in the same window of 600 x 400 at a zoom, and which are in sight there.
NAMED = """(zoom) => {
  const size = [600, 400], points = [], ids = [], names = [];
  for (let id = 0; id < 400; id += 1) {
    names.push({ id, label: `cluster ${id}` });
    for (let i = 0; i < 20; i += 1) {
      ids.push(id);
      points.push([15 + 30 * (id % 20) + (i % 5), 10 + 20 * Math.floor(id / 20) + Math.floor(i / 5)]);
    }
  }
  const eye = { size: () => size, matrix: () => null, project: (all, row) => [all[row][0] * zoom, all[row][1] * zoom] };
  const labels = SB.mapping.labels();
  labels.prepare(ids.length, ids, names, {});
  labels.place(eye, points, ids.length, {}, (text) => 7 * text.length);
  const seen = names.filter((one) => points[20 * one.id][0] * zoom < size[0] && points[20 * one.id][1] * zoom < size[1]);
  return [labels.shown(), seen.map((one) => one.label)];
}"""


def draw(visitor: Visitor, seed: int = 0) -> None:
    """Forty-eight texts, drawn."""
    visitor.tab("Map")
    visitor.page.get_by_role("button", name="Choose texts of your own").click()
    visitor.upload("map-file", "messages.csv", corpus_csv(seed))
    visitor.see("#map-view [data-drawn]")


def lasso(visitor: Visitor) -> None:
    """Around everything."""
    page = visitor.page
    page.get_by_role("button", name="Lasso").click()
    box = page.locator("#map-view .sb-plot").bounding_box()
    assert box is not None
    left, top, width, height = box["x"], box["y"], box["width"], box["height"]
    page.mouse.move(left + 4, top + 4)
    page.mouse.down()
    for x, y in ((width - 4, 4), (width - 4, height - 4), (4, height - 4), (4, 8)):
        page.mouse.move(left + x, top + y, steps=6)
    page.mouse.up()


def at_rest(page: Page, number: int) -> list[float]:
    """Where a point lies on the screen once no flight moves it."""
    spot: list[float] = []
    for _ in range(50):
        before, spot = spot, page.evaluate(f"SB.map.spot({number})")
        if spot == before:
            return spot
        page.wait_for_timeout(300)
    raise AssertionError(f"point {number} never comes to rest: {spot}")


def listed(visitor: Visitor, count: int) -> None:
    """Wait until the list has so many entries."""
    visitor.page.wait_for_function("([place, n]) => document.querySelectorAll(place).length === n", arg=[f"{LIST} ol li", count])


def told(visitor: Visitor, words: str) -> None:
    """Wait until the head of the list says so."""
    visitor.page.wait_for_function("([place, words]) => document.querySelector(place)?.innerText.includes(words)", arg=[LIST, words])


def test_what_is_chosen_on_the_map_is_listed_found_labelled_removed_and_saved(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    draw(visitor, 5)  # a file of its own: its labels stay
    lasso(visitor)
    told(visitor, "48 chosen")
    listed(visitor, 48)

    spot = page.evaluate("SB.map.spot(0)")
    page.mouse.move(spot[0] - 30, spot[1])
    page.mouse.move(*spot, steps=8)
    page.wait_for_function("!document.querySelector('#map-view .sb-tip').hidden")
    page.mouse.click(*spot)
    told(visitor, "Nearest to this text")
    assert page.locator("#map-view .sb-tip").is_hidden()
    listed(visitor, 13)
    # Thumbs beside the neighbours, not beside the text itself: the pair is in the basket, and a second click takes it out.
    assert page.locator(f"{LIST} .sb-thumbs").count() == 12
    thumb = page.locator(f"{LIST} ol li").nth(1).get_by_role("button", name="Belong together", exact=True)
    for pressed in ("true", "false"):
        thumb.click()
        visitor.see(f"{LIST} ol li:nth-child(2) [data-says=together][aria-pressed={pressed}]")
    # By keyboard: from entry to entry, into the neighbours of one, back, and out.
    page.locator(f"{LIST} ol button").first.focus()
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")
    page.wait_for_function("words => document.querySelector('#map-view .sb-map-list ol li')?.innerText.startsWith(words)", arg=second[:12])
    page.get_by_role("button", name="Back", exact=True).click()
    page.get_by_role("button", name="Back", exact=True).click()
    told(visitor, "48 chosen")
    found_labelled_removed_and_saved(visitor, tmp_path)


def found_labelled_removed_and_saved(visitor: Visitor, tmp_path: Path) -> None:
    """Texts found by words and meaning; what is listed gets a label, goes, comes back, and is saved; the label is a column elsewhere."""
    page = visitor.page
    page.fill("#map-view .sb-map-find", "bread")
    page.keyboard.press("Enter")
    told(visitor, "with “bread”")
    listed(visitor, 16)
    page.fill(f"{LIST} input[type=text]", "Baking")
    page.keyboard.press("Enter")
    page.wait_for_selector("#map-view .sb-map-label:has-text('Baking')")
    page.wait_for_selector("#map-view [data-by=label]")
    assert "no label yet" in visitor.text("#map-view .sb-legend")
    page.select_option("#map-view [aria-label='Find by']", "meaning")
    page.fill("#map-view .sb-map-find", "the cash machine swallowed it")
    page.keyboard.press("Enter")
    told(visitor, "Nearest to “the cash machine swallowed it”")
    page.wait_for_function("document.querySelector('#map-view .sb-map-list ol li')?.innerText.includes('card')")

    page.get_by_role("button", name="Remove these").click()
    page.wait_for_selector(LIST, state="hidden")
    page.wait_for_function("document.querySelector('#map-view .sb-map-marks')?.innerText.includes('30 texts removed')")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("document.querySelector('#map-view .sb-map-marks')?.innerText.includes('removed') === false")
    page.click("#map-view .sb-map-label")
    told(visitor, "Baking · 16")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download these").click()
    download.value.save_as(tmp_path / "some.csv")
    rows = list(csv.DictReader((tmp_path / "some.csv").open(encoding="utf-8-sig", newline="")))
    assert len(rows) == 16 and {(row["label"], row["topic"]) for row in rows} == {("Baking", "bread")}
    with page.expect_download() as download:
        page.click("#map-png")
    download.value.save_as(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG" and (tmp_path / "map.png").stat().st_size > 20_000

    # The labels are a column of the corpus in the other tabs.
    visitor.tab("Search")
    visitor.fill("#search-query", "sourdough")
    page.click("#search-go")
    page.wait_for_function("document.querySelector('#search-hits')?.innerText.includes('Baking')")
    page.reload()
    page.wait_for_function("document.querySelector('#search-hits')?.innerText.includes('Baking')")
    visitor.forgive()


def test_clusters_are_named_beside_them_and_a_column_colours_without_moving(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    draw(visitor, 1)
    page.wait_for_selector("#map-view [data-labels]:not([data-labels=''])")
    before = page.get_attribute("#map-view [data-drawn]", "data-drawn")
    names = page.get_attribute("#map-view [data-labels]", "data-labels")
    page.select_option("#map-view .sb-map-colour", "topic")
    page.wait_for_function("document.querySelector('#map-view .sb-legend')?.innerText.includes('bread')")
    assert page.get_attribute("#map-view [data-drawn]", "data-drawn") == before
    page.wait_for_function("document.querySelector('#map-view [data-labels]').dataset.labels.length > 0")
    assert set((page.get_attribute("#map-view [data-labels]", "data-labels") or "").split("\n")) == set((names or "").split("\n"))
    boxes = page.evaluate("SB.map.labels()")
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + 19 <= b[1] or b[1] + 19 <= a[1], "no name lies on another"
    (far, _), (near, inside) = page.evaluate(NAMED, 1), page.evaluate(NAMED, 4)
    assert 0 < len(far) < 60 and len(near) >= 0.8 * len(inside), "where there is room, all are named"
    assert set(near) <= set(inside) and len(set(near) - set(far)) >= len(near) / 2, "more appear as one zooms in"
    page.get_by_role("button", name="bread").click()
    told(visitor, "bread · 16")

    page.select_option("#map-view .sb-map-colour", "Clusters")
    page.wait_for_selector("#map-view [data-by=Clusters]")
    clusters = page.locator("#map-view .sb-legend li").count()
    page.locator("#map-view .sb-legend button").first.click()
    page.click("text=This cluster")
    page.fill("[aria-label='Name of the cluster']", "All about <b>bread</b>")
    page.keyboard.press("Enter")
    told(visitor, "All about <b>bread</b>")
    assert "All about <b>bread</b>" in visitor.text("#map-view .sb-legend")
    page.click("text=This cluster")
    page.get_by_role("button", name="Split in two").click()
    page.wait_for_function(f"document.querySelectorAll('#map-view .sb-legend li').length === {clusters + 1}")

    # On a phone the map comes first, and what is chosen comes into sight.
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_function("document.querySelector('#map-view .sb-plot').getBoundingClientRect().top < 500")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_selector(LIST, state="hidden")
    page.get_by_role("button", name="Move").click()
    page.mouse.click(*at_rest(page, 3))
    told(visitor, "Nearest to this text")
    page.wait_for_function("document.querySelector('#map-view .sb-map-list').getBoundingClientRect().top < 300")


def test_a_map_in_space_is_turned_and_the_exported_file_opens_alone(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    draw(visitor, 2)
    page.locator("#map-settings .label-wrap").click()
    page.get_by_label("3-D").check()
    page.wait_for_function("document.querySelector('#map-view [data-drawn]').dataset.drawn.endsWith('-3')")
    page.locator("#map-view .sb-plot").scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    before, box = page.evaluate("SB.map.spot(0)"), page.locator("#map-view .sb-plot").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 30, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 90, steps=8)
    page.mouse.up()
    after = page.evaluate("SB.map.spot(0)")
    assert abs(after[0] - before[0]) + abs(after[1] - before[1]) > 5
    page.mouse.click(*after)
    told(visitor, "Nearest to this text")

    with page.expect_download() as download:
        page.click("#map-html")
    download.value.save_as(tmp_path / "map.html")
    alone = page.context.new_page()
    complaints: list[str] = []
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    alone.on("request", lambda request: complaints.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    alone.goto((tmp_path / "map.html").as_uri())
    alone.wait_for_selector("[data-drawn]")
    alone.select_option(".sb-map-colour", "topic")
    alone.get_by_role("button", name="bread").click()
    alone.wait_for_function("document.querySelector('.sb-map-list')?.innerText.includes('bread · 16')")
    alone.mouse.click(*at_rest(alone, 0))
    alone.wait_for_function("document.querySelectorAll('.sb-map-list ol li').length === 13")
    assert complaints == []


def test_what_is_on_the_map_goes_to_other_tabs_and_back(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Search")
    visitor.upload("search-file", "messages.csv", corpus_csv(3))
    visitor.see("#search-summary dl")
    visitor.fill("#search-query", "bread")
    page.click("#search-go")
    page.wait_for_function("document.querySelector('#search-hits tbody tr')?.innerText.includes('bread')")
    # Not drawn yet: it is drawn, and what was found is listed.
    page.click("#search-to-map")
    told(visitor, "Found for “bread”")
    listed(visitor, 10)
    page.get_by_role("button", name="Use as examples").click()
    page.wait_for_selector("text=9 pairs put there")

    for words, name in (("bread", "Baking"), ("card", "Cards"), ("rain", "Weather")):
        page.fill("#map-view .sb-map-find", words)
        page.keyboard.press("Enter")
        told(visitor, f"with “{words}”")
        page.fill(f"{LIST} input[type=text]", name)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#map-view .sb-map-label:has-text('{name}')")
    page.click("#map-view .sb-map-label:has-text('Baking')")
    told(visitor, "Baking")
    page.get_by_role("button", name="Search here").click()
    page.wait_for_selector("#search-within:visible")
    visitor.fill("#search-query", "the machine swallowed it")
    page.click("#search-go")
    page.wait_for_function("document.querySelector('#search-hits .sb-caption')?.innerText.includes('of 16 texts')")
    assert "card" not in visitor.text("#search-hits tbody")
    page.click("#search-everywhere")
    page.wait_for_function("document.querySelector('#search-hits .sb-caption')?.innerText.includes('of 48 texts')")
    page.wait_for_selector("#search-within", state="hidden")

    visitor.tab("Map")
    page.get_by_role("button", name="Teach these").click()
    page.wait_for_selector("#tune-findings .sb-verdict:visible")
    page.wait_for_function("/Baking|Cards|Weather/.test(document.querySelector('#tune-preview')?.innerText)")
