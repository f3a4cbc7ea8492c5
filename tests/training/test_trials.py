"""Runs of several trainings: seeds, folds, a first stage."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sbert_studio.data.examples import Examples
from sbert_studio.data.split import find_leaks, normalize_text
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.report import describe_score
from sbert_studio.models.io.load import load_folder
from sbert_studio.training.evaluator import Evaluator
from sbert_studio.training.events import Evaluated, Finished, Notice, Part, PartEnded, Started, Step, Stopped
from sbert_studio.training.members import OverallProgress, plan_members, summarize_scores
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import RunNotes, TrainingOutcome
from sbert_studio.training.trials import run_trials

from .tiny import Told, labelled_pairs, labelled_texts, load, never, positive_pairs, scored_pairs, small_spec, tiny_encoder, weights


def course(
    spec: TrainSpec, folder: Path, told: Told | None = None, should_stop: Callable[[], bool] = never, **more: Any
) -> TrainingOutcome:
    given: dict[str, Any] = {"dev": scored_pairs(60, seed=7), **more}
    return run_trials(
        spec, given.pop("examples", scored_pairs(40)), told if told is not None else Told(), should_stop, load=load, folder=folder, **given
    )


def grouped(rows: int = 60) -> Examples:
    return replace(scored_pairs(rows), groups=tuple(("red", "green", "blue")[row % 3] for row in range(rows)))


def texts_of(examples: Examples) -> set[str]:
    return {normalize_text(text) for column in examples.texts for text in column}


SEEDS, DEV = small_spec(seeds=3, seed=5, epochs=1, learning_rate=1e-2), scored_pairs(60, seed=7)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainingOutcome, Told, Path]:
    """A run of three seeds. Read only."""
    folder, told = tmp_path_factory.mktemp("seeded"), Told()
    return course(SEEDS, folder, told, dev=DEV), told, folder


@pytest.mark.slow
def test_seeds_give_a_mean_its_spread_and_the_best_model(seeded: tuple[TrainingOutcome, Told, Path]) -> None:
    outcome, told, folder = seeded
    ended = told.of(PartEnded)
    scores = [event.after["score"] for event in ended]
    assert [event.title for event in told.of(Part)] == ["seed 5", "seed 6", "seed 7"]
    assert len(set(scores)) == 3
    assert outcome.after["each"] == scores
    assert outcome.after["score"] == pytest.approx(statistics.fmean(scores))
    assert outcome.after["sd"] == pytest.approx(statistics.stdev(scores))
    assert outcome.before["sd"] == 0
    assert outcome.steps == 3 * 5
    assert outcome.after["kept"]["score"] == max(scores)
    assert Evaluator(DEV)(load_folder(outcome.model))["score"] == pytest.approx(max(scores), abs=1e-6)
    assert [type(event) for event in told if isinstance(event, Finished | Stopped)] == [Finished]
    assert isinstance(told[-1], Finished)
    assert not (folder / "parts").exists()
    assert len((folder / "held_out.jsonl").read_text().splitlines()) == 60


@pytest.mark.slow
def test_a_member_is_the_training_that_its_seed_alone_would_be(tmp_path: Path, seeded: tuple[TrainingOutcome, Told, Path]) -> None:
    outcome = seeded[0]
    scores = outcome.after["each"]
    best = scores.index(max(scores))
    for place in (best, (best + 1) % 3):
        alone = course(SEEDS.replace(seeds=1, seed=5 + place), tmp_path / str(place), dev=DEV)
        assert alone.after["score"] == scores[place]
        kept, expected = weights(outcome.model), weights(alone.model)
        assert all(torch.equal(kept[name], expected[name]) for name in expected) == (place == best)


def test_folds_share_no_text_divide_anew_by_seed_and_keep_groups_together() -> None:
    examples = scored_pairs(90)
    plan = plan_members(small_spec(folds=5), examples, None)
    assert sorted(line for member in plan for line in member.held.lines.tolist()) == examples.lines.tolist()  # type: ignore[union-attr]
    for member in plan:
        assert not texts_of(member.train_rows) & texts_of(member.held)
        assert len(member.train_rows) + len(member.held) == 90
    assert len({member.name for member in plan}) == 5
    plan = plan_members(small_spec(folds=2, seeds=2, seed=3), scored_pairs(), None)
    assert [member.title for member in plan] == [f"seed {seed}, fold {fold} of 2" for seed in (3, 4) for fold in (1, 2)]
    assert [member.spec.seed for member in plan] == [3, 3, 4, 4]
    assert plan[0].held.lines.tolist() != plan[2].held.lines.tolist()  # type: ignore[union-attr]
    assert all((member.spec.folds, member.spec.seeds) == (0, 1) for member in plan)
    plan = plan_members(small_spec(folds=3, by_group=True), grouped(), None)
    assert sorted(member.title for member in plan) == [
        f"fold {number} of 3, evaluated on {name}" for number, name in zip((1, 2, 3), _order(plan), strict=True)
    ]
    for member in plan:
        assert len(set(member.held.groups)) == 1
        assert not set(member.train_rows.groups) & set(member.held.groups)
    (single,) = plan_members(small_spec(by_group=True, dev_fraction=0.34), grouped(), None)
    assert not set(single.train_rows.groups) & set(single.held.groups)


@pytest.mark.slow
def test_a_run_in_folds_by_group_and_several_seeds_has_a_score_for_each_and_their_spread(tmp_path: Path) -> None:
    told, spec = Told(), small_spec(folds=3, by_group=True, seeds=2, seed=3, epochs=0.2)
    outcome = course(spec, tmp_path, told, examples=grouped(), dev=None)
    plan, ended = plan_members(spec, grouped(), None), told.of(PartEnded)
    assert [event.title for event in ended] == [member.title for member in plan] and len(plan) == 6
    assert outcome.after["each"] == [event.after["score"] for event in ended]
    assert outcome.after["sd"] == pytest.approx(statistics.stdev(outcome.after["each"])) and outcome.before["sd"] > 0
    held = [json.loads(line) for line in (tmp_path / "held_out.jsonl").read_text().splitlines()]
    assert len(held) % 20 == 0, "whole groups of twenty rows"


def _order(plan: list[Any]) -> list[str]:
    return [member.held.groups[0] for member in plan]


@pytest.mark.slow
def test_a_second_stage_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    told, dev, first = Told(), scored_pairs(60, seed=7), labelled_pairs(40, seed=30)
    stage = small_spec(loss="softmax", epochs=1).to_json()
    outcome = course(small_spec(first=stage, epochs=1), tmp_path, told, first=first, notes=RunNotes(("because",)))
    assert [event.title for event in told.of(Part)] == ["first stage", "second stage"]
    started = told.of(Started)
    assert [event.loss for event in started] == ["softmax", "cosine"]
    assert [event.reasons for event in started] == [("because",), ()]
    untuned = Evaluator(dev)(tiny_encoder())["score"]
    assert outcome.before["score"] == pytest.approx(untuned, abs=1e-6)
    assert told.of(Evaluated)[0].score == pytest.approx(untuned, abs=1e-6)
    second = told[next(place for place, event in enumerate(told) if isinstance(event, Part) and event.number == 2) :]
    begun = next(event for event in second if isinstance(event, Evaluated))
    assert begun.step == 0
    assert begun.score != untuned, "the first stage has taught something"
    assert load_folder(outcome.model).dim == 32
    assert not (tmp_path / "first").exists()


@pytest.mark.slow
def test_the_first_stage_does_not_see_held_out_texts(tmp_path: Path) -> None:
    told, dev = Told(), scored_pairs(60, seed=7)
    first = labelled_pairs(80, seed=30)
    known = replace(first, texts=((dev.texts[0][0].upper(), *first.texts[0][1:]), first.texts[1]))
    also = find_leaks(first, dev).sum()  # short sentences of few words meet by chance
    course(small_spec(epochs=0.2, first=small_spec(loss="softmax", epochs=0.2).to_json()), tmp_path, told, first=known, dev=dev)
    (notice,) = [event.message for event in told.of(Notice) if "first stage" in event.message]
    assert notice.startswith(f"{also + 1} rows") and notice.endswith("skipped")
    started = told.of(Started)[0]
    assert started.rows + started.dev_rows == len(first) - also - 1


@pytest.mark.slow
def test_a_held_out_file_that_shares_texts_is_told_of(tmp_path: Path) -> None:
    told, examples = Told(), scored_pairs()
    course(small_spec(epochs=0.2), tmp_path, told, examples=examples, dev=examples.take(range(20)))
    leaks = find_leaks(examples, examples.take(range(20))).sum()
    assert leaks >= 20
    message = told.of(Notice)[0].message
    assert message.startswith(f"{leaks} training rows") and "held-out file" in message and message.endswith("too optimistic")


def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="folds and a held-out file cannot be combined"):
        course(small_spec(folds=3), tmp_path)
    with pytest.raises(StudioError, match="several seeds cannot be compared without scores"):
        course(small_spec(seeds=2, dev_fraction=0), tmp_path, dev=None)
    with pytest.raises(StudioError, match="no column contains groups"):
        course(small_spec(seeds=2, by_group=True), tmp_path, dev=None)
    with pytest.raises(StudioError, match="one fold is not a cross-validation"):
        small_spec(folds=1)
    with pytest.raises(StudioError, match="no training setting 'epoch'"):
        small_spec(first={"epoch": 1})


def test_scores_are_summed_up_as_papers_do() -> None:
    scores = [{"metric": "m", "task": "sts", "rows": rows, "score": score} for rows, score in ((10, 0.8), (12, 0.9))]
    found = summarize_scores(scores)
    assert found["score"] == pytest.approx(0.85)
    assert found["sd"] == pytest.approx(0.0707, abs=1e-4)
    assert describe_score(found) == "0.850 ± 0.071"
    assert summarize_scores(scores[:1]) == scores[0]
    assert summarize_scores([{}]) == {}


@pytest.mark.slow
def test_the_dial_of_several_seeds_shows_the_marks_of_the_model_that_is_kept(
    tmp_path: Path, seeded: tuple[TrainingOutcome, Told, Path]
) -> None:
    from sbert_studio.services.run_setup import strength_marks
    from sbert_studio.training.blend import set_strength

    outcome, told, kept = seeded
    folder = shutil.copytree(kept, tmp_path / "run")
    best = max(told.of(PartEnded), key=lambda event: event.after["score"])
    shown = strength_marks(outcome.before, outcome.after)
    assert [mark["score"] for mark in shown["marks"]] == [mark["score"] for mark in best.after["strengths"]]
    for mark in shown["marks"]:
        after = set_strength(folder, SEEDS, mark["strength"], load=tiny_encoder)
        assert Evaluator(DEV)(load_folder(folder / "model"))["score"] == pytest.approx(mark["score"], abs=1e-5)
        again = strength_marks(outcome.before, after)
        assert again is not None and again["strength"] == mark["strength"] and again["marks"] == shown["marks"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "examples", "more"),
    [
        (small_spec(epochs=1, folds=2, seeds=2), scored_pairs(32), {}),
        (small_spec(epochs=1, first=small_spec(epochs=1, loss="in_batch").to_json()), scored_pairs(32), {"first": positive_pairs(24)}),
        (small_spec(epochs=1, loss="supcon", evaluation="folds"), labelled_texts(40), {}),
    ],
)
def test_the_bar_is_that_of_the_whole_run_and_never_falls_back(tmp_path: Path, spec: TrainSpec, examples: Examples, more: Any) -> None:
    told = Told()
    outcome = run_trials(spec, examples, told, never, load=load, folder=tmp_path, **more)
    assert outcome.status == "finished"
    steps = told.of(Step)
    shares = [event.run_step / event.run_steps for event in steps]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert steps[-1].run_step == outcome.steps
    begun = told.of(Started)
    assert begun[0].run_steps == pytest.approx(outcome.steps, rel=0.6) and begun[0].run_step == 0
    if len(begun) > 1:
        end_of_first = next(event for event in steps if event.step == event.steps)
        assert shares[steps.index(end_of_first)] < 0.75, "one part is not the whole"
        assert end_of_first.seconds_left > 0
    assert steps[-1].seconds_left < steps[0].seconds_left + 1


def test_the_time_left_is_right_where_every_step_takes_as_long() -> None:
    now, told = [0.0], Told()
    run = OverallProgress(told, [10, 20, 30], clock=lambda: now[0])
    left = []
    for number, steps in enumerate((10, 20, 30), start=1):
        run(Part(number, 3, f"fold {number}"))
        now[0] += 2.0  # the model is loaded
        run(Started(steps, 1, 80, 8, "cosine", "full", "cpu", "float32", 8))
        for step in range(1, steps + 1):
            now[0] += 1.0
            run(Step(step, steps, 0, 0.1, 0.1, 8.0, float(steps - step), 1.0))
            left.append((60 + 6 - now[0], told.of(Step)[-1].seconds_left))
        run(PartEnded(number, 3, f"fold {number}", {}, {}))
    assert left[0][1] == pytest.approx(left[0][0], rel=0.15)
    assert all(said == pytest.approx(true, abs=6) for true, said in left)
    assert [event.run_step for event in told.of(Step)] == list(range(1, 61))
    assert {event.run_steps for event in told.of(Step)} == {60}


def test_progress_counts_parts_that_had_ended_and_never_turns_back() -> None:
    told = Told()
    run = OverallProgress(told, [10, 10])
    run(Part(1, 2, "seed 1"))
    run(PartEnded(1, 2, "seed 1", {}, {}))
    run(Part(2, 2, "seed 2"))
    run(Started(10, 1, 80, 8, "cosine", "full", "cpu", "float32", 8, 5))
    run(Step(6, 10, 0, 0.1, 0.1, 8.0, 4.0, 1.0))
    (step,) = told.of(Step)
    assert (step.run_step, step.run_steps, step.seconds_left) == (16, 20, 4.0)
    now, told = [0.0], Told()
    run = OverallProgress(told, [100] * 4, clock=lambda: now[0])
    for number in (1, 2):
        run(Part(number, 4, f"fold {number}"))
        run(PartEnded(number, 4, f"fold {number}", {}, {}))
    run(Part(3, 4, "fold 3"))
    run(Started(100, 1, 80, 8, "cosine", "full", "cpu", "float32", 8))
    now[0] += 5.0
    run(Step(5, 100, 0, 0.1, 0.1, 8.0, 95.0, 1.0))
    assert told.of(Step)[-1].seconds_left == pytest.approx(195.0)
    for real in (4, 25):
        told = Told()
        run = OverallProgress(told, [10, 10, 10])
        for number in (1, 2, 3):
            run(Part(number, 3, "fold"))
            steps = real if number > 1 else 10
            run(Started(steps, 1, 80, 8, "cosine", "full", "cpu", "float32", 8))
            for step in range(1, steps + 1):
                run(Step(step, steps, 0, 0.1, 0.1, 8.0, 1.0, 1.0))
        shares = [event.run_step / event.run_steps for event in told.of(Step)]
        assert shares == sorted(shares) and shares[-1] == 1.0
