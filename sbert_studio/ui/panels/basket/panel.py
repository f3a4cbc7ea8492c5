"""The drawer of the basket: what lies in it, changed by a click, undone, downloaded, trained on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from ....data.cells import write_csv
from ....errors import StudioError
from ...page import Page
from ...pieces.controls import download_button
from ...pieces.handlers import guarded
from ...pieces.views import Value, plain, view
from ..teaching import Lesson, lesson
from . import suggestions
from .gather import changed
from .pairs import Basket

_SHOWN = 300
_QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
NAME = "my pairs.csv"
DRAWER = "basket"


def drawn(basket: Basket, trouble: str = "") -> Value:
    """The value of a ``basket`` view: the newest pairs first; ``trouble``: what has to be said of it."""
    together = sum(pair.together for pair in basket.pairs)
    newest = basket.pairs[::-1][:_SHOWN]
    return plain(  # type: ignore[no-any-return]
        {
            "count": len(basket),
            "together": together,
            "apart": len(basket) - together,
            "trouble": trouble,
            "undo": bool(basket.past),
            "rest": len(basket) - len(newest),
            "pairs": [{"id": one.id, "a": one.a, "b": one.b, "together": one.together, "source": one.source} for one in newest],
        }
    )


def show(page: Page, owner: Any) -> tuple[Value, Value]:
    """The button in the header and the list."""
    visitor = page.visitor(owner)
    basket = page.baskets.of(visitor)
    value = drawn(basket, page.baskets.trouble(visitor))
    return {"count": value["count"]}, value


def click(page: Page, owner: Any, kind: Any, index: Any) -> int:
    """A new value of ``page.basket_changed`` after a click in the list; what the browser sends is not trusted.

    Raises:
        StudioError: a pair was given a text that is empty, or the same one twice.
    """

    def act(basket: Basket) -> Basket:
        if kind == "undo":
            return basket.undo()
        if kind == "clear":
            return basket.clear()
        if kind == "flip":
            return basket.flip(index)
        if kind == "remove":
            return basket.remove(index)
        if kind == "edit" and isinstance(index, Mapping) and all(isinstance(index.get(name), str) for name in ("id", "a", "b")):
            return basket.edit(index["id"], index["a"], index["b"])
        return basket

    page.baskets.change(page.visitor(owner), act)
    return changed()


def save(page: Page, owner: Any) -> Path:
    """The basket as a CSV without live formulas.

    Raises:
        StudioError: it is empty.
    """
    columns = _filled(page, owner).columns()
    target = page.downloads.path(NAME)
    write_csv(target, columns)
    return target


def teach(page: Page, owner: Any) -> Lesson:
    """The basket as what Fine-tune opens with; where all pairs belong together, their label says nothing and stays away.

    Raises:
        StudioError: it is empty, or no pair in it belongs together.
    """
    basket = _filled(page, owner)
    columns, together = basket.columns(), {pair.together for pair in basket.pairs}
    if together == {False}:
        raise StudioError(
            "no pair in the basket belongs together", "add some that do: from “apart” alone a model learns to push everything apart"
        )
    return lesson(page, NAME, {name: cells for name, cells in columns.items() if name != "label" or len(together) > 1})


def _filled(page: Page, owner: Any) -> Basket:
    basket = page.baskets.of(page.visitor(owner))
    if not basket.pairs:
        raise StudioError(
            "the basket is empty", "say of two texts that they belong together or do not: in Search, Similarity or Near-duplicates"
        )
    return basket


def button() -> Any:
    """The button in the header, with how many pairs there are."""
    return view("basketbutton", {"count": 0}, elem_id="basket-open")


def build(page: Page, opener: Any) -> None:
    """Draw the drawer; ``opener`` is what :func:`button` gave."""
    with gr.Column(elem_id=DRAWER, elem_classes=["sb-drawer"]):
        listed = view("basket", drawn(Basket()), elem_id="basket-list")
        with gr.Row(elem_classes=["sb-buttons"]):
            train = gr.Button("Train on these", variant="primary", elem_id="basket-train")
            download_button("Download CSV", partial(save, page), [page.owner], elem_id="basket-save")
        suggestions.build(page)

    def on_click(owner: Any, event: gr.SelectData) -> int:
        return click(page, owner, event.value, event.index)

    each = {**_QUIET, "trigger_mode": "multiple", "concurrency_limit": 1, "concurrency_id": "basket"}
    listed.select(guarded(on_click), page.owner, page.basket_changed, **each)
    page.basket_changed.change(guarded(partial(show, page)), page.owner, [opener, listed], **_QUIET)
    page.on_load.append(lambda named: named.then(guarded(partial(show, page)), page.owner, [opener, listed], **_QUIET))
    taught = train.click(guarded(partial(teach, page), stop=True), page.owner, page.teach, **_QUIET)
    taught.success(None, js=f"() => SB.drawer('{DRAWER}', false)")
