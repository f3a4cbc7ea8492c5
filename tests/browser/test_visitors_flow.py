"""Two visitors at the same time: what one sends is shown as text, and the other sees nothing of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from .data import corpus_csv, csv_text
from .pages import App

HOSTILE = [
    "<img src=x onerror=alert(1)>", "${alert(1)}", "`${alert(1)}`", "=cmd|' /C calc'!A1", "../../etc/passwd", "{{constructor}}",
    "</script><script>alert(1)</script>",
]  # fmt: skip
NAME = "<img src=x onerror=alert(1)> ${alert(1)}.csv"


def hostile_csv(columns: list[str]) -> str:
    """Four rows for each hostile text, in every column but the last, which is a score."""
    *texts, _ = columns
    rows = [
        [*(f"{text} number {number} {side}" for side in range(len(texts))), place / 2]
        for number in range(4)
        for place, text in enumerate(HOSTILE)
    ]
    return csv_text(columns, rows)


def test_visitors_are_apart_and_what_they_send_is_text(open_app: Callable[..., App]) -> None:
    first, second = open_app(), open_app()
    search_their_own_corpora(first, second)
    see_hostile_texts_in_search_and_map(first)
    see_hostile_texts_in_similarity(first)
    see_hostile_texts_in_fine_tune(second)


def search_their_own_corpora(first: App, second: App) -> None:
    words = {first: "apricot", second: "zeppelin"}
    for app, word in words.items():
        app.search.open()
        app.add_data(f"{word}.csv", corpus_csv().replace("card", word))
    for app, other in ((first, second), (second, first)):
        app.search.search(f"{words[app]} {words[other]}")
        expect(app.search.hits).to_contain_text(words[app])
        shown = app.page.inner_text("body").replace(f"{words[app]} {words[other]}", "")
        assert words[other] not in shown


def see_hostile_texts_in_search_and_map(app: App) -> None:
    app.add_data(NAME, hostile_csv(["text", "<img src=x onerror=alert(2)>", "${alert(3)}"]))
    expect(app.corpus_name).to_have_value(re.compile("onerror"))  # Gradio takes some signs out of names of files
    app.search.search(HOSTILE[0])
    for text in (f"{HOSTILE[0]} number", "${alert(3)}", "<img src=x onerror=alert(2)>"):
        expect(app.search.hits).to_contain_text(text)
    app.expect_nothing_ran()
    app.map.open()
    app.page.click("#map-draw")
    expect(app.page.locator("#map-view [data-drawn]")).to_be_visible()
    app.page.select_option("#map-view .sb-map-colour", index=1)
    expect(app.page.locator("#map-view .sb-legend")).to_contain_text("number")
    app.expect_nothing_ran()


def see_hostile_texts_in_similarity(app: App) -> None:
    app.similarity.open()
    app.similarity.open_part("Several sentences")
    app.fill("#matrix-lines", "\n".join(HOSTILE))
    app.page.click("#matrix-compare")
    expect(app.page.locator("#matrix-view")).to_contain_text("${alert(1)}")
    app.similarity.open_part("Pairs of your data")
    expect(app.page.locator("#pairs-worst")).to_contain_text("${alert(3)}")
    app.expect_nothing_ran()


def see_hostile_texts_in_fine_tune(app: App) -> None:
    app.fine_tune.open()
    app.add_data(NAME, hostile_csv(["sentence1", "sentence2", "${alert(4)}", "<img src=x onerror=alert(5)>", "score"]))
    expect(app.page.locator("#tune-findings .sb-verdict")).to_be_visible()
    for text in ("${alert(4)}", f"{HOSTILE[0]} number 0", HOSTILE[3]):
        expect(app.page.locator("#tune-preview")).to_contain_text(text)
    app.expect_nothing_ran()
