"""The map: choose texts, list, find, label, remove and save them; name clusters; hand texts over to other tabs."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

from playwright.sync_api import expect

from .data import corpus_csv
from .pages import App
from .pages.map import Scene

TEXT = "cash machine ate my card"  # one of the corpus
MARKED = "All about <b>bread</b>"
HEIGHT = 19  # of a name on the map, in pixels

# Four hundred clusters on a grid: which are named in a window of 600 x 400 at a zoom, and which are in sight there.
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

# Ten maps of 14 clusters in up to three parts: how many lines lead from names to clusters, and how many pairs of them cross.
LINES = """() => {
  let seed = 1, lines = 0, crossed = 0;
  const random = () => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return seed / 0x7fffffff; };
  const side = ([ax, ay, bx, by], x, y) => Math.sign((bx - ax) * (y - ay) - (by - ay) * (x - ax));
  const split = (one, other) => side(one, other[0], other[1]) !== side(one, other[2], other[3]);
  for (let map = 0; map < 10; map += 1) {
    const points = [], ids = [], names = [], drawn = [], from = [], labels = SB.mapping.labels();
    for (let id = 0; id < 14; id += 1) {
      const [x, y, parts] = [120 + 650 * random(), 80 + 360 * random(), 1 + Math.floor(3 * random())];
      names.push({ id, label: `topic number ${id}` });
      for (let i = 0; i < 60; i += 1) {
        ids.push(id);
        const part = i % parts;
        points.push([x + 90 * part * Math.cos(id + part) + 50 * random(), y + 70 * part * Math.sin(id + part) + 50 * random()]);
      }
    }
    const eye = { size: () => [890, 520], matrix: () => null, project: (all, row) => all[row], magnified: () => 1 };
    const drawing = { moveTo: (x, y) => from.splice(0, 2, x, y), lineTo: (x, y) => drawn.push([...from, x, y]) };
    const pen = new Proxy(drawing, { get: (known, name) => known[name] ?? (() => {}), set: () => true });
    labels.prepare(ids.length, ids, names, {});
    labels.place(eye, points, ids.length, {}, (text) => 7 * text.length);
    labels.draw(pen, eye, points, { colourOf: () => null });
    lines += drawn.length;
    drawn.forEach((one, at) => drawn.slice(0, at).forEach((other) => { crossed += split(one, other) && split(other, one) ? 1 : 0; }));
  }
  return [lines, crossed];
}"""


def test_texts_on_the_map_are_listed_found_labelled_removed_and_saved(app: App, tmp_path: Path) -> None:
    app.map.draw_file("messages.csv", corpus_csv(5))
    list_what_a_lasso_encloses(app)
    list_the_neighbours_of_a_point(app)
    walk_through_the_list_by_keyboard(app)
    label_what_was_found_by_words(app)
    remove_what_was_found_by_meaning(app)
    save_the_list_and_the_picture(app)
    see_the_label_in_search(app)
    turn_the_map(app)
    open_the_exported_file(app, tmp_path / "map.html")


def list_what_a_lasso_encloses(app: App) -> None:
    app.map.scene.select_all()
    app.map.scene.expect_list("48 selected", 48)


def list_the_neighbours_of_a_point(app: App) -> None:
    scene, mouse = app.map.scene, app.page.mouse
    tip = scene.root.locator(".sb-tip")
    x, y = scene.spot(0)
    mouse.move(x - 30, y)
    mouse.move(x, y, steps=8)
    expect(tip).to_be_visible()
    mouse.click(x, y)
    scene.expect_neighbours()
    expect(tip).to_be_hidden()
    # Thumbs beside the neighbours, not beside the text itself; the first click puts the pair into the basket, the second takes it out.
    expect(scene.list.locator(".sb-thumbs")).to_have_count(12)
    thumb = scene.items.nth(1).get_by_role("button", name="Similar", exact=True)
    for pressed in ("true", "false"):
        thumb.click()
        expect(thumb).to_have_attribute("aria-pressed", pressed)


def walk_through_the_list_by_keyboard(app: App) -> None:
    """From entry to entry with the arrows, into the neighbours of one with Enter, and back."""
    scene, keyboard = app.map.scene, app.page.keyboard
    scene.items.first.get_by_role("button").first.focus()
    keyboard.press("ArrowDown")
    second = scene.items.nth(1)
    row = second.get_attribute("data-row")
    expect(second.get_by_role("button").first).to_be_focused()
    keyboard.press("Enter")
    expect(scene.items.first).to_have_attribute("data-row", str(row))
    back = scene.list.get_by_role("button", name="Back", exact=True)
    back.click()
    scene.expect_neighbours()
    back.click()
    scene.expect_list("48 selected", 48)


def label_what_was_found_by_words(app: App) -> None:
    scene = app.map.scene
    scene.find("bread")
    scene.expect_list("16 with “bread”", 16)
    app.map.label_list("Baking")
    expect(scene.drawing).to_have_attribute("data-by", "Topics found")


def remove_what_was_found_by_meaning(app: App) -> None:
    scene, page = app.map.scene, app.page
    page.select_option("#map-view [aria-label='Search by']", "meaning")
    scene.find(TEXT)
    scene.expect_list(f"Nearest to “{TEXT}”", 30)
    expect(scene.items.first).to_contain_text(TEXT)
    expect(scene.items.first.locator("b")).to_have_text("1.000")
    app.map.act("Remove these")
    expect(scene.list).to_be_hidden()
    expect(app.map.marks).to_contain_text("30 texts removed")
    page.get_by_role("button", name="Undo").click()
    expect(app.map.marks).not_to_contain_text("removed")


def save_the_list_and_the_picture(app: App) -> None:
    scene, page = app.map.scene, app.page
    app.map.label("Baking").click()
    scene.expect_list("Baking · 16", 16)
    scene.list.get_by_text("Actions", exact=True).click()
    _, rows = app.download_rows(scene.list.get_by_role("button", name="Download CSV"))
    assert len(rows) == 16
    assert {(row["label"], row["topic"]) for row in rows} == {("Baking", "bread")}
    name, picture = app.download(page.locator("#map-png"))
    assert name.endswith(".png")
    assert picture[:4] == b"\x89PNG"
    assert len(picture) > 20_000


def see_the_label_in_search(app: App) -> None:
    """The labels are a column of the corpus in the other tabs, also after a reload."""
    app.search.open()
    app.search.search("sourdough bread")
    expect(app.search.hits).to_contain_text("Baking")
    app.reload()
    expect(app.search.hits).to_contain_text("Baking")


def turn_the_map(app: App) -> None:
    """The map in three dimensions."""
    scene, page = app.map.scene, app.page
    app.map.open()
    app.map.expect_drawn()
    page.locator("#map-settings .label-wrap").click()
    page.get_by_label("3-D").check()
    expect(scene.drawing).to_have_attribute("data-drawn", re.compile("-3$"))
    app.settle()
    scene.plot.scroll_into_view_if_needed()
    before = scene.spot(0)
    scene.drag((30, 60), (200, 90))
    after = scene.spot(0)
    assert abs(after[0] - before[0]) + abs(after[1] - before[1]) > 5
    scene.click_point(0)
    scene.expect_neighbours()


def open_the_exported_file(app: App, path: Path) -> None:
    with app.opened_alone(app.page.locator("#map-html"), path) as alone:
        scene = Scene(alone, alone.locator("#map"))
        expect(scene.drawing).to_be_visible()
        scene.colour_by("topic")
        scene.legend.get_by_role("button", name="bread").click()
        scene.expect_list("bread · 16", 16)
        scene.click_point(0)
        scene.expect_neighbours()


def test_clusters_are_named_and_texts_go_to_other_tabs(app: App) -> None:
    list_hits_on_the_map(app)
    colour_by_a_column_without_moving(app)
    keep_names_apart(app)
    rename_and_split_a_cluster(app)
    label_three_topics(app)
    search_among_listed_texts(app)
    use_the_map_on_a_phone(app)
    train_on_the_labels(app)


def list_hits_on_the_map(app: App) -> None:
    """The corpus is not drawn yet: it is drawn, and what was found is listed; some of it goes into the basket."""
    app.search.open()
    app.add_data("messages.csv", corpus_csv(3))
    app.search.search("bread")
    app.page.click("#search-to-map")
    app.map.scene.expect_list("Found for “bread”", 10)
    app.map.act("Use as examples")
    expect(app.toast.filter(has_text="9 pairs")).to_be_visible()


def colour_by_a_column_without_moving(app: App) -> None:
    scene = app.map.scene
    scene.root.get_by_role("button", name="Reset").click()  # what was found was zoomed into
    expect(scene.list).to_be_hidden()
    app.settle()
    scene.rest()
    layout = scene.drawing.get_attribute("data-drawn")
    names = shown_names(app)
    scene.colour_by("topic")
    expect(scene.drawing).to_have_attribute("data-by", "topic")
    expect(scene.legend).to_contain_text("bread")
    scene.rest()
    assert scene.drawing.get_attribute("data-drawn") == layout
    assert shown_names(app) == names
    scene.legend.get_by_role("button", name="bread").click()
    scene.expect_list("bread · 16", 16)


def shown_names(app: App) -> set[str]:
    return set((app.map.scene.drawing.get_attribute("data-labels") or "").split("\n"))


def keep_names_apart(app: App) -> None:
    """No name lies on another, lines hardly ever cross, and where there is room nearly all are shown."""
    page = app.page
    app.map.scene.rest()
    boxes = page.evaluate("SB.map.labels()")
    assert boxes
    for one, other in combinations(boxes, 2):
        beside = one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        assert beside or one[1] + HEIGHT <= other[1] or other[1] + HEIGHT <= one[1], (one, other)
    lines, crossed = page.evaluate(LINES)
    assert lines > 100 and crossed <= 1, (lines, crossed)
    (far, _), (near, inside) = page.evaluate(NAMED, 1), page.evaluate(NAMED, 4)
    assert 0 < len(far) < 60
    assert len(near) >= 0.8 * len(inside)
    assert set(near) <= set(inside)
    assert len(set(near) - set(far)) >= len(near) / 2, "more names appear as one zooms in"


def rename_and_split_a_cluster(app: App) -> None:
    scene, page = app.map.scene, app.page
    scene.open_part("Legend")
    scene.colour_by("Topics found")
    expect(scene.drawing).to_have_attribute("data-by", "Topics found")
    clusters = scene.legend.locator("li").count()
    scene.legend.get_by_role("button").first.click()
    open_actions = scene.list.get_by_text("Actions", exact=True)
    open_actions.click()
    name = page.get_by_label("Name of the topic")
    name.fill(MARKED)
    name.press("Enter")
    expect(scene.title).to_contain_text(MARKED)
    expect(scene.legend).to_contain_text(MARKED)
    open_actions.click()
    page.get_by_role("button", name="Split in two").click()
    expect(scene.legend.locator("li")).to_have_count(clusters + 1)


def label_three_topics(app: App) -> None:
    for words, name in (("bread", "Baking"), ("card", "Cards"), ("rain", "Weather")):
        app.map.scene.find(words)
        expect(app.map.scene.title).to_contain_text(f"with “{words}”")
        app.map.label_list(name)


def search_among_listed_texts(app: App) -> None:
    app.map.label("Baking").click()
    app.map.scene.expect_list("Baking", 16)
    app.map.act("Search here")
    expect(app.page.locator("#search-within")).to_be_visible()
    app.fill("#search-query", "the machine swallowed it")
    app.page.click("#search-go")
    expect(app.search.caption).to_contain_text("of 16 texts")
    expect(app.search.rows.first).to_contain_text("bread")
    expect(app.search.rows.filter(has_text="card")).to_have_count(0)
    app.page.click("#search-everywhere")
    expect(app.search.caption).to_contain_text("of 48 texts")
    expect(app.page.locator("#search-within")).to_be_hidden()


def use_the_map_on_a_phone(app: App) -> None:
    """The map comes first, and the list comes into sight when a point is chosen."""
    scene, page = app.map.scene, app.page
    app.map.open()
    app.resize(390, 844)
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_function("document.querySelector('#map-view .sb-plot').getBoundingClientRect().top < 500")
    scene.root.get_by_role("button", name="Reset").click()
    expect(scene.list).to_be_hidden()
    scene.root.get_by_role("button", name="Move").click()
    scene.click_point(3)
    scene.expect_neighbours()
    page.wait_for_function("document.querySelector('#map-view .sb-map-list').getBoundingClientRect().top < 300")
    app.resize(1280)


def train_on_the_labels(app: App) -> None:
    app.map.scene.open_part("Labels")
    app.page.get_by_role("button", name="Fine-tune on these").click()
    expect(app.page.locator("#tune-findings .sb-verdict")).to_be_visible()
    expect(app.page.locator("#tune-preview")).to_contain_text(re.compile("Baking|Cards|Weather"))
