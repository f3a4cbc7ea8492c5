"""Take pictures of every tab of a running app: light and dark, laptop and phone, English and Chinese.

``python docs/make_screenshots.py http://127.0.0.1:7860 FOLDER [--only Search Map]``; with ``--readme``, only those of the README, into
docs/images. Start the app with an empty ``SBERT_STUDIO_HOME``. Prints errors of the browser's console and pages that are wider than the
window, and exits with 1 where there are any.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from browser.chromium import FLAGS, find_chromium
from browser.pages.app import App

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"laptop": (1366, 657), "wide": (1360, 900), "phone": (390, 844), "narrow": (360, 740)}
LANGUAGES = {"en": "en-US", "zh": "zh-CN"}
LONG = 300_000


def similarity(app: App) -> None:
    app.page.wait_for_selector("#similarity-gauge .sb-big", timeout=LONG)


def search(app: App) -> None:
    app.page.wait_for_selector("#search-hits tbody tr", timeout=LONG)


def draw(app: App) -> None:
    app.page.wait_for_selector("#map-view [data-drawn]", timeout=LONG)
    app.page.wait_for_timeout(1500)  # the points move to their places


def fine_tune(app: App) -> None:
    app.page.wait_for_selector("#tune-findings .sb-verdict, #tune-preview", timeout=LONG)
    app.page.wait_for_timeout(1000)


def evaluate(app: App) -> None:
    app.page.wait_for_selector("#evaluate-scores tbody tr", timeout=LONG)


def models(app: App) -> None:
    app.page.locator("#models-cards .sb-card").first.click()
    app.page.wait_for_timeout(1500)


TABS: dict[str, Callable[[App], None]] = {
    "Similarity": similarity,
    "Search": search,
    "Map": draw,
    "Fine-tune": fine_tune,
    "Evaluate": evaluate,
    "Models": models,
}
"""Title of each tab, and a wait for its first result."""


def open_app(browser: Browser, url: str, size: str, scheme: str, language: str) -> App:
    """Open the page in a browser context of its own."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, locale=LANGUAGES[language])  # type: ignore[arg-type]
    app = App(context.new_page(), url)
    app.page.set_default_timeout(LONG)
    app.open(f"?__theme={scheme}")
    return app


def take(browser: Browser, url: str, folder: Path, tabs: list[str], sizes: list[str], languages: list[str]) -> list[str]:
    """Take a picture of every tab in every size, scheme and language; return what was wrong."""
    complaints: list[str] = []
    for language in languages:
        for scheme in ("light", "dark"):
            for size in sizes:
                app = open_app(browser, url, size, scheme, language)
                for place, (title, wait) in enumerate(TABS.items()):
                    if tabs and title not in tabs:
                        continue
                    app.tab_bar.get_by_role("tab").nth(place).click()
                    wait(app)
                    app.settle()
                    name = f"{title.lower()}-{size}-{scheme}-{language}"
                    app.page.screenshot(path=folder / f"{name}.png", full_page=size in {"phone", "narrow"})
                    width = app.page.evaluate("document.documentElement.scrollWidth")
                    if width > SIZES[size][0]:
                        complaints.append(f"{name}: the page is {width} px wide")
                complaints += [f"{size} {scheme} {language}: {line}" for line in app.errors]
                app.page.context.close()
    return complaints


def take_readme(browser: Browser, url: str) -> list[str]:
    """Take the pictures of the README."""
    app = open_app(browser, url, "wide", "light", "en")
    app.open_tab("Map")
    draw(app)
    app.page.screenshot(path=ROOT / "docs/images/map-light.png")
    app.open_tab("Fine-tune")
    app.fine_tune.choose_sample("Scored pairs")
    app.fine_tune.start()
    expect(app.page.locator("#tune-run .sb-finished").first).to_be_visible(timeout=LONG)
    app.close_toasts()
    app.page.screenshot(path=ROOT / "docs/images/tune-light.png")
    return app.errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=[], choices=list(TABS), metavar="TAB")
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--languages", nargs="*", default=list(LANGUAGES), choices=list(LANGUAGES))
    parser.add_argument("--readme", action="store_true")
    chosen = parser.parse_args()
    if chosen.folder is None and not chosen.readme:
        parser.error("a folder is needed, unless --readme is given")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        if chosen.readme:
            complaints = take_readme(browser, chosen.url.rstrip("/"))
        else:
            chosen.folder.mkdir(parents=True, exist_ok=True)
            complaints = take(browser, chosen.url.rstrip("/"), chosen.folder, chosen.only, chosen.sizes, chosen.languages)
        browser.close()
    for line in complaints:
        sys.stderr.write(f"{line}\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
