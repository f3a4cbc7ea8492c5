"""What is pinned is told at every evaluation, and changes nothing of a training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.evaluation.encoding import pair_similarities
from sbert_studio.runs.event_log import load_event
from sbert_studio.training.events import (
    MAX_CHARACTERS,
    NEAREST,
    Evaluated,
    Failed,
    Finished,
    Notice,
    Part,
    Pinned,
    Saved,
    Started,
    Step,
    Stopped,
    TrackedExamples,
    from_json,
    to_json,
)
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import Assignment, RunNotes, train
from sbert_studio.training.trials import run_trials

from .tiny import Told, cross_spec, load, never, scored_pairs, small_spec, tiny_cross, tiny_encoder

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


def test_a_spec_survives_json_and_older_names_and_types_are_read() -> None:
    spec = TrainSpec(loss="cosent", epochs=2, matryoshka="64, 32", loss_params={"scale": 10.0})
    assert TrainSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert spec.widths == (64, 32)
    old = {"objective": "cosine", "objective_params": {"scale": 2.0}, "judge": "split", "first": {"objective": "softmax", "judge": "folds"}}
    spec = TrainSpec.from_json(old)
    assert (spec.evaluation, spec.first["evaluation"]) == ("split", "folds")
    assert (spec.loss, spec.loss_params, spec.first["loss"]) == ("cosine", {"scale": 2.0}, "softmax")
    values = to_json(EVENTS[0])
    values["objective"] = values.pop("loss")
    assert from_json(values) == EVENTS[0]
    spec = TrainSpec.from_json({"epochs": "3", "batch_size": "16", "gradient_checkpointing": "yes", "pooling": None})
    assert (spec.epochs, spec.batch_size, spec.gradient_checkpointing, spec.pooling) == (3.0, 16, True, "")
    for item in TrainSpec.settings():
        assert item.type in (bool, int, float, str)
        assert item.help.endswith(".")
    assert to_json(Step(1, 10, 0.1, float("nan"), 1e-5, float("inf"), 3.0, 1.5))["loss"] is None


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


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_json(event: Step) -> None:
    values = json.loads(json.dumps(to_json(event), allow_nan=False))
    assert values["type"] == type(event).__name__.lower()
    assert from_json(values) == event


PAIRS = (("cat dog", "dog cat mat"), ("red blue", "bank card"))
PINS = TrackedExamples(PAIRS, "lost card").with_texts(scored_pairs())


@pytest.mark.slow
def test_weights_are_the_same_to_the_bit_with_and_without_pins(tmp_path: Path) -> None:
    found, told = [], Told()
    for name, pins in (("with", PINS), ("without", None)):
        dev, place = scored_pairs(20, seed=7), tmp_path / name
        train(
            small_spec(),
            scored_pairs(24),
            told,
            never,
            encoder=tiny_encoder(),
            folder=place,
            dev=dev,
            assignment=Assignment(notes=RunNotes(pins=pins)),
        )
        found.append((place / "model" / "model.safetensors").read_bytes())
    assert found[0] == found[1]
    seen = told.of(Pinned)
    judged = [event.step for event in told.of(Evaluated)]
    assert [event.step for event in seen if not event.kept] == judged[: len(seen) - 1], "at every evaluation, the untuned model's too"
    assert len({event.similarities for event in seen}) > 2, "and each time of the model as it is then"
    assert sum(event.kept for event in seen) == 1


@pytest.mark.slow
def test_in_folds_each_training_tells_and_the_model_is_the_same(tmp_path: Path) -> None:
    spec, told, files = small_spec(evaluation="folds", epochs=0.4), Told(), []
    for name, pins in (("with", PINS), ("without", None)):
        outcome = run_trials(spec, scored_pairs(24), told, never, load=load, folder=tmp_path / name, notes=RunNotes(pins=pins))
        files.append((outcome.model / "model.safetensors").read_bytes())
    assert files[0] == files[1]
    parts = len(told.of(Part)) // 2
    assert sum(event.step == 0 for event in told.of(Pinned)) == parts, "every fold, and the training on all rows"
    assert [event.kept for event in told.of(Pinned)].count(True) == 1 and told.of(Pinned)[-1].kept


def test_what_is_told_is_the_models_own_similarity_and_ranking() -> None:
    encoder = tiny_encoder()
    seen = PINS.score(encoder, 7)
    assert seen is not None and seen.step == 7
    np.testing.assert_allclose(seen.similarities, pair_similarities(encoder, [a for a, _ in PAIRS], [b for _, b in PAIRS]), atol=1e-6)
    scores = pair_similarities(encoder, ["lost card"] * len(PINS.among), list(PINS.among))
    assert list(seen.order) == sorted(range(len(scores)), key=lambda place: -scores[place])
    np.testing.assert_allclose(seen.nearest, np.sort(scores)[::-1][:NEAREST], atol=1e-6)


@pytest.mark.slow
def test_a_cross_encoder_tells_its_own_score_and_one_of_classes_nothing(tmp_path: Path) -> None:
    told = Told()
    train(
        cross_spec(epochs=1),
        scored_pairs(24),
        told,
        never,
        encoder=tiny_cross(),
        folder=tmp_path,
        dev=scored_pairs(20, seed=7),
        assignment=Assignment(notes=RunNotes(pins=PINS)),
    )
    assert len(told.of(Pinned)) > 2 and len(told.of(Pinned)[-1].order) == len(PINS.among)
    classes = tiny_cross(labels=3)
    assert PINS.score(classes, 0) is None


def test_the_query_is_laid_beside_texts_from_everywhere_in_the_file() -> None:
    examples = scored_pairs(400)
    pins = TrackedExamples((), examples.texts[0][0]).with_texts(examples)
    texts = {text for column in examples.texts for text in column} - {pins.query}
    assert pins.of == len(texts) and len(pins.among) == len(set(pins.among)) == 512
    assert set(pins.among) <= texts and set(pins.among) & set(examples.texts[0][-40:])
    assert TrackedExamples(PAIRS).with_texts(examples).among == (), "without a query nothing is looked up"


def test_what_is_typed_is_checked_in_words() -> None:
    assert TrackedExamples.parse([("", " "), ("", "")], "  ") is None
    typed = TrackedExamples.parse([("", ""), (" a ", "b")], " q ")
    assert typed is not None and (typed.pairs, typed.query) == ((("a", "b"),), "q")
    with pytest.raises(StudioError, match="tracked pair 2"):
        TrackedExamples.parse([("a", "b"), ("c", "")], "")
    with pytest.raises(StudioError, match="longer than"):
        TrackedExamples.parse([("a", "b" * (MAX_CHARACTERS + 1))], "")
    with pytest.raises(StudioError, match="at most 5"):
        TrackedExamples.parse([("a", "b")] * 6, "")


def test_both_survive_json_and_what_is_damaged_is_passed_over() -> None:
    assert TrackedExamples.from_json(PINS.to_json()) == PINS
    for damaged in ({"pairs": [["one"]]}, {"pairs": 3}, {"query": "", "pairs": []}, {"query": "x", "of": "many"}):
        assert TrackedExamples.from_json(damaged) is None
    event = Pinned(3, (0.5, -0.25), (1, 0), (0.75,), True)
    assert from_json(to_json(event)) == event
    whole = {"type": "pinned", "time": 1, "step": 3, "similarities": [0.5], "order": [0]}
    assert load_event(json.dumps(whole)) is not None
    for damage in ({"similarities": ["x"]}, {"similarities": 3}, {"order": [[0]]}):
        assert load_event(json.dumps(whole | damage)) is None
    del whole["similarities"]
    assert load_event(json.dumps(whole)) is None
