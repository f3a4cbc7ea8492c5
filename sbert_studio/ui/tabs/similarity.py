"""Similarity: two texts, several texts, or a file of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from ...data.language import count_languages
from ...errors import StudioError
from .. import places
from ..opening import box
from ..page import Page
from ..panels.basket.gather import SAID, mark
from ..panels.basket.pairs import Pair
from ..panels.comparing import pairs_file
from ..panels.comparing.matrix import MOST_TEXTS, matrix
from ..panels.comparing.verdict import MOST_MODELS, by_models, compare
from ..panels.comparing.words import drawn
from ..pieces.controls import offer_models
from ..pieces.handlers import guarded
from ..pieces.views import Value, view

if TYPE_CHECKING:
    from ...services import Studio

TITLE = "Similarity"
ORDER = 1


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    view(
        "intro",
        {
            "title": "How alike are they?",
            "text": "Compare texts by meaning. The model turns each into a vector; the angle between two vectors says how close they are.",
        },
    )
    with gr.Tabs(elem_classes=["sb-subtabs"]) as parts:
        with gr.Tab("Two texts", id="two", elem_id="view-first-two") as first:
            _two(studio, page)
        with gr.Tab("Several sentences", id="several", elem_id="view-several") as second:
            _several(studio, page)
        with gr.Tab("A file of pairs", id=pairs_file.VIEW, elem_id=f"view-{pairs_file.VIEW}") as third:
            pairs_file.build(studio, page)
    places.parts(page, TITLE.lower(), parts, {"two": first, "several": second, pairs_file.VIEW: third})


def two(page: Page, a: str, b: str, model: str | None, others: list[str], key: str | None) -> tuple[Value, Value, Value | None]:
    """Two texts as a gauge, word by word, and by other models beside; what is usual is that of the chosen corpus.

    Raises:
        StudioError: a text is empty.
    """
    chosen = page.corpora.get(key) if key is not None else None
    corpus = chosen.corpus if chosen is not None else None
    value = compare(page.studio, a, b, model, corpus) | {"made": page.made(model, chosen, "similarity-compare")}
    try:
        words = drawn(a, b, page.studio.explore.alignment(a, b, model))
    except StudioError as error:
        words = {"empty": f"Which words made the score cannot be shown: {error.message}."}
    first = model or page.studio.settings.default_model
    models = list(dict.fromkeys([first, *others]))
    return value, words, by_models(page, a, b, models, corpus) if len(models) > 1 else None


def models(page: Page, owner: Any, chosen: list[str]) -> Any:
    """An update of the chooser of other models; what is gone is no longer chosen."""
    choices = page.model_choices(owner)
    return gr.update(choices=choices, value=[name for name in chosen or [] if name in {known for _, known in choices}])


def beside(page: Page, owner: Any, by: str, model: str, others: list[str]) -> Any:
    """An update of the chooser of other models, so that the model ``by`` is among those that compare; one that reads pairs cannot."""
    choices = page.model_choices(owner)
    if by == model or by not in {name for _, name in choices}:
        return gr.skip()
    kept = [name for name in others or [] if name != by]
    return gr.update(choices=choices, value=[by, *kept][: MOST_MODELS - 1])


def _two(studio: Studio, page: Page) -> None:
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300):
            a = box(page, "first", label="First text", lines=3, max_lines=10, elem_id="similarity-a")
            b = box(page, "second", label="Second text", lines=3, max_lines=10, elem_id="similarity-b")
            others = gr.Dropdown(
                page.model_choices(None),
                value=[],
                multiselect=True,
                max_choices=MOST_MODELS - 1,
                label="Beside other models",
                elem_id="similarity-models",
                elem_classes=["sb-data"],
            )
            button = gr.Button("Compare", variant="primary", elem_id="similarity-compare")
        with gr.Column(elem_classes=["sb-panel"], min_width=300):
            gauge = view("gauge", elem_id="similarity-gauge")
            words = view("words", elem_id="similarity-words")
            hint = view("empty", {"text": "The score appears here."})
    table = view("table", elem_id="similarity-table")

    def on_compare(a: str, b: str, model: str, kept: Any, others: list[str], key: str | None) -> Any:
        fitting, *updates = page.fit_model(model, kept, "", count_languages([a, b]))
        return *two(page, a, b, fitting, others, key), None, (a, b), *updates

    def on_thumb(texts: tuple[str, str] | None, owner: Any, event: gr.SelectData) -> Any:
        return gr.skip() if texts is None or event.value not in SAID else mark(page, owner, Pair(*texts, SAID[event.value], TITLE))

    def on_pair(pair: Any, owner: Any, model: str, others: list[str]) -> Any:
        if not pair:
            return gr.skip(), gr.skip(), gr.skip()
        return pair.first, pair.second, beside(page, owner, pair.by, model, others)

    shown = gr.State(None)
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    # What another tab wants compared, such as a mistake of a tuned model.
    filled = page.pair.change(guarded(on_pair, stop=True), [page.pair, page.owner, page.model, others], [a, b, others], **quiet)
    for event in (button.click, a.submit, b.submit, filled.success):
        event(
            guarded(on_compare),
            [a, b, page.model, page.kept_model, others, page.corpus],
            [gauge, words, table, hint, shown, page.model, page.brought],
            api_visibility="private",
        )
    gauge.select(guarded(on_thumb), [shown, page.owner], page.basket_changed, trigger_mode="multiple", **quiet)
    offer_models(page, others, models)


def _several(studio: Studio, page: Page) -> None:
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=2):
            lines = box(page, "several", label=f"2 to {MOST_TEXTS} sentences, one a line", lines=8, max_lines=24, elem_id="matrix-lines")
            button = gr.Button("Compare all", variant="primary", elem_id="matrix-compare")
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=4):
            grid = view("matrix", elem_id="matrix-view")
            hint = view("empty", {"text": "A grid of scores appears here: darker is closer."})

    def on_matrix(lines: str, model: str, kept: Any) -> tuple[Value, None, Any, Any]:
        fitting, *updates = page.fit_model(model, kept, "", count_languages((lines or "").splitlines()))
        return matrix(studio, lines, fitting) | {"made": page.made(fitting, again="matrix-compare")}, None, *updates

    outputs = [grid, hint, page.model, page.brought]
    button.click(guarded(on_matrix), [lines, page.model, page.kept_model], outputs, api_visibility="private")
