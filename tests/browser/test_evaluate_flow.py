"""Two models scored on a file: the verdict, the sorted table, the chart, the leaderboard and its file, and a reload."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from .data import WORDS_FOR_PAIRS, scored_pairs_csv
from .pages import App
from .tiny import MODEL_NAME

BUNDLED = MODEL_NAME
STATIC = WORDS_FOR_PAIRS
FILE = "small pairs.csv"
_SEEN_PLACEHOLDERS = """() => {
  const job = document.querySelector("#evaluate-job .sb-view"), note = document.createElement("p"), bar = document.createElement("i");
  [note.className, bar.className] = ["sb-empty", "sb-live"];
  document.querySelector("#evaluate-scores .sb-view").append(note);
  job.append(bar);
  const seen = [false, true].map((hidden) => { job.hidden = hidden; return note.checkVisibility(); });
  note.remove();
  bar.remove();
  return seen;
}"""
STALE = re.compile("sb-made-stale")


def test_two_models_are_scored_sorted_ranked_and_found_after_a_reload(app: App) -> None:
    app.models.train_embeddings(STATIC, FILE, scored_pairs_csv(), dimensions=16)
    find_the_embeddings_after_a_reload(app)
    export_the_embeddings(app)
    app.evaluate.open()
    score_two_models(app)
    sort_the_table(app)
    change_the_form(app)
    see_the_leaderboard(app)
    come_back_after_a_reload(app)
    score_them_again(app)
    remove_from_the_leaderboard(app)
    keep_names_in_the_chart_apart(app)


def find_the_embeddings_after_a_reload(app: App) -> None:
    app.reload()
    app.models.open_embeddings()
    expect(app.models.embeddings_job.locator(".sb-finished")).to_be_visible()
    app.page.click("#fit-use")
    expect(app.model_name).to_have_value(STATIC)


def export_the_embeddings(app: App) -> None:
    """A format that cannot represent them says why; another is verified and downloaded."""
    models, state = app.models, app.page.locator("#models-export-job")
    models.select(STATIC)
    models.start_export("GGUF")
    expect(state.locator(".sb-alert")).to_contain_text("llama.cpp reads BERT networks")
    models.start_export("model2vec")
    expect(state).to_contain_text("Minimum cosine")
    with app.page.expect_download() as download:
        models.at("#models-export-download").click()
    assert download.value.suggested_filename == f"{STATIC}-static.zip"


def score_two_models(app: App) -> None:
    evaluate, page = app.evaluate, app.page
    evaluate.choose_models(BUNDLED, STATIC)
    evaluate.upload(FILE, scored_pairs_csv())
    page.click("#evaluate-go")
    expect(evaluate.rows).to_have_count(2)
    for words in (BUNDLED, STATIC):
        expect(evaluate.scores).to_contain_text(words)
        expect(evaluate.verdict).to_contain_text(words)
        expect(evaluate.made_with).to_contain_text(words)
    expect(evaluate.made_with).to_contain_text(FILE)
    expect(page.locator("#evaluate-chart .main-svg .scatterlayer .point")).to_have_count(2)
    # The pairs on which the models differ most, each with both texts.
    expect(page.locator("#evaluate-differences tbody tr")).to_have_count(20)
    expect(page.locator("#evaluate-differences tbody tr").first.locator(".sb-texts p")).to_have_count(2)
    for table in ("scores", "differences"):
        cut = page.locator(f"#evaluate-{table} .sb-scroll").evaluate("(box) => box.scrollWidth - box.clientWidth")
        assert cut <= 1, f"{table}: {cut} pixels of the columns are cut off"
    # What to press for scores is not shown below the bar of an evaluation under way, but again after it.
    assert page.evaluate(_SEEN_PLACEHOLDERS) == [False, True]


def sort_the_table(app: App) -> None:
    """By a column's header, and by a list where a phone has no room for headers; the download holds what is shown."""
    evaluate, page = app.evaluate, app.page
    header = page.get_by_role("columnheader", name="Sentences/s").first
    for _ in range(2):
        header.get_by_role("button").click()
    speeds = [float(text.split(" ")[0].replace(",", "")) for text in evaluate.column("Sentences/s").all_inner_texts()]
    assert len(speeds) == 2
    assert speeds == sorted(speeds)

    spans = [text.strip() for text in evaluate.column("95% interval").all_inner_texts()]
    assert len(spans) == 2
    assert all(re.fullmatch(r"[−-]?0\.\d{3} – [−-]?[01]\.\d{3}", span) for span in spans), spans
    _, content = app.download(evaluate.scores.locator(".sb-takeaway button", has_text="CSV"))
    assert all(span in content.decode() for span in spans)

    app.resize(390, 844)
    page.select_option("#evaluate-scores select", label="Cosine Spearman")
    scores = evaluate.column("Cosine Spearman").all_inner_texts()
    assert len(scores) == 2
    assert scores == sorted(scores, key=float, reverse=True)
    page.click("#evaluate-scores .sb-sorter button")
    expect(evaluate.column("Cosine Spearman")).to_have_text(scores[::-1])
    app.resize(1280)


def change_the_form(app: App) -> None:
    """A task that needs rows whose answers are known asks for them, and the result is marked as made otherwise."""
    app.choose("#evaluate-task", "SentEval")
    expect(app.page.locator("#evaluate-known")).to_be_visible()
    expect(app.evaluate.made_with).to_have_class(STALE)


def see_the_leaderboard(app: App) -> None:
    evaluate, page = app.evaluate, app.page
    expect(page.locator("#board-table")).to_contain_text(FILE)
    evaluate.choose_board_set(FILE)
    expect(evaluate.board_rows).to_have_count(2)
    expect(page.locator("#board-chart .main-svg .scatterlayer .point").first).to_be_visible()
    _, content = app.download(page.locator("#board-csv"))
    header, *lines = content.decode("utf-8-sig").splitlines()
    assert header.startswith("set,rows_digest,task")
    assert len(lines) == 2
    assert sum(BUNDLED in line for line in lines) == 1


def come_back_after_a_reload(app: App) -> None:
    """The result and the form it was made by; the form says again what the result was made of, so nothing is marked."""
    evaluate = app.evaluate
    app.reload()
    evaluate.open()
    expect(evaluate.rows).to_have_count(2)
    expect(app.corpus_name).to_have_value(FILE)
    expect(evaluate.models).to_have_text([BUNDLED, STATIC])
    expect(evaluate.made_with).not_to_have_class(STALE)
    app.settle()
    expect(evaluate.made_with).not_to_have_class(STALE)


def score_them_again(app: App) -> None:
    """Another task marks the result, which is made again by a click."""
    evaluate, page = app.evaluate, app.page
    app.choose("#evaluate-task", "Pairs with scores")
    expect(evaluate.made_with).to_have_class(STALE)
    evaluate.rows.first.evaluate("row => { row.dataset.earlier = 'true' }")
    evaluate.verdict.get_by_role("button", name="Run again").click()
    expect(page.locator("#evaluate-scores [data-earlier]")).to_have_count(0)
    expect(evaluate.rows).to_have_count(2)
    expect(evaluate.made_with).to_contain_text(FILE)


def remove_from_the_leaderboard(app: App) -> None:
    evaluate, page = app.evaluate, app.page
    evaluate.choose_board_set(FILE)
    expect(evaluate.board_rows).to_have_count(2)
    evaluate.board_rows.first.click()
    page.click("#board-remove")
    expect(evaluate.board_rows).to_have_count(1)


APART = [
    ("all-MiniLM-L6-v2", 113, 0.9257),
    ("glove-6B-50d", 119_548, 0.5567),
    ("words", 120_434, 0.3554),
    ("sentence-encoder", 215, 0.8975),
]
CLOSE = [("all-MiniLM-L6-v2", 113, 0.9257), ("bank_messages", 149, 0.9250)]
_DRAW = """(points) => {
  document.getElementById("chart-alone")?.remove();
  const place = document.createElement("div");
  place.id = "chart-alone";
  place.style.width = "760px";
  document.body.prepend(place);
  window.SB.views.speeds(place)({ points, metric: "Cosine Spearman" });
}"""


def keep_names_in_the_chart_apart(app: App) -> None:
    """They cover neither points nor each other."""
    for models in (APART, CLOSE):
        points = [{"name": name, "rate": rate, "score": score, "low": score - 0.03, "high": score + 0.03} for name, rate, score in models]
        app.page.evaluate(_DRAW, points)
        names, dots = boxes(app, ".textpoint text", len(models)), boxes(app, ".scatterlayer .point", len(models))
        for own, name in enumerate(names):
            others = [dot for other, dot in enumerate(dots) if other != own]
            assert all(are_apart(name, box) for box in (*others, *names[:own])), (models[own][0], name)


def boxes(app: App, selector: str, count: int) -> list[Any]:
    found = app.page.locator(f"#chart-alone {selector}")
    expect(found).to_have_count(count)
    return [one.bounding_box() for one in found.all()]


def are_apart(one: Any, other: Any) -> bool:
    beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
    return beside or one["y"] + one["height"] <= other["y"] + 1 or other["y"] + other["height"] <= one["y"] + 1
