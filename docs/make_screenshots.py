"""Shoots every tab of a running app, light and dark, wide and narrow.

``python docs/make_screenshots.py http://127.0.0.1:7860 FOLDER [--only Search Map]``
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from browser.chromium import FLAGS, find_chromium

WIDE, NARROW = (1360, 900), (375, 812)
LONG = 300_000


def similarity(page: Page, first: bool) -> None:
    page.click("#similarity-compare")
    page.wait_for_selector("#similarity-gauge .sb-big", timeout=LONG)


def several(page: Page, first: bool) -> None:
    page.get_by_role("tab", name="Several sentences").click()
    page.click("#matrix-compare")
    page.wait_for_selector("#matrix-view td", timeout=LONG)


def search(page: Page, first: bool) -> None:
    page.click("#search-support_requests")
    page.wait_for_selector("#search-hits tbody tr", timeout=LONG)


def draw(page: Page, first: bool) -> None:
    page.click("#map-draw")
    page.wait_for_selector("#map-view [data-drawn]", timeout=LONG)
    page.wait_for_timeout(1500)


def tune(page: Page, first: bool) -> None:
    page.click("#tune-scored_pairs")
    page.wait_for_selector("#tune-findings .sb-verdict", timeout=LONG)
    if first:
        page.click("#tune-start")
        page.wait_for_selector("#tune-run .sb-finished", timeout=LONG)
    page.wait_for_timeout(1200)


def evaluate(page: Page, first: bool) -> None:
    page.click("#evaluate-scored_pairs")
    page.wait_for_selector("#evaluate-scores tbody tr", timeout=LONG)


def models(page: Page, first: bool) -> None:
    page.locator("#models-cards .sb-card").nth(1 if page.locator("#models-cards .sb-card").count() > 1 else 0).click()
    page.wait_for_timeout(1500)


# What is done in each tab before its picture; ``first``: whether no model was trained yet.
ACTS: dict[str, Callable[[Page, bool], None]] = {
    "Similarity": similarity,
    "Several": several,
    "Search": search,
    "Map": draw,
    "Fine-tune": tune,
    "Evaluate": evaluate,
    "Models": models,
}


def shoot(url: str, folder: Path, *, only: list[str]) -> list[str]:
    """Take the pictures; the lines that the browser's console showed as errors."""
    complaints: list[str] = []
    trained = False
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        for scheme in ("light", "dark"):
            for shape, (width, height) in (("wide", WIDE), ("narrow", NARROW)):
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1)
                page = context.new_page()
                page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
                page.on("pageerror", lambda error: complaints.append(str(error)))
                page.goto(f"{url}/?__theme={scheme}")
                page.wait_for_selector("#similarity-compare", timeout=LONG)
                for title, act in ACTS.items():
                    if only and title not in only:
                        continue
                    if title != "Several":
                        choose_tab(page, title)
                    act(page, not trained)
                    trained = trained or title == "Fine-tune"
                    page.wait_for_timeout(500)
                    page.screenshot(path=folder / f"{title.lower()}-{scheme}-{shape}.png", full_page=True)
                context.close()
        browser.close()
    return complaints


def choose_tab(page: Page, title: str) -> None:
    """Choose a tab of the bar, from its overflow menu where the page is narrow."""
    tab = page.get_by_role("tab", name=title, exact=True).first
    if not tab.is_visible():
        page.locator(".sb-tabs .overflow-menu > button").first.click()
        page.locator(".overflow-dropdown button", has_text=title).first.click()
        return
    tab.click()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    complaints = shoot(chosen.url.rstrip("/"), chosen.folder, only=chosen.only)
    for line in complaints:
        sys.stderr.write(f"console: {line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
