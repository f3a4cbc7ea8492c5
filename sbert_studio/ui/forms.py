"""Forms: settings declared by a dataclass, drawn as one component, and conversion of their values.

A form is a *single* component, a ``fields`` view, so that an event sends and updates one value however many settings there are. The value
is JSON: ``items`` (controls and groups of them) and ``values`` (name → value). The browser sends it with each edit (event ``input``) and
as an input of other events. A response created by :func:`answer_form` does not overwrite what the user has edited since it was sent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..i18n import _, capitalize
from ..registry import Field
from .views import Value, to_json, view

if TYPE_CHECKING:
    import gradio as gr

    from ..data.corpus import Corpus

# Labels of the empty choice, where it does not mean the model's own value.
_BLANK = {"accept_alarm": "none: stop and ask"}
_MAX_STOPS = 200  # maximum number of steps of a slider; numbers with a wider range are typed


def form_key(*values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def form_provenance(form: str, key: str, words: str, button: str, corpus: Corpus | None = None, theirs: Sequence[str] = ()) -> Value:
    """Describe how a result was computed, if its models are chosen in a separate form instead of the header.

    Args:
        form: name of a ``form`` view, whose value has ``key`` as long as the form is unchanged.
        words: description.
        theirs: names in the description that are not translated.
        button: id of the button that computes the result again.
        corpus: the selected corpus, if the result depends on it.
    """
    digest = "" if corpus is None else corpus.digest
    return {"model": "", "corpus": digest, "form": form, "key": key, "words": words, "again": button, "theirs": list(theirs)}


def format_number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def to_control_value(field: Field, value: object) -> object:
    """Convert a value to that of a field's control. Typed numbers are text until they are parsed."""
    return value if field.type in (bool, str) or _has_slider(field) else format_number(value)


def _has_slider(field: Field) -> bool:
    return bool(field.min is not None and field.max is not None and field.step and (field.max - field.min) / field.step <= _MAX_STOPS)


def describe_control(field: Field, *, name: str = "", **properties: object) -> Value:
    """Return an item of a form that edits a field; ``name`` and ``properties`` override the field's own."""
    blank = _BLANK.get(field.name, "the model's own")
    choices = [[choice or blank, choice] for choice in field.choices]
    words = field.name.replace("_", " ")
    item = {"name": name or field.name, "label": capitalize(words), "info": field.help, "choices": choices, **properties}
    if field.type is bool:
        return {**item, "kind": "checkbox"}
    if item["choices"]:
        return {**item, "kind": "choice"}
    if _has_slider(field):
        return {**item, "kind": "slider", "min": field.min, "max": field.max, "step": field.step}
    return {**item, "kind": "text"}


def radio(item: Value) -> Value:
    return {**item, "kind": "radio"}


def group(items: Sequence[Value], *, name: str = "", title: str = "", row: bool = False, visible: bool = True) -> Value:
    """Group items of a form, in an accordion if they have a title, or side by side in a row."""
    return {"kind": "group", "name": name, "title": title, "row": row, "visible": visible, "items": list(items)}


def form_view(prefix: str, items: Sequence[Value], values: Mapping[str, object]) -> Value:
    """Return the value of a ``fields`` view; the ids of its controls are ``prefix``, ``-`` and the name."""
    return to_json({"prefix": prefix, "items": list(items), "values": dict(values)})  # type: ignore[no-any-return]


def form(value: Value, *, elem_id: str) -> gr.HTML:
    return view("fields", value, elem_id=elem_id)


def form_values(form: object) -> dict[str, Any]:
    """Return the values of a form sent by the browser, by name; :func:`parse_values` validates them."""
    values = form.get("values") if isinstance(form, Mapping) else None
    return dict(values) if isinstance(values, Mapping) else {}


def answer_form(sent: object, new: Value) -> Value:
    """Return ``new`` as the response to an edit of the form ``sent``, without overwriting what the user has edited in the meantime."""
    return {**new, "revision": sent.get("revision")} if isinstance(sent, Mapping) else new


def parse_values(fields: Iterable[Field], values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Parse and validate the values of some fields, named with a prefix in ``values``.

    Raises:
        StudioError: a field rejects its value.
    """
    found = {}
    for field in fields:
        name = f"{prefix}{field.name}"
        if name not in values:
            raise StudioError(_("{name} is missing", name=field.name), "reload the page")
        value = values[name]
        found[field.name] = field.parse(value.strip() if isinstance(value, str) else value)
    return found
