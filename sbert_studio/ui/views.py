"""Views: ``gr.HTML`` components with a JSON value, drawn by ``assets/page/*.js``.

Templates contain no values, so visitors' texts are never part of a template; the JavaScript sets them as text content. This module does
not import Gradio, so that the command line can write the same JSON to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ..errors import StudioError
from ..i18n import join, to_sentence
from ..serialization import to_plain

if TYPE_CHECKING:
    import gradio as gr

    from ..data.corpus import Corpus
    from ..data.findings import Option, Question
    from .page import Page

Value = dict[str, Any]
"""JSON value drawn by a view."""
Update = dict[str, Any]
"""Result of :func:`props`, ``gr.update`` or ``gr.skip``: new properties of a component."""
ServerFunction = Callable[[object], object]
"""A function that the browser calls with one JSON value, which is untrusted."""
_MAX_CHARACTERS = 240
_MAX_TEXTS = 8000
_MOUNT = """(function mount() {{
  if (!window.SB) return setTimeout(mount, 30);
  window.SB.mount("{name}", {{ element, props, trigger, watch, server: typeof server === "undefined" ? null : server }});
}})();"""


class Unchanged(Enum):
    """Type of :data:`UNCHANGED`."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
"""Value of a view model's field that leaves the component unchanged."""


def props(**properties: object) -> Update:
    """Return an update of a component's properties, such as ``visible`` or ``choices`` (what ``gr.update`` returns)."""
    return {"__type__": "update", **properties}


def view(
    name: str, value: Value | None = None, *, elem_id: str | None = None, server: Sequence[ServerFunction] = (), classes: Sequence[str] = ()
) -> gr.HTML:
    """Draw a view.

    Args:
        name: name of the view, which a file of ``assets/page`` defines as ``views.NAME``.
        value: ``None`` hides it.
        server: functions that its JavaScript may call.
    """
    import gradio as gr

    return gr.HTML(
        value=to_plain(value),
        html_template='<div class="sb-view" hidden></div>',
        js_on_load=_MOUNT.format(name=name),
        server_functions=list(server) or None,
        elem_id=elem_id,
        elem_classes=[f"sb-view-{name}", *classes],
        padding=False,
    )


def column(name: str, kind: str = "text", **options: object) -> Value:
    """Return a column of :func:`table`.

    Args:
        kind: text, texts (a list), marked (a list of parts, every second one highlighted), place (in another list, or ``None``), row,
            number, count, speed (lowest, median and highest), bar, badge, change (a signed number) or interval.
        options: ``ours`` if the cells are the page's own words, which are translated; ``theirs`` if the name is a visitor's, which is not.
    """
    return {"name": name, "kind": kind, **options}


def table(
    columns: Sequence[Value],
    rows: Sequence[Sequence[object]],
    *,
    ids: Sequence[object] = (),
    action: str = "",
    event: str = "row",
    pairs: Sequence[tuple[str, str]] = (),
    caption: str = "",
    note: str = "",
    empty: str = "Nothing to show.",
    theirs: Sequence[str] = (),
) -> Value:
    """Return the value of a ``table`` view.

    Args:
        ids: item of the :class:`.panel.Selection` when a row is clicked.
        action: label of that action.
        event: name of that action in the selection.
        pairs: two texts for each row, next to which thumbs are drawn (:data:`.basket.VERDICTS`).
        theirs: names chosen by visitors in headers, caption and note, which are not translated; those of columns are known.
    """
    value: Value = {"columns": list(columns), "rows": [list(row) for row in rows], "caption": caption, "note": note, "empty": empty}
    value["theirs"] = [*theirs, *(str(one["name"]) for one in columns if one.get("theirs"))]
    if action:
        value |= {"ids": list(ids), "action": {"label": action, "value": event}}
    if pairs:
        value |= {"ids": list(ids), "pairs": [list(pair) for pair in pairs]}
    return to_plain(value)  # type: ignore[no-any-return]


def speed_cell(rate: float, spread: Sequence[float] | None) -> list[int | None] | None:
    """Return the cell of a ``speed`` column."""
    slowest, fastest = spread or (None, None)
    return [None if one is None else round(one) for one in (slowest, rate, fastest)] if rate else None


def facts(pairs: Sequence[tuple[str, object]], *, title: str = "", notes: Sequence[str] = ()) -> Value:
    return {"title": title, "facts": [list(pair) for pair in pairs], "notes": list(notes)}


def placeholder(text: str) -> Value:
    return {"empty": text, "rows": [], "cards": []}


SpeedPoint = tuple[str, float, Sequence[float] | None, float, Sequence[float] | None]
"""Title, sentences per second with lowest and highest measurement, score with 95 % interval; ``None`` for unknown ranges."""


def speed_value(points: Sequence[SpeedPoint], metric: str) -> Value:
    """Return the value of a ``speeds`` view from one point for each model."""
    shown = []
    for title, rate, spread, score, interval in points:
        (slowest, fastest), (low, high) = spread or (None, None), interval or (None, None)
        shown.append({"name": title, "rate": rate, "slowest": slowest, "fastest": fastest, "score": score, "low": low, "high": high})
    return to_plain({"points": shown, "metric": metric})  # type: ignore[no-any-return]


def questions_view(title: str, questions: Sequence[Question]) -> Value | None:
    """Return the value of a ``questions`` view: questions about a file with rows and answers; ``None`` if there are none."""
    shown = [
        {
            "question": one.text,
            "why": to_sentence(one.why),
            "rows": [{"row": row.row, "texts": list(row.texts), "value": row.value, "read_as": row.read_as} for row in one.rows],
            "answers": [option.answer for option in one.options],
            "theirs": [list(_texts_in(option.choice)) for option in one.options],
            "proposed": one.proposed,
        }
        for one in questions
    ]
    return to_plain({"title": title, "questions": shown}) if shown else None


def _texts_in(choice: object) -> Iterator[str]:
    if isinstance(choice, str):
        yield choice
    elif isinstance(choice, Mapping):
        for item in choice.values():
            yield from _texts_in(item)
    elif isinstance(choice, Sequence):
        for item in choice:
            yield from _texts_in(item)


def chosen_option(questions: Sequence[Question], place: object, hint: str) -> tuple[Question, Option]:
    """Return the question and the answer at ``place``, which are indices from the browser.

    Raises:
        StudioError: the answer does not exist.
    """
    if isinstance(place, list) and len(place) == 2 and all(type(number) is int and number >= 0 for number in place):
        first, second = place
        if first < len(questions) and second < len(questions[first].options):
            return questions[first], questions[first].options[second]
    raise StudioError("this question was already answered", hint)


def shorten(text: str, length: int = _MAX_CHARACTERS) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def valid_rows(rows: object, count: int) -> list[int]:
    """Return the distinct valid row numbers below ``count`` among ``rows``, which come from the browser."""
    sent = rows if isinstance(rows, list | tuple) else ()
    return list(dict.fromkeys(row for row in sent if type(row) is int and 0 <= row < count))


def text_range(corpus: Corpus, request: Mapping[str, object], limit: int = _MAX_TEXTS) -> list[str]:
    """Return the shortened texts of rows ``start`` to ``start + count``, as requested, at most ``limit``."""
    start, count = (max(0, value) if isinstance(value := request.get(name), int) else 0 for name in ("start", "count"))
    return [shorten(text) for text in corpus.texts[start : start + min(count, limit)]]


def server_function(page: Page, name: str, answer: Callable[[Page, Mapping[str, Any]], object]) -> ServerFunction:
    """Return ``answer`` as a function that the browser calls by ``name``; user errors become ``{"error": message}``."""

    from .sessions.language import localize

    def call(request: object) -> object:
        try:
            return localize(to_plain(answer(page, request if isinstance(request, dict) else {})))
        except StudioError as error:
            return {"error": localize(join(" ", [to_sentence(part) for part in (error.message, error.hint) if part]))}

    call.__name__ = name
    return call
