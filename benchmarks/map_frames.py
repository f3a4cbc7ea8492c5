"""Frames a second while a map is dragged, in Chromium: of so many points in so many clusters, flat and in space.

Run: python benchmarks/map_frames.py [--points 10003 100000] [--seconds 4]
The map is an exported file, so that nothing but its drawing is measured. Printed: the middle frame and the slowest of twenty.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from sbert_studio.services.results import ClusterInfo, MapView
from sbert_studio.ui.panels.mapping.saving import map_html

sys.path.insert(0, str(Path(__file__).parents[1]))  # for where Chromium is

from browser.chromium import FLAGS, find_chromium

_FRAMES = """() => { window.frames_ = []; let last = performance.now();
  const look = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(look); }; requestAnimationFrame(look); }"""


def cloud(points: int, dims: int, clusters: int = 60) -> MapView:
    """Points around so many middles, as UMAP leaves them."""
    rng = np.random.default_rng(0)
    ids = rng.integers(0, clusters, points)
    places = (rng.normal(size=(clusters, dims)) * 10)[ids] + rng.normal(size=(points, dims))
    infos = tuple(ClusterInfo(number, f"topic {number} · words", int((ids == number).sum())) for number in range(clusters))
    return MapView(places.astype(np.float32), ids, infos, f"{points}")


def frames(page: Any, path: Path, seconds: float) -> np.ndarray:
    """The milliseconds of each frame while the map is dragged to and fro."""
    page.goto(path.as_uri())
    page.wait_for_selector("[data-drawn]")
    page.wait_for_timeout(1500)
    box = page.locator(".sb-plot").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_FRAMES)
    end = page.evaluate("performance.now()") + seconds * 1000
    step = 0
    while page.evaluate("performance.now()") < end:
        step += 1
        page.mouse.move(x + 150 * np.sin(step / 9), y + 90 * np.cos(step / 7))
    found = np.array(page.evaluate("window.frames_")[1:])
    page.mouse.up()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, nargs="*", default=[10_003, 100_000])
    parser.add_argument("--seconds", type=float, default=4.0)
    chosen = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        for points in chosen.points:
            for dims in (2, 3):
                path = map_html(cloud(points, dims), [f"text {row}" for row in range(points)], {}, Path(folder) / f"{points}-{dims}.html")
                took = frames(page, path, chosen.seconds)
                slow = float(np.percentile(took, 95))
                rates = f"middle {1000 / np.median(took):5.1f}   95th percentile {1000 / slow:5.1f} frames a second"
                print(f"{points:>9,} points  {dims}-D   {rates}")
        browser.close()


if __name__ == "__main__":
    main()
