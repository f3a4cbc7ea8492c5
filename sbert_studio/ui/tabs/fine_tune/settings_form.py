"""The training settings as a form: it shows the automatic settings, and each value changed by the visitor becomes an override."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from ....i18n import _
from ....registry import Field, fields_of
from ... import components
from ...views import Value

if TYPE_CHECKING:
    from ....training.spec import TrainSpec

_PREFIX = "tune"
_BASIC = ("epochs", "batch_size", "learning_rate")
_LORA = ("lora_r", "lora_alpha", "lora_dropout")
_VECTORS = ("prompt", "pooling", "projection", "activation", "matryoshka")
_AUTO = ("Chosen for your data", "auto")
_OBJECTIVE_HELP = "The loss that training minimizes."
# Settings that have no effect with an architecture.
_UNUSED = {"siamese": ("head", "codes"), "cross": (*_VECTORS, "codes"), "poly": ("head", "matryoshka")}
_CHOICES = {
    "architecture": [
        ("Bi-encoder: compares the vectors of two texts", "siamese"),
        ("Cross-encoder: encodes both texts jointly, for re-ranking", "cross"),
        ("Poly-encoder: compares several vectors of the first text with one of the second, for fast re-ranking", "poly"),
    ],
    "head": [("One linear layer", "linear"), ("512 units with ReLU, then a sigmoid", "mlp")],
}
_METHODS = [["All weights", "full"], ["LoRA: small adapters", "lora"]]
_DECIDING = ("method", "loss", "acting", "architecture", "head")


@cache
def spec_fields() -> tuple[Field, ...]:
    """Return the settings of a run, except for those with a separate item in the form."""
    from ....training.spec import TrainSpec

    return tuple(item for item in TrainSpec.settings() if item.name not in ("model", "loss", "method"))


@cache
def loss_fields() -> tuple[tuple[str, tuple[Field, ...]], ...]:
    """Return the settings of each loss of any architecture; losses with the same name have the same settings."""
    from ....losses import LOSSES_BY_ARCHITECTURE

    params = {name: known[name].Params for known in LOSSES_BY_ARCHITECTURE.values() for name in known}
    return tuple((name, tuple(fields_of(one))) for name, one in params.items())


def loss_choices(kind: str | None, architecture: str = "siamese") -> list[tuple[str, str]]:
    from ....losses import losses_of

    known = losses_of(architecture)
    return [_AUTO, *((known[name].title, name) for name in known if kind is None or kind in known[name].kinds)]


def displayed_settings(spec: TrainSpec, overrides: Mapping[str, object]) -> dict[str, object]:
    """Return the values displayed in the form for a spec, by name.

    Numbers are parsed back, so that rounding does not count as a change. Settings of the loss are named ``loss.setting``, and "acting" is
    the
    loss in use.
    """
    values: dict[str, object] = {"method": spec.method, "loss": overrides.get("loss", "auto"), "acting": spec.loss}
    for item in spec_fields():
        values[item.name] = item.parse(components.to_control_value(item, getattr(spec, item.name)))
    for item in dict(loss_fields()).get(spec.loss, ()):
        value = spec.loss_params.get(item.name, item.default)
        values[f"{spec.loss}.{item.name}"] = item.parse(components.to_control_value(item, value))
    return values


def default_settings() -> dict[str, object]:
    from ....training.spec import TrainSpec

    return displayed_settings(TrainSpec(), {})


def deciding_values(displayed: Mapping[str, object]) -> tuple[object, ...]:
    """Return the values that determine which other settings are visible and what they contain."""
    return tuple(displayed[name] for name in _DECIDING)


def chosen_options(values: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(values.get(name)) for name in _DECIDING if name != "acting")


def settings_view(kind: str | None, displayed: Mapping[str, object], sent: Mapping[str, object] | None = None) -> Value:
    """Return the form with the ``displayed`` settings. Values ``sent`` by the browser, such as an incompletely typed number, are kept."""
    from ....losses import losses_of

    current = displayed if sent is None else sent
    architecture = str(current.get("architecture"))
    architecture = architecture if architecture in _UNUSED else "siamese"
    known = losses_of(architecture)
    # There is no loss yet if the file fits no kind.
    acting = known[str(displayed["acting"])] if displayed["acting"] in known else None
    auto = (_("{auto}: {title}", auto=_AUTO[0], title=acting.title), "auto") if acting and displayed["loss"] == "auto" else _AUTO
    offered = [auto, *loss_choices(kind, architecture)[1:]]
    values = {item.name: components.to_control_value(item, displayed[item.name]) for item in spec_fields()}
    for name, items in loss_fields():
        values |= {
            f"{name}.{item.name}": components.to_control_value(item, displayed.get(f"{name}.{item.name}", item.default)) for item in items
        }
    values |= {"method": displayed["method"], "loss": displayed["loss"], **(sent or {})}
    if values["loss"] not in {name for _, name in offered}:
        values["loss"] = "auto"
    loss = {"name": "loss", "label": "Loss", "kind": "choice", "choices": [list(one) for one in offered]}
    loss["info"] = acting.summary if acting else _OBJECTIVE_HELP
    return components.form_view(_PREFIX, _items(loss, str(displayed["acting"]), str(current.get("method")), architecture), values)


def _items(loss: Value, acting: str, method: str, architecture: str) -> list[Value]:
    fields = {item.name: item for item in spec_fields()}

    def controls(*names: str) -> list[Value]:
        return [components.describe_control(fields[name]) for name in names]

    def radio(name: str, label: str) -> Value:
        return components.radio(components.describe_control(fields[name], label=label, choices=[list(one) for one in _CHOICES[name]]))

    own = [
        components.group(
            [components.describe_control(item, name=f"{name}.{item.name}") for item in items], name=name, visible=name == acting
        )
        for name, items in loss_fields()
    ]
    placed = ("architecture", "head", "codes", *_BASIC, *_LORA, *_VECTORS)
    advanced = [
        components.group([radio("architecture", "Architecture")]),
        components.group([radio("head", "Head")], name="of-cross", visible=architecture == "cross"),
        components.group(controls("codes"), name="of-poly", visible=architecture == "poly"),
        loss,
        *own,
        components.group(controls(*_LORA), name="of-lora", visible=method == "lora"),
        components.group(controls(*_VECTORS), name="of-vectors", visible=architecture != "cross"),
        *controls(*(name for name in fields if name not in placed)),
    ]
    return [
        components.radio({"name": "method", "label": "Trained weights", "info": "", "choices": _METHODS}),
        components.group([components.describe_control(fields[name], info="") for name in _BASIC], row=True),
        components.group(advanced, name="advanced", title="Advanced settings"),
    ]


def read_overrides(values: Mapping[str, object], displayed: Mapping[str, object], earlier: Mapping[str, object]) -> dict[str, object]:
    """Return the earlier overrides, and each value of the browser's form that differs from the displayed value."""
    from ....losses import losses_of

    parsed = components.parse_values(spec_fields(), values)
    architecture = str(parsed["architecture"])
    known = losses_of(architecture)
    # The loss was chosen for another architecture.
    loss = str(values.get("loss")) if values.get("loss") in known else "auto"
    current = {"method": values.get("method"), "loss": loss, **parsed}
    overrides = {**earlier, **{name: value for name, value in current.items() if value != displayed.get(name)}}
    if overrides.get("loss") == "auto":
        del overrides["loss"]
    for name in _UNUSED[architecture]:
        overrides.pop(name, None)
    displayed_objective = str(displayed.get("acting") or "")
    acting = loss if loss != "auto" else displayed_objective
    acting = acting if acting in known else ""
    own = dict(loss_fields())
    if displayed_objective != acting:  # another loss does not have these settings
        for item in own.get(displayed_objective, ()):
            if item.name not in current:
                overrides.pop(item.name, None)
    for name, value in components.parse_values(own.get(acting, ()), values, f"{acting}.").items():
        default = next(item.default for item in own[acting] if item.name == name)
        if value != displayed.get(f"{acting}.{name}", default):
            overrides[name] = value
    return overrides
