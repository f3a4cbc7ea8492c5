"""Runs of the background after a restart, and the order in which runs of several addresses are carried out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_studio import quick, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.identity import use_address
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.settings import Limits

pytestmark = pytest.mark.slow
LONG = {"epochs": 900, "evaluations_per_epoch": 1}


def submit(studio: Studio, pairs: Path, address: str = "", name: str = "x", **overrides: object) -> Run:
    with use_address(address):
        return studio.fine_tune.submit(TrainRequest(pairs, overrides=quick(**overrides), name=name))


def trains(studio: Studio, run: Run) -> bool:
    return studio.fine_tune.get_run(run.id).run.step > 3


def test_what_a_restart_interrupted_is_taken_up_in_its_order(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model) as studio:
        first = submit(studio, pairs, **LONG)
        wait_until(lambda: trains(studio, first), 60)
        waiting = [submit(studio, pairs, epochs=0.2) for _ in range(2)]
        stopped = submit(studio, pairs, epochs=0.2)
        studio.fine_tune.stop(stopped.id)
    with studio_at(tmp_path / "home", tiny_model) as studio:
        before = studio.fine_tune.get_run(first.id).run
        assert before.status == "interrupted"
        assert [run.id for run in studio.fine_tune.resume_interrupted()] == [run.id for run in (first, *waiting)]
        assert studio.fine_tune.resume_interrupted() == [], "they are taken up once"
        wait_until(lambda: studio.fine_tune.get_run(first.id).run.step > before.step, 60)
        studio.fine_tune.stop(first.id)
        for run in waiting:
            assert studio.runner.wait(run.id, 60) and studio.fine_tune.get_run(run.id).run.status == "finished"
        assert studio.fine_tune.get_run(stopped.id).run.status == "stopped"
    with studio_at(tmp_path / "home", tiny_model) as studio:
        assert studio.fine_tune.resume_interrupted() == [], "what has ended stays as it is"


def test_a_run_that_ends_the_program_again_and_again_is_left(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model) as studio:
        run = submit(studio, pairs, **LONG)
    for _ in range(3):
        with studio_at(tmp_path / "home", tiny_model) as studio:
            assert [one.id for one in studio.fine_tune.resume_interrupted()] == [run.id]
    with studio_at(tmp_path / "home", tiny_model) as studio:
        assert studio.fine_tune.resume_interrupted() == []
        left = studio.fine_tune.get_run(run.id).run
        assert left.status == "interrupted" and "each of the 3 times" in left.message
        studio.fine_tune.resubmit(run.id)  # by hand it counts anew
        note = json.loads((studio.workspace.run(run.id) / "background.json").read_text())
        assert note == {"restarts": 0}


def test_a_run_of_a_terminal_is_left_to_its_owner(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model) as studio:
        run = studio.fine_tune.train(TrainRequest(pairs, overrides=quick(epochs=0.2)))
        studio.store.record(run.id, status="interrupted")
        assert studio.fine_tune.resume_interrupted() == []


def test_addresses_take_turns_and_none_fills_the_queue(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(queue=8)) as studio:
        first = submit(studio, pairs, "a", **LONG)
        wait_until(lambda: trains(studio, first), 60)
        many = [submit(studio, pairs, "a", epochs=0.2) for _ in range(4)]
        with pytest.raises(StudioError, match="from your network"):
            submit(studio, pairs, "a", epochs=0.2)
        others = [submit(studio, pairs, address, epochs=0.2) for address in ("b", "c")]
        expected = [*others, *many]
        assert [studio.runner.position(run.id) for run in expected] == [1, 2, 3, 4, 5, 6]
        studio.fine_tune.stop(first.id)
        for run in expected:
            assert studio.runner.wait(run.id, 60)
        begun = {run.id: studio.fine_tune.get_run(run.id).events[0][1]["time"] for run in expected}
        assert sorted(begun, key=lambda one: begun[one]) == [run.id for run in expected]
