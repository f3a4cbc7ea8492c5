"""Only the rows that say something in a column: chosen before the search, so that as many as are asked for are found among them."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...handlers import handle_errors
from ...page import Page

if TYPE_CHECKING:
    from ....data.corpus import Corpus

_EVERY = ("All rows", "")
_MOST = 1_000
_LONGEST = 80


def columns(corpus: Corpus) -> list[str]:
    """The columns by which rows can be chosen: those that do not say the same in every row."""
    return [name for name, cells in corpus.fields.items() if len(set(cells)) > 1]


def values(corpus: Corpus, column: str) -> list[tuple[str, str]]:
    """What a column says, as (label with how often, value), the commonest first, 1,000 at most."""
    counts = Counter(corpus.fields.get(column, ()))
    return [(f"{(value or '(blank)')[:_LONGEST]} · {many:,}", value) for value, many in counts.most_common(_MOST)]


def rows(corpus: Corpus, column: str | None, chosen: list[str] | None) -> list[int] | None:
    """The rows that say one of the ``chosen`` values in a column; ``None`` for all, where no column or no value is chosen."""
    if not column or not chosen or column not in corpus.fields:
        return None
    wanted = set(chosen)
    return [row for row, cell in enumerate(corpus.fields[column]) if cell in wanted]


def in_words(column: str | None, chosen: list[str] | None) -> str:
    """``where topic is refund or card``; nothing where all rows count."""
    if not column or not chosen:
        return ""
    named = [value or "(blank)" for value in chosen[:3]] + ([f"{len(chosen) - 3} more"] if len(chosen) > 3 else [])
    return f"where {column} is {' or '.join(named)}"


def draw(page: Page) -> tuple[Any, Any]:
    """The choosers of the column and of its values, which follow the corpus."""
    with gr.Row(visible=False, elem_id="search-filters") as both:
        column = gr.Dropdown(
            [_EVERY], value="", label="Only rows by", elem_id="search-column-filter", elem_classes=["sb-data"], min_width=160
        )
        chosen = gr.Dropdown(
            [],
            value=[],
            multiselect=True,
            label="that say",
            visible=False,
            elem_id="search-values",
            elem_classes=["sb-data"],
            min_width=220,
            scale=2,
        )

    def on_corpus(key: str | None) -> Any:
        names = columns(page.corpora.current(key)[1].corpus)
        return (
            gr.update(visible=bool(names)),
            gr.update(choices=[_EVERY, *((name, name) for name in names)], value=""),
            gr.update(choices=[], value=[], visible=False),
        )

    def on_column(key: str | None, name: str) -> Any:
        return gr.update(choices=values(page.corpora.current(key)[1].corpus, name), value=[], visible=bool(name))

    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    page.corpus.change(handle_errors(on_corpus), page.corpus, [both, column, chosen], **quiet)
    page.on_load.append(lambda named: named.then(handle_errors(partial(on_corpus)), page.corpus, [both, column, chosen], **quiet))
    column.input(handle_errors(on_column), [page.corpus, column], chosen, **quiet)
    return column, chosen
