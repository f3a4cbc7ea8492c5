"""Pairs become a model that is used in every tab, evaluated and downloaded; and pairs become a cross-encoder that re-ranks."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .data import FIRST_MODEL, READER, corpus_csv, scored_pairs_csv
from .pages import App

TUNED, CROSS, REFUSED, DEFAULT = FIRST_MODEL, READER, "Never trained", "tiny-minilm"


def test_pairs_become_a_model_that_is_used_evaluated_and_downloaded(app: App) -> None:
    untuned = compare(app)
    refuse_a_setting(app)
    train(app)
    push_without_signing_in(app)
    use_it_in_every_tab_and_after_a_reload(app, untuned)
    download(app)


def compare(app: App) -> str:
    """Return what the Similarity tab shows of its two sentences."""
    app.similarity.open()
    app.page.click("#similarity-compare")
    expect(app.page.locator("#similarity-gauge .sb-big")).to_be_visible()
    app.settle()
    return app.page.inner_text("#similarity-gauge .sb-facts")


def refuse_a_setting(app: App) -> None:
    form = app.fine_tune
    form.open()
    form.upload("pairs.csv", scored_pairs_csv())
    form.set("epochs", "many")
    form.set("name", REFUSED)
    form.start()
    expect(app.toast.filter(has_text="not a number")).to_be_visible()
    app.settle()
    expect(form.run_name.filter(has_text=REFUSED)).to_have_count(0)
    expect(form.runs(REFUSED)).to_have_count(0)


def train(app: App) -> None:
    form = app.fine_tune
    form.set("epochs", "2")
    form.set("learning_rate", "1e-3")
    form.set("name", TUNED)
    form.judge_by_one_part()
    form.at("#tune-blend input").uncheck()  # the tuned weights are kept, whatever four rows say of them
    form.at("#tune-ask").click()
    expect(form.at("#tune-estimate")).to_contain_text(re.compile(r"\d.* GB of memory"))
    form.start()
    form.expect_run(TUNED, "finished")
    expect(form.at("#tune-run .sb-scores")).to_contain_text(re.compile(r"Before\s*−?\d\.\d{3}[\s\S]*After\s*−?\d\.\d{3}"))
    expect(form.at("#tune-curves .main-svg").first).to_be_visible()
    app.models.open()
    expect(app.models.at("#models-cards .sb-card").filter(has_text=TUNED)).to_be_visible()


def push_without_signing_in(app: App) -> None:
    app.fine_tune.open()
    app.page.click("#tune-push > button")
    app.fill("#tune-repository", "me/my-first-model")
    app.page.click("#tune-push-go")
    expect(app.toast.filter(has_text="not signed in")).to_be_visible()


def use_it_in_every_tab_and_after_a_reload(app: App, untuned: str) -> None:
    app.fine_tune.use_model()
    expect(app.model_name).to_have_value(TUNED)
    app.settle()
    app.reload()
    expect(app.model_name).to_have_value(TUNED)
    assert compare(app) != untuned
    app.fine_tune.open()
    app.fine_tune.expect_run(TUNED, "finished")
    expect(app.fine_tune.at("#tune-run .sb-scores")).to_be_visible()


def evaluate(app: App) -> None:
    app.evaluate.open()
    app.evaluate.choose_models(DEFAULT, CROSS)
    app.evaluate.upload("held out.csv", scored_pairs_csv())
    app.evaluate.evaluate(DEFAULT, CROSS)


def download(app: App) -> None:
    app.models.open()
    app.models.at("#models-cards .sb-card").filter(has_text=TUNED).click()
    expect(app.models.at("#models-run .sb-scores")).to_be_visible()
    name, content = app.download(app.models.at("#models-zip"))
    assert name == f"{TUNED}.zip" and content.startswith(b"PK")
    app.page.click("#models-changes")
    expect(app.page.get_by_role("tab", name="Compare models")).to_have_attribute("aria-selected", "true")
    app.evaluate.changes.expect_drawn(share=1)


def test_pairs_become_a_cross_encoder_that_reranks_and_is_evaluated(app: App) -> None:
    choose_the_architecture(app)
    train_the_cross_encoder(app)
    rerank(app)
    evaluate(app)


def choose_the_architecture(app: App) -> None:
    """The form shows what the chosen architecture needs, and tells why and how to do the same from a terminal."""
    form = app.fine_tune
    form.open()
    form.upload("pairs.csv", scored_pairs_csv())
    form.judge_by_one_part()
    pooling, head = form.at("#tune-pooling"), form.at("#tune-head")
    expect(pooling).to_be_visible()
    expect(head).to_be_hidden()
    form.at("#tune-architecture label").filter(has_text="Cross-encoder").click()
    expect(head).to_be_visible()
    expect(pooling).to_be_hidden()
    expect(form.at("#tune-reasons")).to_contain_text("encodes both texts jointly")
    head.locator("label").filter(has_text="512 units").click()
    expect(form.command).to_contain_text("head=mlp")


def train_the_cross_encoder(app: App) -> None:
    form = app.fine_tune
    form.set("epochs", "1")
    form.set("name", CROSS)
    form.start()
    form.expect_run(CROSS, "finished")
    expect(form.run).to_contain_text("Spearman")
    expect(form.at("#tune-zip")).to_be_visible()
    expect(form.at("#tune-use")).to_be_hidden()  # it has no vectors, so that most tabs cannot use it
    expect(app.model_name).to_have_value(DEFAULT)


def rerank(app: App) -> None:
    search = app.search
    search.open()
    app.add_data("messages.csv", corpus_csv())
    app.choose("#search-reranker", CROSS)
    search.search("the machine kept my card")
    expect(search.hits).to_contain_text("Re-ranked")
