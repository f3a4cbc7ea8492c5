"""Topics on the map: the tree of the legend, fewer and more topics, outliers, names near and far, and the topic report."""

from __future__ import annotations

import io
import re
from pathlib import Path

from openpyxl import load_workbook
from playwright.sync_api import Locator, expect

from .data import topics_csv
from .pages import App

OUTLIERS, BROAD = 4, ".sb-map-broad"


def test_topics_are_a_tree_that_is_cut_elsewhere_and_reported(app: App, tmp_path: Path) -> None:
    app.map.draw_file("messages.csv", topics_csv())
    list_the_most_typical_texts_first(app)
    collapse_a_broad_topic(app)
    name_broad_topics_from_far_and_fine_ones_near(app)
    assign_outliers_and_undo(app)
    with app.opened_alone(app.page.locator("#map-report-html"), tmp_path / "report.html") as alone:
        expect(alone.locator("table.heat tbody tr")).to_have_count(topics(app).count() + 1)
    draw_fewer_topics_and_go_back(app)


def topics(app: App) -> Locator:
    """The topics in the legend, without headings and outliers."""
    return app.map.scene.legend.locator(f"{BROAD} ul li, ul > li:not({BROAD}):not(.sb-map-outliers)").filter(has_not=app.page.locator("ul"))


def list_the_most_typical_texts_first(app: App) -> None:
    scene = app.map.scene
    topic = topics(app).first.get_by_role("button")
    size = int(topic.locator("b").first.inner_text())
    topic.click()
    scene.expect_list(topic.locator("span").first.inner_text(), size)
    expect(scene.list).to_contain_text("Most typical texts first")
    first = scene.items.first.locator(".sb-text").inner_text()
    _, content = app.download(app.page.locator("#map-report-xlsx"))
    rows = list(load_workbook(io.BytesIO(content))["Topics"].iter_rows(values_only=True))
    assert first in {row[5] for row in rows}, "the first of the list is the typical text of the report"
    topic.click()
    expect(scene.list).to_be_hidden()


def collapse_a_broad_topic(app: App) -> None:
    """A heading has the texts of all its topics; its topics can be hidden."""
    scene = app.map.scene
    group = scene.legend.locator(BROAD).first
    sizes = [int(size) for size in group.locator("ul b:not(.sb-map-share)").all_inner_texts()]
    shares = [int(share.removesuffix(" %")) for share in scene.legend.locator(f"{BROAD} ul .sb-map-share").all_inner_texts()]
    assert 90 <= sum(shares) <= 105
    heading = group.locator(".sb-map-heading button").last
    expect(heading.locator("b").first).to_have_text(str(sum(sizes)))
    heading.click()
    scene.expect_list(f"· {sum(sizes)}", sum(sizes))
    fold = group.locator(".sb-map-fold")
    fold.click()
    expect(group.locator("ul")).to_have_count(0)
    expect(fold).to_be_focused()
    fold.click()
    expect(group.locator("ul li")).to_have_count(len(sizes))
    heading.click()
    expect(scene.list).to_be_hidden()


def name_broad_topics_from_far_and_fine_ones_near(app: App) -> None:
    scene, legend = app.map.scene, app.map.scene.legend
    headings = set(legend.locator(".sb-map-heading span").all_inner_texts())
    fine = set(topics(app).locator("span").all_inner_texts())
    scene.rest()
    shown = (scene.drawing.get_attribute("data-labels") or "").split("\n")
    assert shown and {name.rstrip("…") for name in shown} <= {name[: len(name)] for name in headings} | {name[:33] for name in headings}
    scene.plot.focus()
    for _step in range(6):
        app.page.keyboard.press("+")
    scene.rest()
    near = (scene.drawing.get_attribute("data-labels") or "").split("\n")
    assert near and {name.rstrip("…") for name in near} <= {name[:33] for name in fine} | fine
    scene.root.get_by_role("button", name="Reset").click()
    scene.rest()


def assign_outliers_and_undo(app: App) -> None:
    scene = app.map.scene
    outliers = scene.legend.locator(".sb-map-outliers")
    expect(outliers.locator("b").first).to_have_text(str(OUTLIERS))
    outliers.get_by_role("button", name="Assign to nearest").click()
    expect(app.map.marks).to_contain_text(f"{OUTLIERS} texts assigned to the nearest topic")
    expect(outliers).to_have_count(0)
    app.map.marks.get_by_role("button", name="Undo").click()
    expect(outliers.locator("b").first).to_have_text(str(OUTLIERS))


def draw_fewer_topics_and_go_back(app: App) -> None:
    count = topics(app).count()
    expect(app.map.topic_count).to_have_value(str(count))
    label = app.page.locator("#map-topics")
    expect(label).to_contain_text(f"automatic: {count}")
    layout = app.map.scene.drawing.get_attribute("data-drawn")
    app.map.set_topic_count("ArrowLeft")
    expect(topics(app)).to_have_count(count - 1)
    expect(app.page.locator("#map-notes")).to_contain_text(f"set to {count - 1}")
    assert app.map.scene.drawing.get_attribute("data-drawn") == layout, "no point moves"
    app.map.set_topic_count("ArrowRight")
    expect(topics(app)).to_have_count(count)
    expect(app.page.locator("#map-notes")).to_contain_text(re.compile("chosen automatically"))
