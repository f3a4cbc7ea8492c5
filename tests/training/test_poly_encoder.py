"""A poly-encoder goes through the same trainer: loss, checkpoints, micro-batches, LoRA, blends, export, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.encoding import EncodingSpeed
from sbert_studio.evaluation.evaluate import EvaluationSet, evaluate_sets, fitting_task
from sbert_studio.models.base import PairScorer
from sbert_studio.models.poly_encoder import PolyEncoder, load_poly_encoder
from sbert_studio.training.blend import set_strength
from sbert_studio.training.events import Started, Step
from sbert_studio.training.prepare import create_model
from sbert_studio.training.trainer import TrainingOutcome, train

from .tiny import (
    Told,
    bare_sentences,
    labelled_pairs,
    labelled_texts,
    never,
    poly_spec,
    positive_pairs,
    scored_pairs,
    tiny_cross,
    tiny_poly,
    tiny_words,
    yes_or_no,
)


def run(folder: Path, encoder: PolyEncoder, examples: Any, told: Told | None = None, *, dev: Any = None, **values: Any) -> TrainingOutcome:
    events = Told() if told is None else told
    return train(poly_spec(**values), examples, events, never, encoder=encoder, folder=folder, dev=dev)


def triplets(count: int = 64) -> Examples:
    pairs = positive_pairs(count)
    negatives = scored_pairs(count, 9).texts[0]
    return Examples("triplets", (*pairs.texts, negatives), None, pairs.lines)


@pytest.mark.slow
def test_the_loss_goes_down_and_the_held_out_score_up(tmp_path: Path) -> None:
    told, dev = Told(), scored_pairs(60, seed=7)
    poly = tiny_poly()
    codes = poly.codes.detach().clone()
    outcome = run(tmp_path, poly, scored_pairs(120), told, dev=dev, epochs=4, learning_rate=3e-3, dropout=0.0)
    losses = [event.loss for event in told.of(Step)]
    assert isinstance(told[0], Started) and told[0].loss == "cosine"
    assert losses[-1] < losses[0]
    assert not torch.equal(poly.codes, codes), "the codes learn too"
    assert outcome.before["metric"] == outcome.after["metric"] == "spearman"
    assert outcome.after["score"] > outcome.before["score"] + 0.05
    pairs = list(zip(*dev.texts, strict=True))
    error = np.mean((load_poly_encoder(outcome.model).predict(pairs) - dev.targets) ** 2)
    assert outcome.after["pair"]["mse"] == pytest.approx(error, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("examples", "dev", "objective", "metric"),
    [
        (positive_pairs(24), positive_pairs(30, 5), "in_batch", "mrr_at_10"),
        (triplets(40), None, "in_batch", "accuracy"),
        (yes_or_no(24), yes_or_no(40, 5), "cosent", "average_precision"),
        (labelled_pairs(24), labelled_pairs(40, 5), "cosent", "spearman"),
    ],
    ids=["positive", "triplets", "two labels", "three labels"],
)
def test_every_kind_of_pairs_is_learned_and_judged(
    tmp_path: Path, examples: Examples, dev: Examples | None, objective: str, metric: str
) -> None:
    told = Told()
    outcome = run(tmp_path, tiny_poly(), examples, told, dev=dev, epochs=1)
    assert (told[0].loss, outcome.after["metric"], outcome.status) == (objective, metric, "finished")


@pytest.mark.slow
def test_lora_trains_the_codes_in_full_and_keeps_them_with_the_adapter(tmp_path: Path) -> None:
    poly, plain = tiny_poly(), tiny_poly()
    dev = scored_pairs(20, 5)
    values = {"model": "tiny/tiny", "method": "lora", "learning_rate": 1e-2, "lora_r": 4, "blend": False}
    outcome = run(tmp_path, poly, scored_pairs(24), dev=dev, **values)
    loaded = load_poly_encoder(outcome.model)
    assert not torch.equal(loaded.codes, plain.codes)
    embeddings = "encoder.backbone.embeddings.word_embeddings.weight"
    assert torch.equal(loaded.get_parameter(embeddings), plain.get_parameter(embeddings))
    assert outcome.adapter is not None and json.loads((outcome.adapter / "poly.json").read_text())["codes"] == len(plain.codes)
    from sbert_studio.models.io.load import load_adapter
    from sbert_studio.models.poly_encoder import attach_codes

    load_adapter(plain.encoder, outcome.adapter)
    again = attach_codes(plain.encoder, outcome.adapter)
    pairs = list(zip(*dev.texts, strict=True))
    np.testing.assert_allclose(again.predict(pairs), loaded.predict(pairs), atol=1e-5)


@pytest.mark.slow
def test_a_recurrent_network_over_words_gets_codes_of_its_own_width(tmp_path: Path) -> None:
    values = {"recurrent": "gru", "hidden": 12, "bidirectional": True, "learning_rate": 0.01, "epochs": 4}
    told = Told()
    outcome = run(tmp_path, PolyEncoder(tiny_words(), 4), scored_pairs(80), told, dev=scored_pairs(30, 5), **values)
    losses = [event.loss for event in told.of(Step)]
    assert losses[-1] < losses[0]
    model = load_poly_encoder(outcome.model)
    assert model.codes.shape == (4, 24) and model.encoder.pooling.mode == "max"


@pytest.mark.slow
def test_a_projection_is_learned_on_both_sides(tmp_path: Path) -> None:
    outcome = run(tmp_path, tiny_poly(), scored_pairs(16), dev=scored_pairs(20, 5), projection=8, epochs=1)
    model = load_poly_encoder(outcome.model)
    assert model.encoder.dim == 8 and model.dim == 5 * 8


@pytest.mark.slow
def test_the_strength_dial_goes_back_to_the_untuned_model(tmp_path: Path) -> None:
    dev = scored_pairs(40, 7)
    spec = poly_spec(epochs=2)
    outcome = train(spec, scored_pairs(40), Told(), never, encoder=tiny_poly(), folder=tmp_path, dev=dev)
    assert [mark["strength"] for mark in outcome.after["strengths"]] == [0, 0.25, 0.5, 0.75, 1]
    set_strength(tmp_path, spec, 0.0, load=tiny_poly)
    pairs = list(zip(*dev.texts, strict=True))
    np.testing.assert_array_equal(load_poly_encoder(outcome.model).predict(pairs), tiny_poly().predict(pairs))


def test_what_a_poly_encoder_cannot_learn_is_said(tmp_path: Path) -> None:
    for examples in (bare_sentences(), labelled_texts()):
        with pytest.raises(StudioError, match="can be trained on pairs and triplets, not on"):
            run(tmp_path, tiny_poly(), examples)
    pairs = yes_or_no()
    unordered = Examples("labelled_pairs", pairs.texts, pairs.targets, pairs.lines, ("red", "blue"), ordered=False)
    with pytest.raises(StudioError, match="have no order"):
        run(tmp_path, tiny_poly(), unordered)
    with pytest.raises(StudioError, match="no poly-encoder loss 'softmax'"):
        run(tmp_path, tiny_poly(), scored_pairs(), loss="softmax")
    with pytest.raises(StudioError, match="compares its vectors in full"):
        run(tmp_path, tiny_poly(), scored_pairs(), matryoshka="16,8")


def test_the_catalogue_makes_what_the_spec_says_and_a_later_stage_goes_on(tmp_path: Path) -> None:
    from sbert_studio.models.catalog import Catalog
    from sbert_studio.workspace import Workspace

    tiny_poly().encoder.save(tmp_path / "base")
    catalog = Catalog(Workspace(tmp_path / "home"), device="cpu")
    spec = poly_spec(model=str(tmp_path / "base"))
    first = create_model(catalog, spec, scored_pairs())
    assert isinstance(first, PolyEncoder) and len(first.codes) == 4
    first.save(tmp_path / "first")
    again = create_model(catalog, spec.replace(seed=99), scored_pairs(), tmp_path / "first")
    assert isinstance(again, PolyEncoder) and torch.equal(again.codes, first.codes)
    more = create_model(catalog, spec.replace(codes=6), scored_pairs(), tmp_path / "first")
    assert isinstance(more, PolyEncoder) and len(more.codes) == 6


@pytest.mark.parametrize("make", [tiny_cross, tiny_poly])
def test_the_speed_counts_each_text_that_is_read(make: Callable[[], PairScorer]) -> None:
    """A cross-encoder reads the two of each pair, a poly-encoder each query and each candidate once."""
    examples, pace, model = scored_pairs(60), EncodingSpeed(), make()
    examples = examples.take([*range(60), 0, 1])  # a pair that stands there twice is read once
    evaluate_sets(model, [EvaluationSet(examples, fitting_task(model, examples))], pace=pace)
    assert pace.sentences == sum(len(set(column)) for column in examples.texts) == 120
