"""From the choice of a file to a coloured, labelled map, in Chromium: for the first time, and when the visitor comes back.

Run: python benchmarks/first_map.py ../shared/data/banking77/train.csv [--visits 2]
The page is opened in a process of its own with an empty home, so that the first visit makes every vector. The clock starts when the
file is handed over (a reload: when the link is followed) and stops when every point is drawn and its clusters are named.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from page import page
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))  # for where Chromium is

from browser.chromium import FLAGS, find_chromium

_WAIT = 600_000
_DRAWN = """() => document.querySelector('#map-view [data-drawn]') && document.querySelectorAll('#map-view .sb-legend button').length > 2"""
_FILE = "#map-file input[type=file]"


def upload(tab: Any, address: str, path: Path) -> float:
    """Seconds until the map of a file that is handed over in the Map tab."""
    tab.goto(f"{address}/?tab=map")
    tab.get_by_role("button", name="Choose texts of your own").click()
    tab.wait_for_selector(_FILE, state="attached")
    tab.wait_for_timeout(1000)
    start = time.perf_counter()
    tab.set_input_files(_FILE, path)
    tab.wait_for_function(_DRAWN)
    return time.perf_counter() - start


def follow(tab: Any, link: str) -> float:
    """Seconds until the map to which a link leads, the page's own load included."""
    start = time.perf_counter()
    tab.goto(link)
    tab.wait_for_function(_DRAWN)
    return time.perf_counter() - start


def main() -> int:
    """Print the seconds of each visit; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--visits", type=int, default=3, help="how often the visitor comes back")
    given = parser.parse_args()
    with page() as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        tab = browser.new_page(viewport={"width": 1360, "height": 900})
        tab.set_default_timeout(_WAIT)
        print(f"first: {upload(tab, address, given.file):.1f} s", flush=True)
        tab.wait_for_function("location.search.includes('drawn=1')")
        link = tab.url
        for _ in range(given.visits):
            print(f"again, by its link: {follow(tab, link):.1f} s", flush=True)
        tab.goto("about:blank")
        print(f"again, by hand: {upload(tab, address, given.file):.1f} s", flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
