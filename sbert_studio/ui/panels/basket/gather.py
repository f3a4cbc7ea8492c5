"""Putting pairs into a visitor's basket from any tab.

A handler takes ``page.owner`` and returns what :func:`add` or :func:`mark` gives for ``page.basket_changed``, whereupon the header counts
them and the drawer lists them::

    def on_examples(owner):
        return add(page, owner, [Pair(a, b, True, "Map") for a, b in pairs])

    button.click(guarded(on_examples), page.owner, page.basket_changed, api_visibility="private")
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....data.findings import count
from ....errors import StudioError
from .pairs import Pair

if TYPE_CHECKING:
    from ...page import Page

SAID = {"together": True, "apart": False}
"""The ``value`` of a ``select`` event of a view's thumbs → whether the texts belong together."""

_CHANGES = itertools.count(1)


def changed() -> int:
    """A value that ``page.basket_changed`` never had: two clicks at once must not look like one."""
    return next(_CHANGES)


def add(page: Page, owner: Any, pairs: Sequence[Pair]) -> int:
    """Put pairs into the basket of the visitor ``owner``; what was said of the same texts before gives way.

    Returns:
        a new value of ``page.basket_changed``.

    Raises:
        StudioError: there are none, or more than it takes.
    """
    fit = [pair for pair in pairs if pair.says_something]
    if not fit:
        raise StudioError("there is no pair of two different texts among them", "choose at least two texts that differ")
    basket = page.baskets.change(page.visitor(owner), lambda basket: basket.add(fit))
    gr.Info(f"{count(len(fit), 'pair')} put there; it holds {len(basket):,}. Open it by “Pairs” at the top.", duration=5, title="Basket")
    return changed()


def mark(page: Page, owner: Any, pair: Pair) -> int:
    """Put one pair there, or take it out where just that was said of it: what a thumb does. Returns and raises as :func:`add`."""
    page.baskets.change(page.visitor(owner), lambda basket: basket.mark(pair))
    return changed()


def chained(texts: Sequence[str], source: str, most: int = 200) -> list[Pair]:
    """Texts that all belong together as pairs, each with the next: as few as hold them together.

    Args:
        most: how many at most.
    """
    different = list(dict.fromkeys(texts))
    return [Pair(a, b, True, source) for a, b in islice(pairwise(different), most)]
