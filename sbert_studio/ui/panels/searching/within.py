"""A search among the texts that were chosen on the map, until all of them are wanted again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from ...page import Page
from ...views import view

if TYPE_CHECKING:
    from ...handover import RowSelection

_QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


def draw(page: Page, tab: str) -> Any:
    """The line that says so, and the way back; ``tab`` opens once texts were chosen.

    Returns:
        the button by which all texts are searched again.
    """
    with gr.Row(visible=False, elem_id="search-within") as row:
        told = view("note", elem_id="search-within-words")
        every = gr.Button("Search all texts", size="sm", elem_id="search-everywhere", scale=0, min_width=150)

    def on_within(within: RowSelection | None) -> Any:
        if within is None:
            return gr.update(visible=False), None, gr.skip()
        return gr.update(visible=True), {"text": f"Only among {within.title}."}, gr.Tabs(selected=tab)

    page.rows_to_search.change(on_within, page.rows_to_search, [row, told, page.tabs], **_QUIET)
    page.corpus.change(
        lambda key, within: within if _same(page, key, within) else None, [page.corpus, page.rows_to_search], page.rows_to_search, **_QUIET
    )
    return every


def _same(page: Page, key: str | None, within: RowSelection | None) -> bool:
    return within is not None and key in page.corpora and page.corpora.get(key).corpus.digest == within.corpus
