"""What a run would take, found by a rehearsal: nothing is kept, and no training goes on beside it."""

from __future__ import annotations

import resource
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_studio import quick, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.memory import resident_memory
from sbert_studio.runs.execution import execute_run
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.training.estimate import PeakMemory


@pytest.mark.slow
def test_all_trainings_of_a_run_are_counted(studio: Studio, tmp_path: Path) -> None:
    path, first = write_pairs(tmp_path / "pairs.csv"), write_pairs(tmp_path / "first.csv", 40, seed=5)
    one = 7  # 54 of 60 rows, 8 at a time
    assert studio.planner.estimate(TrainRequest(path, overrides=quick(seeds=2))).estimate.steps == 2 * one
    folds = studio.planner.estimate(TrainRequest(path, overrides=quick(folds=3))).estimate
    assert folds.steps == 3 * 5  # 40 of 60 rows, 8 at a time
    staged = studio.planner.estimate(
        TrainRequest(path, first=first, overrides={**quick(), "first.epochs": 1, "first.batch_size": 10})
    ).estimate
    assert staged.steps == one + 4


@pytest.mark.slow
def test_a_training_waits_for_a_rehearsal_and_no_rehearsal_measures_a_training(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, order = write_pairs(tmp_path / "pairs.csv"), list[str]()
    begun, go_on = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        assert go_on.wait(60)
        order.append("measured")
        return "measured"

    def train(*given: Any) -> Any:
        order.append("trained")
        return execute_run(*given)

    monkeypatch.setattr("sbert_studio.runs.execution.execute_run", train)
    found: list[str] = []
    rehearsal = threading.Thread(target=lambda: found.append(studio.runner.rehearse(work)))
    rehearsal.start()
    assert begun.wait(60)
    run = studio.fine_tune.submit(TrainRequest(path, overrides=quick(epochs=300)))
    wait_until(lambda: studio.runner._current == run.id, what="its turn has come")
    assert studio.fine_tune.get_run(run.id).run.status == "queued"
    go_on.set()
    rehearsal.join()
    wait_until(lambda: studio.fine_tune.get_run(run.id).run.step >= 3, 120)
    assert found == ["measured"] and order == ["measured", "trained"]
    with pytest.raises(StudioError, match="a training run is in progress"):
        studio.planner.estimate(TrainRequest(path, overrides=quick()))
    studio.fine_tune.stop(run.id)
    assert studio.runner.wait(run.id, 120)
    assert studio.planner.estimate(TrainRequest(path, overrides=quick())).estimate.seconds > 0


def test_the_memory_is_that_of_the_work_and_not_of_what_was_before() -> None:
    old = np.ones(30_000_000)  # 240 MB, page for page
    del old
    lifetime = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before = resident_memory()
    assert lifetime > before + 160_000_000
    with PeakMemory(torch.device("cpu")) as memory:
        new = np.ones(12_500_000)
        wait_until(lambda: memory.bytes > before + 90_000_000, what="it is seen")
        del new
    assert before + 90_000_000 < memory.bytes < before + 150_000_000
