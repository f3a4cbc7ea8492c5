"""Ten of the layouts of layouts.py, chosen on the page as a person would: by mouse, in a real Chromium.

    python benchmarks/clicked.py DATA [NAME ...]

DATA is as in layouts.py. Each file is given to Fine-tune of a page of its own; where a question stands above Start, the answer that its
owner would give is clicked. Then what the page shows, kind, text columns, target and scale, is compared with what is meant. Prints a line
a layout; 1 where one is shown as something else, or no answer fits.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for where Chromium is

from browser.chromium import FLAGS, find_chromium
from layouts import Layout, collected, meant, write
from page import page
from playwright.sync_api import Page, sync_playwright

from sbert_studio.data.choices.column_choices import ColumnChoices, read_roles
from sbert_studio.data.evidence.similarity import similar_by
from sbert_studio.data.questions import Option
from sbert_studio.data.tables import read_table
from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.ui.panels.tuning.drafts import KIND_WORDS
from sbert_studio.workspace import Workspace

TEN = (
    "german excel, decimal comma",
    "chinese gb18030",
    "inference in korean, swapped",
    "second finnish, label first",
    "second hub text and number",
    "third triplet with ids between",
    "third Japanese circle and cross",
    "fourth polish comma",
    "fifth danish rewordings",
    "fifth post-editing",
)
_MOST_QUESTIONS, _WAIT = 3, 120_000
_ANSWERED = "before => document.querySelector('#tune-questions .sb-view:not([hidden]) .sb-question')?.innerText !== before"
_OPEN = "#tune-questions .sb-view:not([hidden]) .sb-question"


def answer(layout: Layout, path: Path, asked: ColumnChoices, similar: Any) -> tuple[ColumnChoices, Option] | None:
    """What the owner would answer to the first open question; ``None`` where nothing is asked, or no answer fits."""
    found = _read(path, asked, similar)
    for option in found.questions[0].options if found.questions else ():
        now = _after(asked, option)
        try:
            then = _read(path, now, similar)
        except StudioError:
            continue
        if meant(layout, then.roles) or (then.questions and answer(layout, path, now, similar)):
            return now, option
    return None


def _after(asked: ColumnChoices, option: Option) -> ColumnChoices:
    known = {field.name for field in fields(ColumnChoices)}
    chosen = {name: tuple(value) if isinstance(value, list) else value for name, value in option.choice.items() if name in known}
    return replace(asked, **chosen)


def _read(path: Path, asked: ColumnChoices, similar: Any) -> Any:
    table = read_table(path, encoding=asked.encoding, delimiter=asked.delimiter, header=asked.header)
    return read_roles(table, asked, (), similar)


def clicked(browser: Page, layout: Layout, path: Path, similar: Any) -> tuple[bool, str]:
    """Whether the page shows the file as it is meant, after at most three answers, and what it showed."""
    browser.get_by_role("tab", name="Fine-tune", exact=True).first.click()
    browser.wait_for_selector("#tune-file input[type=file]", state="attached")
    browser.set_input_files("#tune-file input[type=file]", path)
    browser.wait_for_selector("#tune-findings .sb-verdict, #tune-questions .sb-question")
    asked, answers = ColumnChoices(), list[str]()
    for _ in range(_MOST_QUESTIONS):
        if not browser.locator(_OPEN).count():
            break
        given = answer(layout, path, asked, similar)
        if given is None:
            return False, f"no answer fits: {browser.inner_text('#tune-questions')}"
        before = browser.inner_text("#tune-questions .sb-question")
        asked, option = given
        browser.locator("#tune-questions button", has_text=option.answer).first.click()
        browser.wait_for_function(_ANSWERED, arg=before)
        answers.append(option.answer)
    shown = _shown(browser)
    said = f"{shown}{'; clicked ' + ' and '.join(answers) if answers else '; nothing asked'}"
    return _fits(layout, shown) and not browser.locator(_OPEN).count(), said


def _shown(browser: Page) -> dict[str, Any]:
    def value(name: str) -> str:
        field = browser.locator(f"#tune-{name} input").first
        return field.input_value() if field.count() and field.is_visible() else ""

    browser.wait_for_function("document.querySelector('#tune-kind input').value !== ''")
    columns = [words.strip() for words in browser.locator("#tune-columns .token").all_inner_texts()]
    return {"kind": value("kind"), "texts": columns, "target": value("target"), "low": value("low"), "high": value("high")}


def _fits(layout: Layout, shown: dict[str, Any]) -> bool:
    texts: Sequence[str] = layout.texts
    same = list(texts) == shown["texts"] or (layout.labels is None and layout.kind.endswith("pairs") and set(texts) == set(shown["texts"]))
    scale = layout.scale is None or layout.scale == (float(shown["low"]), float(shown["high"]))
    return shown["kind"] == KIND_WORDS[layout.kind] and same and (layout.target or "") == shown["target"] and scale  # type: ignore[index]


def main(arguments: list[str]) -> int:
    """Print a line a layout."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    data, names = Path(arguments[0]), tuple(arguments[1:]) or TEN
    right = 0
    with tempfile.TemporaryDirectory() as folder, page() as (address, _), sync_playwright() as playwright:
        similar = similar_by(Catalog(Workspace(Path(folder) / "home"), device="cpu").load("all-MiniLM-L6-v2").encode)
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        chosen = [layout for layout in collected() if layout.name in names]
        for layout in chosen:
            visitor = chromium.new_context(viewport={"width": 1360, "height": 900}).new_page()
            visitor.set_default_timeout(_WAIT)
            visitor.goto(address)
            visitor.wait_for_selector("#similarity-compare")
            fits, said = clicked(visitor, layout, write(layout, data, Path(folder)), similar)
            visitor.context.close()
            right += fits
            print(f"| {layout.name} | {'right' if fits else 'WRONG'} | {said} |", flush=True)
        chromium.close()
    print(f"{right} of {len(chosen)} right")
    return 0 if right == len(chosen) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
