"""The basket: its button in the header, and its drawer with the list, suggestions and the way to Fine-tune."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ..components import cancel_button, download_button, refresh_model_choices
from ..panel import Panel
from ..views import view
from . import handlers
from .pairs import Basket

if TYPE_CHECKING:
    from ..page import Page

DRAWER = "basket"


def draw_button() -> gr.HTML:
    """Draw the button in the header, with the number of pairs."""
    return view("basketbutton", {"count": 0}, elem_id="basket-open")


def build(page: Page, button: gr.HTML) -> None:
    """Draw the drawer that ``button`` opens."""
    with gr.Column(elem_id=DRAWER, elem_classes=["sb-drawer"]):
        listed = view("basket", handlers.basket_view(Basket()), elem_id="basket-list")
        with gr.Row(elem_classes=["sb-buttons"]):
            train = gr.Button("Train on these", variant="primary", elem_id="basket-train")
            download_button("Download CSV", partial(handlers.write_basket, page), [page.owner], elem_id="basket-save")
        _build_suggestions(page)
    panel = Panel(page, button=button, listed=listed)
    panel.on(listed.select, handlers.change_basket, output="basket_version", each=True, quiet=True, concurrency_limit=1)
    panel.on(page.basket_version.change, handlers.show_basket, quiet=True)
    page.on_load.append(lambda loaded: panel.on(loaded.then, handlers.show_basket, quiet=True))
    handed_over = panel.on(train.click, handlers.train_on_basket, output="training_table", ends_chain=True, quiet=True)
    handed_over.success(None, js=f"() => SB.drawer('{DRAWER}', false)")


def _build_suggestions(page: Page) -> None:
    with gr.Accordion("Pairs worth labelling", open=False, elem_id="basket-suggest"):
        other_model = gr.Dropdown([handlers.LEAST_SURE], value="", label="Pairs of the corpus on which", elem_id="basket-by")
        suggest = gr.Button("Suggest pairs", elem_id="basket-suggest-go")
        cancel_button("suggest")
        suggested = view("suggestions", elem_id="basket-suggestions")
    panel = Panel(page, other_model=other_model, suggestions=gr.State(None), suggested=suggested)
    panel.on(suggest.click, handlers.suggest_pairs, task="suggest", progress_on="suggested")
    panel.on(suggested.select, handlers.label_suggestion, output="basket_version", each=True, quiet=True)
    refresh_model_choices(page, other_model, handlers.update_other_model)
