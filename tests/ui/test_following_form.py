"""The Fine-tune form follows choices that are made while an earlier one is being answered, as a browser sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from tiny_studio import write_pairs

from sbert_studio.data.schema.overrides import SchemaOverrides
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.tuning import data_panel, drafts, settings_form
from sbert_studio.ui.tabs import tune

from .test_forms import shown_raw

NAMES = ["method", "objective", *(item.name for item in settings_form.spec_fields())]


class Browser:
    """The form as a browser holds it: what is shown by each control, sent with every event and changed by answers."""

    def __init__(self, page: Page, path: Path) -> None:
        from sbert_studio.ui.app import build_page

        self.page = page
        self.key = page.drafts.put(data_panel.take(page, path, None))
        self.controls = shown_raw(tune.shown_of(page.drafts.get(self.key)))
        events = build_page(page.studio, page).fns.values()
        (self.event,) = (event for event in events if getattr(event.fn, "__qualname__", "").endswith("_follow_form.<locals>.on_form"))
        self.pins = [""] * (len(self.event.inputs) - 4 - len(self.controls))

    def choose(self, **values: Any) -> None:
        for name, value in values.items():
            self.controls[NAMES.index(name)] = value

    def ask(self) -> list[Any]:
        """Return the answer to the form as it stands: updates of the controls, and of what follows them."""
        *answer, kept = self.event.fn(None, self.key, "", self.page.studio.settings.default_model, *self.pins, *self.controls)
        assert kept["overrides"] == self.draft.chosen, "a reload brings back what was chosen, and nothing else"
        return answer

    def receive(self, answer: list[Any]) -> None:
        for place, update in enumerate(answer[: len(self.controls)]):
            self.controls[place] = update.get("value", self.controls[place])

    def settle(self) -> None:
        self.receive(self.ask())

    @property
    def draft(self) -> Any:
        return self.page.drafts.get(self.key)

    def shows(self, name: str) -> Any:
        return self.controls[NAMES.index(name)]


@pytest.fixture
def browser(page: Page, tmp_path: Path) -> Browser:
    return Browser(page, write_pairs(tmp_path / "pairs.csv"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"method": "lora"}, {"method": "full"}),
        ({"method": "lora"}, {"objective": "cosent"}),
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
    assert {name: browser.shows(name) for name in first | second} == first | second
    assert browser.controls == shown_raw(tune.shown_of(browser.draft)), "the form shows what would be trained"


def test_an_objective_of_the_former_architecture_does_not_stay_in_the_list(browser: Browser) -> None:
    browser.choose(architecture="cross")
    answer = browser.ask()
    browser.choose(objective="cosent")
    browser.receive(answer)
    assert browser.shows("objective") == "auto"
    browser.settle()
    assert browser.draft.overrides == {"architecture": "cross"}


def test_a_number_half_typed_hides_nothing_and_is_planned_with_once_it_is_whole(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    monkeypatch.setattr(gr, "Warning", lambda words, **_: warned.append(words))
    browser.choose(learning_rate="3e")
    browser.ask()
    assert warned == [], "it may still be being typed"
    browser.choose(method="lora")
    sections = [update["visible"] for update in browser.ask() if isinstance(update, dict) and "visible" in update]
    assert sections[0] is True, "the settings of LoRA"
    assert len(warned) == 1 and "3e" in warned[0]
    assert browser.draft.overrides == {}
    browser.choose(learning_rate="3e-5")
    browser.settle()
    assert browser.draft.overrides == {"learning_rate": 3e-5, "method": "lora"}


def test_what_decides_about_no_other_control_changes_what_is_said_and_no_control(browser: Browser) -> None:
    browser.choose(seed="7")
    answer = browser.ask()
    assert browser.draft.chosen == {"seed": 7}
    assert not any("value" in update for update in answer[: len(browser.controls)])
    (command,) = [update["command"] for update in answer if isinstance(update, dict) and "command" in update]
    assert command.endswith("--seed 7")
    browser.choose(seed=str(tune.shown_of(browser.draft)["seed"]))
    assert not any("--seed 7" in str(update) for update in browser.ask()), "and back again"


def test_one_event_is_answered_at_a_time(browser: Browser) -> None:
    form = {component for component, name in browser.event.targets if name == "input"}
    assert len(form) == len(browser.controls) and browser.event.trigger_mode == "always_last"


def test_a_reload_brings_back_a_choice_without_the_values_that_followed_from_the_former_one(browser: Browser) -> None:
    for values in ({"method": "lora"}, {"architecture": "cross"}, {"seed": "7"}):
        browser.choose(**values)
        browser.settle()
    assert browser.draft.chosen == {"method": "lora", "architecture": "cross", "seed": 7}


@pytest.mark.parametrize("choice", [{"method": "lora"}, {"objective": "cosent"}, {"architecture": "cross"}, {"head": "mlp"}])
def test_a_choice_that_a_wrong_number_keeps_from_the_plan_is_told_once(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, choice: dict[str, Any]
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(gr, "Warning", lambda words, **_: warned.append(words))
    browser.choose(learning_rate="3e")
    browser.ask()
    for values in (choice, {"seed": "8"}, {"seed": "88"}):
        browser.choose(**values)
        browser.ask()
    assert len(warned) == 1


def test_a_draft_that_was_let_go_of_is_left_to_start(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gr, "Warning", lambda *_, **__: pytest.fail("it is said at each letter"))
    browser.page.drafts.remove(browser.key)
    browser.choose(seed="1", method="lora")
    *answer, kept = browser.event.fn(None, browser.key, "", browser.page.studio.settings.default_model, *browser.pins, *browser.controls)
    assert any(isinstance(update, dict) and update.get("visible") for update in answer), "the settings of LoRA are seen"
    assert not isinstance(kept, dict) or "overrides" not in kept


def test_a_choice_outlives_columns_that_fit_no_kind(browser: Browser) -> None:
    asked = browser.draft.asking(choices=SchemaOverrides(kind="triplets", columns=("a", "b", "c")))
    lost = drafts.checked(browser.page.studio, asked, None)
    assert lost.plan is None
    browser.page.drafts.put(lost, browser.key)
    browser.controls = shown_raw(tune.shown_of(lost))
    browser.choose(method="lora")
    browser.ask()
    assert browser.draft.overrides == {"method": "lora"}


def test_what_was_typed_outlives_another_column(browser: Browser) -> None:
    browser.choose(seed="7", epochs="5")
    browser.settle()
    again = drafts.checked(browser.page.studio, browser.draft.asking(choices=SchemaOverrides(columns=("sentence2", "sentence1"))), None)
    assert again.overrides == {"seed": 7, "epochs": 5.0}
