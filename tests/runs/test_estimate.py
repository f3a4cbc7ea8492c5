"""What a run would take, found by a rehearsal: nothing is kept, and no training goes on beside it."""

from __future__ import annotations

import resource
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_studio import quick, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.studio import Studio, TrainRequest
from sbert_studio.training.loop.memory import PeakMemory, resident_bytes


def test_a_plan_gives_spec_reasons_and_estimate_and_leaves_no_run(studio: Studio, tmp_path: Path) -> None:
    found = studio.tune.estimate(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(epochs=3)))
    data = found.to_json()
    assert set(data["estimate"]) == {"seconds", "peak_bytes", "pairs_per_second", "steps", "folds"}
    assert data["spec"]["batch_size"] == 8
    assert data["estimate"]["steps"] == 21
    assert data["estimate"]["seconds"] > 0
    assert any("as you chose" in reason for reason in data["reasons"])
    assert studio.tune.runs() == []
    long = replace(found, estimate=replace(found.estimate, seconds=250, peak_bytes=2_100_000_000))
    assert long.in_words().startswith("about 4 min, 2.1 GB of memory; 21 steps")


def test_all_trainings_of_a_run_are_counted(studio: Studio, tmp_path: Path) -> None:
    path, first = write_pairs(tmp_path / "pairs.csv"), write_pairs(tmp_path / "first.csv", 40, seed=5)
    one = studio.tune.estimate(TrainRequest(path, overrides=quick())).estimate
    assert studio.tune.estimate(TrainRequest(path, overrides=quick(seeds=3))).estimate.steps == 3 * one.steps
    folds = studio.tune.estimate(TrainRequest(path, overrides=quick(folds=5))).estimate
    assert folds.steps == 5 * 6  # 48 of 60 rows, 8 at a time
    staged = studio.tune.estimate(
        TrainRequest(path, first=first, overrides={**quick(), "first.epochs": 1, "first.batch_size": 10})
    ).estimate
    assert staged.steps == one.steps + 4


def test_what_cannot_be_trained_cannot_be_estimated(studio: Studio, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="does not learn from"):
        studio.tune.estimate(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(objective="triplet")))


def test_a_training_waits_for_a_rehearsal_and_no_rehearsal_measures_a_training(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    begun, go_on = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        assert go_on.wait(30)
        return "measured"

    found: list[str] = []
    rehearsal = threading.Thread(target=lambda: found.append(studio.runner.rehearse(work)))
    rehearsal.start()
    assert begun.wait(30)
    run = studio.tune.submit(TrainRequest(path, overrides=quick(epochs=300)))
    time.sleep(0.3)
    assert studio.tune.run(run.id).run.status == "queued"
    go_on.set()
    rehearsal.join()
    assert found == ["measured"]
    deadline = time.monotonic() + 60
    while studio.tune.run(run.id).run.step < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(StudioError, match="a training is under way"):
        studio.tune.estimate(TrainRequest(path, overrides=quick()))
    studio.tune.stop(run.id)
    assert studio.runner.wait(run.id, 60)
    assert studio.tune.estimate(TrainRequest(path, overrides=quick())).estimate.seconds > 0


def test_the_memory_is_that_of_the_work_and_not_of_what_was_before() -> None:
    old = np.ones(50_000_000)  # 400 MB, page for page
    del old
    lifetime = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before = resident_bytes()
    assert lifetime > before + 300_000_000
    with PeakMemory(torch.device("cpu")) as memory:
        new = np.ones(12_500_000)
        time.sleep(0.05)
        del new
    assert before + 90_000_000 < memory.bytes < before + 150_000_000
