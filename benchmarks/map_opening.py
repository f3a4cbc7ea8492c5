"""Seconds from a click to a drawn map of up to a million texts in the page, times of its answers, and the quality of sampled layouts.

``python benchmarks/map_opening.py [--rows N …] [--quality N] [--keep FOLDER]``

The page is served from this process and opened in Chromium with software GL, with a file of texts and columns (category, number with
blanks, date, list) whose vectors are in the cache. Measured are the seconds from the click on *Draw the map* until the points are drawn,
with the phases of the server; the same in a new process, where the rows have been placed before; and tooltips. ``--quality N`` compares the
layout of N rows from a sample with a layout of all, by the share of the 15 nearest neighbors that are kept and by trustworthiness.
``--keep FOLDER`` keeps the files for the next run. The load of the machine is printed beside the figures.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from performance_search import trustworthiness
from synthetic import SyntheticVectors, recombined, sentences

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from browser.chromium import FLAGS, find_chromium

from sbert_studio.explore import projection
from sbert_studio.explore.clusters import ClusterParams
from sbert_studio.explore.projection import ProjectionParams
from sbert_studio.explore.topics import sample_rows
from sbert_studio.explore.vector_store import store_array
from sbert_studio.services import Studio
from sbert_studio.services.map import MapService
from sbert_studio.settings import Settings
from sbert_studio.ui.app import launch

_SEED, _NEAR, _TESTED, _TOOLTIPS = 12, 15, 2_000, 20
_VIEW = {"width": 1366, "height": 657}
_LONG = 600_000  # milliseconds

# Point at a row; milliseconds until the tooltip with its text is drawn.
_HOVER = """
async (row) => {
  const plot = document.querySelector("#map-view .sb-plot"), tip = document.querySelector("#map-view .sb-tip"), begun = performance.now();
  const [clientX, clientY] = SB.map.spot(row), words = tip.textContent;
  plot.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, pointerId: 1, pointerType: "mouse", button: -1, clientX, clientY }));
  while (tip.hidden || tip.textContent === words || tip.textContent.startsWith("…")) await new Promise((done) => setTimeout(done, 4));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--quality", type=int, default=0, metavar="N", help="compare a sampled layout of N rows with a layout of all")
    parser.add_argument("--keep", type=Path, help="folder for the files, kept for the next run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="map-opening-") as temporary:
        folder = options.keep or Path(temporary)
        for rows in options.rows:
            for which in ("first opening", "next opening"):
                process = multiprocessing.get_context("spawn").Process(target=opening, args=(rows, folder / str(rows), which))
                process.start()
                process.join()
        if options.quality:
            print(quality(options.quality, folder / "quality"), flush=True)


def prepare(rows: int, folder: Path, studio: Studio) -> Path:
    """Write the file of texts and columns and the vectors of its texts, unless they are there; return its path."""
    path = folder / "texts.csv"
    if not path.is_file():
        rng, topics = np.random.default_rng(_SEED), ("billing", "delivery", "returns", "account", "quality")
        days = np.datetime64("2021-01-01") + rng.integers(0, 1400, rows)
        numbers = np.where(rng.random(rows) < 0.1, "", np.round(rng.gamma(2, 30, rows), 1).astype(str))
        categories = [topics[place] for place in rng.integers(0, len(topics), rows).tolist()]
        with path.open("w", encoding="utf-8", newline="") as target:
            writer = csv.writer(target)
            writer.writerow(["text", "category", "amount", "date", "tags"])
            texts = (f"{text} {row}" for row, text in enumerate(recombined(sentences(None), rows)))
            tags = ("; ".join(topics[place % 5] for place in range(row % 3)) for row in range(rows))
            writer.writerows(zip(texts, categories, numbers.tolist(), days.astype(str).tolist(), tags, strict=True))
    corpus = studio.data.read_corpus(path)
    model = studio.catalog.load(studio.settings.default_model)
    vectors = studio.workspace.vectors(corpus.digest, model.fingerprint)
    if not vectors.is_file():
        store_array(vectors, SyntheticVectors.around(None, services=studio).rows(rows))
    for placed in studio.workspace.projection("any").parent.glob("*.npy"):
        placed.unlink()
    return path


def opening(rows: int, folder: Path, which: str) -> None:
    """Open the map in the page of a new process, and print how long it and what follows takes."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with Studio(Settings(home=folder / "home", disk_mb=1 << 15)) as studio:
        path = folder / "texts.csv" if which == "next opening" else prepare(rows, folder, studio)
        phases = record_phases(studio.map)
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            page = browser.new_page(viewport=_VIEW)  # type: ignore[arg-type]
            page.set_default_timeout(_LONG)
            page.goto(url)
            add_file(page, path)
            phases.clear()
            start, processor, load = time.perf_counter(), time.process_time(), os.getloadavg()[0]
            page.click("#map-draw")
            page.wait_for_selector("#map-view [data-drawn]")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            end, used = time.perf_counter(), time.process_time() - processor
            print(
                f"{rows:,} rows, {which}: {end - start:.1f} s from click to drawn ({describe(phases, start, end)}), "
                f"processor time of the server {used:.1f} s on {os.cpu_count()} cores; load {load:.1f}",
                flush=True,
            )
            if which == "next opening":
                print(tooltips(page, rows), flush=True)
            browser.close()
        blocks.close()


def record_phases(service: MapService) -> list[tuple[str, float]]:
    """Record when each phase of drawing begins, and when the drawn map is handed over to the page."""
    found: list[tuple[str, float]] = []
    draw = service.draw

    def recorded(*given: Any, begin_phase: Callable[[Any], Any] | None = None, **more: Any) -> Any:
        def begin(phase: Any) -> Any:
            found.append((phase, time.perf_counter()))
            return None if begin_phase is None else begin_phase(phase)

        found.append(("events", time.perf_counter()))
        view = draw(*given, begin_phase=begin, **more)
        found.append(("value, transfer and drawing", time.perf_counter()))
        return view

    service.draw = recorded  # type: ignore[method-assign]
    return found


def describe(phases: list[tuple[str, float]], start: float, end: float) -> str:
    marks = [("before", start), *phases]
    ends = [begun for _, begun in marks[1:]] + [end]
    return ", ".join(f"{phase} {stop - begun:.1f} s" for (phase, begun), stop in zip(marks, ends, strict=True))


def add_file(page: Any, path: Path) -> None:
    """Add the file in the dialog of the data, and wait until the page is at rest, with the map tab open."""
    settled = "document.body?.getAttribute('aria-busy') === 'false'"
    page.wait_for_function(f"document.querySelector('#data-open') && {settled}")
    page.click("#data-open")
    page.wait_for_function(settled)
    page.locator("#data-file input[type=file]").set_input_files(str(path))
    page.wait_for_selector("#data-review h3:has-text('texts')")
    page.wait_for_timeout(500)
    page.wait_for_function(settled)
    page.click("#data-use")
    page.wait_for_selector("#add-data", state="hidden")
    page.wait_for_timeout(500)
    page.wait_for_function(settled)
    page.get_by_role("tab", name="Map", exact=True).first.click()
    page.wait_for_timeout(1000)
    page.wait_for_function(settled)


def tooltips(page: Any, rows: int) -> str:
    """Return how long it takes until a tooltip with the text of a point is drawn, which is fetched from the server."""
    page.wait_for_timeout(2000)
    some = np.random.default_rng(1).choice(rows, _TOOLTIPS, replace=False).tolist()
    times = [float(page.evaluate(_HOVER, row)) for row in some]
    return f"tooltip with its text: median {np.median(times):.0f} ms, longest {max(times):.0f} ms; load {os.getloadavg()[0]:.1f}"


def quality(rows: int, folder: Path) -> str:
    """Compare a sampled layout with a layout of all rows: neighbors among the vectors that are neighbors on the map, too."""
    folder.mkdir(parents=True, exist_ok=True)
    with Studio(Settings(home=folder, disk_mb=1 << 15)) as studio:
        vectors = SyntheticVectors.around(None, services=studio).rows(rows)
        texts, layouts = [f"{text} {row}" for row, text in enumerate(recombined(sentences(None), rows))], {}
        for name, limit in {"all rows": rows, f"a sample of {projection.SAMPLE_ROWS:,}": rows - 1}.items():
            projection.LARGE_MAP_ROWS = limit
            start = time.perf_counter()
            xy = draw_vectors(studio, vectors, texts)
            layouts[name] = xy, time.perf_counter() - start
    lines = ["| layout of | seconds | 15 nearest neighbors kept | trustworthiness | load |", "|---|---|---|---|---|"]
    for name, (xy, took) in layouts.items():
        kept, trust = neighbors_kept(vectors, xy), trustworthiness(vectors, xy)
        lines.append(f"| {rows:,} rows, from {name} | {took:.1f} | {kept:.1%} | {trust:.4f} | {os.getloadavg()[0]:.1f} |")
    return "\n".join(lines)


def draw_vectors(studio: Studio, vectors: np.ndarray, texts: list[str]) -> np.ndarray:
    from sbert_studio.data.corpus import Corpus
    from sbert_studio.workspace import digest_texts

    corpus = Corpus("quality", tuple(texts), {}, tuple(range(1, len(texts) + 1)), digest_texts(texts))
    path = studio.workspace.vectors(corpus.digest, studio.catalog.load(studio.settings.default_model).fingerprint)
    if not path.is_file():
        store_array(path, vectors)
    # Clusters do not change the layout; those of k-means are found sooner.
    return studio.map.draw(corpus, ProjectionParams(seed=_SEED), ClusterParams(method="kmeans", count=20, seed=_SEED)).points


def neighbors_kept(vectors: np.ndarray, xy: np.ndarray) -> float:
    """Return the mean share of the 15 nearest vectors that are among the 15 nearest points, over 2,000 rows that are not in the sample."""
    import faiss

    placed = np.setdiff1d(np.arange(len(vectors)), sample_rows(len(vectors), projection.SAMPLE_ROWS))
    rows = np.random.default_rng(0).choice(placed, min(_TESTED, len(placed)), replace=False)
    found = [faiss.knn(np.ascontiguousarray(space[rows]), np.ascontiguousarray(space), _NEAR + 1)[1] for space in (vectors, xy)]
    return float(np.mean([len((set(a.tolist()) & set(b.tolist())) - {row}) / _NEAR for row, a, b in zip(rows, *found, strict=True)]))


if __name__ == "__main__":
    main()
