"""The first sample, trained with the real model: pinned texts while it goes on; at its end the gain, the mistakes, and what changed."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .pages import App

SAMPLE, MODEL = "Messages to a bank", "all-MiniLM-L6-v2"
_TRAINS = 300_000  # milliseconds: a small processor reads five rows per second
_GAIN = re.compile(r"it now assigns (\d+) of 100 new texts to the right category instead of (\d+)")


def test_the_first_sample_ends_in_a_clear_gain(app: App) -> None:
    app.choose_model(MODEL)
    pin_texts(app)
    pinned = train_and_see_the_gain(app)
    compare_a_mistake(app)
    come_back_after_a_reload(app, pinned)
    show_what_changed(app)


def pin_texts(app: App) -> None:
    """Two texts make a pair: Start refuses half of one."""
    form = app.fine_tune
    form.open()
    form.choose_sample(SAMPLE)
    form.judge_by_one_part()
    form.at("#tune-pinned > button").click()
    form.set("epochs", "0.5")
    form.set("pin-1a", "it got eaten by the machine")
    form.start()
    expect(app.toast.filter(has_text="tracked pair 1")).to_be_visible()
    form.set("pin-1b", "my card did not come out again")
    form.at("#tune-pin-more").click()
    expect(form.at("#tune-pin-2a")).to_be_visible()
    form.set("pin-query", "somebody robbed me")


def train_and_see_the_gain(app: App) -> str:
    """Return what is shown of the pinned texts."""
    form = app.fine_tune
    pins = form.at("#tune-pins .sb-view")
    form.start()
    # A training gives way to everything else on the machine, and takes long to begin on a busy one.
    expect(pins.locator(".sb-pins li").first).to_contain_text("eaten by the machine", timeout=_TRAINS)
    expect(pins.locator(".sb-pin-line")).to_be_visible(timeout=_TRAINS)  # judged again: there is a line from before to now
    expect(form.at("#tune-run .sb-badge.sb-finished")).to_be_visible(timeout=_TRAINS)
    expect(pins).to_contain_text("with the saved model")
    expect(pins).to_contain_text(re.compile(r"0\.\d{3} → 0\.\d{3}"))
    expect(pins).to_contain_text("among 240 texts")
    expect(pins.locator(".sb-pin-nearest li")).to_have_count(5)
    gain = _GAIN.search(form.at("#tune-run .sb-said").inner_text())
    assert gain and int(gain[1]) > int(gain[2])
    return pins.inner_text()


def compare_a_mistake(app: App) -> None:
    """A mistake leads to the Similarity tab with its two texts."""
    app.page.locator("#tune-mistakes summary").click()
    first = app.page.locator("#tune-mistakes li").first
    expect(first).to_contain_text(re.compile(r"yours:[\s\S]*the model:"))
    wrong = first.locator("p").first.inner_text()
    app.expect_fits(390)
    first.get_by_role("button").click()
    expect(app.page.locator("#similarity-compare")).to_be_visible()
    expect(app.page.locator("#similarity-a textarea")).to_have_value(wrong)
    expect(app.page.locator("#similarity-gauge .sb-big")).to_be_visible()


def come_back_after_a_reload(app: App, pinned: str) -> None:
    app.settle()
    app.reload()
    app.fine_tune.open()
    expect(app.page.locator("#tune-pins .sb-view")).to_have_text(pinned, use_inner_text=True)
    expect(app.page.locator("#tune-mistakes summary")).to_be_visible()


def show_what_changed(app: App) -> None:
    app.fine_tune.at("#tune-changes").click()
    expect(app.fine_tune.at("#tune-changes")).to_be_hidden()
    expect(app.page.get_by_role("tab", name="Compare models")).to_have_attribute("aria-selected", "true")
    app.evaluate.changes.expect_drawn(share=1)
