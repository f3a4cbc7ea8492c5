"""What is pinned is told at every evaluation, and changes nothing of a training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.encoding import pair_similarities
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.runs.event_log import load_event
from sbert_studio.training.events import Evaluated, Part, Pinned, from_json, to_json
from sbert_studio.training.pins import MAX_CHARACTERS, NEAREST, TrackedExamples
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import train
from sbert_studio.training.trials import run_trials

from .tiny import Told, never, scored_pairs, small_spec, stops_after, tiny_encoder, weights
from .tiny_cross import cross_spec, tiny_cross

PAIRS = (("cat dog", "dog cat mat"), ("red blue", "bank card"))
PINS = TrackedExamples(PAIRS, "lost card").with_texts(scored_pairs())


def load(spec: TrainSpec, examples: Examples, source: Path | None) -> TransformerEncoder:
    return tiny_encoder()


@pytest.mark.slow
def test_weights_are_the_same_to_the_bit_with_and_without_pins(tmp_path: Path) -> None:
    found, told = [], Told()
    for name, pins in (("with", PINS), ("without", None)):
        dev, place = scored_pairs(20, seed=7), tmp_path / name
        train(small_spec(), scored_pairs(24), told, never, encoder=tiny_encoder(), folder=place, dev=dev, pins=pins)
        found.append((place / "model" / "model.safetensors").read_bytes())
    assert found[0] == found[1]
    seen = told.of(Pinned)
    judged = [event.step for event in told.of(Evaluated)]
    assert [event.step for event in seen if not event.kept] == judged[: len(seen) - 1], "at every evaluation, the untuned model's too"
    assert len({event.similarities for event in seen}) > 2, "and each time of the model as it is then"
    assert sum(event.kept for event in seen) == 1


@pytest.mark.slow
def test_in_folds_each_training_tells_and_the_model_is_the_same(tmp_path: Path) -> None:
    spec, told, files = small_spec(judge="folds", epochs=1), Told(), []
    for name, pins in (("with", PINS), ("without", None)):
        outcome = run_trials(spec, scored_pairs(24), told, never, load=load, folder=tmp_path / name, pins=pins)
        files.append((outcome.model / "model.safetensors").read_bytes())
    assert files[0] == files[1]
    parts = len(told.of(Part)) // 2
    assert sum(event.step == 0 for event in told.of(Pinned)) == parts, "every fold, and the training on all rows"
    assert [event.kept for event in told.of(Pinned)].count(True) == 1 and told.of(Pinned)[-1].kept


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_with_its_pins_to_the_same_weights(tmp_path: Path) -> None:
    spec, dev, told, resumed = small_spec(epochs=1, checkpoint_every=1), scored_pairs(20, seed=7), Told(), Told()
    train(spec, scored_pairs(40), Told(), never, encoder=tiny_encoder(), folder=tmp_path / "whole", dev=dev)
    given: dict[str, Any] = {"folder": tmp_path / "halves", "dev": dev, "pins": PINS}
    train(spec, scored_pairs(40), told, stops_after(3), encoder=tiny_encoder(), **given)
    train(spec, scored_pairs(40), resumed, never, encoder=tiny_encoder(), resume=True, **given)
    whole, halves = (weights(tmp_path / name / "model") for name in ("whole", "halves"))
    assert whole.keys() == halves.keys() and all((whole[name] == halves[name]).all() for name in whole)
    assert told.of(Pinned)[0].step == 0
    assert resumed.of(Pinned) and all(event.step > 0 for event in resumed.of(Pinned)), "the untuned model is not here any more"


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
        cross_spec(epochs=1), scored_pairs(24), told, never, encoder=tiny_cross(), folder=tmp_path, dev=scored_pairs(20, seed=7), pins=PINS
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
    with pytest.raises(StudioError, match="pinned pair 2"):
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
