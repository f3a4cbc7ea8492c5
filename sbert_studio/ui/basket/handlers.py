"""Handlers of the basket: labelling pairs from any tab, changing the list, training on it, and suggesting pairs to label.

A handler of any tab fills ``basket_version`` with the result of :func:`add_pairs` or :func:`toggle_pair`; the header and the list follow.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ...data.cells import write_csv
from ...data.findings import count
from ...errors import StudioError
from ..handlers import progress_callback
from ..handover import TrainingTable, make_training_table
from ..views import UNCHANGED, Unchanged, Update, Value, props, to_json
from .pairs import Basket, LabelledPair

if TYPE_CHECKING:
    from ...services.results import PairSuggestions
    from ..page import Page
    from ..panel import Selection

VERDICTS = {"together": True, "apart": False}
"""Action of a thumb → whether the texts belong together."""
FILE_NAME = "my pairs.csv"
LEAST_SURE = ("the model is least sure", "")
_MAX_LISTED = 300
_VERSIONS = itertools.count(1)


@dataclass(frozen=True)
class BasketView:
    """The button in the header and the list."""

    button: Value
    listed: Value


@dataclass(frozen=True)
class SuggestionsView:
    """Pairs that are worth labelling, and their view."""

    suggestions: PairSuggestions
    suggested: Value


def next_version() -> int:
    """Return a value that ``page.basket_version`` has never had, so that two clicks at once count as two changes."""
    return next(_VERSIONS)


def add_pairs(page: Page, owner: object, pairs: Sequence[LabelledPair]) -> int:
    """Add pairs to the visitor's basket; they replace pairs of the same texts.

    Returns:
        a new value of ``page.basket_version``.

    Raises:
        StudioError: there is no pair of different texts, or the basket is full.
    """
    informative = [pair for pair in pairs if pair.is_informative]
    if not informative:
        raise StudioError("there is no pair of two different texts among them", "choose at least two texts that differ")
    basket = page.baskets.change(page.visitor(owner), lambda basket: basket.add(informative))
    message = f"{count(len(informative), 'pair')} added; the basket holds {len(basket):,}. Open it by “Pairs” at the top."
    gr.Info(message, duration=5, title="Basket")
    return next_version()


def toggle_pair(page: Page, owner: object, pair: LabelledPair) -> int:
    """Add a pair, or remove it if it has this label already. Returns and raises as :func:`add_pairs`."""
    page.baskets.change(page.visitor(owner), lambda basket: basket.toggle(pair))
    return next_version()


def basket_view(basket: Basket, warning: str = "") -> Value:
    """Return the value of a ``basket`` view, newest pairs first."""
    together = sum(pair.together for pair in basket.pairs)
    newest = basket.pairs[::-1][:_MAX_LISTED]
    value: Value = to_json(
        {
            "count": len(basket),
            "together": together,
            "apart": len(basket) - together,
            "trouble": warning,
            "undo": bool(basket.past),
            "rest": len(basket) - len(newest),
            "pairs": [{"id": one.id, "a": one.a, "b": one.b, "together": one.together, "source": one.source} for one in newest],
        }
    )
    return value


def show_basket(page: Page, owner: object) -> BasketView:
    """Show the visitor's basket."""
    visitor = page.visitor(owner)
    value = basket_view(page.baskets.of(visitor), page.baskets.warning(visitor))
    return BasketView({"count": value["count"]}, value)


def change_basket(page: Page, owner: object, selection: Selection) -> int:
    """Change the basket by a click in the list and return a new value of ``page.basket_version``.

    Raises:
        StudioError: an edited text is empty, or both texts are the same.
    """
    item = selection.item

    def change(basket: Basket) -> Basket:
        if selection.action == "undo":
            return basket.undo()
        if selection.action == "clear":
            return basket.clear()
        if selection.action == "flip":
            return basket.flip(item)
        if selection.action == "remove":
            return basket.remove(item)
        if selection.action == "edit" and isinstance(item, Mapping) and all(isinstance(item.get(name), str) for name in ("id", "a", "b")):
            return basket.edit(item["id"], item["a"], item["b"])
        return basket

    page.baskets.change(page.visitor(owner), change)
    return next_version()


def write_basket(page: Page, owner: object) -> Path:
    """Write the basket as a CSV without live formulas.

    Raises:
        StudioError: it is empty.
    """
    columns = _full_basket(page, owner).columns()
    path = page.downloads.path(FILE_NAME)
    write_csv(path, columns)
    return path


def train_on_basket(page: Page, owner: object) -> TrainingTable:
    """Hand the basket over to Fine-tune. If all pairs belong together, the label column is left out.

    Raises:
        StudioError: it is empty, or no pair belongs together.
    """
    basket = _full_basket(page, owner)
    columns, labels = basket.columns(), {pair.together for pair in basket.pairs}
    if labels == {False}:
        raise StudioError(
            "no pair in the basket belongs together", "add some that do: from “apart” alone a model learns to push everything apart"
        )
    return make_training_table(page, FILE_NAME, {name: cells for name, cells in columns.items() if name != "label" or len(labels) > 1})


def _full_basket(page: Page, owner: object) -> Basket:
    basket = page.baskets.of(page.visitor(owner))
    if not basket.pairs:
        raise StudioError(
            "the basket is empty", "say of two texts that they belong together or do not: in Search, Similarity or Near-duplicates"
        )
    return basket


def suggest_pairs(
    page: Page, corpus: str | None, model: str | None, other_model: str, owner: object, progress: gr.Progress | None = None
) -> SuggestionsView:
    """Suggest pairs of the selected corpus that are worth labelling and not in the basket yet."""
    _, selected = page.corpora.current(corpus)
    basket = page.baskets.of(page.visitor(owner))
    labelled = [(pair.a, pair.b, pair.together) for pair in basket.pairs]
    first = model or page.studio.settings.default_model
    second = other_model if other_model and other_model != first else None
    report = progress_callback(progress, "Looking for pairs worth labelling")
    found = page.studio.similarity.suggest_pairs(selected.corpus, model, second, labelled=labelled, progress=report)
    if found.line is None:
        reason = f"{page.model_title(first)} and {page.model_title(other_model)} disagree on these."
    else:
        reason = f"{page.model_title(first)} separates similar from dissimilar at about {found.line:.2f}; these pairs are closest to it."
    return SuggestionsView(found, suggestions_view(found, selected.corpus.name, reason))


def suggestions_view(suggestions: PairSuggestions, name: str, reason: str) -> Value:
    """Return the value of a ``suggestions`` view."""
    pairs = [{"a": a, "b": b, "cosine": cosine} for a, b, cosine in suggestions.pairs]
    note = f"From {name}. {reason} A thumb puts a pair into the basket."
    value: Value = to_json({"pairs": pairs, "note": note if pairs else f"There is nothing more to ask in {name}."})
    return value


def label_suggestion(page: Page, suggestions: PairSuggestions | None, owner: object, selection: Selection) -> int | Unchanged:
    """Put a suggested pair into the basket, labelled by the thumb that was clicked."""
    pairs, index = suggestions.pairs if suggestions is not None else (), selection.row(len(suggestions.pairs) if suggestions else 0)
    if index is None or selection.action not in VERDICTS:
        return UNCHANGED
    a, b, _ = pairs[index]
    return toggle_pair(page, owner, LabelledPair(a, b, VERDICTS[selection.action], "Suggested"))


def update_other_model(page: Page, owner: object, selected: object) -> Update:
    """Update the choices of why pairs are suggested: the model is least sure, or it disagrees with another one."""
    choices = [LEAST_SURE, *((f"it disagrees with {title}", name) for title, name in page.model_choices(owner))]
    return props(choices=choices, value=selected if selected in {name for _, name in choices} else "")
