"""Of a run of several trainings the steps and the time left are those of all of them, and what is told never falls back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sbert_studio.data.examples import Examples
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training.events import Part, PartEnded, Started, Step
from sbert_studio.training.members import WholeRun
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trials import run_trials

from .tiny import Told, labelled_texts, never, positive_pairs, scored_pairs, small_spec, tiny_encoder


def load(spec: TrainSpec, examples: Examples, source: Path | None) -> TransformerEncoder:
    return tiny_encoder() if source is None else load_folder(source)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "examples", "more"),
    [
        (small_spec(epochs=1, judge="folds"), scored_pairs(30), {}),
        (small_spec(epochs=1, seeds=3), scored_pairs(32), {"dev": scored_pairs(40, seed=7)}),
        (small_spec(epochs=1, folds=2, seeds=2), scored_pairs(32), {}),
        (small_spec(epochs=1, first=small_spec(epochs=1, objective="in_batch").to_json()), scored_pairs(32), {"first": positive_pairs(24)}),
        (small_spec(epochs=1, objective="supcon", judge="folds"), labelled_texts(40), {}),
        (small_spec(epochs=1, judge="split"), scored_pairs(32), {}),
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
    run = WholeRun(told, [10, 20, 30], clock=lambda: now[0])
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


def test_a_part_that_was_done_before_counts_as_done() -> None:
    told = Told()
    run = WholeRun(told, [10, 10])
    run(Part(1, 2, "seed 1"))
    run(PartEnded(1, 2, "seed 1", {}, {}))
    run(Part(2, 2, "seed 2"))
    run(Started(10, 1, 80, 8, "cosine", "full", "cpu", "float32", 8, 5))
    run(Step(6, 10, 0, 0.1, 0.1, 8.0, 4.0, 1.0))
    (step,) = told.of(Step)
    assert (step.run_step, step.run_steps, step.seconds_left) == (16, 20, 4.0)


def test_parts_that_had_ended_before_a_resume_tell_nothing_of_the_pace() -> None:
    now, told = [0.0], Told()
    run = WholeRun(told, [100] * 4, clock=lambda: now[0])
    for number in (1, 2):
        run(Part(number, 4, f"fold {number}"))
        run(PartEnded(number, 4, f"fold {number}", {}, {}))
    run(Part(3, 4, "fold 3"))
    run(Started(100, 1, 80, 8, "cosine", "full", "cpu", "float32", 8))
    now[0] += 5.0
    run(Step(5, 100, 0, 0.1, 0.1, 8.0, 95.0, 1.0))
    assert told.of(Step)[-1].seconds_left == pytest.approx(195.0)


def test_a_training_that_ends_sooner_or_later_than_planned_never_turns_the_bar_back() -> None:
    for real in (4, 25):
        told = Told()
        run = WholeRun(told, [10, 10, 10])
        for number in (1, 2, 3):
            run(Part(number, 3, "fold"))
            steps = real if number > 1 else 10
            run(Started(steps, 1, 80, 8, "cosine", "full", "cpu", "float32", 8))
            for step in range(1, steps + 1):
                run(Step(step, steps, 0, 0.1, 0.1, 8.0, 1.0, 1.0))
        shares = [event.run_step / event.run_steps for event in told.of(Step)]
        assert shares == sorted(shares) and shares[-1] == 1.0
