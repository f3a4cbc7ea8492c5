"""The map of a table with a column of each kind: colours, filters, the list and the exports, compared with pandas."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path

import pandas as pd
from playwright.sync_api import Locator, expect

from .data import csv_text, table_rows
from .pages import App

ROWS = table_rows()
PRICES, SPRING = (20, 60), ("2024-03-01", "2024-08-31")


def table() -> pd.DataFrame:
    frame = pd.DataFrame(ROWS)
    frame["price"] = pd.to_numeric(frame["price"])
    frame["sent"] = pd.to_datetime(frame["sent"])
    return frame


def test_a_table_is_coloured_filtered_and_saved_as_pandas_does(app: App, tmp_path: Path) -> None:
    app.map.draw_file("table.csv", csv_text(list(ROWS[0]), [list(row.values()) for row in ROWS]))
    expect(app.map.scene.heading).to_contain_text("text column: message")
    colour_by_every_column(app)
    step_through_the_months(app)
    filter_lists_and_booleans(app)
    combine_two_filters_and_a_lasso(app)
    filter_a_list_on_a_low_screen(app)
    choose_the_columns_of_the_list(app)
    find_nothing(app)
    save_what_is_filtered(app, tmp_path / "map.html")


def colour_by_every_column(app: App) -> None:
    scene, frame = app.map.scene, table()
    for column in ("price", "sent", "team", "tags", "urgent"):
        scene.colour_by(column)
        expect(scene.drawing).to_have_attribute("data-by", column)
        shown = legend(app)
        blank = int(frame[column].isna().sum()) if column in ("price", "sent") else int((frame[column] == "").sum())
        assert shown.pop("blank", 0) == blank
        if column in ("price", "sent"):
            assert not shown
            ticks = scene.legend.locator(".sb-map-ticks span").all_inner_texts()
            ends = frame[column].min(), frame[column].max()
            assert ticks[0] == (ends[0].date().isoformat() if column == "sent" else f"{ends[0]:g}")
            assert column == "price" or ticks[-1] == ends[1].date().isoformat()
            boxes = [tick.bounding_box() for tick in scene.legend.locator(".sb-map-ticks span").all()]
            sides = sorted((box["x"], box["x"] + box["width"]) for box in boxes if box)
            assert all(left[1] < right[0] for left, right in pairwise(sides)), f"{ticks} overlap"
            continue
        items = frame[column].str.split("; ").explode() if column == "tags" else frame[column]
        counts = items[items != ""].value_counts()
        others = {name: shown.pop(name) for name in list(shown) if name.startswith("other (")}
        assert shown == {name: int(counts[name]) for name in shown} and len(shown) == min(10, len(counts))
        assert sum(others.values()) == (int(counts.iloc[10:].sum()) if column == "team" else 0)
        assert list(shown.values()) == sorted(shown.values(), reverse=True)
    entry = scene.legend.get_by_role("button", name="yes")
    entry.click()
    scene.expect_list("yes · ", int((frame["urgent"] == "yes").sum()))
    entry.click()
    expect(scene.list).to_be_hidden()
    recolour_a_list(app)


_COUNT_DOTS = """() => {
  const list = document.querySelector(".sb-map-list"), count = () => list.querySelectorAll(".sb-map-facts > i").length;
  const note = () => { window.fewestDots = Math.min(window.fewestDots, count()); };
  window.fewestDots = count();
  new MutationObserver(note).observe(list, { childList: true, subtree: true });
}"""


def recolour_a_list(app: App) -> None:
    """The dots beside listed texts follow the colours of the map."""
    scene = app.map.scene
    dots = scene.items.locator(".sb-map-facts > i")

    def colours() -> list[str]:
        return list(dots.evaluate_all("(all) => all.map((one) => one.style.background)"))

    def listed(column: str) -> list[str]:
        scene.colour_by(column)
        expect(scene.drawing).to_have_attribute("data-by", column)
        scene.find("e")
        expect(dots.first).to_be_visible()
        return colours()

    by_team, by_urgency = listed("team"), listed("urgent")
    assert by_team != by_urgency
    app.page.evaluate(_COUNT_DOTS)
    scene.colour_by("team")
    expect(scene.drawing).to_have_attribute("data-by", "team")
    assert colours() == by_team
    app.settle()
    assert colours() == by_team
    assert app.page.evaluate("window.fewestDots") == len(by_team), "the list is never empty meanwhile"
    scene.list.get_by_role("button", name="Close the list").click()


def legend(app: App) -> dict[str, int]:
    entries = app.map.scene.legend.locator("ul li button")
    return {row.split("\n")[0]: int(row.split("\n")[1]) for row in entries.evaluate_all("(all) => all.map((one) => one.innerText)")}


def passed(app: App, count: int) -> None:
    """Wait until so many texts pass the filters, and the page says so."""
    expect(app.map.scene.drawing).to_have_attribute("data-passed", str(count))
    if count < len(ROWS):
        expect(app.map.scene.filtered).to_contain_text(f"{count} of {len(ROWS)} texts")
    else:
        expect(app.map.scene.filtered).to_be_hidden()


def clear(app: App) -> None:
    app.map.scene.filtered.get_by_role("button", name="Clear filters").click()
    passed(app, len(ROWS))


def step_through_the_months(app: App) -> None:
    """The slider goes from month to month, also by itself."""
    months = table()["sent"].dt.to_period("M")
    part = app.map.scene.filter("sent")
    part.get_by_label("Period").select_option("month")
    slider = part.get_by_label("Date", exact=True)
    slider.fill("2")
    passed(app, int((months == "2024-03").sum()))
    expect(part.locator("output")).to_have_text("2024-03")
    part.get_by_role("button", name="Play").click()
    passed(app, int((months == "2024-04").sum()))
    part.get_by_role("button", name="Pause").click()
    clear(app)


def filter_lists_and_booleans(app: App) -> None:
    """One of several items, and two columns together; the other filters count what is left."""
    frame = table()
    tags, urgent = app.map.scene.filter("tags"), app.map.scene.filter("urgent")
    tags.get_by_role("button", name="late").click()
    tags.get_by_role("button", name="lost").click()
    either = frame["tags"].str.split("; ").map(lambda items: bool({"late", "lost"} & set(items)))
    passed(app, int(either.sum()))
    bars = dict(row.split("\n") for row in urgent.locator("li button").evaluate_all("(all) => all.map((one) => one.innerText)"))
    assert bars == {name: str(count) for name, count in frame[either]["urgent"].value_counts().items()}
    urgent.get_by_role("button", name="yes").click()
    passed(app, int((either & (frame["urgent"] == "yes")).sum()))
    clear(app)
    team = app.map.scene.filter("team")
    team.get_by_role("searchbox").fill("nobody's team")
    expect(team.get_by_role("status")).to_have_text("No value contains this text.")
    team.get_by_role("searchbox").fill("")
    expect(team.get_by_role("status")).to_be_hidden()


def fill_ends(part: Locator, low: object, high: object) -> None:
    for name, value in (("From", low), ("To", high)):
        part.get_by_label(name, exact=True).fill(str(value))
        part.get_by_label(name, exact=True).press("Tab")


def chosen() -> pd.DataFrame:
    frame = table()
    return frame[frame["price"].between(*PRICES) & frame["sent"].between(*SPRING)]


def combine_two_filters_and_a_lasso(app: App) -> None:
    scene, page = app.map.scene, app.page
    fill_ends(scene.filter("price"), *PRICES)
    fill_ends(scene.filter("sent"), *SPRING)
    passed(app, len(chosen()))
    scene.root.get_by_role("button", name="Lasso").click()
    box = scene.plot.bounding_box()
    assert box is not None
    places = [page.evaluate("(row) => SB.map.spot(row)", row) for row in range(len(ROWS))]
    middle = box["x"] + box["width"] / 2
    left = {row for row, (x, _y) in enumerate(places) if x < middle}
    scene.drag((4, 4), (box["width"] / 2, 4), (box["width"] / 2, -4), (4, -4), (4, 8))
    expected = [row for row in chosen().index if row in left]
    assert 0 < len(expected) < len(chosen())
    scene.expect_list(f"{len(expected)} selected", len(expected))
    scene.list.get_by_text("Actions", exact=True).click()
    _, rows = app.download_rows(scene.list.get_by_role("button", name="Download CSV"))
    assert [row["message"] for row in rows] == [ROWS[row]["message"] for row in expected]


def filter_a_list_on_a_low_screen(app: App) -> None:
    """Two filters in a row: the first one changes the list and leaves the filters open."""
    scene, page = app.map.scene, app.page
    usual = page.viewport_size
    assert usual is not None
    page.set_viewport_size({"width": 1366, "height": 657})
    scene.rest()
    urgent = scene.filter("urgent")
    for pressed in ("true", "false"):
        button = urgent.get_by_role("button", name="yes")
        button.click()
        expect(button).to_have_attribute("aria-pressed", pressed)
        expect(button).to_be_visible()
    page.set_viewport_size(usual)
    scene.rest()


def choose_the_columns_of_the_list(app: App) -> None:
    scene = app.map.scene
    scene.list.get_by_text("Columns", exact=True).click()
    scene.list.get_by_label("team").check()
    scene.list.get_by_label("Topics found").uncheck()
    row = int(scene.items.first.get_attribute("data-row") or -1)
    expect(scene.items.first.locator(".sb-map-value")).to_have_text(f"team: {ROWS[row]['team']}")
    scene.list.get_by_role("button", name="Close the list").click()


def find_nothing(app: App) -> None:
    scene = app.map.scene
    scene.find("zebra crossing")
    expect(scene.title).to_have_text("0 with “zebra crossing”")
    assert "null" not in scene.list.inner_text()
    scene.list.get_by_role("button", name="Close the list").click()


def save_what_is_filtered(app: App, path: Path) -> None:
    """Each export has the rows that pandas gives, and says so in its name or in a note."""
    expected, page = chosen(), app.page
    name, content = app.download(page.locator("#map-csv"))
    assert content.startswith(b"\xef\xbb\xbf") and name == f"table map - {len(expected)} of {len(ROWS)} texts.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert [row["message"] for row in rows] == expected["message"].tolist()
    _, content = app.download(page.locator("#map-report-xlsx"))
    report = pd.read_excel(io.BytesIO(content), sheet_name=None)
    assert report["Topics"]["Texts"].sum() == len(expected) and "price: 20 to 60" in report["Notes"].to_string()
    with app.opened_alone(page.locator("#map-html"), path) as alone:
        assert alone.evaluate("JSON.parse(document.getElementById('data').textContent).texts") == expected["message"].tolist()
        expect(alone.locator("h1")).to_contain_text(f"{len(expected)} of {len(ROWS)} texts")
        alone.locator(".sb-map-colour").select_option("team")
        expect(alone.locator("[data-by=team]")).to_be_visible()
        alone.get_by_role("tab", name="Filters").click()
        urgent = alone.locator(".sb-map-filter[data-column='urgent']")
        urgent.evaluate("(box) => { box.open = true; }")
        urgent.get_by_role("button", name="yes").click()
        expect(alone.locator("[data-passed]")).to_have_attribute("data-passed", str(int((expected["urgent"] == "yes").sum())))
