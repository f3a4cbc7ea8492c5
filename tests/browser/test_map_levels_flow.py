"""Level of detail: any level counts the same points, and hover and lasso give what looking at every point gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from sbert_studio.ui import theme

_POINTS = 30_000

# Points in groups of different density, some of them equal, one in ten removed; and what looking at every point gives.
_SCENE = """
(n) => {
  let seed = 7;
  const random = () => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return seed / 0x7fffffff; };
  const normal = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
  window.make = (dims) => {
    const points = new Float32Array(n * dims), hidden = new Uint8Array(n), ids = new Int32Array(n);
    for (let row = 0; row < n; row += 1) {
      ids[row] = row % 12;
      hidden[row] = random() < 0.1 ? 1 : 0;
      const same = row > 100 && random() < 0.05 ? row - 50 : -1;
      for (let axis = 0; axis < dims; axis += 1) {
        const own = 4 * Math.sin(ids[row] * (axis + 1.7)) + normal() * (0.05 + ids[row] / 20);
        points[row * dims + axis] = same >= 0 ? points[same * dims + axis] : own;
      }
    }
    return { points, hidden, ids };
  };
  const base64 = (array) => {
    let text = "";
    for (const byte of new Uint8Array(array.buffer)) text += String.fromCharCode(byte);
    return btoa(text);
  };
  window.open = (dims) => {
    const data = make(dims), names = Array.from({ length: 12 }, (_, id) => ({ id, label: `topic ${id}`, size: 1 }));
    const root = document.body.appendChild(document.createElement("div"));
    root.className = "sb-map";
    const scene = SB.scene(root, {
      textOf: () => "text", items: () => [], near: async () => ({ rows: [] }), colour() {}, actions: () => [], forms: () => [],
    });
    scene.draw({
      key: "k", title: "", n, dims, points: base64(data.points), layout_key: `${dims}`, hidden: base64(data.hidden),
      clusters: base64(Int16Array.from(data.ids)),
      cluster_names: names, broad: [], typical: "", colours: ["Topics found"], labels: [], edits: [],
      by: "Topics found", groups: base64(data.ids), names, shades: null,
    });
    window.scene = scene;
    window.data = data;
    window.index = SB.mapping.spatial(data.points, n, dims);
  };
  const places = () => {
    const eye = scene.eye(), m = eye.matrix();
    return Array.from({ length: n }, (_, row) => (data.hidden[row] ? null : eye.project(data.points, row, m)));
  };
  window.inView = () => {
    const [w, h] = scene.eye().size();
    return places().filter((at) => at && at[0] >= 0 && at[1] >= 0 && at[0] <= w && at[1] <= h).length;
  };
  window.bruteNearest = ([x, y], within) => {
    let [best, least] = [null, within ** 2];
    places().forEach((at, row) => {
      const far = at && (at[0] - x) ** 2 + (at[1] - y) ** 2 + (at[2] - 1) * 4;
      if (at && far < least) [best, least] = [row, far];
    });
    return best;
  };
  window.bruteWithin = (outline) => places().flatMap((at, row) => (at && SB.mapping.inside(at[0], at[1], outline) ? [row] : []));
  window.bruteBeside = (row, count) => {
    const all = places(), [x, y] = all[row], far = (at) => (at[0] - x) ** 2 + (at[1] - y) ** 2;
    return all.flatMap((at, other) => (at && other !== row ? [far(at)] : [])).sort((a, b) => a - b).slice(0, count - 1);
  };
  window.distances = (row, rows) => {
    const all = places(), [x, y] = all[row];
    return rows.filter((other) => other !== row).map((other) => (all[other][0] - x) ** 2 + (all[other][1] - y) ** 2);
  };
}
"""

_VIEWS = """
(check) => {
  const found = [];
  for (const zoom of [1, 3, 10, 60]) {
    const eye = scene.eye();
    Object.assign(eye.at, eye.home());
    eye.zoom(zoom, 300, 200);
    found.push(check(zoom));
  }
  return found;
}
"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page(viewport={"width": 1100, "height": 800})
    page.set_content("<!doctype html><html><body></body></html>")
    page.add_style_tag(content=f"{theme.css()} .sb-plot canvas {{ display: block; }}")
    page.add_script_tag(content=theme.scripts())
    page.evaluate(_SCENE, _POINTS)
    yield page
    page.close()


def test_every_level_stands_for_the_same_points(page: Page) -> None:
    """All points in view are counted whether they are drawn one by one or as marks of cells, and coarse levels are really used."""
    page.evaluate("open(2)")
    for budgets, exact in page.evaluate(
        f"({_VIEWS})(() => [[200, 1500, 8000, 1e9].map((most) => scene.seen(most)), inView()])",
    ):
        assert budgets[-1]["level"] == 17
        for seen in budgets:
            assert seen["points"] >= exact  # cells at the edge reach beyond the view
        assert abs(budgets[-1]["points"] - exact) <= 0.25 * exact + 300, (budgets, exact)
    page.evaluate("scene.eye().zoom(0.5); Object.assign(scene.eye().at, scene.eye().home()); scene.eye().zoom(0.3)")
    whole = page.evaluate("[10, 200, 1500, 8000, 1e9].map((most) => scene.seen(most))")
    visible = page.evaluate("data.hidden.reduce((sum, one) => sum + 1 - one, 0)")
    assert [one["points"] for one in whole] == [visible] * 5
    levels = [one["level"] for one in whole]
    assert levels == sorted(set(levels)), "the more marks are allowed, the finer is the level"


def test_a_mark_has_the_color_of_most_of_its_points(page: Page) -> None:
    """Four points in one cell: of three visible ones, two have the second color; hiding one of these changes it, and geometry stays."""
    found = page.evaluate("""() => {
      const points = Float32Array.of(0, 0, 0.0001, 0, 0, 0.0001, 0.0001, 0.0001, 1, 1);
      const hidden = new Uint8Array(5), codes = Uint16Array.of(1, 0, 1, 0, 2);
      const marks = SB.mapping.marks(SB.mapping.spatial(points, 5, 2));
      const colours = [[10, 0, 0], [20, 0, 0], [30, 0, 0]];
      const look = (shining = null) => {
        marks.restyle({ hidden, paint: { index: codes, faint: new Set() }, colours, opacity: null, shining, glowing: false });
        const { colours: made, counts, kinds } = marks.styles(4);
        return [made[0], counts[0], kinds[0]];
      };
      const before = marks.middles(4);
      hidden[3] = 1;
      const first = look();
      hidden[3] = 0; hidden[2] = 1;
      const second = look(), lit = look([0]);
      hidden.fill(1, 0, 4);
      return [first, second, lit, look(), marks.middles(4) === before];
    }""")
    assert found == [[20, 3, 1], [10, 3, 1], [20, 3, 3], [0, 0, 0], True]


@pytest.mark.parametrize("dims", [2, 3])
def test_hover_and_lasso_equal_brute_force(page: Page, dims: int) -> None:
    page.evaluate("(dims) => open(dims)", dims)
    check = """() => {
      const eye = scene.eye(), of = [eye, data.points, data.hidden, index], spots = [], star = [];
      for (let i = 0; i < 40; i += 1) spots.push([20 + 17 * i % 680, 15 + 29 * i % 380]);
      for (let i = 0; i < 31; i += 1) {
        const [r, angle] = [i % 2 ? 170 : 70, i / 31 * 2 * Math.PI];
        star.push([310 + r * Math.cos(angle), 210 + r * Math.sin(angle)]);
      }
      const box = [[120, 60], [400, 60], [400, 260], [120, 260]];
      const row = SB.mapping.nearest(...of, [300, 200], 200);
      return {
        hover: [spots.map((at) => SB.mapping.nearest(...of, at, 9)), spots.map((at) => bruteNearest(at, 9))],
        lasso: [star, box].map((outline) => [SB.mapping.within(...of, outline), bruteWithin(outline)]),
        beside: row === null ? null : [distances(row, SB.mapping.beside(...of, row, 60)), bruteBeside(row, 60)],
      };
    }"""
    sizes = []
    for found in page.evaluate(f"({_VIEWS})({check})"):
        assert found["hover"][0] == found["hover"][1]
        for ours, exact in found["lasso"]:
            assert ours == exact
            sizes.append(len(ours))
        if found["beside"]:
            assert found["beside"][0] == found["beside"][1]
    assert max(sizes) > 1000
    assert len(set(sizes)) > 3
