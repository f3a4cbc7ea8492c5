"""How runs are executed: estimates, runs of several trainings, and the answers to an alarm as columns spell them out."""

from __future__ import annotations

import csv
import json
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_studio import quick, sentences, write_pairs
from waiting import wait_until

from sbert_studio.data.schema.roles import Roles, parse_columns, parse_scale
from sbert_studio.errors import StudioError
from sbert_studio.memory import resident_memory
from sbert_studio.runs.execution import add_alarm_options, execute_run
from sbert_studio.runs.files import RunFiles
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.training.estimate import PeakMemory

ASKED = {
    "name": "alarm",
    "options": [
        {"answer": "swapped", "flag": "", "choice": {}},
        {"answer": "go on", "flag": "--set accept_alarm=below_chance", "choice": {"accept_alarm": "below_chance"}},
    ],
}


def test_alarm_options_are_spelled_out_by_the_roles_of_the_columns() -> None:
    scores = Roles("scored_pairs", ("a", "b"), "distance", low=0.0, high=5.0)
    first, *rest = add_alarm_options(ASKED, scores)["options"]
    assert (first["flag"], first["choice"]) == ("--scale 5-0", {"scale": [5.0, 0.0]}) and parse_scale("5-0") == (5.0, 0.0)
    assert rest == ASKED["options"]
    first, *rest = add_alarm_options(ASKED, Roles("triplets", ("a", "far one", "near")))["options"]
    assert (first["flag"], first["choice"]) == ("--columns 'a,near,far one'", {"columns": ["a", "near", "far one"]}) and len(rest) == 1
    assert parse_columns("a,near,far one") == ("a", "near", "far one")
    forgets = {"options": [{"answer": "go on", "flag": "", "choice": {"accept_alarm": "general"}}]}
    assert add_alarm_options({}, scores) == {} and add_alarm_options(forgets, scores) == forgets, "no other question is changed"


def test_labels_are_reversed_only_if_they_are_those_of_the_training_file() -> None:
    turn = {"answer": "turn", "flag": "--order blarg,glorp", "choice": {"order": ["blarg", "glorp"]}}
    asked = {**ASKED, "question": "Are the targets in the right direction?", "why": "", "options": [turn, *ASKED["options"]]}
    own, other = (Roles("labelled_pairs", ("a", "b"), "label", labels=labels) for labels in (("glorp", "blarg"), ("no", "yes")))
    assert add_alarm_options(asked, own)["options"] == asked["options"]
    found = add_alarm_options(asked, other)
    assert (found["options"], found["question"]) == (ASKED["options"], asked["question"])
    assert add_alarm_options(asked, other, is_dev_file=True)["question"] == f"In the held-out file: {asked['question']}"
    assert add_alarm_options({}, other, is_dev_file=True) == {}


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
    resource = pytest.importorskip("resource", reason="the memory of the whole lifetime is that of POSIX")
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


def write_inference(path: Path, rows: int = 40) -> Path:
    """Pairs whose label says how many words they share, as entailment, neutral or contradiction."""
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(["premise", "hypothesis", "label"])
        for a, b in zip(sentences(rows, 40), sentences(rows, 41), strict=True):
            shared = len(set(a.split()) & set(b.split()))
            writer.writerow([a, b, ("contradiction", "neutral", "entailment")[min(shared, 2)]])
    return path


@pytest.mark.slow
def test_a_first_stage_in_the_background_and_its_export_without_folders_of_this_machine(studio: Studio, tmp_path: Path) -> None:
    first = write_inference(tmp_path / "nli.csv")
    run = studio.fine_tune.submit(
        TrainRequest(write_pairs(tmp_path / "pairs.csv"), first=first, overrides=quick(**{"first.loss": "softmax", "first.epochs": 0.5}))
    )
    assert studio.runner.wait(run.id, 240)
    done = studio.fine_tune.get_run(run.id)
    assert done.run.status == "finished", done.run.message
    assert (done.run.spec["first"]["loss"], done.run.spec["first"]["epochs"]) == ("softmax", 0.5)
    assert [event["title"] for _, event in done.events if event["type"] == "part"] == ["first stage", "second stage"]
    assert done.run.before["score"] == pytest.approx(next(event["score"] for _, event in done.events if event["type"] == "evaluated"))
    kept = RunFiles(studio.workspace.run(run.id))
    assert kept.source()["first"]["name"] == "nli.csv"
    assert kept.spec().to_json() == dict(done.run.spec), "the spec holds both stages"
    assert any(reason.startswith("First stage: ") for reason in kept.reasons())
    assert studio.similarity.compare("cat dog", "cat dog", run.id).cosine == pytest.approx(1, abs=1e-5)
    assert studio.evaluation.evaluate(run.id, first).notes[-1].startswith("40 of these 40 rows are in the file")
    renamed = first.with_name("renamed.csv")
    header, *lines = first.read_text(encoding="utf-8").splitlines()
    renamed.write_text("\n".join([",".join(f"my {name}" for name in header.split(",")), *lines]), encoding="utf-8")
    assert studio.evaluation.evaluate(run.id, renamed).notes[-1].startswith("40 of these 40 rows are in the file")
    with zipfile.ZipFile(studio.fine_tune.export(run.id, tmp_path / "run.zip").path) as archive:
        texts = {Path(name).name: archive.read(name).decode() for name in archive.namelist() if name.endswith((".json", ".md"))}
    assert json.loads(texts["spec.json"])["first"]["epochs"] == 0.5
    assert set(json.loads(texts["data.json"])["files"]) == {"data", "first"}
    assert "--first nli.csv" in texts["README.md"]
    assert "first stage" in texts["README.md"]
    assert not [name for name, text in texts.items() if str(tmp_path) in text or str(studio.workspace.home) in text]
    again = studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), model=run.id, overrides=quick(epochs=0.2)))
    assert again.before["score"] == pytest.approx(done.run.after["score"], abs=1e-6), "training goes on from any earlier run"


@pytest.mark.slow
def test_settings_of_a_first_stage_without_one_are_refused(studio: Studio, tmp_path: Path) -> None:
    pairs, first = write_pairs(tmp_path / "pairs.csv"), write_inference(tmp_path / "nli.csv")
    with pytest.raises(StudioError, match="no first stage"):
        studio.fine_tune.submit(TrainRequest(pairs, overrides={"first.epochs": 2}))
    with pytest.raises(StudioError, match="no setting 'epoch'"):
        studio.fine_tune.submit(TrainRequest(pairs, first=first, overrides={"first.epoch": 2}))
    with pytest.raises(StudioError, match="cannot be trained on labelled pairs"):
        studio.fine_tune.train(TrainRequest(pairs, first=first, overrides=quick(**{"first.loss": "simcse"})))


@pytest.mark.slow
def test_a_run_of_parts_goes_on_where_it_was_stopped(studio: Studio, tmp_path: Path) -> None:
    pairs, first = write_pairs(tmp_path / "pairs.csv", 40), write_inference(tmp_path / "nli.csv", 30)
    overrides = quick(seeds=2, **{"first.epochs": 1})
    whole = studio.fine_tune.train(TrainRequest(pairs, first=first, overrides=overrides))
    asked = iter(range(100))
    run = studio.fine_tune.train(TrainRequest(pairs, first=first, overrides=overrides), should_stop=lambda: next(asked) > 7)
    assert run.status == "stopped"
    done = studio.fine_tune.resume(run.id)
    assert done.status == "finished"
    assert done.after["each"] == whole.after["each"]
