"""The settings form: what it offers, and what counts as changed by hand."""

from __future__ import annotations

import pytest

from sbert_studio.losses import LOSSES
from sbert_studio.training.spec import TrainSpec
from sbert_studio.ui.tabs.fine_tune import view_model
from sbert_studio.ui.tabs.fine_tune.view_model import form_settings, loss_choices, read_overrides, settings_view

from .forms import values_of
from .test_settings_edits import find


@pytest.mark.parametrize("values", [{}, {"learning_rate": 1.23456789e-5, "epochs": 10 / 3, "loss": "triplet", "warmup_ratio": 0.123456}])
def test_an_untouched_form_overrides_nothing(values: dict[str, object]) -> None:
    displayed = form_settings(TrainSpec(**{"loss": "cosine", **values}), {})  # type: ignore[arg-type]
    assert read_overrides(values_of(displayed), displayed, {}) == {}


@pytest.mark.parametrize(
    ("spec", "architecture", "earlier", "overrides"),
    [
        (
            TrainSpec(loss="contrastive", pooling="cls"),
            "cross",
            {"loss": "contrastive", "margin": 0.7, "pooling": "cls", "seed": 3},
            {"architecture": "cross", "seed": 3},
        ),
        (
            TrainSpec(architecture="cross", loss="mse", head="mlp"),
            "siamese",
            {"architecture": "cross", "head": "mlp", "sigmoid": "no", "seed": 3},
            {"architecture": "siamese", "seed": 3},
        ),
        (
            TrainSpec(loss="cosent", pooling="cls"),
            "poly",
            {"loss": "cosent", "scale": 30.0, "pooling": "cls", "matryoshka": "16,8", "seed": 3},
            {"architecture": "poly", "loss": "cosent", "scale": 30.0, "pooling": "cls", "seed": 3},
        ),
    ],
)
def test_settings_of_another_architecture_are_dropped(
    spec: TrainSpec, architecture: str, earlier: dict[str, object], overrides: dict[str, object]
) -> None:
    displayed = form_settings(spec, earlier)
    assert read_overrides(values_of(displayed, architecture=architecture), displayed, earlier) == overrides


def test_objectives_are_those_of_the_kind_and_the_architecture() -> None:
    names = {name for _, name in loss_choices("triplets")}
    assert names == {"auto"} | {name for name in LOSSES if "triplets" in LOSSES[name].kinds}
    assert [name for _, name in loss_choices("labelled_pairs", "cross")] == ["auto", "mse", "binary_cross_entropy", "cross_entropy"]
    poly = [name for _, name in loss_choices("labelled_pairs", "poly")]
    assert poly == ["auto", "in_batch", "cosine", "cosent", "cosine+cosent"]
    view = settings_view("scored_pairs", form_settings(TrainSpec(architecture="cross", loss="mse"), {}))
    offered = find(view["items"], "loss")["choices"]
    assert [name for _, name in offered] == ["auto", "mse", "binary_cross_entropy"] and offered[0][0].endswith("Squared error")


@pytest.mark.parametrize(
    ("method", "architecture", "visible"),
    [("lora", "cross", "of-lora of-cross"), ("full", "poly", "of-poly of-vectors"), ("full", "siamese", "of-vectors")],
)
def test_the_form_shows_what_the_architecture_needs(method: str, architecture: str, visible: str) -> None:
    objective = {"cross": "mse", "poly": "in_batch", "siamese": "cosent"}[architecture]
    items = settings_view(None, form_settings(TrainSpec(method=method, architecture=architecture, loss=objective), {}))["items"]
    names = ("of-lora", "of-cross", "of-poly", "of-vectors")
    assert [name for name in names if find(items, name)["visible"]] == [name for name in names if name in visible.split()]


def test_every_setting_is_in_the_form_and_only_changed_ones_are_overrides() -> None:
    displayed = form_settings(TrainSpec(loss="contrastive"), {})
    values = values_of(displayed, method="lora", epochs="2")
    assert read_overrides(values, displayed, {"seed": 3}) == {"seed": 3, "method": "lora", "epochs": 2.0}
    own = values_of(displayed) | {"contrastive.margin": 0.75, "cosent.scale": 7.0}
    assert read_overrides(own, displayed, {}) == {"margin": 0.75}
    assert read_overrides(own | {"loss": "cosent"}, displayed, {"margin": 0.75}) == {"loss": "cosent", "scale": 7.0}
    view = settings_view(None, view_model.default_settings())
    assert all(find(view["items"], item.name) for item in view_model.spec_fields())
    (field,) = [item for item in view_model.spec_fields() if item.name == "architecture"]
    assert [value for _, value in find(view["items"], "architecture")["choices"]] == list(field.choices)
