"""Frame times of the map in Chromium with software GL, while it is dragged and zoomed, and the seconds until it is open.

``python benchmarks/map_frames.py [--points N …] [--peers] [--actions] [--rounds N]``

Each round moves the map for 150 frames, or 15 seconds: every frame asks for the next, one step further, so that the time between two
frames is the time that one takes. With ``--peers``, regl-scatterplot and deck.gl draw the same points in the same browser, by turns;
npm installs them into a temporary folder. Points lie in 60 groups of different size and density. With
``--actions``, hover, lasso, filters, brushing and colors are timed, until what they change is drawn. The load of the machine is printed
beside the figures, since others' work on it makes frames later.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from browser.chromium import FLAGS, find_chromium

from sbert_studio.data.row_report import RowReport
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.ui import theme
from sbert_studio.ui.map_value import map_value

_GROUPS, _FRAMES, _SEED = 60, 150, 12
_VIEW = {"width": 1366, "height": 657}
_PEERS = ("regl-scatterplot@1.16.0", "@deck.gl/core@9.4.0", "@deck.gl/layers@9.4.0", "esbuild")

# ``act(i)`` does the i-th step of a movement; the time between the frames in which two steps are done is recorded.
_FRAME_TIMES = """
async (kind) => {
  const { begin, act, end } = window.moves[kind], times = [];
  begin();
  await new Promise((done) => {
    let i = 0;
    const step = () => {
      times.push(performance.now());
      if (i > FRAMES || times.at(-1) - times[0] > 15000) return done();
      act(i);
      i += 1;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  end();
  return times.slice(1).map((now, i) => now - times[i]);
}
""".replace("FRAMES", str(_FRAMES))
_WAY = "const x = (i) => 120 * Math.sin(i / 12), y = (i) => 80 * Math.sin(i / 17), zoom = (i) => Math.exp(1.4 * Math.sin(i / 15));"
# What is done on the map: ``acts[name]`` begins it, and is done when it returns or its promise is kept; milliseconds until it is drawn.
_ACT = """
async ([name, i]) => {
  const begun = performance.now();
  await window.acts[name](i);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}
"""
_ACTIONS = {
    "hover": 20,
    "lasso around half of the points": 3,
    "filter by a category": 5,
    "brush over a histogram": 10,
    "color by a number": 1,
}
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_OURS = (
    _WAY
    + """
const scene = SB.scene(document.getElementById("map"), {
  textOf: () => "text", items: () => [], near: async () => ({ rows: [] }), colour() {}, column: async (name) => makeColumn(name),
  cellsOf: () => [], actions: () => [], forms: () => [],
});
const plot = document.querySelector(".sb-plot");
plot.setPointerCapture = () => {};
const at = () => { const box = plot.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
const fire = (type, button, dx, dy) => plot.dispatchEvent(new PointerEvent(type, {
  bubbles: true, pointerId: 1, pointerType: "mouse", button, clientX: at()[0] + dx, clientY: at()[1] + dy }));
window.moves = {
  drag: { begin: () => fire("pointerdown", 0, 0, 0), act: (i) => fire("pointermove", -1, x(i) + 6, y(i)),
    end: () => fire("pointerup", 0, 0, 0) },
  zoom: { begin() {}, end() {}, act: (i) => plot.dispatchEvent(new WheelEvent("wheel", {
    bubbles: true, cancelable: true, deltaY: -Math.log(zoom(i + 1) / zoom(i)) / 0.0016, clientX: at()[0], clientY: at()[1] })) },
};
// Columns of the table: a category of eight values, and numbers and days of which one in ten is blank.
let count = 0;
const base64 = (array) => {
  const bytes = new Uint8Array(array.buffer), parts = [];
  for (let at = 0; at < bytes.length; at += 8192) parts.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  return btoa(parts.join(""));
};
function makeColumn(name) {
  if (name === "category") return { name, kind: name, n: count, distinct: 8, unreadable: 0, labels: [..."abcdefgh"],
    codes: base64(Int32Array.from({ length: count }, (_, row) => row % 8)) };
  const numbers = Float64Array.from({ length: count }, (_, row) => (row % 10 ? (row * 7919) % 1000 : NaN));
  return { name, kind: name === "date" ? name : "number", n: count, unreadable: 0, numbers: base64(numbers) };
}
const filter = (name) => document.querySelector(`.sb-map-filter[data-column="${name}"]`);
window.open_filters = async () => {
  for (const button of document.querySelectorAll("[role=tab]")) if (button.dataset.part === "filters") button.click();
  for (const box of document.querySelectorAll(".sb-map-filter")) box.open = box.dataset.column !== "Clusters";
  while (document.querySelectorAll(".sb-map-filter-body > *").length < 6) await new Promise((done) => setTimeout(done, 20));
};
window.acts = {
  hover: (i) => fire("pointermove", -1, 17 * i - 170, 11 * i - 110),
  "lasso around half of the points": () => {
    document.querySelectorAll(".sb-segments button")[1].click();
    const [w, h] = [plot.clientWidth / 2 - 3, plot.clientHeight / 2 - 3];
    fire("pointerdown", 0, -w, -h);
    for (const [dx, dy] of [[0, -h], [0, h], [-w, h], [-w, 9 - h]]) fire("pointermove", -1, dx, dy);
    fire("pointerup", 0, -w, 9 - h);
  },
  "filter by a category": (i) => filter("category").querySelectorAll("ul button")[i].click(),
  "brush over a histogram": (i) => {
    const bars = filter("amount").querySelector(".sb-map-bars"), box = bars.getBoundingClientRect();
    bars.setPointerCapture = () => {};
    bars.dispatchEvent(new PointerEvent(i ? "pointermove" : "pointerdown", {
      bubbles: true, pointerId: 1, button: 0, clientX: box.left + box.width * (0.2 + 0.05 * i), clientY: box.top + 5 }));
  },
  "color by a number": async () => {
    const choice = document.querySelector(".sb-map-colour"), root = document.querySelector("[data-drawn]");
    choice.value = "amount";
    choice.dispatchEvent(new Event("change"));
    while (root.dataset.by !== "amount") await new Promise((done) => setTimeout(done, 4));
  },
};
window.open_map = async (text) => {
  const begun = performance.now(), value = JSON.parse(text);
  for (const [name, Kind] of Object.entries(window.arrays)) value[name] = new Kind(window.raw[name].buffer);
  count = value.n;
  scene.draw(value);
  await TWO;
  return performance.now() - begun;
};
""".replace("TWO", _TWO_FRAMES)
)
_REGL = (
    """
import createScatterplot from "regl-scatterplot";
"""
    + _WAY
    + """
const canvas = document.body.appendChild(document.createElement("canvas"));
const plot = createScatterplot({ canvas, width: 988, height: 527, pointSize: 2.3, opacity: 0.8, colorBy: "valueA",
  pointColor: Array.from({ length: 60 }, (_, i) => `#${(0x224466 + i * 0x031507).toString(16).slice(-6).padStart(6, "0")}`) });
const view = (dx, dy, z) => plot.set({ cameraView: new Float32Array([z, 0, 0, 0, 0, z, 0, 0, 0, 0, 1, 0, dx / 494, dy / 264, 0, 1]) });
const nothing = () => {};
window.moves = {
  drag: { begin: nothing, act: (i) => view(x(i), y(i), 1), end: nothing },
  zoom: { begin: nothing, act: (i) => view(0, 0, zoom(i)), end: nothing },
};
window.open_map = async ({ xy, ids }) => {
  const begun = performance.now(), n = ids.length;
  const [x, y] = [0, 1].map((axis) => xy.filter((_, i) => i % 2 === axis));
  await plot.draw({ x, y, z: Float32Array.from(ids) }, { zDataType: "categorical" });
  await TWO;
  return performance.now() - begun;
};
"""
)
_DECK = (
    """
import { Deck, OrthographicView } from "@deck.gl/core";
import { ScatterplotLayer } from "@deck.gl/layers";
"""
    + _WAY
    + """
const parent = document.body.appendChild(document.createElement("div"));
parent.style.cssText = "position:relative;width:988px;height:527px";
const deck = new Deck({ parent, width: 988, height: 527, views: new OrthographicView(), controller: false,
  viewState: { target: [0, 0, 0], zoom: 8 }, layers: [] });
const view = (dx, dy, z) => deck.setProps({ viewState: { target: [-dx / 256, dy / 256, 0], zoom: 8 + Math.log2(z) } });
const nothing = () => {};
window.moves = {
  drag: { begin: nothing, act: (i) => view(x(i), y(i), 1), end: nothing },
  zoom: { begin: nothing, act: (i) => view(0, 0, zoom(i)), end: nothing },
};
window.open_map = async ({ xy, ids }) => {
  const begun = performance.now(), colors = new Uint8Array(ids.length * 4);
  ids.forEach((id, i) => colors.set([(id * 37) % 256, (id * 91) % 256, (id * 53) % 256, 204], i * 4));
  deck.setProps({ layers: [new ScatterplotLayer({ id: "points", radiusUnits: "pixels", getRadius: 1.15,
    data: { length: ids.length, attributes: { getPosition: { value: xy, size: 2 }, getFillColor: { value: colors, size: 4 } } } })] });
  await TWO;
  return performance.now() - begun;
};
"""
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--peers", action="store_true", help="compare with regl-scatterplot and deck.gl")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--actions", action="store_true", help="also time hover, lasso, filters and colors")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="map-frames-") as folder:
        found = pages(Path(folder), options.peers)
        measure_frames(options.points, options.rounds, found)
        if options.actions:
            measure_actions(options.points, found["SBERT Studio"])


def groups(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, 2) float32 points within about [-1, 1] and their (n,) int32 groups."""
    rng = np.random.default_rng(_SEED)
    centers, widths, shares = 0.45 * rng.normal(size=(_GROUPS, 2)), rng.uniform(0.015, 0.07, _GROUPS), rng.dirichlet(np.full(_GROUPS, 2.0))
    ids = rng.choice(_GROUPS, count, p=shares)
    return (centers[ids] + rng.normal(size=(count, 2)) * widths[ids, None]).astype("<f4"), ids.astype("<i4")


def pages(folder: Path, with_peers: bool) -> dict[str, Path]:
    """Write the page of each contestant; return their paths by name, ours first."""
    template = (theme.PAGE / "map" / "export.html").read_text(encoding="utf-8")
    for part, text in {"css": theme.css(), "scripts": theme.scripts(), "data": "{}", "start": _OURS}.items():
        template = template.replace("{{" + part + "}}", text)
    found = {"SBERT Studio": folder / "ours.html"}
    found["SBERT Studio"].write_text(template, encoding="utf-8")
    if with_peers:
        (folder / "package.json").write_text("{}")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", *_PEERS], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name, code in {"regl-scatterplot": _REGL, "deck.gl": _DECK}.items():
            (folder / f"{name}.js").write_text(code.replace("TWO", _TWO_FRAMES), encoding="utf-8")
            bundle = ["npx", "esbuild", f"{name}.js", "--bundle", "--format=iife", f"--outfile={name}.bundle.js", "--log-level=error"]
            subprocess.run(bundle, cwd=folder, check=True)
            found[name] = folder / f"{name}.html"
            found[name].write_text(f"<!doctype html><body style='margin:0'><script src='{name}.bundle.js'></script>", encoding="utf-8")
    return found


def measure_frames(points: Sequence[int], rounds: int, found: dict[str, Path]) -> None:
    from playwright.sync_api import sync_playwright

    print("| points | drawn by | open | sent to the page | drag, median | drag, 95 % | zoom, median | zoom, 95 % | load |")
    print("|---|---|---|---|---|---|---|---|---|")
    with sync_playwright() as playwright:
        for count in points:
            times: dict[tuple[str, str], list[float]] = {}
            opened: dict[str, float] = {}
            for _ in range(rounds):
                for name, path in found.items():
                    browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
                    page = browser.new_page(viewport=_VIEW)  # type: ignore[arg-type]
                    page.goto(path.as_uri())
                    opened[name] = min(opened.get(name, 1e9), _open(page, name, count))
                    page.wait_for_timeout(1500)
                    for kind in ("drag", "zoom"):
                        times.setdefault((name, kind), []).extend(page.evaluate(_FRAME_TIMES, kind))
                        page.wait_for_timeout(1000)
                    browser.close()
            for name in found:
                sent = f"{_sent(count) / 1e6:.1f} MB" if name == "SBERT Studio" else ""
                cells = [f"{np.percentile(times[name, kind], share):.0f} ms" for kind in ("drag", "zoom") for share in (50, 95)]
                print(
                    f"| {count:,} | {name} | {opened[name] / 1000:.2f} s | {sent} | {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |",
                    flush=True,
                )


def _open(page: Any, name: str, count: int) -> float:
    """Open the map in the page; return milliseconds until two frames are drawn, without the transfer."""
    decode = "Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer"
    if name == "SBERT Studio":
        text, arrays = _value(count)
        page.evaluate("() => { window.raw = {}; window.arrays = { points: Float32Array, clusters: Int16Array }; }")
        for part, array in arrays.items():
            page.evaluate(f"([name, text]) => {{ window.raw[name] = new Uint8Array({decode}); }}", [part, base64.b64encode(array).decode()])
        page.evaluate("(text) => { window.text = text; }", text)
        return float(page.evaluate("() => open_map(window.text)"))
    xy, ids = groups(count)
    page.evaluate(f"(text) => {{ window.xy = new Float32Array({decode}); }}", base64.b64encode(xy.tobytes()).decode())
    page.evaluate(f"(text) => {{ window.ids = new Int32Array({decode}); }}", base64.b64encode(ids.tobytes()).decode())
    return float(page.evaluate("() => open_map({ xy: window.xy, ids: window.ids })"))


def measure_actions(points: Sequence[int], path: Path) -> None:
    from playwright.sync_api import sync_playwright

    print("| points | action, three filters open | median | longest | processor time, median | load |\n|---|---|---|---|---|---|")
    with sync_playwright() as playwright:
        for count in points:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            page = browser.new_page(viewport=_VIEW)  # type: ignore[arg-type]
            page.goto(path.as_uri())
            _open(page, "SBERT Studio", count)
            page.evaluate("() => open_filters()")
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})  # the processor time of the page's thread, whatever the load
            for name, times in _ACTIONS.items():
                page.wait_for_timeout(1000)
                took, used = [], [_processor_time(session)]
                for number in range(times):
                    took.append(page.evaluate(_ACT, [name, number]))
                    used.append(_processor_time(session))
                cells = f"{np.median(took):.0f} ms | {max(took):.0f} ms | {1000 * np.median(np.diff(used)):.0f} ms"
                print(f"| {count:,} | {name} | {cells} | {os.getloadavg()[0]:.1f} |", flush=True)
            browser.close()


def _processor_time(session: Any) -> float:
    """Return the seconds that the page's thread has worked."""
    return next(float(one["value"]) for one in session.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")


def _sent(count: int) -> int:
    """Return the number of bytes that the page is sent for these points."""
    text, arrays = _value(count)
    return len(text) + sum(map(len, arrays.values()))


def _value(count: int) -> tuple[str, dict[str, bytes]]:
    """Return the JSON of the value that the page is sent for these points, and the bytes of the arrays that it fetches."""
    xy, ids = groups(count)
    sizes, arrays = np.bincount(ids, minlength=_GROUPS), dict[str, bytes]()

    def encode(name: str, array: np.ndarray) -> str:
        arrays[name] = array.tobytes()
        return ""

    topics = tuple(TopicInfo(number, f"topic {number}", int(sizes[number])) for number in range(_GROUPS))
    view = MapView(xy, ids.astype(np.int64), topics, "benchmark", RowReport(count, count), (), "model")
    return json.dumps(map_value(view, dict.fromkeys(("category", "amount", "date"), ()), encode=encode)), arrays


if __name__ == "__main__":
    main()
