"""A run on texts with a category, and what several positives of one anchor are to each other in a batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sbert_studio.data.convert import convert
from sbert_studio.data.examples import Examples
from sbert_studio.data.split import find_pair_classes, split_examples
from sbert_studio.evaluation.evaluate import evaluate_examples
from sbert_studio.losses.base import KnownPositives
from sbert_studio.models.io.load import load_folder
from sbert_studio.training import events, trainer
from sbert_studio.training.advisor import advise
from sbert_studio.training.estimate import estimate_run
from sbert_studio.training.evaluator import Evaluator
from sbert_studio.training.events import Event, Started, Step
from sbert_studio.training.trainer import train

from .test_advisor import MINILM
from .tiny import Told, labelled_texts, never, positive_pairs, small_spec, stops_after, tiny_encoder, weights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "rows", "epochs", "rate"), [("supcon", 240, 3, 3e-3), ("batch_hard", 480, 6, 1e-3), ("supcon+prototypes", 240, 3, 3e-3)]
)
def test_a_run_draws_categories_together(tmp_path: Path, objective: str, rows: int, epochs: int, rate: float) -> None:
    examples, told = labelled_texts(rows), Told()
    spec = small_spec(objective=objective, epochs=epochs, batch_size=16, learning_rate=rate, dev_fraction=0.3)
    outcome = train(spec, examples, told, never, encoder=tiny_encoder(), folder=tmp_path)
    losses = [event.loss for event in told.of(Step)]
    assert losses[-1] < losses[0]
    assert outcome.after["metric"] == "nearest_neighbour_accuracy" and outcome.after["task"] == "categories"
    assert outcome.before["score"] < 0.9 and outcome.after["score"] > outcome.before["score"] + 0.03
    low, high = outcome.after["gain_interval"]
    assert low < outcome.after["score"] - outcome.before["score"] < high
    assert outcome.after["known_rows"] == len(examples) - told[0].dev_rows
    _, held = split_examples(examples, spec.dev_fraction, spec.seed)
    learned, _ = split_examples(examples, spec.dev_fraction, spec.seed)
    again = evaluate_examples(load_folder(outcome.model), held, reference=learned)
    assert again.scores["nearest_neighbour_accuracy"] == pytest.approx(outcome.after["score"], abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "micro"), [("supcon", 5), ("batch_hard", 0), ("supcon+prototypes", 0), ("supcon+prototypes", 5)])
def test_a_stopped_run_that_is_resumed_ends_in_the_same_bits(tmp_path: Path, objective: str, micro: int) -> None:
    spec = small_spec(objective=objective, epochs=2, batch_size=12, checkpoint_every=4, micro_batch=micro, dev_fraction=0)
    examples, again = labelled_texts(40), Told()
    whole = train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "whole")
    train(spec, examples, Told(), stops_after(5), encoder=tiny_encoder(), folder=tmp_path / "parts")
    resumed = train(spec, examples, again, never, encoder=tiny_encoder(), folder=tmp_path / "parts", resume=True)
    assert again.of(Started)[0].step == 5 < resumed.steps
    first, second = weights(whole.model), weights(resumed.model)
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_rows_computed_some_at_a_time_give_the_same_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_SHOWN_EVERY", 0.0)
    losses = []
    for micro in (0, 5):
        told: list[Event] = []
        spec = small_spec(objective="supcon+prototypes", epochs=1, batch_size=16, micro_batch=micro, dropout=0.0, dev_fraction=0)
        train(spec, labelled_texts(), told.append, never, encoder=tiny_encoder(), folder=tmp_path / str(micro))
        losses.append([event.loss for event in told if isinstance(event, Step)])
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_the_held_out_texts_stand_in_proportion_and_no_text_is_on_both_sides() -> None:
    examples = labelled_texts(400)
    assert examples.targets is not None
    few = replace(examples, targets=np.where(np.arange(400) < 2, 4, examples.targets), labels=(*examples.labels, "rare"))
    learned, held = split_examples(few, 0.1, 12)
    assert learned.targets is not None and held.targets is not None
    assert not {*learned.texts[0]} & {*held.texts[0]}
    shares = np.bincount(held.targets, minlength=5) / np.bincount(few.targets, minlength=5)  # type: ignore[arg-type]
    assert (np.abs(shares[:4] - 0.1) < 0.03).all()
    assert shares[4] == 0, "two texts of a category are all learned from"


@pytest.mark.slow
def test_a_rehearsal_counts_the_texts_that_the_held_out_ones_are_laid_beside() -> None:
    found = estimate_run(small_spec(objective="supcon"), labelled_texts(200), encoder=tiny_encoder())
    assert found.seconds > 0 and found.steps > 0


def test_the_judge_lays_texts_beside_the_learned_ones_and_pairs_beside_nothing() -> None:
    learned, held = split_examples(labelled_texts(100), 0.2, 3)
    assert Evaluator(held, learned=learned)(tiny_encoder())["known_rows"] == len(learned)
    assert Evaluator(positive_pairs(20), learned=positive_pairs(64)).known is None


def test_the_advisor_learns_categories_from_siblings() -> None:
    advice = advise(labelled_texts(400), info=MINILM)
    assert (advice.spec.objective, advice.spec.batch_size, advice.spec.learning_rate, advice.spec.epochs) == (
        "supcon+prototypes",
        32,
        2e-4,
        3.0,
    )
    assert any("categories should lie together" in reason for reason in advice.reasons)
    assert all(reason.endswith(".") for reason in advice.reasons)


def test_a_second_positive_is_no_negative_though_it_stands_beside_another_anchor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(a, p), (a, q), (b, q): where a and b meet in a batch, q is no negative of a. The run tells the objective of all rows."""
    known: list[KnownPositives] = []
    made = KnownPositives.from_rows
    monkeypatch.setattr(trainer.KnownPositives, "from_rows", lambda *values: known.append(made(*values)) or known[-1])
    pairs = Examples("positive_pairs", (("cat", "cat", "dog", "red"), ("mat", "fast", "fast", "blue")), None, np.arange(4))
    spec = small_spec(objective="in_batch", dev_fraction=0, epochs=1, batch_size=2)
    train(spec, pairs, Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    (relation,) = known
    # Ids in the order of the texts: cat dog red mat fast blue, whatever numbers they have.
    ids = {text: place for place, text in enumerate(dict.fromkeys(text for column in pairs.texts for text in column))}
    held = relation.contains(torch.tensor([ids["cat"], ids["red"]]), torch.tensor([ids["mat"], ids["fast"], ids["blue"], ids["dog"]]))
    assert held.tolist() == [[True, True, False, False], [False, False, True, False]]


def test_pairs_made_of_categories_are_siblings_in_training_and_judging() -> None:
    texts = tuple(f"{topic} {place}" for topic in ("cat dog", "river stone", "bread milk") for place in ("red", "blue", "fast", "slow"))
    names = tuple(topic for topic in ("a", "b", "c") for _ in range(4))
    sentences = Examples("sentences", (texts,), None, np.arange(12), (), names)
    pairs = convert(sentences, "classes_to_pairs")
    classes = find_pair_classes(pairs)
    assert classes is not None and len(set(classes.tolist())) == 3
    topics = Examples("positive_pairs", (texts, tuple(f"answer {text}" for text in texts)), None, np.arange(12), (), names)
    assert find_pair_classes(topics) is None, "topics of questions are no classes"

    ring = np.arange(12).reshape(3, 4)
    relation = KnownPositives.from_rows(np.stack([ring.ravel(), np.roll(ring, -1, axis=1).ravel()]), np.repeat([0, 1, 2], 4))
    assert relation.contains(torch.tensor([0]), torch.tensor([2, 5, 10])).tolist() == [[True, False, False]]
