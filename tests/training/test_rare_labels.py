"""Where one label is rare: no part of the rows that judges has one label alone unnoticed, and nothing undefined counts as a score."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sbert_studio.data.examples import Examples
from sbert_studio.data.split import has_single_target, make_folds, split_examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.bootstrap import MIN_CLUSTERS
from sbert_studio.evaluation.encoding import encode_columns, similarities
from sbert_studio.training.alarms import check_below_chance
from sbert_studio.training.crossval import plan_folds
from sbert_studio.training.evaluator import Evaluator, hold_out
from sbert_studio.training.events import Evaluated, Notice, Part, PartEnded, Started, to_json
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import TrainingOutcome
from sbert_studio.training.trials import run_trials

from .tiny import Told, never, scored_pairs, small_spec, tiny_encoder


def rare(rows: int, positives: int, *, seed: int = 0) -> Examples:
    """Pairs that say yes where they share the most words."""
    pairs = scored_pairs(rows, seed)
    assert pairs.targets is not None
    labels = np.zeros(rows, np.int64)
    labels[np.argsort(-pairs.targets)[:positives]] = 1
    return replace(pairs, kind="labelled_pairs", targets=labels, labels=("no", "yes"), ordered=True)


def run(spec: TrainSpec, folder: Path, told: Told, examples: Examples, dev: Examples | None = None) -> TrainingOutcome:
    def load(spec: TrainSpec, examples: Examples, source: Path | None) -> torch.nn.Module:
        return tiny_encoder()

    return run_trials(spec, examples, told, never, load=load, folder=folder, dev=dev)  # type: ignore[arg-type]


def said(told: Told, words: str) -> list[str]:
    return [event.message for event in told.of(Notice) if words in event.message]


@pytest.mark.parametrize("seed", range(12))
def test_a_held_out_part_has_rows_of_both_labels_where_there_are_two_of_each(seed: int) -> None:
    for positives in (2, 3, 98):
        learned, held = split_examples(rare(100, positives), 0.1, seed)
        assert not has_single_target(learned) and not has_single_target(held)
        assert 8 <= len(held) <= 10
    learned, held = split_examples(scored_pairs(20), 0.1, seed)
    assert len(held) == 2 and not has_single_target(held)


def test_a_split_that_says_something_is_drawn_as_ever() -> None:
    examples = rare(100, 40)
    assert split_examples(examples, 0.1)[1].lines.tolist() == split_examples(examples, 0.1, stratify=True)[1].lines.tolist()
    assert hold_out(small_spec(), examples, None)[2] == ""


@pytest.mark.parametrize(("positives", "number"), [(40, 5), (10, 5), (8, 4), (5, 2), (4, 2), (3, 3), (2, 2)])
def test_folds_are_fewer_where_a_label_is_rare(positives: int, number: int) -> None:
    found = plan_folds(small_spec(), rare(100, positives), None)
    assert len(found) == number
    for fold in found:
        assert fold.held is not None and not has_single_target(fold.held) and not has_single_target(fold.learned)


def test_a_label_that_stands_in_one_set_of_rows_alone_gives_no_folds() -> None:
    examples = rare(100, 3)
    assert examples.targets is not None
    (left, right), yes = map(list, examples.texts), np.flatnonzero(examples.targets)
    for place in yes.tolist():
        left[place] = "cat dog cat"
    shared = replace(examples, texts=(tuple(left), tuple(right)))
    assert plan_folds(small_spec(), shared, None) == []
    if hold_out(small_spec(judge="folds"), shared, None)[1] is not None:
        with pytest.raises(StudioError, match="so rare"):
            plan_folds(small_spec(judge="folds"), shared, None)


@pytest.mark.slow
def test_a_run_that_nothing_can_judge_says_so_instead_of_a_score_of_nothing(tmp_path: Path) -> None:
    told = Told()
    outcome = run(small_spec(epochs=0.5, objective="cosent", accept_alarm="both"), tmp_path / "alone", told, rare(60, 1))
    assert outcome.status == "finished" and outcome.before == outcome.after == {}
    assert len(said(told, "nothing measures how good the model is")) == 1 and not told.of(Evaluated)
    told, dev = Told(), rare(30, 10, seed=4)
    assert dev.targets is not None
    outcome = run(
        small_spec(epochs=0.5, objective="cosent", accept_alarm="both"),
        tmp_path / "dev",
        told,
        rare(60, 20),
        dev.take(np.flatnonzero(dev.targets == 0)),
    )
    assert outcome.status == "finished" and outcome.after == {}
    assert said(told, "all 20 held-out rows are labelled “no”")


@pytest.mark.slow
def test_few_rows_of_a_label_are_told_of_and_make_no_gain_sure(tmp_path: Path) -> None:
    told = Told()
    outcome = run(small_spec(epochs=1, judge="split", objective="cosent", accept_alarm="both"), tmp_path, told, rare(60, 6))
    assert said(told, "only 1 of the 6 held-out rows is labelled “yes”")
    assert 0 < outcome.before["score"] <= 1 and "gain_interval" not in outcome.before
    if outcome.after["strength"]:
        assert "gain_interval" not in outcome.after
    json.dumps([outcome.to_json(), *map(to_json, told)], allow_nan=False)


@pytest.mark.slow
def test_a_run_in_fewer_folds_is_judged_by_all_of_them_and_says_why(tmp_path: Path) -> None:
    told = Told()
    outcome = run(small_spec(epochs=0.5, objective="cosent", accept_alarm="both"), tmp_path, told, rare(60, 6))
    assert outcome.status == "finished"
    assert [event.title for event in told.of(Part)][:-1] == ["fold 1 of 3", "fold 2 of 3", "fold 3 of 3"]
    assert all(score > 0 for score in outcome.after["by_fold"])
    assert "fewer folds than usual" in " ".join(told.of(Started)[0].reasons)
    json.dumps(outcome.to_json(), allow_nan=False)


@pytest.mark.slow
def test_of_asked_for_folds_those_without_a_score_take_no_part_in_the_mean(tmp_path: Path) -> None:
    told, examples = Told(), rare(60, 2)
    judged = [not has_single_target(held) for _, held in make_folds(examples, 4)]
    assert judged.count(True) == 2
    outcome = run(small_spec(folds=4, epochs=0.5, objective="cosent", accept_alarm="both"), tmp_path, told, examples)
    assert outcome.status == "finished"
    ended = told.of(PartEnded)
    assert [bool(event.after) for event in ended] == judged
    each = [event.after["score"] for event in ended if event.after]
    assert outcome.after["each"] == each and outcome.after["score"] == pytest.approx(np.mean(each))
    assert len(said(told, "held-out rows are labelled “no”")) == 2
    best = max((event for event in ended if event.after), key=lambda event: event.after["score"] - event.before["score"])
    assert outcome.after["kept"] == best.after, "a model that nothing judged is not the best"


def test_rows_too_few_to_show_an_order_in_every_resample_say_no_opposite() -> None:
    """Two rows in the other order: half of their resamples draw one of them twice, and show no order."""
    encoder, many = tiny_encoder(), scored_pairs(40)
    assert many.targets is not None
    left, right = encode_columns(encoder, many.texts[:2])
    near = np.argsort(similarities(left, right)["cosine"])
    two = replace(many.take(near[[0, -1]]), targets=np.array([1.0, 0.0], np.float32))
    assert Evaluator(two)(encoder)["score"] == -1
    assert check_below_chance(encoder, [two], [Evaluator(two)(encoder)]) is None
    half = many.take(np.concatenate([near[:10], near[-10:]]))
    opposite = replace(half, targets=np.linspace(1, 0, 20, dtype=np.float32))
    assert check_below_chance(encoder, [opposite], [Evaluator(opposite)(encoder)]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("rows", [20, 29])
def test_the_fewest_rows_that_are_judged_in_folds_get_a_verdict(tmp_path: Path, rows: int) -> None:
    """No fold is so small that its resamples are not defined, which would leave a gain by chance without a word of doubt."""
    for number in range(rows, rows + 9):
        held = [member.held for member in plan_folds(small_spec(), scored_pairs(number), None)]
        assert held and all(fold is not None and len(fold) >= MIN_CLUSTERS for fold in held)
    after = run(small_spec(epochs=1, learning_rate=3e-3), tmp_path, Told(), scored_pairs(rows)).after
    low, high = after["gain_interval"]
    assert len(after["interval"]) == 2 and low <= high


@pytest.mark.slow
def test_a_handful_of_held_out_rows_is_said_to_tell_nothing(tmp_path: Path) -> None:
    told = Told()
    after = run(small_spec(epochs=1, judge="split", blend=False), tmp_path / "split", told, scored_pairs(30)).after
    assert said(told, "3 held-out rows: too few") and "gain_interval" not in after
    more = Told()
    run(small_spec(epochs=0.5), tmp_path / "dev", more, scored_pairs(30), scored_pairs(40, 5))
    assert not said(more, "too few")
