"""Runs of several trainings as a person starts them: a first stage on another file, several seeds, folds."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import pytest
from tiny_studio import quick, sentences, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.runs.files import RunFiles
from sbert_studio.services import Studio, TrainRequest

pytestmark = pytest.mark.slow


def write_inference(path: Path, rows: int = 40) -> Path:
    """Pairs whose label says how many words they share, as entailment, neutral or contradiction."""
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(["premise", "hypothesis", "label"])
        for a, b in zip(sentences(rows, 40), sentences(rows, 41), strict=True):
            shared = len(set(a.split()) & set(b.split()))
            writer.writerow([a, b, ("contradiction", "neutral", "entailment")[min(shared, 2)]])
    return path


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


def test_settings_of_a_first_stage_without_one_are_refused(studio: Studio, tmp_path: Path) -> None:
    pairs, first = write_pairs(tmp_path / "pairs.csv"), write_inference(tmp_path / "nli.csv")
    with pytest.raises(StudioError, match="no first stage"):
        studio.fine_tune.submit(TrainRequest(pairs, overrides={"first.epochs": 2}))
    with pytest.raises(StudioError, match="no setting 'epoch'"):
        studio.fine_tune.submit(TrainRequest(pairs, first=first, overrides={"first.epoch": 2}))
    with pytest.raises(StudioError, match="does not learn from labelled pairs"):
        studio.fine_tune.train(TrainRequest(pairs, first=first, overrides=quick(**{"first.loss": "simcse"})))


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
