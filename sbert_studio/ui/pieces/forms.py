"""Controls drawn from the settings that a dataclass declares, and their values read back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...registry import Field

if TYPE_CHECKING:
    from ...data.corpus import Corpus

# What the empty choice of a setting stands for, where it is nothing that a model has.
_BLANK = {"accept_alarm": "none: stop and ask"}
# A slider is for bounds that a hand can travel; anything wider is typed.
_MOST_STOPS = 200


def form_key(*chosen: Any) -> str:
    """16 hex digits that differ where a form says something else."""
    return hashlib.sha256(json.dumps(chosen).encode()).hexdigest()[:16]


def made_by_form(form: str, key: str, words: str, again: str, corpus: Corpus | None = None, theirs: Sequence[str] = ()) -> dict[str, Any]:
    """What a result was made with whose models stand in a form of its own, and not in the header.

    Args:
        form: the name of a ``form`` view, which holds ``key`` as long as the form says what the result was made with.
        corpus: where it was made of the corpus in the header.
        theirs: the names in ``words``, which no language translates.
    """
    digest = "" if corpus is None else corpus.digest
    return {"model": "", "corpus": digest, "form": form, "key": key, "words": words, "again": again, "theirs": list(theirs)}


def title_of(name: str) -> str:
    """``learning_rate`` as a label: Learning rate."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def control(field: Field, value: Any = None, **more: Any) -> Any:
    """The Gradio control of one field: a check box, a choice, a slider or a box to type in."""
    shown = field.default if value is None else value
    said = {"label": title_of(field.name), "info": field.help or None, **more}
    if field.type is bool:
        return gr.Checkbox(bool(shown), **said)
    if field.choices:
        blank = _BLANK.get(field.name, "as the model has it")
        return gr.Dropdown([(choice or blank, choice) for choice in field.choices], value=shown, **said)
    if field.type is str:
        return gr.Textbox(str(shown), max_lines=1, **said)
    if field.min is not None and field.max is not None and field.step and (field.max - field.min) / field.step <= _MOST_STOPS:
        return gr.Slider(field.min, field.max, shown, step=field.step, **said)
    # Typed numbers stay text until they are parsed: a number box would round 2e-05 to 0.
    return gr.Textbox(shown_number(shown), max_lines=1, **said)


def shown_number(value: Any) -> str:
    """A number as a person would type it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def controls(fields: Iterable[Field], *, elem_id: str, **more: Any) -> dict[str, Any]:
    """A control for each field, by name."""
    return {field.name: control(field, elem_id=f"{elem_id}-{field.name}", **more) for field in fields}


def read(fields: Sequence[Field], raw: Sequence[Any]) -> dict[str, Any]:
    """The controls' values, parsed and checked.

    Raises:
        StudioError: one that its field refuses.
    """
    return {field.name: field.parse(value.strip() if isinstance(value, str) else value) for field, value in zip(fields, raw, strict=True)}


def updates(fields: Sequence[Field], values: Mapping[str, Any]) -> list[Any]:
    """What the controls should show instead: a value for each field that ``values`` names, and nothing for the others."""
    return [gr.update(value=as_shown(field, values[field.name])) if field.name in values else gr.skip() for field in fields]


def as_shown(field: Field, value: Any) -> Any:
    """A value as the field's control holds it."""
    sliding = field.min is not None and field.max is not None and field.step and (field.max - field.min) / field.step <= _MOST_STOPS
    return value if field.type in (bool, str) or sliding else shown_number(value)
