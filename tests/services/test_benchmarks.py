"""Public benchmarks as files: SentEval's task and suite, and folders of a known layout."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import quick, sentences, studio_at, write_pairs

from sbert_studio.cli.main import run
from sbert_studio.errors import StudioError
from sbert_studio.services import TrainRequest
from sbert_studio.ui import verbs as api

CLASSES = ("HUM:ind Who", "LOC:city Where", "NUM:count How many")


def trec(folder: Path) -> Path:
    """TREC as it is handed out."""
    folder.mkdir(parents=True)
    for name, rows, seed in (("train_5500", 60, 0), ("TREC_10", 20, 1)):
        drawn = np.random.default_rng(seed).integers(0, 3, rows)
        lines = [f"{CLASSES[place]} {text} ?\n" for place, text in zip(drawn, sentences(rows, seed), strict=True)]
        (folder / f"{name}.label").write_text("".join(lines), encoding="utf-8")
    return folder / "TREC_10.label"


def mrpc(folder: Path) -> Path:
    """MRPC as two plain tables."""
    folder.mkdir(parents=True)
    for split, rows, seed in (("train", 50, 0), ("test", 20, 5)):
        left, other = sentences(rows, seed), sentences(rows, seed + 1)
        with (folder / f"{split}.csv").open("w", newline="", encoding="utf-8") as target:
            writer = csv.writer(target)
            writer.writerow(["sentence1", "sentence2", "label"])
            writer.writerows([a, f"{a} again" if row % 2 else b, row % 2] for row, (a, b) in enumerate(zip(left, other, strict=True)))
    return folder / "test.csv"


@pytest.mark.slow
def test_a_set_as_it_is_handed_out_is_learned_from_its_own_train_split(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    path = trec(tmp_path / "TREC")
    with studio_at(home, tiny_model) as studio:
        report = studio.evaluation.evaluate(None, path, "senteval")
        assert (report.task, report.rows, report.scores["train_rows"]) == ("senteval", 20, 60)
        assert "trained on the 60 rows of TREC train" in report.notes
        found = studio.evaluation.evaluate_models(data=[tmp_path / "TREC"], task="senteval")
        assert found.models[0].reports[0].scores == report.scores and found.files[0].name == "TREC_10.label"
        folds = studio.evaluation.evaluate(None, path.with_name("train_5500.label"), "senteval")
        assert folds.scores["folds"] == 10, "the train split by itself"
        assert studio.evaluation.evaluate(None, path, "transfer").rows == 20, "another task takes the file as any other"


def test_the_suite_judges_each_set_by_its_protocol_and_averages_them(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    trec(tmp_path / "data/TREC-original")
    mrpc(tmp_path / "data/mrpc")
    with studio_at(home, tiny_model) as studio:
        found = studio.evaluation.evaluate_models(data=[tmp_path / "data"], suite="SentEval")
    by_name = dict(zip([file.name for file in found.files], found.models[0].reports, strict=True))
    assert {name: (one.rows, one.scores["train_rows"]) for name, one in by_name.items()} == {"TREC": (20, 60), "MRPC": (20, 50)}
    assert "f1" in by_name["MRPC"].scores and "f1" not in by_name["TREC"].scores
    average = found.models[0].averages[0]
    assert average is not None and average.main == pytest.approx(np.mean([one.scores["accuracy"] for one in by_name.values()]))
    assert [one.suite for one in found.missing] == ["MR", "CR", "SUBJ", "MPQA", "SST2"]
    notes = {file.name: file.notes for file in found.files}
    assert any(re.findall(r"\d[\d,]*", note) == ["60", "5,452"] for note in notes["TREC"])


@pytest.mark.slow
def test_the_command_takes_a_file_to_learn_from(
    tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(tiny_model))  # which is asked what columns mean
    test = mrpc(tmp_path / "mrpc")
    train, name = str(test.with_name("train.csv")), str(tiny_model)
    assert run(["evaluate", name, "--data", str(test), "--task", "senteval", "--reference", train, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["train_rows"] == 50 and 0 <= found["f1"] <= 1
    pairs = write_pairs(tmp_path / "sts.csv")
    assert run(["evaluate", name, "--data", str(pairs), "--reference", train]) == 2
    assert "does not use reference rows" in capsys.readouterr().err
    assert run(["evaluate", name, "--data", str(tmp_path), "--suite", "MRPC", "--reference", train]) == 2
    assert "its own training rows" in capsys.readouterr().err
    assert run(["evaluate", name, "--data", str(pairs), "--task", "geometry"]) == 0
    assert "anisotropy" in capsys.readouterr().out
    topics = tmp_path / "topics.csv"
    lines = pairs.read_text(encoding="utf-8").splitlines()
    topics.write_text(
        "\n".join([f"{lines[0]},topic", *(f"{line},{'ab'[row % 2]}" for row, line in enumerate(lines[1:]))]), encoding="utf-8"
    )
    assert run(["evaluate", name, "--data", str(topics), "--task", "topics", "--group", "topic"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown if "spearman" in line] == ["a", "b", "mean", "all"]


def test_the_endpoint_takes_a_file_to_learn_from(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    test = mrpc(tmp_path / "mrpc")
    with studio_at(home, tiny_model) as studio:
        found = api.evaluate(studio, str(test), "", "senteval", known=str(test.with_name("train.csv"))).to_json()
    assert (found["task"], found["train_rows"]) == ("senteval", 50)


@pytest.mark.slow
def test_a_set_of_a_file_for_each_class_is_judged_whole_without_being_named(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "downstream/MR"
    folder.mkdir(parents=True)
    for half, seed in (("pos", 0), ("neg", 1)):
        (folder / f"rt-polarity.{half}").write_text("\n".join(sentences(30, seed)) + "\n", encoding="latin-1")
    with studio_at(home, tiny_model) as studio:
        whole = studio.evaluation.evaluate_models(data=[folder])
        assert [file.name for file in whole.files] == ["MR"] and whole.models[0].reports[0].task == "senteval"
        assert whole.models[0].reports[0].rows == 60
        for path in folder.iterdir():
            assert studio.evaluation.evaluate(None, path).scores == whole.models[0].reports[0].scores
        (folder / "rt-polarity.pos").unlink()
        with pytest.raises(StudioError, match=r"rt-polarity\.pos is missing"):
            studio.evaluation.evaluate(None, folder / "rt-polarity.neg")


def test_topics_and_splits_are_read_from_plain_tables(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    lines = write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "afs").mkdir()
    table = [f"{lines[0]},topic", *(f"{line},{('tax', 'war')[row % 2]}" for row, line in enumerate(lines[1:]))]
    (tmp_path / "afs/all.csv").write_text("\n".join(table), encoding="utf-8")
    with studio_at(home, tiny_model) as studio:
        found = studio.evaluation.evaluate_models(data=[tmp_path], suite="afs")
    assert set(found.models[0].reports[0].scores["groups"]) == {"tax", "war"} and found.files[0].name == "AFS"
    header = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
    pairs = zip(sentences(30, 3), sentences(30, 4), strict=True)
    lines = [f"{row}\t{a}\t{b}\tNEUTRAL\t{1 + row % 5}\t{('TRAIN', 'TEST')[row % 2]}\n" for row, (a, b) in enumerate(pairs)]
    (tmp_path / "SICK.txt").write_text(header + "".join(lines), encoding="utf-8")
    tables = mrpc(tmp_path / "mrpc").parent
    with studio_at(home, tiny_model) as studio:
        whole = studio.evaluation.evaluate(None, tmp_path / "SICK.txt", "sts")
        assert whole.rows == 30 and all(word in whole.notes[0] for word in ("SICK.txt", "train", "dev", "test"))
        found = studio.evaluation.evaluate_models(data=[tables])
    notes = {file.name: file.notes for file in found.files}
    assert notes["train.csv"][0].startswith("train.csv looks like training data") and not any(
        "training data" in n for n in notes["test.csv"]
    )


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A year of STS whose scores are the share of words that both sides hold."""
    folder = tmp_path / "STS12-en-test"
    folder.mkdir()
    pairs = list(zip(sentences(60), sentences(60, 1), strict=True))
    scores = [5 * len({*a.split()} & {*b.split()}) / len({*a.split()} | {*b.split()}) for a, b in pairs]
    (folder / "STS.input.MSRpar.txt").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    (folder / "STS.gs.MSRpar.txt").write_text("".join(f"{score:.2f}\n" for score in [*scores[:59]]) + "\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_folder_that_holds_one_set_is_judged_and_learned_from(home: Path, tiny_model: Path, year: Path) -> None:
    with studio_at(home, tiny_model) as studio:
        report = studio.evaluation.evaluate(None, year)
        assert (report.task, report.rows) == ("sts", 59) and report.account is not None
        assert [(reason.why, reason.rows) for reason in report.account.reasons] == [("no gold score", (60,))]
        outcome = studio.fine_tune.train(TrainRequest(year, overrides=quick(seed=1, epochs=0.2)))
        assert outcome.status == "finished"


def test_a_folder_of_several_sets_or_of_none_is_refused(home: Path, tmp_path: Path, year: Path) -> None:
    other = tmp_path / "STS13-en-test"
    other.mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    for half in ("input", "gs"):
        (other / f"STS.{half}.FNWN.txt").write_text("a b\tc d\n" if half == "input" else "2\n", encoding="utf-8")
    with studio_at(home) as studio:
        with pytest.raises(StudioError, match="contains 2 datasets: STS12 test, STS13 test"):
            studio.data.read_table(tmp_path)
        with pytest.raises(StudioError, match="is a folder"):
            studio.data.read_table(empty)


def test_halves_that_lie_beside_each_other_are_read_as_one(home: Path, tmp_path: Path, tiny_model: Path, year: Path) -> None:
    for half in ("input", "gs"):
        (year / f"STS.{half}.OnWN.txt").write_text((year / f"STS.{half}.MSRpar.txt").read_text(encoding="utf-8"), encoding="utf-8")
    with studio_at(home, tiny_model) as studio:
        assert len(studio.data.read_table(year / "STS.gs.OnWN.txt")) == 59
        found = studio.evaluation.evaluate_models(data=[year])
        assert [file.name for file in found.files] == ["STS.input.MSRpar.txt", "STS.input.OnWN.txt"] and not found.left_out
        assert found.groups and found.files[0].rows.scale == (0, 5)
        assert len(studio.evaluation.evaluate_models(data=[tmp_path]).files) == 2, "sets below a folder without tables"
        (year / "STS.gs.OnWN.txt").unlink()
        with pytest.raises(StudioError, match=r"are in STS\.gs\.OnWN\.txt, line by line"):
            studio.evaluation.evaluate_models(data=[year / "STS.input.OnWN.txt"])
