"""Layout of the Similarity tab and its events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ....i18n import _
from ... import routing
from ...components import cancel_button, download_button, first_sight, refresh_model_choices
from ...language_switch import example_textbox
from ...panel import Panel
from ...state import SIMILARITY
from ...views import placeholder, view
from . import handlers
from .handlers import MAX_MODELS, MAX_TEXTS, NO_SCORES, PAIRS_VIEW

if TYPE_CHECKING:
    from ....services import Studio
    from ...page import Page

TITLE = SIMILARITY
ORDER = 1
_ABOUT = "Compare texts by meaning. The model maps each text to a vector; the angle between two vectors measures their similarity."


def build(studio: Studio, page: Page) -> None:
    view("intro", {"title": "How similar are they?", "text": _ABOUT})
    with gr.Tabs(elem_classes=["sb-subtabs"], overflow_behavior="wrap") as subtabs:
        with gr.Tab("Two texts", id="two", elem_id="view-first-two") as two:
            _build_two_texts(page)
        with gr.Tab("Several sentences", id="several", elem_id="view-several") as several:
            _build_several_texts(page)
        with gr.Tab("Pairs of your data", id=PAIRS_VIEW, elem_id=f"view-{PAIRS_VIEW}") as pairs:
            _build_pairs(page)
    routing.link_subtabs(page, TITLE.lower(), subtabs, {"two": two, "several": several, PAIRS_VIEW: pairs})


def _build_two_texts(page: Page) -> None:
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300):
            first = example_textbox(page, "first", label="First text", lines=3, max_lines=10, elem_id="similarity-a")
            second = example_textbox(page, "second", label="Second text", lines=3, max_lines=10, elem_id="similarity-b")
            other_models = gr.Dropdown(
                page.model_choices(None),
                value=[],
                multiselect=True,
                max_choices=MAX_MODELS - 1,
                label="Compare with",
                elem_id="similarity-models",
                elem_classes=["sb-data"],
            )
            button = gr.Button("Compare", variant="primary", elem_id="similarity-compare")
        with gr.Column(elem_classes=["sb-panel"], min_width=300):
            gauge = view("gauge", elem_id="similarity-gauge")
            words = view("words", elem_id="similarity-words")
            hint = view("empty")
    panel = Panel(
        page,
        first=first,
        second=second,
        other_models=other_models,
        gauge=gauge,
        words=words,
        hint=hint,
        model_table=view("table", elem_id="similarity-table"),
        compared=gr.State(None),
    )
    panel.on([button.click, first.submit, second.submit], handlers.compare_texts, progress_on="gauge")
    # An event of its own: a click while it runs would be dropped.
    panel.on(first_sight("similarity-gauge", by="model").select, handlers.compare_texts, progress_on="gauge")
    # A comparison requested by another tab, such as an error of a fine-tuned model.
    boxes = ("first", "second", "other_models")
    filled = panel.on(page.pair_to_compare.change, handlers.fill_texts, output=boxes, ends_chain=True, quiet=True)
    panel.on(filled.success, handlers.compare_texts, progress_on="gauge")
    panel.on(gauge.select, handlers.label_texts, output="basket_version", each=True, quiet=True)
    refresh_model_choices(page, other_models, page.model_choices)


def _build_several_texts(page: Page) -> None:
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=2):
            label = _("2 to {max_texts} sentences, one per line", max_texts=MAX_TEXTS)
            lines = example_textbox(page, "several", label=label, lines=8, max_lines=24, elem_id="matrix-lines")
            button = gr.Button("Compare all", variant="primary", elem_id="matrix-compare")
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=4):
            matrix = view("matrix", elem_id="matrix-view")
            hint = view("empty")
    panel = Panel(page, lines=lines, matrix=matrix, hint=hint)
    panel.on(button.click, handlers.compare_lines, progress_on="matrix")
    panel.on(first_sight("matrix-view", by="model").select, handlers.compare_lines, progress_on="matrix")


def _build_pairs(page: Page) -> None:
    scores = gr.State(None)
    with gr.Column(elem_classes=["sb-panel"]):
        with gr.Row(elem_classes=["sb-buttons"]):
            button = gr.Button("Score the pairs of your data", variant="primary", elem_id=handlers.BUTTON)
            write = partial(handlers.write_scores, page)
            save = download_button("Download CSV", write, [scores], elem_id="pairs-save", visible=False)
            save_xlsx = download_button("Download XLSX", partial(write, suffix=".xlsx"), [scores], elem_id="pairs-xlsx", visible=False)
        cancel_button("pairs")
        missing = view("note", elem_id="pairs-missing")
        worst = view("table", elem_id="pairs-worst")
        table = view("table", placeholder(NO_SCORES), elem_id="pairs-table")
    panel = Panel(page, scores=scores, save=save, save_xlsx=save_xlsx, missing=missing, worst=worst, table=table, button=button)
    panel.on(button.click, handlers.score_data, task="pairs", progress_on="table")
    panel.on(first_sight("pairs-table").select, handlers.score_first_data, task="pairs", progress_on="table")
    panel.on(page.data.change, handlers.clear_pairs, quiet=True)
    panel.on(worst.select, handlers.label_row, output="basket_version", each=True, quiet=True)
