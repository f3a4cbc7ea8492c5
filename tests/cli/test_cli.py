"""The contract of the command line: one JSON object on stdout, words on stderr, exit codes 0, 2 and 1."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from limits import no_file_above
from model_server import Reply, serve_model
from openpyxl import Workbook, load_workbook
from processes import Child, command_line, started
from rich.console import Console
from tiny_studio import quick, sentences, studio_at, write_doubtful, write_pairs
from waiting import wait_until

from sbert_studio import __version__
from sbert_studio.cli import main as entry
from sbert_studio.cli.main import run
from sbert_studio.cli.output import Answer, format_duration, share_bar, write
from sbert_studio.data.samples import get_sample
from sbert_studio.errors import StudioError
from sbert_studio.services import TrainRequest
from sbert_studio.services.data import existing_file

QUICK = ["--loss", "cosine", "--epochs", "1", "--batch-size", "8", "--lr", "1e-3"]
QUICK += ["--set", "precision=float32", "--set", "evaluation=split"]
AS_FOUND = ["--epochs", "0.5", "--batch-size", "8", "--set", "evaluation=split"]


@pytest.fixture(autouse=True)
def use_tiny(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(tiny_model))
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as target:
        csv.writer(target).writerows([["text", "topic"], *([text, "t"] for text in dict.fromkeys(sentences(40)))])
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.csv")


class Told:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        assert len(self.out.splitlines()) == 1, self.out
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: object) -> Told:
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Told(code, out, err)

    return call


def ok(told: Told) -> Any:
    assert told.code == 0, told.err
    return told.json


def test_encode_writes_one_vector_a_row(cli: Any, corpus: Path, tmp_path: Path) -> None:
    found = ok(cli("encode", corpus, "--out", tmp_path / "x.npy", "--column", "text", "--json"))
    vectors = np.load(tmp_path / "x.npy", allow_pickle=False)
    assert {"resumed", "seconds", "sentences_per_second", "notes"} <= set(found)
    assert (found["precision"], found["why"]) == ("float32", "")
    assert (found["encoded"], found["left_out"], found["nan"]) == (found["rows"], [], [])
    assert vectors.shape == (found["rows"], found["dim"]) == (len(dict.fromkeys(sentences(40))), 32)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    told = cli("encode", corpus, "--out", tmp_path / "y.npy", "--column", "text", "--precision", "auto")
    assert re.search(r"precision (float32|bfloat16): .*(float32|bfloat16)", told.out)


@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_an_encoded_file_has_a_vector_for_every_row_also_for_those_without_text(cli: Any, suffix: str, tmp_path: Path) -> None:
    topic = ",t" if suffix == "csv" else ""
    header = ["text,topic"] if suffix == "csv" else []
    texts = [f"cat dog mat{topic}", "", f"red blue fast{topic}", f" {topic}", f"bank card{topic}"]
    path = tmp_path / f"gaps.{suffix}"
    path.write_text("\n".join([*header, *texts, "", ""]) + "\n")
    told = cli("encode", path, "--out", tmp_path / "x.npy", "--json")
    found, vectors = ok(told), np.load(tmp_path / "x.npy")
    assert vectors.shape == (5, 32) and (found["rows"], found["encoded"], found["nan"]) == (5, 3, [1, 3])
    assert np.isnan(vectors).all(axis=1).tolist() == [False, True, False, True, False]
    first = 1 + len(header)
    assert [row for reason in found["left_out"] for row in reason["rows"]] == [first + 1, first + 3]
    assert f"3 encoded, 2 skipped: blank (1: row {first + 1})" in told.err or suffix == "txt"
    alone = tmp_path / "alone.txt"
    alone.write_text("bank card\n")
    cli("encode", alone, "--out", tmp_path / "y.npy")
    assert np.allclose(vectors[4], np.load(tmp_path / "y.npy")[0], atol=1e-5)


def test_every_verb_says_what_became_of_the_rows(cli: Any, tmp_path: Path, tiny_model: Path) -> None:
    path, rows = tmp_path / "pairs.csv", list(zip(sentences(30), sentences(30, 1), strict=True))
    lines = [f"{a},{b},{number % 6}" for number, (a, b) in enumerate(rows)]
    lines[3], lines[7], lines[9] = "", ",only one side,3", "cat dog,red blue,none of it"
    lines[12] = lines[11]
    path.write_text("sentence1,sentence2,score\n" + "\n".join(lines) + "\n")
    left = {"blank": [5], "text on one side only": [9]}

    def whys(account: Any) -> dict[str, list[int]]:
        assert account["used"] + account["held_out"] + account["left_out"] == account["read"] == 30
        return {reason["why"]: reason["rows"] for reason in account["reasons"]}

    scored = left | {"the score is not a number, such as 'none of it'": [11]}
    told = cli("check", path, "--json")
    assert whys(ok(told)["account"]) == scored
    assert "30 rows read, 27 usable for training, 3 skipped" in cli("check", path).out
    assert whys(ok(cli("evaluate", tiny_model, "--data", path, "--json"))["account"]) == scored
    assert "30 rows read, 27 evaluated, 3 skipped" in cli("evaluate", tiny_model, "--data", path).out
    told = cli("similarity", "--pairs", path, "--json")
    assert whys(ok(told)["account"]) == left and "28 compared, 2 skipped: blank (1: row 5)" in told.err
    agreement = told.json["agreement"]
    assert agreement["column"] == "score" and agreement["rows"] == 27 and -1 <= agreement["spearman"] <= 1
    assert f"Spearman {agreement['spearman']:.3f}" in cli("similarity", "--pairs", path).out
    column = ["--column", "sentence1"]
    for verb, words, more in (
        ("search", "searched", ["cat"]),
        ("mine", "compared", []),
        ("map", "drawn", ["--out", tmp_path / "map.html", "--topics", 2]),
        ("topics", "used", ["--out", tmp_path / "topics.xlsx", "--topics", 2]),
    ):
        told = cli(verb, path, *more, *column, "--json")
        assert whys(ok(told)["account"]) == {"blank": [5], "no text": [9]}
        assert f"30 rows read, 28 {words}, 2 skipped" in told.err
        number = ["The number of topics was set to 2."] if verb in ("map", "topics") else []
        assert told.json["notes"][: len(number) + 1] == [*number, "1 text repeats an earlier one and is kept."]


def test_similarity_search_and_mining_answer_with_rows_of_the_file(cli: Any, pairs: Path, tmp_path: Path, corpus: Path) -> None:
    found = ok(cli("similarity", "--pairs", pairs, "--out", tmp_path / "out.csv", "--json"))
    assert [row["row"] for row in found["rows"]] == list(range(2, 62))
    with (tmp_path / "out.csv").open(encoding="utf-8-sig") as source:
        written = list(csv.DictReader(source))
    assert [float(row["cosine"]) for row in written] == pytest.approx([row["cosine"] for row in found["rows"]])
    assert written[0]["sentence1"] == found["rows"][0]["a"]
    query = next(csv.DictReader(corpus.open()))["text"]
    found = ok(cli("search", corpus, query, "-k", 3, "--mode", "hybrid", "--json"))
    assert {"milliseconds", "recall", "account", "notes"} <= set(found) and found["exact"] is True and len(found["hits"]) == 3
    hit = found["hits"][0]
    assert (hit["row"], hit["text"], hit["fields"]) == (2, query, {"topic": "t"}) and hit["score"] > found["hits"][1]["score"]
    found = ok(cli("mine", corpus, "-k", 4, "--json"))
    assert {"seconds", "account", "notes"} <= set(found) and (found["exact"], found["recall"], len(found["pairs"])) == (True, 1, 4)


def test_map_writes_a_page_that_needs_no_network_and_runs_no_text(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", *sentences(6)]))
    found = ok(cli("map", path, "--out", tmp_path / "map.html", "--topics", 2, "--json"))
    assert found["points"] == 8
    assert sum(topic["size"] for topic in found["topics"]) + found["outliers"] == 8
    assert {"id", "label", "size", "parent", "keywords", "examples"} == set(found["topics"][0])
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert not re.search(r"<(script|link)[^>]+(src|href)=[\"']?https?:", page)


def test_topics_reports_a_tree_and_writes_the_tables(cli: Any, tmp_path: Path) -> None:
    path, texts = tmp_path / "texts.csv", list(dict.fromkeys(sentences(90)))[:60]
    rows = [f"{text},2024-0{1 + row % 9}-11,{'ab'[row % 2]}" for row, text in enumerate(texts)]
    path.write_text("\n".join(["text,sent,team", *rows]), encoding="utf-8")
    out = tmp_path / "report.xlsx"
    told = cli("topics", path, "--out", out, "--topics", 3, "--seed", 1, "--json")
    found = ok(told)
    mapped = ok(cli("map", path, "--out", tmp_path / "map.html", "--topics", 3, "--seed", 1, "--json"))
    assert found["topics"] == mapped["topics"] and len(found["topics"]) == 3
    assert [table["column"] for table in found["timelines"]] == ["sent"] and [table["column"] for table in found["categories"]] == ["team"]
    assert sum(map(sum, found["categories"][0]["counts"])) == found["points"] == 60
    assert load_workbook(out).sheetnames == ["Topics", "Over time by sent", "By team", "Notes"]
    printed = cli("topics", path, "--out", tmp_path / "report.html", "--topics", 3, "--seed", 1).out
    assert all(topic["label"] in printed for topic in found["topics"]) and (tmp_path / "report.html").is_file()


def test_topics_are_named_by_a_language_model_if_one_is_chosen(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "texts.csv", tmp_path / "report.html"
    path.write_text("\n".join(["text", *list(dict.fromkeys(sentences(90)))[:60]]), encoding="utf-8")
    monkeypatch.setenv("SBERT_STUDIO_LLM_KEY", "sk-secret")
    monkeypatch.setenv("SBERT_STUDIO_LLM_SECONDS", "5")
    names = iter(("Animals", "Colors", "Places"))
    with serve_model(lambda _text: Reply(next(names, "Others"))) as server:
        options = ("topics", path, "--out", out, "--topics", 3, "--seed", 1, "--json")
        found = ok(named := cli(*options, "--llm-url", server.url, "--llm-model", "tiny", "--llm-hint", "toy texts"))
        assert {topic["label"] for topic in found["topics"]} == {"Animals", "Colors", "Places"}
        assert "3 of 3 topic names come from the language model tiny." in found["notes"] and "3 of 3" in named.err
        assert all("toy texts" in text for text in server.prompts) and server.headers[0]["authorization"] == "Bearer sk-secret"
        told = "".join((named.out, named.err, out.read_text(encoding="utf-8")))
        assert "Animals" in told and "sk-secret" not in told and server.url not in told
    assert "base URL" in cli(*options, "--llm-model", "tiny").err


def test_check_names_kind_rows_and_findings_with_their_rows_and_mends(cli: Any, pairs: Path) -> None:
    with pairs.open("a") as target:
        target.write(",red,2.0\n")
    found = ok(cli("check", pairs, "--json"))
    assert {"certain", "questions", "usable", "why", "roles", "account", "offers"} <= set(found)
    assert (found["kind"], found["rows"]) == ("scored_pairs", 61)
    blank = [finding for finding in found["findings"] if 62 in finding["rows"]]
    assert blank
    assert {"severity", "message", "rows", "fix"} <= set(blank[0])


def test_a_file_is_mended_and_converted_into_one_of_its_own(cli: Any, pairs: Path, tmp_path: Path) -> None:
    lines = pairs.read_text(encoding="utf-8").splitlines()
    pairs.write_text("\n".join([*lines, lines[1], "only one side,,3", "too,many,cells,4", "off,scale,55"]) + "\n", encoding="utf-8")
    before, out = pairs.read_bytes(), tmp_path / "mended.csv"
    found = ok(cli("check", pairs, "--fix", "--out", out, "--json"))
    assert len(found["fixed"]) >= 3 and not any(finding["fix"] for finding in found["findings"])
    assert found["out"] == str(out) and pairs.read_bytes() == before
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1 + found["rows"] <= 61
    assert ok(cli("check", out, "--json"))["findings"] == found["findings"]
    offers = {offer["name"]: offer["rows"] for offer in found["offers"]}
    labelled = ok(cli("check", pairs, "--fix", "--convert", "scored_to_labelled", "--out", out, "--json"))
    assert (labelled["kind"], labelled["rows"], labelled["converted"]) == (
        "labelled_pairs",
        offers["scored_to_labelled"],
        "scored_to_labelled",
    )
    told = cli("check", pairs)
    assert "--convert scored_to_labelled" in told.out and "--fix --out" in told.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fix"], "need an output file"), (["--convert", "scored_to_labelled"], "need an output file"),
        (["--convert", "alchemy", "--out", "x.csv"], "no conversion called"), (["--fix", "--out", "x.xlsx"], "ends in .csv, .parquet"),
        (["--fix", "--out", "pairs.csv"], "is the input file"), (["--scale", "wide"], "is not a scale"), (["--scale", "5-5"], "is empty"),
        (["--kind", "quadruplets"], "is not a known kind of examples"), (["--columns", "sentence1,"], "does not name any columns"),
        (["--columns", "sentence1,nothing"], "no column 'nothing'"), (["--group", "nothing"], "no column 'nothing'"),
        (["--group", "score"], "has two roles"), (["--kind", "positive-pairs", "--scale", "0-5"], "have no scale"),
    ],
)  # fmt: skip
def test_what_check_cannot_do_is_said_in_one_line(
    cli: Any, pairs: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    monkeypatch.chdir(pairs.parent)
    assert words in refused(cli("check", "pairs.csv", *options, "--json"))


def test_the_objective_decides_between_scores_and_labels(cli: Any, pairs: Path, tmp_path: Path) -> None:
    lines = pairs.read_text(encoding="utf-8").splitlines()
    both = tmp_path / "both.csv"
    labels = ["label", *(["ENTAILMENT", "NEUTRAL", "CONTRADICTION"][number % 3] for number in range(len(lines) - 1))]
    both.write_text("".join(f"{line},{label}\n" for line, label in zip(lines, labels, strict=True)), encoding="utf-8")
    assert ok(cli("check", both, "--json"))["roles"]["target"] == "score"
    told = cli("train", both, "--loss", "softmax", *AS_FOUND, "--json")
    assert ok(told)["status"] == "finished"
    assert "the loss uses labels, not 'score'" in told.err
    assert "cannot be trained on scored pairs" in refused(cli("train", pairs, "--loss", "softmax", "--json"))


def test_train_asks_what_only_the_owner_can_say_and_takes_the_answer(cli: Any, tmp_path: Path, home: Path) -> None:
    path = write_doubtful(tmp_path / "doubtful.csv")
    told = cli("train", path, *AS_FOUND, "--json")
    found = json.loads(told.out)
    assert (told.code, found["certain"]) == (2, False) and found["error"] and found["rows"]
    (question,) = found["questions"]
    flags = [option["flag"] for option in question["options"]]
    assert set(flags) == {"--order glorp,blarg", "--order blarg,glorp", "--order none"}
    assert "question: " in told.err and f"{question['options'][0]['answer']}: {flags[0]}" in told.err and "--as-read" in told.err
    assert f"row {question['rows'][0]['row']}: " in told.err
    assert ok(cli("runs", "--json"))["runs"] == []
    for answer in (shlex.split(flags[1]), ["--as-read"]):
        done = ok(cli("train", path, *AS_FOUND, *answer, "--json"))
        assert done["status"] == "finished"
        assert done["accounts"]["data"]["read"] == 80
        spec = json.loads((home / "runs" / done["run"] / "roles.json").read_text())
    assert refused(cli("train", path, *AS_FOUND, "--order", "glorp,blurb", "--json"))
    assert spec["kind"] == "labelled_pairs"


def test_the_strength_of_a_model_is_set_and_exported_without_training(cli: Any, pairs: Path, tmp_path: Path) -> None:
    run = ok(cli("train", pairs, *QUICK, "--json"))
    marks = run["after"]["strengths"]
    assert [mark["strength"] for mark in marks] == [0, 0.25, 0.5, 0.75, 1]
    found = ok(cli("strength", run["run"], 0.5, "--json"))
    assert (found["after"]["strength"], found["after"]["score"]) == (0.5, marks[2]["score"])
    ok(cli("export", run["run"], "--strength", 0.25, "--out", tmp_path / "model.zip", "--json"))
    (listed,) = ok(cli("runs", "--json"))["runs"]
    assert listed["scores"]["after"]["strength"] == 0.25
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        scores = json.loads(archive.read(next(name for name in archive.namelist() if name.endswith("scores.json"))))
    assert scores["after"]["strength"] == 0.25
    other = tmp_path / "letters" / "letter.txt"
    other.parent.mkdir()
    other.write_text("dear")
    onto = ("export", run["run"], "--strength", 1, "--format", "sentence-transformers", "--out", other.parent, "--json")
    assert "exists already" in refused(cli(*onto))
    assert "neither truncated" in refused(cli("export", run["run"], "--truncate-dim", 2, "--out", tmp_path / "cut.zip", "--json"))
    (listed,) = ok(cli("runs", "--json"))["runs"]
    assert listed["scores"]["after"]["strength"] == 0.25, "what is refused changes nothing"
    assert "strength 0.75" in cli("strength", run["run"], 0.75).out
    for wrong in ("2", "-1", "nan"):
        assert refused(cli("strength", "--json", "--", run["run"], wrong))


def test_train_then_everything_that_can_be_done_with_a_run(cli: Any, pairs: Path, tmp_path: Path) -> None:
    trained = cli("train", pairs, *QUICK, "--seed", 3, "--out", tmp_path / "out", "--name", "first", "--json")
    found = ok(trained)
    assert {"seconds", "pairs_per_second", "accounts"} <= set(found)
    assert (found["status"], found["steps"]) == ("finished", 7)
    assert Path(found["model"]) == tmp_path / "out"
    assert found["before"]["metric"] == found["after"]["metric"] == "cosine_spearman"
    assert f"run {found['run']}" in trained.err

    (listed,) = ok(cli("runs", "--json"))["runs"]
    assert {"id", "status", "loss", "model", "created", "scores"} <= set(listed)
    assert (listed["id"], listed["status"], listed["loss"], listed["name"]) == (found["run"], "finished", "cosine", "first")

    models = [model for model in ok(cli("models", "--json"))["models"] if model["kind"] in ("bundled", "run")]
    assert [model["name"] for model in models] == ["all-MiniLM-L6-v2", "multilingual-e5-small", found["run"]]
    assert models[2]["dim"] == 32
    assert models[0]["parameters"] == 22_713_216

    by_run, by_folder = (ok(cli("evaluate", model, "--data", pairs, "--json")) for model in (found["run"], found["model"]))
    assert "was fine-tuned on" in by_run.pop("notes")[0]  # the folder does not say what it was tuned on
    assert by_run == by_folder
    assert (by_run["task"], by_run["rows"]) == ("sts", 60)
    assert -1 <= by_run["cosine"]["spearman"] <= 1

    exported = ok(cli("export", found["run"], "--out", tmp_path / "model.zip", "--json"))
    assert exported == {"path": str(tmp_path / "model.zip"), "bytes": (tmp_path / "model.zip").stat().st_size}
    assert "first/verify.py" in zipfile.ZipFile(tmp_path / "model.zip").namelist()

    for command in (["runs"], ["models"], ["evaluate", found["run"], "--data", pairs]):
        words = cli(*command)
        assert words.code == 0
        assert words.out.strip()


def test_settings_of_the_spec_and_of_the_objective_go_through_set(cli: Any, pairs: Path, home: Path) -> None:
    found = ok(cli("train", pairs, *QUICK, "--loss", "cosent", "--set", "scale=10", "--set", "warmup-ratio=0.2", "--json"))
    spec = json.loads((home / "runs" / found["run"] / "spec.json").read_text())
    assert (spec["loss"], spec["loss_params"]["scale"], spec["warmup_ratio"]) == ("cosent", 10, 0.2)


def test_train_says_which_rows_it_left_out_and_why(cli: Any, pairs: Path, tmp_path: Path) -> None:
    lines = pairs.read_text(encoding="utf-8").splitlines()
    lines[5], lines[15], lines[20] = "", f"{lines[15].rpartition(',')[0]},high", f"{lines[20].rpartition(',')[0]},none"
    pairs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    dev = tmp_path / "dev.csv"
    dev.write_text("\n".join([lines[0], ",moon,1", *lines[30:40]]) + "\n", encoding="utf-8")
    scored = ["--kind", "scored_pairs", "--scale", "0-5"]
    told = cli("train", pairs, *QUICK, *scored, "--set", "evaluation=split", "--json")
    account = ok(told)["accounts"]["data"]
    assert (account["read"], account["left_out"]) == (60, 3) and account["held_out"] > 0
    assert account["used"] + account["held_out"] + account["left_out"] == account["read"]
    assert [(reason["why"], reason["rows"]) for reason in account["reasons"]] == [
        ("blank", [6]),
        ("the score is not a number, such as 'high', 'none'", [16, 21]),
    ]
    told = cli("train", pairs, "--dev", dev, *QUICK, *scored)
    assert told.code == 0, told.err
    assert "57 used for training, 3 skipped: blank (1: row 6); " in told.out
    assert "11 rows read, 10 used for validation, 1 skipped" in told.out and "(1: row 2)" in told.out


def refused(told: Told) -> str:
    assert told.code == 2, (told.code, told.err)
    assert "Traceback" not in told.err
    assert told.err.splitlines()[-1].startswith("error: ")
    assert {"error", "hint", "rows"} <= set(told.json)
    return str(told.err.splitlines()[-1])


def test_what_a_user_can_mend_is_said_in_one_line_with_exit_code_2(cli: Any, corpus: Path, pairs: Path, tmp_path: Path) -> None:
    empty, binary, bad = tmp_path / "empty.csv", tmp_path / "binary.csv", tmp_path / "bad.csv"
    empty.write_text("")
    binary.write_bytes(bytes(range(256)) * 20)
    bad.write_text("sentence1,sentence2,score\n" + "red,,1\n" * 12)
    commands: list[list[object]] = [
        [], ["similarity"], ["similarity", "a"], ["similarity", "a", ""], ["similarity", "a", "b", "--pairs", pairs],
        ["similarity", "a", "b", "--model", "no/such-model"], ["encode", corpus, "--out", tmp_path / "x.npy", "--column", "nothing"],
        ["encode", corpus], ["encode", corpus, "--out", tmp_path / "x.npy", "--precision", "float3"], ["encode", corpus, "--out", tmp_path],
        ["encode", corpus, "--out", corpus], ["encode", corpus, "--out", corpus / "x.npy"],
        ["encode", corpus, "--out", tmp_path / f"{'x' * 300}.npy"], ["map", corpus, "--out", tmp_path],
        ["similarity", "--pairs", pairs, "--out", pairs], ["search", tmp_path / "absent.csv", "x"], ["search", "x" * 300, "x"],
        ["search", "~nobody-of-this-name/x.csv", "x"], ["search", corpus, "x", "--model", "x" * 300],
        ["search", corpus, "x", "--model", "~nobody-of-this-name"], ["search", corpus, "x", "--mode", "psychic"],
        ["search", corpus, "x", "-k", 0], ["search", empty, "x"], ["search", binary, "x"],
        ["map", corpus, "--out", tmp_path / "m.html", "--topics", "many"],
        ["topics", corpus, "--out", tmp_path / "t.html", "--topics", "many"], ["topics", corpus, "--out", tmp_path / "t.csv"],
        ["check", corpus / "no"], ["train", bad, "--loss", "cosine"], ["train", pairs, "--loss", "cosent", "--set", "scale=much"],
        ["train", pairs, "--epochs", "-1"], ["train", pairs, "--epochs", "two"], ["train", pairs, "--set", "epochs"],
        ["train", pairs, "--set", "sped=9"], ["train", pairs, "--set", "batch_size=0"], ["train", pairs, "--set", "batch_size=many"],
        ["train", pairs, "--set", "loss_params=x"], ["train", pairs, "--set", "model=other"], ["train", "--resume", "run-0000000000"],
        ["evaluate", "all-MiniLM-L6-v2", "--data", pairs, "--task", "astrology"], ["export", "run-0000000000", "--out", tmp_path / "x.zip"],
        ["no-such-command"], ["models", "--no-such-option"],
    ]  # fmt: skip
    for command in commands:
        line = refused(cli(*command, "--json"))
        assert " hint: " in line, line


def test_a_file_that_is_read_is_never_written_over(cli: Any, corpus: Path, pairs: Path) -> None:
    before = corpus.read_bytes(), pairs.read_bytes()
    link = corpus.with_name("link.csv")
    link.symlink_to(corpus)
    for command in (["encode", corpus, "--out", link], ["map", corpus, "--out", corpus], ["similarity", "--pairs", pairs, "--out", pairs]):
        assert "is the input file" in refused(cli(*command, "--json"))
    assert (corpus.read_bytes(), pairs.read_bytes()) == before
    other = corpus.with_name("other.zip")
    other.write_bytes(b"of another kind")
    commands = (["similarity", "--pairs", pairs], ["duplicates", corpus], ["map", corpus], ["labels", pairs], ["check", pairs, "--fix"])
    for command in (*commands, ["pairs", corpus], ["negatives", pairs], ["topics", corpus], ["leaderboard"]):
        assert "use a name that ends in ." in refused(cli(*command, "--out", other, "--json"))
    assert other.read_bytes() == b"of another kind"


def test_a_path_without_a_file_is_named_as_it_was_given(cli: Any, tmp_path: Path) -> None:
    absent = tmp_path / "absent.csv"
    for verb, rest in (("encode", ["--out", tmp_path / "x.npy"]), ("search", ["query"]), ("check", []), ("train", []), ("mine", [])):
        assert f"there is no file '{absent}'" in refused(cli(verb, absent, *rest, "--json"))
        assert "'/dev/null' is not a regular file" in refused(cli(verb, "/dev/null", *rest, "--json"))
    assert f"there is no file '{absent}'" in refused(cli("evaluate", "all-MiniLM-L6-v2", absent, "--json"))
    with pytest.raises(StudioError) as hidden:
        existing_file(absent)
    assert str(hidden.value).startswith("there is no file 'absent.csv'."), "visitors of a page are not told its paths"


def test_a_disk_that_is_full_while_weights_or_vectors_are_written_is_no_bug(cli: Any, tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "notes.txt").write_text("the cat sat on the mat\n" * 50, encoding="utf-8")
    with no_file_above(2048):
        told = refused(cli("fit", tmp_path / "notes.txt", "--out", tmp_path / "words", "--set", "epochs=1", "--json"))
        assert told.startswith(f"error: the disk is full ({tmp_path / 'words'}). hint: free some disk space")
        assert not (tmp_path / "words").exists()
        told = refused(cli("distill", tiny_model, "--dim", "64", "--out", tmp_path / "static", "--json"))
        assert told.startswith(f"error: the disk is full ({tmp_path / 'static'})")
        assert "the disk is full" in refused(cli("encode", tmp_path / "notes.txt", "--out", tmp_path / "x.npy", "--json"))


def test_a_disk_that_is_full_at_the_end_of_a_training_says_where_the_model_is(cli: Any, pairs: Path, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sbert_studio.services.fine_tune.shutil.copytree", full)
        told = refused(cli("train", pairs, *QUICK, "--out", tmp_path / "mine", "--json"))
    assert told.startswith("error: the disk is full") and "sbert-studio export run-" in told


def test_a_port_that_is_taken_is_told_before_the_page_is_built(cli: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = cli("app", "--port", taken.getsockname()[1])
    assert told.code == 2
    assert re.fullmatch(r"error: 127\.0\.0\.1 port \d+ .+ hint: .+--port.+\n", told.err), "one line"


@pytest.mark.parametrize("command", ["app", "serve"])
def test_a_port_that_is_taken_in_the_meantime_is_no_bug(cli: Any, command: str, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    taken: list[socket.socket] = []
    module = "page" if command == "app" else command
    # Its first message comes once the port was found to be free.
    monkeypatch.setattr(f"sbert_studio.cli.{module}.print_message", lambda _: taken.append(socket.create_server(("127.0.0.1", port))))
    told = cli(command, *([tiny_model] if command == "serve" else []), "--port", port)
    taken[0].close()
    assert told.code == 2 and told.err.startswith(f"error: 127.0.0.1 port {port} cannot be used: "), told.err


def test_messages_name_rows_and_cannot_steer_the_terminal(cli: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("sentence1,sentence2,score\nred,,1\nblue,,2\n,cat,3\n")
    told = cli("train", bad, "--json")
    assert "rows 2, 3, 4" in refused(told)
    assert told.json["rows"] == [2, 3, 4]
    file = tmp_path / "texts.csv"
    file.write_text("te\x1b[31mxt,\u202eb\nthe red cat on the mat,one blue dog\na slow dog in the park,two white stars\n")
    told = cli("search", file, "cat", "--column", "absent", "--json")
    assert "te [31mxt" in refused(told)
    assert not re.search("[\x1b\u202e]", told.err)
    told = cli("check", file)
    assert told.code == 0
    assert not re.search("[\x1b\u202e]", told.out)


def test_answers_are_valid_json_and_fit_any_stdout() -> None:
    data = {"a": float("nan"), "b": [np.float32(1.5), np.int64(2)], "c": np.array([1.0, np.inf]), "d": Path("x"), "e": "\ud800", "f": (1,)}
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    write(Answer(data), True, out)
    out.seek(0)
    assert json.loads(out.read()) == {"a": None, "b": [1.5, 2], "c": [1.0, None], "d": "x", "e": "?", "f": [1]}
    raw = io.BytesIO()
    narrow = io.TextIOWrapper(raw, encoding="latin-1", newline="")
    answer = Answer({"text": "卡 é \u2028"}, ["卡 é"])
    for as_json in (True, False):
        write(answer, as_json, narrow)
    narrow.flush()
    found, words = raw.getvalue().decode("latin-1").splitlines()
    assert json.loads(found) == {"text": "卡 é \u2028"}
    assert words == "? é"


@pytest.mark.process
def test_a_command_whose_streams_are_closed_does_its_work(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "clean.csv"
    command = [sys.executable, "-m", "sbert_studio", "duplicates", str(corpus), "--out", str(out)]
    ended = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command], timeout=120, check=False)
    assert ended.returncode == 0 and out.read_text(encoding="utf-8-sig").splitlines()


def test_a_bug_is_one_line_exit_code_1_and_a_report_in_a_file(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("sbert_studio.services.similarity.SimilarityService.compare", stumble)
    told = cli("similarity", "a", "b", "--json")
    assert told.code == 1
    assert told.err.count("\n") == 1
    assert "ZeroDivisionError" in told.err
    assert "Traceback" not in told.err
    log = Path(re.search(r"report it with (\S+)\.$", told.err.strip())[1])  # type: ignore[index]
    assert "Traceback" in log.read_text()
    assert "ZeroDivisionError" in told.json["error"]


def test_what_a_library_prints_does_not_spoil_the_json(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sbert_studio.services.similarity import SimilarityService

    whole = SimilarityService.compare

    def chatty(self: SimilarityService, *arguments: Any) -> Any:
        print("hello from a library")
        return whole(self, *arguments)

    monkeypatch.setattr(SimilarityService, "compare", chatty)
    told = cli("similarity", "cat", "dog", "--json")
    assert "cosine" in ok(told)
    assert "hello from a library" in told.err


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (185, "3 min 05 s"), (7800, "2 h 10 min"), (-3, "0 s")])
def test_spans_of_time_in_words(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


def fit_and_wait_while_writing(corpus: str, out: str) -> None:
    """Fit static embeddings, but stop for good when the model is about to be written."""
    from sbert_studio import shutdown
    from sbert_studio.models import trainable

    shutdown.GRACE_SECONDS = 0.3

    def wait(_: Path) -> None:
        print("writing", flush=True)
        time.sleep(60)

    trainable.write_digests = wait
    entry(["fit", corpus, "--kind", "tfidf", "--out", out])


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_model_that_is_interrupted_while_it_is_written_leaves_nothing(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "models" / "mine"
    with started(tmp_path, fit_and_wait_while_writing, str(corpus), str(out)) as child:
        wait_until(lambda: "writing" in child.out.read_text())
        assert [one.name[:6] for one in out.parent.iterdir()] == [".part-"]
        child.send(signal.SIGTERM)
        assert child.wait(30) == 143
    assert list(out.parent.iterdir()) == []


@pytest.mark.process
def test_as_a_program_it_prints_its_version_and_leaves_with_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "sbert_studio", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"sbert-studio {__version__}"
    with pytest.raises(SystemExit) as left:
        entry(["similarity", "a"])
    assert left.value.code == 2
    capsys.readouterr()


def run_of(child: Child) -> str:
    """Wait until a training process has evaluated the base model, and return the id of its run."""
    found = wait_until(lambda: re.search(r"^run (run-\w+)[\s\S]*^base model", child.err.read_text(), re.MULTILINE), 60, "training began")
    return found[1]


@pytest.mark.process
@pytest.mark.slow
def test_ctrl_c_stops_politely_and_a_killed_run_is_interrupted_and_both_resume(cli: Any, pairs: Path, tmp_path: Path) -> None:
    """One run in three processes: interrupted with Ctrl-C, resumed and killed, resumed and terminated."""
    with command_line(tmp_path, "train", pairs, *QUICK, "--epochs", 200, "--json") as child:
        run_id = run_of(child)
        wait_until(lambda: ok(cli("runs", "--json"))["runs"][0]["step"] > 0)
        child.send(signal.SIGINT)
        found = json.loads(child.succeed())
    assert (found["run"], found["status"]) == (run_id, "stopped")
    assert 0 < found["steps"] < 1400
    assert Path(found["model"], "model.safetensors").is_file()

    with command_line(tmp_path, "train", "--resume", run_id, "--json") as child:
        taken_up = wait_until(lambda: re.search(r"resuming from step ([\d,]+)", child.err.read_text()))
        assert int(taken_up[1].replace(",", "")) == found["steps"]
        child.kill()
    (dead,) = ok(cli("runs", "--json"))["runs"]
    assert (dead["id"], dead["status"]) == (run_id, "interrupted")
    refusal = refused(cli("train", "--resume", run_id, "--epochs", 9, "--json"))
    assert "200.0" in refusal and "9.0" in refusal

    with command_line(tmp_path, "train", "--resume", run_id, "--json") as child:
        wait_until(lambda: "resuming from step" in child.err.read_text())
        child.send(signal.SIGTERM)
        last = json.loads(child.succeed())
    assert last["status"] == "stopped" and last["steps"] >= found["steps"]


@pytest.mark.slow
def test_a_run_of_another_program_is_seen_and_stopped(cli: Any, pairs: Path, home: Path, tiny_model: Path) -> None:
    with studio_at(home, tiny_model) as studio:
        run_id = studio.fine_tune.submit(TrainRequest(pairs, overrides=quick(epochs=900))).id

        def listed() -> Any:
            (found,) = ok(cli("runs", "--json"))["runs"]
            return found if found["step"] >= 3 else None

        found = wait_until(listed, 120)
        assert (found["id"], found["status"], found["waiting"], found["stopping"]) == (run_id, "running", 0, False)
        assert found["bytes"] > 1000
        assert re.search(r"step [\d,]+ of [\d,]+ \(\d+%\)", cli("runs").out)
        stopped = ok(cli("stop", run_id, "--json"))
        assert stopped["stopping"] or stopped["status"] == "stopped"
        assert studio.runner.wait(run_id, 60)
    assert "stopped" in cli("stop", run_id).out
    assert cli("stop", "run-0000000000").code == 2


def test_runs_and_word_vectors_are_deleted_once_that_is_confirmed(cli: Any, pairs: Path, corpus: Path, home: Path) -> None:
    run_id = ok(cli("train", pairs, *QUICK, "--json"))["run"]
    words = Path(ok(cli("fit", corpus, "--kind", "tfidf", "--json"))["model"]).name
    for days in (1, 99_999_999, 10**15):
        assert ok(cli("runs", "--clean", days, "--json"))["deleted"] == []
    assert "--yes" in refused(cli("runs", "--clean", 0, "--json"))
    told = cli("delete", run_id, words)
    assert told.code == 2 and "--yes" in told.err
    assert run_id in told.err and words in told.err and " MB " in told.err
    assert cli("delete", run_id, "run-0000000000", "--yes").code == 2
    assert (home / "runs" / run_id).is_dir()
    found = ok(cli("delete", run_id, words, run_id, "--yes", "--json"))
    assert found["deleted"] == [run_id, words] and found["bytes"] > 1000
    assert run_id not in cli("runs").out and not (home / "runs" / run_id).exists()
    cleaned = ok(cli("train", pairs, *QUICK, "--json"))["run"]
    told = ok(cli("runs", "--clean", 0, "--yes", "--json"))
    assert (told["deleted"], told["runs"]) == ([cleaned], [])
    assert [model["name"] for model in ok(cli("models", "--json"))["models"]][:2] == ["all-MiniLM-L6-v2", "multilingual-e5-small"]


def test_what_a_question_leaves_open_is_neither_converted_nor_mended(cli: Any, tmp_path: Path) -> None:
    rows = list(csv.DictReader(get_sample("scored_pairs").path.open(encoding="utf-8", newline="")))[:60]
    turned = tmp_path / "turned.csv"
    with turned.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(["s1", "s2", "note"])
        writer.writerows([row["sentence1"], row["sentence2"], f"{5 - float(row['score']):g}"] for row in rows)
    for change in (("--convert", "labelled_to_positive"), ("--fix",)):
        told = cli("check", turned, *change, "--out", tmp_path / "out.csv", "--model", "all-MiniLM-L6-v2")
        assert told.code == 2 and "Traceback" not in told.err, told.err
        assert "--scale 5-0" in told.err and not (tmp_path / "out.csv").exists()


def test_static_embeddings_are_trained_distilled_and_used(cli: Any, corpus: Path, tmp_path: Path, tiny_model: Path) -> None:
    found = ok(cli("fit", corpus, "--kind", "glove", "--out", tmp_path / "words", "--set", "width=8", "--set", "epochs=2", "--json"))
    assert {"texts", "seconds", "notes"} <= set(found)
    assert (found["dim"], found["kind"], found["model"]) == (8, "glove", str(tmp_path / "words")) and found["words"] > 5
    alike = ok(cli("similarity", "cat dog", "dog cat", "--model", tmp_path / "words", "--json"))
    assert alike["cosine"] == pytest.approx(1)
    table = tmp_path / "table.txt"
    table.write_text("".join(f"{word} {place} {place * place} 1\n" for place, word in enumerate(["cat", "dog", "mat", "red"])))
    taken = ok(cli("fit", corpus, "--kind", table, "--out", tmp_path / "taken", "--common", "1", "--json"))
    assert (taken["words"], taken["dim"]) == (4, 3) and "have no vector" in taken["notes"][0]
    assert "already trained" in refused(cli("fit", corpus, "--kind", table, "--set", "width=8", "--json"))
    assert "choose one of word2vec" in refused(cli("fit", corpus, "--kind", "fasttext", "--json"))
    assert "width" in refused(cli("fit", corpus, "--set", "width=1", "--json"))
    found = ok(cli("fit", corpus, "--kind", "tfidf", "--set", "dim=5", "--set", "min_count=1", "--json"))
    assert (found["dim"], found["kind"]) == (5, "tfidf") and re.fullmatch(r"words-[0-9a-f]{10}", found["model"])
    listed = {card["name"]: card for card in ok(cli("models", "--json"))["models"]}
    assert (listed[found["model"]]["kind"], listed[found["model"]]["title"]) == ("fitted", "texts-tfidf")
    hits = ok(cli("search", corpus, "cat unheard", "--model", found["model"], "--json"))
    assert "1 of 2 words of your query" in " ".join(hits["notes"])
    assert "already include word weights" in refused(cli("fit", corpus, "--kind", "tfidf", "--weighting", "sif", "--json"))
    found = ok(cli("distill", tiny_model, "--dim", "8", "--texts", corpus, "--out", tmp_path / "static", "--json"))
    assert (found["dim"], found["kind"], found["model"]) == (8, "static", str(tmp_path / "static")) and found["words"] == 20
    alike = ok(cli("similarity", "cat dog", "dog cat", "--model", tmp_path / "static", "--json"))
    assert alike["cosine"] == pytest.approx(1)
    told = ok(cli("similarity", "cat dog", "unheard of", "--model", tmp_path / "static", "--json"))
    (note,) = told["notes"]
    assert "2 of 4 words" in note and "1 of 2 texts" in note
    assert "no column" in refused(cli("distill", tiny_model, "--texts", corpus, "--column", "none", "--json"))


def test_a_folder_that_holds_something_else_is_never_written_over(cli: Any, corpus: Path, tmp_path: Path, tiny_model: Path) -> None:
    notes = tmp_path / "mine" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("keep me")
    for command in (["fit", corpus, "--kind", "tfidf"], ["distill", tiny_model]):
        assert "contains notes.txt" in refused(cli(*command, "--out", notes.parent, "--json"))
        assert "is a file" in refused(cli(*command, "--out", notes, "--json"))
        assert notes.read_text() == "keep me"
    words = ["fit", corpus, "--kind", "tfidf", "--set", "dim=5", "--set", "min_count=1", "--out", tmp_path / "words", "--json"]
    ok(cli(*words))
    ok(cli(*words))  # only what was written before is replaced
    (tmp_path / "words" / "thesis.txt").write_text("keep me")
    assert "contains thesis.txt" in refused(cli(*words))
    (notes.parent / "config.json").write_text("{}")
    assert "contains config.json" in refused(cli("fit", corpus, "--kind", "tfidf", "--out", notes.parent, "--json"))
    assert notes.read_text() == (tmp_path / "words" / "thesis.txt").read_text() == "keep me"


def test_what_cannot_be_trained_leaves_no_run_behind(cli: Any, pairs: Path, corpus: Path, tmp_path: Path) -> None:
    ok(cli("fit", corpus, "--kind", "tfidf", "--set", "dim=5", "--set", "min_count=1", "--out", tmp_path / "words", "--json"))
    for wrong, words in (
        (["--loss", "softmax"], "softmax cannot be trained on scored pairs"),
        (["--model", tmp_path / "words", "--method", "lora"], "no layers for an adapter"),
        (["--set", "recurrent=gur"], "nothing (omit it), rnn, lstm, gru"),
    ):
        for plan in ([], ["--plan"]):
            assert words in refused(cli("train", pairs, *wrong, *plan, "--json"))
    assert ok(cli("runs", "--json"))["runs"] == []


def test_the_interval_of_a_score_names_the_score(cli: Any, pairs: Path, tmp_path: Path, tiny_model: Path) -> None:
    told = cli("evaluate", tiny_model, "--data", pairs)
    assert re.search(r"^Cosine Spearman: 95% interval -?0\.\d{3} to -?\d", told.out, re.MULTILINE), told.out
    assert not re.search(r"^interval", told.out, re.MULTILINE)
    board = tmp_path / "board.md"
    assert f"written to {board}" in cli("leaderboard", "--out", board).err and board.is_file()


def test_progress_names_no_unit_that_the_reader_does_not_count(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{text} {number}" for number in range(275) for text in sentences(40)]
    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    for text in ("text", *texts):
        sheet.append([text])
    book.save(tmp_path / "texts.xlsx")
    monkeypatch.setattr("sbert_studio.cli.output.PROGRESS_SECONDS", 0)
    for command in (["search", tmp_path / "texts.xlsx", "red cat", "--mode", "lexical"], ["check", tmp_path / "texts.xlsx"]):
        lines = [line for line in cli(*command).err.splitlines() if line.startswith("reading: ")]
        assert len(lines) >= 2 and not [line for line in lines if "/s" in line], lines


def test_a_bar_is_not_full_while_the_work_goes_on() -> None:
    drawn = io.StringIO()
    with share_bar("encoding", Console(file=drawn, force_terminal=True, color_system=None, width=160)) as draw:
        draw(500, 1_000, "half")
        draw(1_000, 1_000, "saving")
    last = drawn.getvalue().split("encoding")[-1]
    assert "1,000/1,000  saving" in last and 38 <= last.count("━") < 40
