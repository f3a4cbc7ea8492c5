"""The training settings as controls: the advisor fills them, a person's changes are told from its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from ....registry import Field, fields_of
from ... import forms

_BASIC = ("epochs", "batch_size", "learning_rate")
_LORA = ("lora_r", "lora_alpha", "lora_dropout")
_AUTO = ("Chosen for your data", "auto")
_MINIMISED = "What is minimised."
_OF_VECTORS = ("prompt", "pooling", "projection", "activation", "matryoshka")
# What is meant with another architecture only.
_FOREIGN = {"siamese": ("head", "codes"), "cross": (*_OF_VECTORS, "codes"), "poly": ("head", "matryoshka")}
_CHOICES = {
    "architecture": [
        ("Compares the vectors of two texts", "siamese"),
        ("Reads both texts at once: to rank again", "cross"),
        ("Compares several vectors of the first with one of the second: to rank again, quickly", "poly"),
    ],
    "head": [("One linear layer", "linear"), ("512 units with ReLU, then a sigmoid", "mlp")],
}
METHODS = [("All weights", "full"), ("LoRA: small adapters", "lora")]


def spec_fields() -> list[Field]:
    """The settings of a run, but those that have a chooser of their own."""
    from ....training.spec import TrainSpec

    return [item for item in TrainSpec.settings() if item.name not in ("model", "objective", "method")]


def objective_fields() -> list[tuple[str, Field]]:
    """(objective, setting) for every setting of every objective of all architectures, in order; those of one name have the same ones."""
    from ....losses import LOSSES_BY_ARCHITECTURE

    by_name = {name: known[name].Params for known in LOSSES_BY_ARCHITECTURE.values() for name in known}
    return [(name, item) for name, params in by_name.items() for item in fields_of(params)]


def objective_choices(kind: str | None, architecture: str = "siamese") -> list[tuple[str, str]]:
    """(title, name) of the objectives that an architecture learns by from a kind of examples."""
    from ....losses import losses_of

    known = losses_of(architecture)
    return [_AUTO, *((known[name].title, name) for name in known if kind is None or kind in known[name].kinds)]


@dataclass(frozen=True)
class SettingsForm:
    """The controls, in the order of :attr:`inputs`.

    Attributes:
        groups: the objectives' own, by objective.
        sections: what is seen for LoRA, for a cross-encoder, for a poly-encoder, and for what compares vectors.
    """

    method: Any
    objective: Any
    controls: Mapping[str, Any]
    own: tuple[tuple[str, Field, Any], ...]
    groups: Mapping[str, Any]
    sections: tuple[Any, Any, Any, Any]

    @property
    def inputs(self) -> list[Any]:
        """Every control, for an event's inputs or outputs."""
        return [self.method, self.objective, *self.controls.values(), *(item for _, _, item in self.own)]


def draw() -> SettingsForm:
    """Draw the controls where the caller stands."""
    fields = {item.name: item for item in spec_fields()}
    controls: dict[str, Any] = {}
    method = gr.Radio(METHODS, value="full", label="What is trained", elem_id="tune-method")
    with gr.Row():
        for name in _BASIC:
            controls[name] = forms.control(fields[name], elem_id=f"tune-{name}", min_width=110, info=None)
    with gr.Accordion("Advanced settings", open=False, elem_id="tune-advanced"):
        controls["architecture"] = _chooser(fields["architecture"], "What it does")
        with gr.Column(visible=False) as of_pairs:
            controls["head"] = _chooser(fields["head"], "Head")
        with gr.Column(visible=False) as of_poly:
            controls |= forms.controls([fields["codes"]], elem_id="tune")
        objective = gr.Dropdown(objective_choices(None), value="auto", label="Objective", info=_MINIMISED, elem_id="tune-objective")
        groups, own = _objective_groups()
        with gr.Column(visible=False) as lora:
            controls |= forms.controls([fields[name] for name in _LORA], elem_id="tune")
        with gr.Column() as of_vectors:
            controls |= forms.controls([fields[name] for name in _OF_VECTORS], elem_id="tune")
        controls |= forms.controls([item for name, item in fields.items() if name not in controls], elem_id="tune")
    return SettingsForm(
        method, objective, {name: controls[name] for name in fields}, tuple(own), groups, (lora, of_pairs, of_poly, of_vectors)
    )


def _chooser(field: Field, label: str) -> Any:
    return gr.Radio(_CHOICES[field.name], value=field.default, label=label, info=field.help, elem_id=f"tune-{field.name}")


def seen(method: str, architecture: str) -> list[Any]:
    """Updates of ``SettingsForm.sections``."""
    return [
        gr.update(visible=shown) for shown in (method == "lora", architecture == "cross", architecture == "poly", architecture != "cross")
    ]


def deciding_values(shown: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values that determine which other controls are visible and what they contain."""
    return tuple(shown[name] for name in ("method", "objective", "acting", "architecture", "head"))


def choices_in(raw: Sequence[Any]) -> tuple[str, str, str, str]:
    """Method, objective, architecture and head, as the values of ``SettingsForm.inputs`` hold them."""
    names = [item.name for item in spec_fields()]
    return str(raw[0]), str(raw[1]), architecture_in(raw), str(raw[2 + names.index("head")])


def architecture_in(raw: Sequence[Any]) -> str:
    """What the control of the architecture holds among the values of ``SettingsForm.inputs``."""
    return str(raw[2 + [item.name for item in spec_fields()].index("architecture")])


def _objective_groups() -> tuple[dict[str, Any], list[tuple[str, Field, Any]]]:
    groups: dict[str, Any] = {}
    own: list[tuple[str, Field, Any]] = []
    by_objective: dict[str, list[Field]] = {}
    for name, item in objective_fields():
        by_objective.setdefault(name, []).append(item)
    for name, items in by_objective.items():
        with gr.Column(visible=False) as groups[name]:
            own += [(name, item, forms.control(item, elem_id=f"tune-{name}-{item.name}")) for item in items]
    return groups, own


def overrides(raw: Sequence[Any], shown: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """What a person has set: what was kept from before, and every control that no longer holds what was shown.

    Args:
        raw: the controls' values, in the order of ``SettingsForm.inputs``.
        shown: by name, what the controls were filled with; an objective's own settings are named ``objective.setting``.

    Raises:
        StudioError: a value that its field refuses.
    """
    from ....losses import losses_of

    method, objective, *rest = raw
    fields = spec_fields()
    architecture = architecture_in(raw)
    known = losses_of(architecture)
    objective = objective if objective in known else "auto"  # that of the other architecture is meant no more
    values = {"method": method, "objective": objective, **forms.read_values(fields, rest[: len(fields)])}
    found = {**kept, **{name: value for name, value in values.items() if value != shown.get(name)}}
    if found.get("objective") == "auto":
        del found["objective"]
    for name in _FOREIGN[architecture]:
        found.pop(name, None)
    acting = objective if objective != "auto" else str(shown.get("acting") or "")
    acting = acting if acting in known else ""
    for (name, item), value in zip(objective_fields(), rest[len(fields) :], strict=True):
        if name == acting:
            parsed = item.parse(value)
            if parsed != shown.get(f"{name}.{item.name}", item.default):
                found[item.name] = parsed
        elif name == str(shown.get("acting") or "") and item.name in found and item.name not in values:
            # Another objective does not know this setting.
            del found[item.name]
    return found


def shown_of(spec: Any, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the controls show for a spec: parsed back, so that a rounded number is no change."""
    values: dict[str, Any] = {"method": spec.method, "objective": chosen.get("objective", "auto"), "acting": spec.objective}
    for item in spec_fields():
        values[item.name] = item.parse(forms.to_control_value(item, getattr(spec, item.name)))
    for name, item in objective_fields():
        if name == spec.objective:
            values[f"{name}.{item.name}"] = item.parse(forms.to_control_value(item, spec.objective_params.get(item.name, item.default)))
    return values


def defaults_shown() -> dict[str, Any]:
    """What the controls show before there is any file."""
    from ....training.spec import TrainSpec

    return shown_of(TrainSpec(), {})


def updates(kind: str | None, shown: Mapping[str, Any]) -> list[Any]:
    """Updates of ``SettingsForm.inputs`` to what :func:`shown_of` says."""
    from ....losses import losses_of

    known = losses_of(str(shown["architecture"]))
    # Nothing acts yet where the file fits no kind.
    acting = known[str(shown["acting"])] if shown["acting"] in known else None
    auto = (f"{_AUTO[0]}: {acting.title}", "auto") if acting and shown["objective"] == "auto" else _AUTO
    choices = [auto, *objective_choices(kind, str(shown["architecture"]))[1:]]
    return [
        gr.update(value=shown["method"]),
        gr.update(choices=choices, value=shown["objective"], info=acting.summary if acting else _MINIMISED),
        *forms.updates(spec_fields(), shown),
        *(
            gr.update(value=forms.to_control_value(item, shown[f"{name}.{item.name}"])) if f"{name}.{item.name}" in shown else gr.skip()
            for name, item in objective_fields()
        ),
    ]
