"""The Fine-tune form follows choices that are made while an earlier one is being answered, as a browser sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from tiny_studio import write_pairs

from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.fine_tune import draft as drafts
from sbert_studio.ui.tabs.fine_tune.draft import Draft
from sbert_studio.ui.tabs.fine_tune.handlers import change_settings
from sbert_studio.ui.tabs.fine_tune.view_model import PlanView, displayed_settings, pins_form
from sbert_studio.ui.views import UNCHANGED

from .forms import open_path, values_of


class Browser:
    """The form as a browser holds it: sent with every event, and changed by answers except for later edits (``assets/page/form.js``)."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.key = page.drafts.put(open_path(page, path))
        self.values = values_of(displayed_settings(self.draft))
        self.edited: dict[str, int] = {}
        self.revision = 0

    def choose(self, **values: Any) -> None:
        for name, value in values.items():
            self.revision += 1
            self.edited[name] = self.revision
            self.values[name] = value

    def ask(self) -> PlanView:
        sent = {"values": dict(self.values), "revision": self.revision}
        answer = change_settings(self.page, None, None, self.key, "", self.page.studio.settings.default_model, pins_form(), sent)
        if isinstance(answer.saved_form, dict):
            assert answer.saved_form["overrides"] == self.draft.overrides, "a reload restores what was chosen, and nothing else"
        return answer.plan

    def receive(self, answer: PlanView) -> None:
        if isinstance(answer.settings, dict):
            new, revision = answer.settings["values"], answer.settings["revision"]
            self.values = {name: self.values[name] if self.edited.get(name, 0) > revision else new[name] for name in new}
            offered = {value for _, value in find(answer.settings["items"], "loss")["choices"]}
            if self.values["loss"] not in offered:
                self.values["loss"] = None

    def settle(self) -> None:
        self.receive(self.ask())

    @property
    def draft(self) -> Draft:
        return self.page.drafts.get(self.key)


def find(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """An item of a form by its name, at any depth."""
    for item in items:
        if item.get("name") == name:
            return item
        if item["kind"] == "group" and (found := find(item["items"], name)):
            return found
    return {}


@pytest.fixture
def browser(page: Page, tmp_path: Path) -> Browser:
    return Browser(page, write_pairs(tmp_path / "pairs.csv"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"method": "lora"}, {"method": "full"}),
        ({"method": "lora"}, {"loss": "cosent"}),
        ({"architecture": "cross"}, {"method": "lora"}),
    ],
)
def test_a_choice_made_during_an_answer_stays_and_nothing_else_is_taken_for_chosen(
    browser: Browser, first: dict[str, Any], second: dict[str, Any]
) -> None:
    browser.choose(**first)
    answer = browser.ask()
    browser.choose(**second)
    browser.receive(answer)
    browser.settle()
    chosen = {name: value for name, value in (first | second).items() if value != "full"}
    assert {name: value for name, value in browser.draft.overrides.items() if value != "full"} == chosen
    assert {name: browser.values[name] for name in first | second} == first | second
    assert browser.values == values_of(displayed_settings(browser.draft)), "the form shows what would be trained"


def test_an_objective_of_the_former_architecture_does_not_stay_in_the_list(browser: Browser) -> None:
    browser.choose(architecture="cross")
    answer = browser.ask()
    browser.choose(loss="cosent")
    browser.receive(answer)
    assert browser.values["loss"] is None
    browser.settle()
    assert browser.values["loss"] == "auto"
    assert browser.draft.overrides == {"architecture": "cross"}


def test_a_number_half_typed_hides_nothing_and_is_planned_with_once_it_is_whole(browser: Browser, toasts: list[str]) -> None:
    browser.choose(learning_rate="3e")
    browser.ask()
    assert toasts == [], "it may still be being typed"
    browser.choose(method="lora")
    settings = browser.ask().settings
    assert isinstance(settings, dict) and find(settings["items"], "of-lora")["visible"] is True
    assert settings["values"]["learning_rate"] == "3e"
    assert len(toasts) == 1 and "3e" in toasts[0]
    assert browser.draft.overrides == {}
    browser.choose(learning_rate="3e-5")
    browser.settle()
    assert browser.draft.overrides == {"learning_rate": 3e-5, "method": "lora"}


def test_what_decides_about_no_other_control_changes_what_is_said_and_no_control(browser: Browser) -> None:
    browser.choose(seed="7")
    answer = browser.ask()
    assert browser.draft.overrides == {"seed": 7}
    assert answer.settings is UNCHANGED
    assert isinstance(answer.command, dict) and answer.command["command"].endswith("--seed 7")
    browser.choose(seed=str(displayed_settings(browser.draft)["seed"]))
    assert "--seed 7" not in str(browser.ask().command), "and back again"
    assert browser.draft.overrides == {}


def test_a_reload_brings_back_a_choice_without_the_values_that_followed_from_the_former_one(browser: Browser) -> None:
    for values in ({"method": "lora"}, {"architecture": "cross"}, {"seed": "7"}):
        browser.choose(**values)
        browser.settle()
    assert browser.draft.overrides == {"method": "lora", "architecture": "cross", "seed": 7}


@pytest.mark.parametrize("choice", [{"method": "lora"}, {"loss": "cosent"}, {"architecture": "cross"}, {"head": "mlp"}])
def test_a_choice_that_a_wrong_number_keeps_from_the_plan_is_told_once(browser: Browser, toasts: list[str], choice: dict[str, Any]) -> None:
    browser.choose(learning_rate="3e")
    browser.ask()
    for values in (choice, {"seed": "8"}, {"seed": "88"}):
        browser.choose(**values)
        browser.ask()
    assert len(toasts) == 1


def test_a_draft_that_was_let_go_of_is_left_to_start(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gr, "Warning", lambda *_, **__: pytest.fail("it is said at each letter"))
    browser.page.drafts.remove(browser.key)
    browser.choose(seed="1", method="lora")
    answer = browser.ask()
    assert isinstance(answer.settings, dict) and find(answer.settings["items"], "of-lora")["visible"]


def test_a_choice_outlives_columns_that_fit_no_kind(browser: Browser) -> None:
    asked = browser.draft.with_request(choices=SchemaOverrides(kind="triplets", columns=("a", "b", "c")))
    lost = drafts.plan_again(browser.page.studio, asked, None)
    assert lost.plan is None
    browser.page.drafts.put(lost, browser.key)
    browser.values = values_of(displayed_settings(lost))
    browser.choose(method="lora")
    browser.ask()
    assert browser.draft.overrides == {"method": "lora"}


def test_what_was_typed_outlives_another_column(browser: Browser) -> None:
    browser.choose(seed="7", epochs="5")
    browser.settle()
    again = drafts.plan_again(
        browser.page.studio, browser.draft.with_request(choices=SchemaOverrides(columns=("sentence2", "sentence1"))), None
    )
    assert again.overrides == {"seed": 7, "epochs": 5.0}
