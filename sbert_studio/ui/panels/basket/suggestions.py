"""Pairs of the corpus at hand that are worth labelling, in the drawer of the basket."""

from __future__ import annotations

from typing import Any

import gradio as gr

from ....services.results import Suggestions
from ...page import Page
from ...pieces.controls import cancel_button, long_work, offer_models
from ...pieces.handlers import PROGRESS, guarded, told
from ...pieces.views import Value, plain, view
from .gather import SAID, mark
from .pairs import Pair

_UNSURE = ("the model is least sure", "")


def suggest(page: Page, key: str | None, model: str | None, other: str, owner: Any, progress: Any = None) -> tuple[Suggestions, Value]:
    """Suggestions from the visitor's corpus, and how they are drawn; what lies in the basket is not asked for again."""
    _, chosen = page.corpus_of(key)
    basket = page.baskets.of(page.visitor(owner))
    judged = [(pair.a, pair.b, pair.together) for pair in basket.pairs]
    reading = told(progress, "Looking for pairs worth labelling") if progress is not None else None
    first = model or page.studio.settings.default_model
    found = page.studio.explore.worth_labelling(
        chosen.corpus, model, other if other and other != first else None, judged=judged, progress=reading
    )
    why = f"{page.titled(first)} and {page.titled(other)} disagree on these." if found.line is None else ""
    why = why or f"{page.titled(first)} tells alike from not alike at about {found.line:.2f}; these lie nearest to it."
    return found, drawn(found, chosen.corpus.name, why)


def drawn(found: Suggestions, name: str, why: str) -> Value:
    """The value of a ``suggestions`` view."""
    pairs = [{"a": a, "b": b, "cosine": cosine} for a, b, cosine in found.pairs]
    note = f"From {name}. {why} A thumb puts a pair into the basket."
    return plain({"pairs": pairs, "note": note if pairs else f"There is nothing more to ask in {name}."})  # type: ignore[no-any-return]


def judge(page: Page, found: Suggestions | None, place: Any, said: Any, owner: Any) -> Any:
    """Put a suggestion into the basket; ``place`` and ``said`` come from the browser."""
    fits = found is not None and isinstance(place, int) and not isinstance(place, bool) and 0 <= place < len(found.pairs)
    if found is None or not fits or said not in SAID:
        return gr.skip()
    a, b, _ = found.pairs[place]
    return mark(page, owner, Pair(a, b, SAID[said], "Suggested"))


def models(page: Page, owner: Any, chosen: str | None) -> Any:
    """An update of the chooser of why pairs are suggested."""
    choices = [_UNSURE, *((f"it disagrees with {title}", name) for title, name in page.model_choices(owner))]
    return gr.update(choices=choices, value=chosen if chosen in {name for _, name in choices} else "")


def build(page: Page) -> None:
    """Draw them."""
    found = gr.State(None)
    with gr.Accordion("Pairs worth labelling", open=False, elem_id="basket-suggest"):
        other = gr.Dropdown([_UNSURE], value="", label="Pairs of the corpus on which", elem_id="basket-by")
        go = gr.Button("Suggest pairs", elem_id="basket-suggest-go")
        cancel_button("suggest")
        shown = view("suggestions", elem_id="basket-suggestions")

    def on_suggest(key: str | None, model: str, other: str, owner: Any, progress: Any = PROGRESS) -> Any:
        return suggest(page, key, model, other, owner, progress)

    def on_thumb(found: Suggestions | None, owner: Any, event: gr.SelectData) -> Any:
        return judge(page, found, event.index, event.value, owner)

    inputs = [page.corpus, page.model, other, page.owner]
    long_work(go.click, "suggest", on_suggest, inputs, [found, shown], show_progress_on=shown)
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    shown.select(guarded(on_thumb), [found, page.owner], page.basket_changed, trigger_mode="multiple", **quiet)
    offer_models(page, other, models)
