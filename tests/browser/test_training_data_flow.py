"""A file of examples is fixed, converted, downloaded and brought back; one that can be read in two ways is asked about."""

from __future__ import annotations

import json
import random

from playwright.sync_api import expect

from .data import WORDS, csv_text
from .pages import App

HOSTILE = "<img src=x onerror=alert(1)> ${alert(2)}"


def pairs_with_a_fault() -> str:
    """Forty scored pairs, and a row with one text only."""
    rows = [(f"text {number} of the one kind", f"words {number} of the other", number % 6) for number in range(40)]
    return csv_text(("sentence1", "sentence2", "score"), [*rows, ("only one side", "", 3)])


def doubtful_pairs() -> str:
    """Pairs with labels of no language that stand beside their texts by chance, a hostile text among them."""
    draw = random.Random(3)
    labels = ["glorp", "blarg"] * 40
    draw.shuffle(labels)
    rows = [(" ".join(draw.sample(WORDS, 5)), f"{' '.join(draw.sample(WORDS, 4))} {HOSTILE}", label) for label in labels]
    return csv_text(("left", "right", "tag"), rows)


def test_a_file_of_examples_is_fixed_converted_and_asked_about(app: App) -> None:
    app.fine_tune.open()
    fix_convert_and_download(app)
    undo(app)
    change_the_scale(app)
    answer_a_question(app)
    make_pairs_of_documents(app)


def fix_convert_and_download(app: App) -> None:
    form, page = app.fine_tune, app.page
    form.upload("mine.csv", pairs_with_a_fault())
    expect(form.verdict).to_contain_text("41 rows")
    expect(form.at("#tune-fixed")).to_be_hidden()
    fix = page.get_by_role("button", name="Remove 1 row from the file")
    fix.click()
    expect(form.verdict).to_contain_text("40 rows")
    expect(form.changes).to_contain_text("Remove 1 row")
    form.at("#tune-findings .sb-offers button").filter(has_text="0/1 labels").click()
    expect(form.verdict).to_contain_text("Pairs with a label")
    expect(form.changes).to_contain_text("Remove 1 row")
    expect(form.changes).to_contain_text("0/1 labels")
    expect(form.command).to_contain_text("mine-fixed.csv")
    name, content = app.download(form.at("#tune-fixed"))
    header, *rows = content.decode().splitlines()
    assert name == "mine-fixed.csv" and header.endswith("label") and len(rows) == 40


def undo(app: App) -> None:
    form = app.fine_tune
    app.page.get_by_role("button", name="Undo", exact=True).click()
    expect(form.verdict).to_contain_text("41 rows")
    expect(form.changes).to_have_count(0)


def change_the_scale(app: App) -> None:
    """A number counts once Enter is pressed; one that is refused can be put right."""
    form = app.fine_tune

    def highest(score: str) -> None:
        app.settle()
        app.open_section("#tune-high")
        form.at("#tune-high input").fill(score)
        form.at("#tune-high input").press("Enter")

    highest("10")
    expect(form.verdict).to_contain_text("divided by 10")
    expect(form.command).to_contain_text("--scale 0-10")
    highest("0")
    expect(form.at("#tune-findings .sb-error")).to_contain_text("is empty")
    highest("20")
    expect(form.verdict).to_contain_text("divided by 20")


def answer_a_question(app: App) -> None:
    """The question stands above Start, with rows of the file as text; Start waits for the answer, which is one click."""
    form = app.fine_tune
    questions = form.at("#tune-questions")
    form.upload("doubtful.csv", doubtful_pairs())
    expect(questions.locator(".sb-question")).to_be_visible()
    for text in ("glorp", "blarg", HOSTILE):
        expect(questions).to_contain_text(text)
    app.expect_nothing_ran()
    above, below = questions.bounding_box(), form.at("#tune-start").bounding_box()
    assert above is not None and below is not None and above["y"] + above["height"] <= below["y"]
    form.set("epochs", "1")
    earlier = form.run_name.all_inner_texts()  # the newest run of another test, if any
    form.start()
    expect(app.toast.filter(has_text="uestion is unanswered")).to_be_visible()
    app.settle()
    assert form.run_name.all_inner_texts() == earlier
    questions.get_by_role("button", name="the other way round").click()
    expect(questions.locator(".sb-question")).to_be_hidden()
    expect(form.command).to_contain_text("--order")


def make_pairs_of_documents(app: App) -> None:
    """Titles and texts lead to pairs, which become the examples, are shown and downloaded, and are still there after a reload."""
    form, steps = app.fine_tune, app.page.locator("#guide-steps")
    draw = random.Random(5)
    texts = [[f"It is about {' '.join(draw.sample(WORDS, 6))}." for _ in range(6)] for _ in range(12)]
    rows = [{"title": f"All {WORDS[number]} here", "text": " ".join(text)} for number, text in enumerate(texts)]
    expect(steps).to_be_hidden()
    form.upload("pages.jsonl", "\n".join(map(json.dumps, rows)))
    expect(steps).to_contain_text("You have 12 documents and no pairs")
    app.settle()
    elsewhere = app.page.context.new_page()
    elsewhere.goto(app.page.url)
    expect(elsewhere.locator("#guide-steps")).to_contain_text("You have 12 documents and no pairs")
    steps.get_by_role("button", name="Make pairs").click()
    expect(form.caption).to_contain_text("pages pairs.jsonl")
    expect(elsewhere.locator("#guide-steps").get_by_role("button", name="Make again")).to_be_visible()
    elsewhere.close()
    expect(form.verdict).to_contain_text("Pairs that belong together")
    app.settle()
    steps.get_by_role("button", name="Show").click()
    expect(form.at("#guide-inspected .sb-note")).to_contain_text("kept")
    name, content = app.download(form.at("#guide-pairs-file"))
    assert name == "pages pairs.jsonl" and all({"query", "document", "origin"} <= set(json.loads(line)) for line in content.splitlines())
    app.reload()
    form.open()
    expect(form.caption).to_contain_text("pages pairs.jsonl")
    expect(steps.get_by_role("button", name="Make again")).to_be_visible()
