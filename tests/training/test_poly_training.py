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
from sbert_studio.training.advisor import advise
from sbert_studio.training.distributed import Processes
from sbert_studio.training.estimate import estimate_run
from sbert_studio.training.events import Started, Step, Stopped
from sbert_studio.training.prepare import create_model, prepare
from sbert_studio.training.steps import GradientSteps, TrainingParts
from sbert_studio.training.strength import set_strength
from sbert_studio.training.trainer import TrainingOutcome, run_identity, train

from .tiny import Told, bare_sentences, labelled_pairs, labelled_texts, never, positive_pairs, scored_pairs, small_spec, tiny_words, weights
from .tiny_cross import tiny_cross, yes_or_no
from .tiny_poly import poly_spec, tiny_poly

CPU = torch.device("cpu")


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
    outcome = run(tmp_path, tiny_poly(), scored_pairs(120), told, dev=dev, epochs=4, learning_rate=3e-3, dropout=0.0)
    losses = [event.loss for event in told.of(Step)]
    assert isinstance(told[0], Started) and told[0].objective == "cosine"
    assert losses[-1] < losses[0]
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
    assert (told[0].objective, outcome.after["metric"], outcome.status) == (objective, metric, "finished")


@pytest.mark.slow
def test_half_precision_learns_too(tmp_path: Path) -> None:
    outcome = run(tmp_path, tiny_poly(), positive_pairs(24), dev=positive_pairs(20, 5), epochs=1, precision="bfloat16", micro_batch=3)
    assert outcome.status == "finished" and np.isfinite(outcome.after["score"])


@pytest.mark.slow
def test_positives_of_labelled_pairs_are_found_in_their_batch(tmp_path: Path) -> None:
    told = Told()
    run(tmp_path, tiny_poly(), yes_or_no(80), told, dev=yes_or_no(40, 5), objective="in_batch", epochs=2, learning_rate=3e-3, dropout=0.0)
    losses = [event.loss for event in told.of(Step)]
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_all_weights_learn_the_codes_with_them(tmp_path: Path) -> None:
    poly = tiny_poly()
    before = {name: value.clone() for name, value in poly.named_parameters()}
    run(tmp_path, poly, scored_pairs(24), dev=scored_pairs(20, 7), weight_decay=0.0, epochs=1, blend=False)
    still = [name for name, value in poly.named_parameters() if torch.equal(value, before[name])]
    assert still == [name for name in before if "token_type" in name and torch.equal(poly.get_parameter(name), before[name])]
    assert "codes" in before and "codes" not in still


@pytest.mark.slow
@pytest.mark.parametrize("values", [{}, {"method": "lora", "lora_r": 2, "learning_rate": 1e-2}], ids=["full", "lora"])
def test_a_stopped_run_that_is_resumed_ends_as_one_that_was_not(tmp_path: Path, values: dict[str, Any]) -> None:
    spec, examples, dev = poly_spec(epochs=2, objective="in_batch", **values), positive_pairs(40), positive_pairs(20, 5)
    whole = train(spec, examples, Told(), never, encoder=tiny_poly(), folder=tmp_path / "whole", dev=dev)
    told = Told()
    train(spec, examples, told, lambda: len(told.of(Step)) > 0, encoder=tiny_poly(), folder=tmp_path / "parts", dev=dev)
    assert isinstance(told[-1], Stopped)
    again = Told()
    parts = train(spec, examples, again, never, encoder=tiny_poly(), folder=tmp_path / "parts", dev=dev, resume=True)
    assert again[0].step > 0
    assert all(torch.equal(value, weights(parts.model)[name]) for name, value in weights(whole.model).items())
    assert torch.equal(load_poly_encoder(parts.model).codes, load_poly_encoder(whole.model).codes)
    assert parts.before == whole.before and parts.after == whole.after


@pytest.mark.parametrize("objective", ["in_batch", "cosine", "cosine+cosent"])
def test_the_gradient_does_not_depend_on_the_rows_at_a_time(objective: str) -> None:
    examples = positive_pairs(20) if objective == "in_batch" else scored_pairs(20)

    def gradients(size: int) -> list[torch.Tensor]:
        encoder, processes = tiny_poly(dropout=0.0), Processes(CPU)
        spec = poly_spec(objective=objective)
        made = prepare(spec, encoder, examples, processes)
        parts = TrainingParts(spec, encoder, made, encoder.training_rows(examples), None, processes, Path(), Told())
        loss, _ = GradientSteps(parts, "float32", size).backward(np.arange(11), 0)
        return [loss, *(item.grad.to_dense() for item in encoder.parameters() if item.grad is not None)]

    whole, split = gradients(11), gradients(3)
    assert len(whole) == len(split) > 5
    for one, other in zip(whole, split, strict=True):
        torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-3)


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


@pytest.mark.slow
def test_a_rehearsal_reckons_time() -> None:
    estimate = estimate_run(poly_spec(epochs=3, judge="split"), scored_pairs(100), encoder=tiny_poly())
    assert estimate.seconds > 0 and estimate.steps in range(33, 37)


def test_what_a_poly_encoder_cannot_learn_is_said(tmp_path: Path) -> None:
    for examples in (bare_sentences(), labelled_texts()):
        with pytest.raises(StudioError, match="learns from pairs and triplets, not from"):
            run(tmp_path, tiny_poly(), examples)
    pairs = yes_or_no()
    unordered = Examples("labelled_pairs", pairs.texts, pairs.targets, pairs.lines, ("red", "blue"), ordered=False)
    with pytest.raises(StudioError, match="have no order"):
        run(tmp_path, tiny_poly(), unordered)
    with pytest.raises(StudioError, match="no poly-encoder loss 'softmax'"):
        run(tmp_path, tiny_poly(), scored_pairs(), objective="softmax")
    with pytest.raises(StudioError, match="compares its vectors in full"):
        run(tmp_path, tiny_poly(), scored_pairs(), matryoshka="16,8")
    with pytest.raises(StudioError, match="pools by cls"):
        PolyEncoder(tiny_poly().encoder, 4).configure_output(pooling="cls+mean")


def test_the_advisor_says_what_it_is_for() -> None:
    advice = advise(positive_pairs(), info=tiny_poly().encoder.describe(), overrides={"architecture": "poly"})
    assert advice.spec.objective == "in_batch" and advice.spec.codes == 16
    assert any(reason.startswith("Architecture poly") and "ranks" in reason for reason in advice.reasons)
    with pytest.raises(StudioError, match="not from labelled texts"):
        advise(labelled_texts(), info={}, overrides={"architecture": "poly"})


def test_a_run_that_began_before_there_were_codes_goes_on(tmp_path: Path) -> None:
    spec = small_spec()
    values = spec.to_json()
    del values["codes"]
    assert run_identity(spec, scored_pairs()) == run_identity(type(spec).from_json(values), scored_pairs())
    assert run_identity(spec, scored_pairs()) != run_identity(spec.replace(codes=8), scored_pairs())


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
