"""Forms: settings that a dataclass declares, drawn as Gradio controls or as one component, and their values read back.

A long form is *one* component, a ``fields`` view, so that an event sends and fills one value however many settings there are. The value is
JSON: ``items`` (controls and groups of them) and ``values`` (name → value). The browser sends it with each edit (event ``input``) and as
an input of other events. An answer that :func:`answer_form` made from the value leaves alone what the user has edited since it was sent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..errors import StudioError
from ..registry import Field
from .views import Update, Value, props, to_json, view

if TYPE_CHECKING:
    from ..data.corpus import Corpus

# Labels of the empty choice, if it does not mean the model's own value.
_BLANK = {"accept_alarm": "none: stop and ask"}
_MAX_STOPS = 200  # of a slider; a wider range is typed


def form_key(*values: object) -> str:
    """Return 16 hex digits that identify the values of a form."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def form_provenance(form: str, key: str, words: str, button: str, corpus: Corpus | None = None, theirs: Sequence[str] = ()) -> Value:
    """Describe what a result was made with, if its models are chosen in a form of its own rather than in the header.

    Args:
        form: name of a ``form`` view, whose value has ``key`` as long as the form is unchanged.
        words: description; theirs: names in it that are not translated.
        button: id of the button that makes the result again.
        corpus: the selected corpus, if the result depends on it.
    """
    digest = "" if corpus is None else corpus.digest
    return {"model": "", "corpus": digest, "form": form, "key": key, "words": words, "again": button, "theirs": list(theirs)}


def label_of(name: str) -> str:
    """Return the label of a setting, such as "Learning rate" for ``learning_rate``."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def control(field: Field, value: object = None, **more: object) -> gr.components.Component:
    """Draw the Gradio control of a field: checkbox, dropdown, slider or textbox."""
    current = field.default if value is None else value
    options = {"label": label_of(field.name), "info": field.help or None, **more}
    if field.type is bool:
        return gr.Checkbox(bool(current), **options)
    if field.choices:
        blank = _BLANK.get(field.name, "as the model has it")
        return gr.Dropdown([(choice or blank, choice) for choice in field.choices], value=current, **options)
    if field.type is str:
        return gr.Textbox(str(current), max_lines=1, **options)
    if _has_slider(field):
        return gr.Slider(field.min, field.max, current, step=field.step, **options)
    # Typed numbers stay text until they are parsed: a number box would round 2e-05 to 0.
    return gr.Textbox(format_number(current), max_lines=1, **options)


def format_number(value: object) -> str:
    """Return a number as a person would type it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def controls(fields: Iterable[Field], *, elem_id: str, **more: object) -> dict[str, gr.components.Component]:
    """Draw a control for each field; return them by name."""
    return {field.name: control(field, elem_id=f"{elem_id}-{field.name}", **more) for field in fields}


def read_values(fields: Sequence[Field], raw: Sequence[object]) -> dict[str, Any]:
    """Parse and check the values of controls.

    Raises:
        StudioError: a field refuses its value.
    """
    return {field.name: field.parse(value.strip() if isinstance(value, str) else value) for field, value in zip(fields, raw, strict=True)}


def updates(fields: Sequence[Field], values: Mapping[str, object]) -> list[Update]:
    """Return an update of each control: a value for the fields in ``values``, none for the others."""
    return [props(value=to_control_value(field, values[field.name])) if field.name in values else props() for field in fields]


def to_control_value(field: Field, value: object) -> object:
    """Return a value as the control of a field holds it."""
    return value if field.type in (bool, str) or _has_slider(field) else format_number(value)


def _has_slider(field: Field) -> bool:
    return bool(field.min is not None and field.max is not None and field.step and (field.max - field.min) / field.step <= _MAX_STOPS)


def describe_control(field: Field, *, name: str = "", **properties: object) -> Value:
    """Return an item of a form that edits a field.

    Args:
        name: of the value, if another than the field's, such as ``margin`` of one of several losses.
        properties: ``label``, ``info``, ``placeholder`` or ``choices`` (label, value), instead of those of the field.
    """
    blank = _BLANK.get(field.name, "as the model has it")
    choices = [[choice or blank, choice] for choice in field.choices]
    item = {"name": name or field.name, "label": label_of(field.name), "info": field.help, "choices": choices, **properties}
    if field.type is bool:
        return {**item, "kind": "checkbox"}
    if item["choices"]:
        return {**item, "kind": "choice"}
    if _has_slider(field):
        return {**item, "kind": "slider", "min": field.min, "max": field.max, "step": field.step}
    return {**item, "kind": "text"}


def radio(item: Value) -> Value:
    """Return a choice as radio buttons."""
    return {**item, "kind": "radio"}


def group(items: Sequence[Value], *, name: str = "", title: str = "", row: bool = False, visible: bool = True) -> Value:
    """Return items that belong together.

    Args:
        title: of an accordion that holds them, closed at first; its id is the form's prefix and ``name``.
        row: draw them side by side.
    """
    return {"kind": "group", "name": name, "title": title, "row": row, "visible": visible, "items": list(items)}


def form_view(prefix: str, items: Sequence[Value], values: Mapping[str, object]) -> Value:
    """Return the value of a ``fields`` view.

    Args:
        prefix: of the controls' ids, which continue with ``-`` and the name.
    """
    return to_json({"prefix": prefix, "items": list(items), "values": dict(values)})  # type: ignore[no-any-return]


def form(value: Value, *, elem_id: str) -> gr.HTML:
    """Draw a form (see :func:`form_view`)."""
    return view("fields", value, elem_id=elem_id)


def form_values(form: object) -> dict[str, Any]:
    """Return the values of a form that the browser sent, by name; :func:`parse_values` checks them."""
    values = form.get("values") if isinstance(form, Mapping) else None
    return dict(values) if isinstance(values, Mapping) else {}


def answer_form(sent: object, new: Value) -> Value:
    """Return ``new`` as the answer to an edit of the form ``sent``: what was edited meanwhile stays as the user has it."""
    return {**new, "revision": sent.get("revision")} if isinstance(sent, Mapping) else new


def parse_values(fields: Iterable[Field], values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Parse and check the values of some fields, by field name.

    Args:
        prefix: of the names in ``values``.

    Raises:
        StudioError: a value is missing, or its field refuses it.
    """
    found = {}
    for field in fields:
        name = f"{prefix}{field.name}"
        if name not in values:
            raise StudioError(f"{field.name} is missing", "reload the page")
        value = values[name]
        found[field.name] = field.parse(value.strip() if isinstance(value, str) else value)
    return found
