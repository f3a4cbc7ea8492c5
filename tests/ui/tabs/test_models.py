"""The Models tab: the list, the details of a model, and the buttons that apply to it."""

from __future__ import annotations

import pytest

from sbert_studio.services.results import ModelSummary
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.routing import Location
from sbert_studio.ui.tabs.models import handlers
from sbert_studio.ui.tabs.models.handlers import model_facts
from sbert_studio.ui.views import UNCHANGED, props


def test_refreshed_list_keeps_what_was_clicked_in_the_meantime(page: Page) -> None:
    name = handlers.list_models(page, None, "")[0][0]
    view = handlers.refresh_models(page, None, "")
    assert view.cards["cards"] and view.chosen is view.facts is view.run is view.use is view.push is UNCHANGED
    assert handlers.refresh_models(page, None, name) == handlers.show_models(page, None, name)
    assert handlers.refresh_models(page, None, "no such run").chosen == "", "it was deleted in another tab"


def test_a_model_is_shown_when_clicked_or_linked(page: Page) -> None:
    listed, cards = handlers.list_models(page, None, "")
    view = handlers.select_model(page, None, listed, Selection("card", 0))
    assert view.chosen == listed[0] and view.cards["current"] == listed[0] and len(cards["cards"]) == len(listed)
    assert view.use == props(visible=True) and view.facts and view.run is None
    assert view.save == view.delete == view.confirm == view.push == view.compare == props(visible=False)
    for row in (-1, len(listed), "0", None):
        assert handlers.select_model(page, None, listed, Selection("card", row)).chosen == ""
    assert handlers.confirm_deletion() == (props(visible=False), props(visible=True))
    default, *others = handlers.list_models(page, None, "")[0]
    assert handlers.show_first_model(page, None, "", others[0]).chosen == others[0]
    assert handlers.show_first_model(page, None, "", "a folder").chosen == default
    assert handlers.show_first_model(page, None, default, others[0]).chosen == default
    opened = handlers.open_location(page, Location.read({"tab": "models", "chosen": others[0]}), None)
    assert opened is not None and opened.chosen == others[0] and opened.facts
    for sent in ({"tab": "models"}, {"tab": "models", "chosen": "run-0000000000"}):
        assert handlers.open_location(page, Location.read(sent), None) is None
    assert handlers.open_location(page, None, None) is None


@pytest.mark.parametrize(("length", "words"), [(0, "any length"), (1_000_000, "any length"), (256, "256 tokens")])
def test_facts_report_the_longest_text(length: int, words: str) -> None:
    card = ModelSummary("words", "table", "words", 50, 1000, length, "mean")
    assert dict(model_facts(card))["Longest text"] == words


SIZES = {7e9: "7 B", 494_032_768: "494 M", 22_713_216: "23 M", 800_000: "0.8 M", 12_345: "12 k", 1_200: "1.2 k", 768: "768"}


@pytest.mark.parametrize(("parameters", "words"), SIZES.items())
def test_size_of_a_model_is_never_rounded_to_zero(parameters: int, words: str) -> None:
    assert ModelSummary("a", "run", "a", 50, int(parameters), 0, "mean").size == words
