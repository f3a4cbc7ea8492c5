"""The page's own views: a ``gr.HTML`` whose value is JSON and whose drawing is ``assets/page/*.js``.

The template holds no value, so no text of a visitor is ever part of a template; the JavaScript sets it as text content.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import StudioError, ended

if TYPE_CHECKING:
    from ..page import Page

Value = dict[str, Any]
_MOUNT = """(function mount() {{
  if (!window.SB) return setTimeout(mount, 30);
  window.SB.mount("{name}", {{ element, props, trigger, watch, server: typeof server === "undefined" ? null : server }});
}})();"""


def view(
    name: str,
    value: Value | None = None,
    *,
    elem_id: str | None = None,
    server: Sequence[Callable[..., Any]] = (),
    classes: Sequence[str] = (),
) -> Any:
    """A component that draws JSON.

    Args:
        name: a view that a file of ``assets/page`` defines as ``views.NAME``.
        value: what it draws; ``None`` hides it.
        server: functions that its JavaScript may call; each takes one argument from the browser, not to be trusted.
    """
    import gradio as gr

    return gr.HTML(
        value=plain(value),
        html_template='<div class="sb-view" hidden></div>',
        js_on_load=_MOUNT.format(name=name),
        server_functions=list(server) or None,
        elem_id=elem_id,
        elem_classes=[f"sb-view-{name}", *classes],
        padding=False,
    )


def plain(value: Any) -> Any:
    """``value`` as JSON can hold it: tuples become lists, numbers that are not finite become ``None``."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) or (hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0):
        number = value.item() if hasattr(value, "item") else value
        return number if not isinstance(number, float) or math.isfinite(number) else None
    return value


def column(name: str, kind: str = "text", **more: Any) -> Value:
    """A column of :func:`table`.

    Args:
        kind: text, texts (a list of some), marked (a list of parts of which every second one is marked), place (in another list, or
            ``None``), row, number, count, bar, badge, delta, change (as delta, without a colour) or interval.
        more: ``ours`` where the cells of a text column are the page's own words, and ``theirs`` where the name is a visitor's: what is
            not the page's own is never translated.
    """
    return {"name": name, "kind": kind, **more}


def table(
    columns: Sequence[Value],
    rows: Sequence[Sequence[Any]],
    *,
    ids: Sequence[Any] = (),
    action: str = "",
    event: str = "row",
    pairs: Sequence[tuple[str, str]] = (),
    caption: str = "",
    note: str = "",
    empty: str = "Nothing to show.",
    theirs: Sequence[str] = (),
) -> Value:
    """The value of a ``table`` view.

    Args:
        ids: what a row sends when it is chosen, as the ``index`` of a ``select`` event.
        action: what that choice does, in words; event: the ``value`` of its event.
        theirs: names that visitors gave, in headers, caption and note, which no language translates; those of columns are known.
        pairs: two texts a row, beside which thumbs stand; their events are named in :data:`sbert_studio.ui.basket.gather.SAID`.
    """
    value: Value = {"columns": list(columns), "rows": [list(row) for row in rows], "caption": caption, "note": note, "empty": empty}
    value["theirs"] = [*theirs, *(str(one["name"]) for one in columns if one.get("theirs"))]
    if action:
        value |= {"ids": list(ids), "action": {"label": action, "value": event}}
    if pairs:
        value |= {"ids": list(ids), "pairs": [list(pair) for pair in pairs]}
    return plain(value)  # type: ignore[no-any-return]


def facts(pairs: Sequence[tuple[str, Any]], *, title: str = "", notes: Sequence[str] = ()) -> Value:
    """The value of a ``facts`` view: names and what they are."""
    return {"title": title, "facts": [list(pair) for pair in pairs], "notes": list(notes)}


def nothing(text: str) -> Value:
    """A view's value before there is anything to draw."""
    return {"empty": text, "rows": [], "cards": []}


def answered(page: Page, name: str, answer: Callable[[Page, Any], Any]) -> Callable[[Any], Any]:
    """``answer`` as a function that the browser calls by ``name``; what a visitor can put right comes back as ``{error}``."""

    def call(request: Any) -> Any:
        try:
            return plain(answer(page, request if isinstance(request, dict) else {}))
        except StudioError as error:
            return {"error": ended(f"{error.message[:1].upper()}{error.message[1:]}") + (f" {ended(error.hint)}" if error.hint else "")}

    call.__name__ = name
    return call
