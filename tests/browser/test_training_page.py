"""A training from the page: started, reloaded while it runs, finished, used."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import Visitor

LONG = 200_000


def push_without_signing_in(visitor: Visitor) -> None:
    """The button stands at the run's end, and says what is missing."""
    visitor.page.locator("#tune-push > button").click()
    visitor.fill("#tune-repository", "me/my-first-model")
    visitor.page.click("#tune-push-go")
    visitor.see(".toast-body:has-text('not signed in to the Hugging Face Hub')")


def test_a_reload_while_training_finds_the_run_and_the_tuned_model_is_used(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.click("#similarity-compare")
    visitor.see("#similarity-gauge .sb-big")
    before = visitor.text("#similarity-gauge .sb-facts")
    visitor.tab("Fine-tune")
    page.click("#tune-scored_pairs")
    visitor.see("#tune-findings .sb-verdict")
    visitor.fill("#tune-epochs", "0.5")
    visitor.fill("#tune-learning_rate", "1e-4")
    visitor.fill("#tune-name", "My first model")
    visitor.judge_by_one_part()
    page.uncheck("#tune-blend input")  # the tuned weights are kept, whatever forty rows say of so short a training
    page.click("#tune-ask")
    visitor.see("#tune-estimate li", timeout=LONG)
    assert "GB of memory" in visitor.text("#tune-estimate")
    page.click("#tune-start")
    visitor.see("#tune-run .sb-running, #tune-run .sb-queued")
    visitor.reload()
    visitor.tab("Fine-tune")
    visitor.see("#tune-run .sb-run-head")
    assert "My first model" in visitor.text("#tune-run")
    visitor.see("#tune-run .sb-finished", timeout=LONG)
    visitor.see("#tune-run .sb-scores")
    assert "Before" in visitor.text("#tune-run")
    visitor.see("#tune-curves .main-svg")
    visitor.tab("Models")
    page.locator("#models-cards .sb-card", has_text="My first model").wait_for()
    visitor.tab("Fine-tune")
    push_without_signing_in(visitor)
    page.click("#tune-use")
    page.wait_for_function("document.querySelector('#model input')?.value === 'My first model'")
    visitor.reload()
    page.wait_for_function("document.querySelector('#model input')?.value === 'My first model'")
    visitor.tab("Similarity")
    page.click("#similarity-compare")
    page.wait_for_function("document.querySelector('#similarity-gauge .sb-big') !== null")
    assert visitor.text("#similarity-gauge .sb-facts") != before
    visitor.tab("Evaluate")
    page.wait_for_function("document.querySelector('#evaluate-models')?.innerText.includes('My first model')")
    visitor.judge("all-MiniLM-L6-v2", "My first model")
    page.click("#evaluate-go")
    page.wait_for_function("document.querySelectorAll('#evaluate-scores tbody tr').length === 2")
    visitor.tab("Models")
    page.locator("#models-cards .sb-card", has_text="My first model").click()
    visitor.see("#models-run .sb-scores")
    with page.expect_download() as download:
        page.click("#models-zip")
    assert download.value.suggested_filename == "My first model.zip"


def test_a_refused_setting_is_told_in_words_and_stop_keeps_the_model(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    page.click("#tune-triplets")
    visitor.see("#tune-findings .sb-verdict")
    visitor.fill("#tune-epochs", "many")
    page.click("#tune-start")
    visitor.see(".toast-body")
    assert "not a number" in visitor.text(".toast-body")
    visitor.fill("#tune-epochs", "200")
    page.click("#tune-start")
    page.wait_for_function("/Step\\s+[1-9]/.test(document.querySelector('#tune-run')?.innerText)", timeout=LONG)
    page.click("#tune-stop")
    visitor.see("#tune-run .sb-stopped", timeout=LONG)
    visitor.see("#tune-resume")
