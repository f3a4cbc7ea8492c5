"""Frame times of the map in Chromium with software GL, while it is dragged and zoomed, and the seconds until it is open.

``python benchmarks/map_frames.py [--points N …] [--peers] [--vectors N …] [--rounds N]``

Each round moves the map for 150 frames, or 15 seconds: every frame asks for the next, one step further, so that the time between two
frames is the time that one takes. With ``--peers``, regl-scatterplot and deck.gl draw the same points in the same browser, by turns;
npm installs them into a temporary folder. Points lie in 60 groups of different size and density. With ``--vectors``, the server's part
is measured too: from vectors in the cache to the value that is sent to the page, without the map's earlier results. The load of the
machine is printed beside the figures, since others' work on it makes frames later.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from synthetic import SyntheticVectors, recombined, sentences

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from browser.chromium import FLAGS, find_chromium

from sbert_studio.data.corpus import Corpus
from sbert_studio.data.row_report import RowReport
from sbert_studio.explore.projection import ProjectionParams
from sbert_studio.explore.vector_store import store_array
from sbert_studio.services import Studio
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.settings import Settings
from sbert_studio.ui import theme
from sbert_studio.ui.map_value import map_value
from sbert_studio.workspace import digest_texts

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
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_OURS = (
    _WAY
    + """
const scene = SB.scene(document.getElementById("map"), {
  textOf: () => "text", items: () => [], near: async () => ({ rows: [] }), colour() {}, column: async () => ({ error: "" }),
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
window.open_map = async (text) => {
  const begun = performance.now();
  scene.draw(JSON.parse(text));
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
    parser.add_argument("--vectors", type=int, nargs="*", default=[], help="rows of which to measure the server's part")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="map-frames-") as folder:
        for rows in options.vectors:
            print(opening(rows, Path(folder)), flush=True)
        if options.points:
            measure_frames(options.points, options.rounds, pages(Path(folder), options.peers))


def opening(rows: int, folder: Path) -> str:
    """Measure the server's part of opening a map: from vectors in the cache to the JSON of the page's value."""
    texts = [f"{text} {row}" for row, text in enumerate(recombined(sentences(None), rows))]
    corpus = Corpus("benchmark", tuple(texts), {}, tuple(range(1, rows + 1)), digest_texts(texts))
    with Studio(Settings(home=folder / str(rows), disk_mb=1 << 15)) as studio:
        model = studio.catalog.load(studio.settings.default_model)
        store_array(studio.workspace.vectors(corpus.digest, model.fingerprint), SyntheticVectors.around(None, services=studio).rows(rows))
        phases: list[tuple[str, float]] = []

        def begin(phase: str) -> Any:
            phases.append((phase, time.perf_counter()))
            return lambda *_: None

        start, before = time.perf_counter(), time.process_time()
        view = studio.map.draw(corpus, ProjectionParams(seed=_SEED), begin_phase=begin)
        drawn = time.perf_counter()
        size = len(json.dumps(map_value(view, {})))
        end, used = time.perf_counter(), time.process_time() - before
    ends = [begun for _, begun in phases[1:]] + [drawn]
    parts = ", ".join(f"{phase} {stop - begun:.1f} s" for (phase, begun), stop in zip(phases, ends, strict=True))
    return (
        f"{rows:,} vectors to a map: {end - start:.1f} s ({parts}, value {end - drawn:.1f} s), processor time {used:.1f} s on "
        f"{os.cpu_count()} cores, {size / 1e6:.1f} MB sent; load {os.getloadavg()[0]:.1f}"
    )


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
                sent = f"{len(_value(count)) / 1e6:.1f} MB" if name == "SBERT Studio" else ""
                cells = [f"{np.percentile(times[name, kind], share):.0f} ms" for kind in ("drag", "zoom") for share in (50, 95)]
                print(
                    f"| {count:,} | {name} | {opened[name] / 1000:.2f} s | {sent} | {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |",
                    flush=True,
                )


def _open(page: Any, name: str, count: int) -> float:
    """Open the map in the page; return milliseconds until two frames are drawn, without the transfer."""
    if name == "SBERT Studio":
        page.evaluate("(text) => { window.text = text; }", _value(count))
        return float(page.evaluate("() => open_map(window.text)"))
    xy, ids = groups(count)
    decode = "Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer"
    page.evaluate(f"(text) => {{ window.xy = new Float32Array({decode}); }}", base64.b64encode(xy.tobytes()).decode())
    page.evaluate(f"(text) => {{ window.ids = new Int32Array({decode}); }}", base64.b64encode(ids.tobytes()).decode())
    return float(page.evaluate("() => open_map({ xy: window.xy, ids: window.ids })"))


def _value(count: int) -> str:
    """Return the JSON of the value that the page is sent for these points."""
    xy, ids = groups(count)
    sizes = np.bincount(ids, minlength=_GROUPS)
    topics = tuple(TopicInfo(number, f"topic {number}", int(sizes[number])) for number in range(_GROUPS))
    return json.dumps(map_value(MapView(xy, ids.astype(np.int64), topics, "benchmark", RowReport(count, count), (), "model"), {}))


if __name__ == "__main__":
    main()
