"""Similarity: keys between tabs, help for terms, two texts word by word, and a matrix of several sentences."""

from __future__ import annotations

import csv
import io
import re

from playwright.sync_api import expect

from .pages import App

MODEL = "all-MiniLM-L6-v2"
WORDS = ("parcel", "bread", "rain")
LINES = [f"{word} number {number}" for number in range(8) for word in WORDS]

# Labels that hold a term's mark still name their own field.
_MARKED = "[...document.querySelectorAll('label')].filter((label) => label.querySelector('.sb-term') && label.control)"


def test_texts_are_compared_by_pointer_and_keys(app: App) -> None:
    move_between_tabs_by_keys(app)
    compare_two_texts_word_by_word(app)
    read_the_help_of_a_term(app)
    compare_several_sentences(app)
    read_the_help_of_a_setting(app)


def move_between_tabs_by_keys(app: App) -> None:
    """Arrow keys, Home and End open the next tab, and the focus goes with it."""
    page = app.page

    def tab(title: str) -> None:
        expect(page.get_by_role("tab", name=title, exact=True).first).to_be_focused()

    page.get_by_role("tab", name="Similarity", exact=True).first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#search-go")).to_be_visible()
    tab("Search")
    page.keyboard.press("End")
    tab(app.tabs[-1])
    expect(page.get_by_role("tab", name=app.tabs[-1], exact=True).first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#similarity-compare")).to_be_visible()
    tab("Similarity")


def compare_two_texts_word_by_word(app: App) -> None:
    """A word that has the focus is joined to the one in the other text that it is most like."""
    page, similarity = app.page, app.similarity
    app.choose_model(MODEL)
    app.fill("#similarity-a", "Where is my parcel <b>now</b>?")
    app.fill("#similarity-b", "The package never came to me.")
    similarity.compare()
    assert 0 < float(similarity.score.inner_text()) < 1
    expect(similarity.gauge).to_contain_text("everyday sentences")
    expect(similarity.texts.first).to_have_text("Where is my parcel <b>now</b>?")
    similarity.words.filter(has_text="parcel").focus()
    expect(similarity.word_facts).to_have_text(re.compile("^“parcel” is .* “package”"))
    expect(similarity.chosen_words).to_have_text(["parcel", "package"])
    expect(page.locator("#similarity-words path")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(similarity.word_facts).not_to_contain_text("“parcel” is")
    expect(similarity.chosen_words.first).not_to_have_text("parcel")
    app.basket.mark(similarity.gauge, together=True)


def read_the_help_of_a_term(app: App) -> None:
    """A term explains itself on a tap; Escape and a tap elsewhere close the help, and on a phone it fits."""
    page, box = app.page, app.page.locator(".sb-help")
    mark = app.similarity.gauge.locator(".sb-facts .sb-term").first
    mark.click()
    expect(box).to_have_text(re.compile(r"\w+"))
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(mark).to_be_focused()
    app.resize(390, 800)
    mark.click()
    place = box.bounding_box()
    assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= 390
    page.mouse.click(5, 5)
    expect(box).to_have_count(0)
    app.resize(1280)


def compare_several_sentences(app: App) -> None:
    """Few sentences are a table; many are a picture that the arrow keys read, and a file that holds all of it."""
    page, matrix = app.page, app.similarity.matrix
    app.similarity.open_part("Several sentences")
    app.ask(page.locator("#matrix-compare"))
    expect(matrix.locator("tbody td")).to_have_count(25)
    app.fill("#matrix-lines", "\n".join(LINES))
    app.ask(page.locator("#matrix-compare"))
    canvas = matrix.locator("canvas")
    canvas.focus()
    before = matrix.locator(".sb-matrix-told").inner_text()
    page.keyboard.press("ArrowRight")
    facts = matrix.locator(".sb-matrix-told").inner_text()
    assert facts != before
    assert len([line for line in LINES if line in facts]) >= 2
    expect(matrix.locator(".sb-matrix-near li")).to_have_count(8)

    name, content = app.download(matrix.get_by_role("button", name="CSV"))
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert name == "similarities.csv"
    assert len(rows) == 25
    assert sorted(rows[0][1:]) == sorted(LINES)
    assert all(float(row[place]) > 0.999 for place, row in enumerate(rows) if place)
    assert len({row[0].split()[0] for row in rows[1:9]}) == 1  # similar ones stand side by side
    for width in (1280, 390):
        app.expect_fits(width)


def read_the_help_of_a_setting(app: App) -> None:
    """Gradio's own fields have help too, by pointer and key, and keep their names; Gradio's footer is hidden."""
    page, box = app.page, app.page.locator(".sb-help")
    app.map.open()
    page.click("#map-settings > button")
    page.locator("#map-neighbours .sb-term").click()
    expect(box).to_contain_text("nearest texts")
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    page.keyboard.press("Enter")
    expect(box).to_be_visible()
    assert page.evaluate(f"{_MARKED}.length") > 0
    assert page.evaluate(f"{_MARKED}.every((label) => label.control.matches('input, textarea, select'))")
    expect(page.locator("footer")).to_be_hidden()
