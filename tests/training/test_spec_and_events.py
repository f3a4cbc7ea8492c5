from __future__ import annotations

import json

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.training.events import Evaluated, Failed, Finished, Notice, Saved, Started, Step, Stopped, from_json, to_json
from sbert_studio.training.spec import TrainSpec

EVENTS = [
    Started(10, 1.0, 20, 4, "cosent", "full", "cpu", "float32", 8, 0, ("because",)),
    Step(1, 10, 0.1, 0.5, 1e-5, 20.0, 3.0, 1.5),
    Evaluated(0, "cosine_spearman", 0.8, {"cosine": {"spearman": 0.8}}, False),
    Saved(5, "/tmp/x"),
    Notice("take note"),
    Finished(10, 5.0, 20.0, {"score": 0.8}, {"score": 0.9}, "/tmp/model"),
    Stopped(10, 5.0, 20.0, {}, {}, "/tmp/model"),
    Failed("what", "how"),
]


def test_a_spec_survives_json() -> None:
    spec = TrainSpec(objective="cosent", epochs=2, matryoshka="64, 32", objective_params={"scale": 10.0})
    assert TrainSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert spec.widths == (64, 32)


def test_values_are_read_as_their_type() -> None:
    spec = TrainSpec.from_json({"epochs": "3", "batch_size": "16", "gradient_checkpointing": "yes", "pooling": None})
    assert (spec.epochs, spec.batch_size, spec.gradient_checkpointing, spec.pooling) == (3.0, 16, True, "")


@pytest.mark.parametrize(
    "values",
    [
        {"epoch": 1},
        {"epochs": 0},
        {"batch_size": 0},
        {"method": "qlora"},
        {"learning_rate": "fast"},
        {"dropout": -0.5},
        {"matryoshka": "64,x"},
    ],
)
def test_what_is_unknown_or_out_of_bounds_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(StudioError):
        TrainSpec.from_json(values)


def test_every_setting_can_be_drawn() -> None:
    for item in TrainSpec.settings():
        assert item.type in (bool, int, float, str)
        assert item.help.endswith(".")


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_json(event: Step) -> None:
    values = json.loads(json.dumps(to_json(event), allow_nan=False))
    assert values["type"] == type(event).__name__.lower()
    assert from_json(values) == event


def test_a_number_that_json_has_no_word_for_becomes_none() -> None:
    assert to_json(Step(1, 10, 0.1, float("nan"), 1e-5, float("inf"), 3.0, 1.5))["loss"] is None
