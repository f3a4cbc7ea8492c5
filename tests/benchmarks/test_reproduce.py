"""The results in the documents are those that were measured, by commands that exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import reproduce
import typer
from reproduction import ROWS, runner, select_rows
from reproduction.datasets import prepare
from reproduction.report import _speed, render
from reproduction.results import Results
from reproduction.rows import Row
from reproduction.runner import Places, run_once, run_rows
from reproduction.speeds import measure_speeds

from sbert_studio.cli.main import app
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.losses import LOSSES
from sbert_studio.registry import fields_of
from sbert_studio.training.spec import TrainSpec

ROOT = Path(__file__).parents[2]

JSON, PAGE = ROOT / "docs/results.json", ROOT / "docs/RESULTS.md"
TABLE_1 = (
    "Word2Vec, pre-trained", "GloVe, pre-trained", "GloVe, pre-trained, TF-IDF-weighted", "GloVe, pre-trained, frequency-weighted (SIF)",
    "skip-gram, trained on STSb", "CBOW, trained on STSb", "GloVe, trained on STSb", "RNN", "LSTM", "LSTM, pre-trained on NLI", "GRU",
    "InferSent", "BERT, both texts at once, linear head", "ALBERT, both texts at once, linear head",
    "RoBERTa, both texts at once, linear head", "BERT, both texts at once, MLP + σ", "ALBERT, both texts at once, MLP + σ",
    "RoBERTa, both texts at once, MLP + σ", "S-BERT", "S-BERT, CLS + Linear", "S-LLM, untuned", "S-LLM, full", "S-LLM, LoRA",
)  # fmt: skip


def test_the_page_is_what_the_results_come_to() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(Results(JSON)), "run: make reproduce ARGS=--render"


@pytest.mark.parametrize("page", [PAGE, ROOT / "CONTRIBUTING.md"])
def test_rows_that_a_page_picks_exist(page: Path) -> None:
    typed = " ".join(re.findall(r'ARGS="([^"]+)"', page.read_text(encoding="utf-8"))).split()
    picked = [word for word in typed if "/" not in word and not word.startswith("-")]
    assert picked and not [name for name in picked if name not in ROWS]


def test_every_row_of_the_comparison_is_listed_with_a_figure_or_what_it_needs() -> None:
    assert sorted(row.title for row in ROWS.values() if row.in_table_1) == sorted(TABLE_1)
    page = PAGE.read_text(encoding="utf-8")
    for title in TABLE_1:
        (line,) = [line for line in page.splitlines() if line.startswith(f"| **{title}** |")]
        cells = [cell.strip() for cell in line.split("|")]
        assert re.search(r"^\d\.\d{3}|^not run: needs|^not run yet$", cells[4]), line


def test_what_was_measured_was_measured_by_the_commands_that_the_rows_have() -> None:
    for name, found in json.loads(JSON.read_text(encoding="utf-8"))["rows"].items():
        assert found["commands"] == list(ROWS[name].shell_commands), f"measured by other commands: {name}"
        for run in found["runs"]:
            assert run["seed"] in ROWS[name].seeds
            assert all(-1 <= value <= 1 for part in ("dev", "test") for key, value in run.get(part, {}).items() if key != "rows")


def test_commands_and_networks_of_rows_exist() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    own = {item.name for item in (*TrainSpec.settings(), *fields(SchemaOverrides))}
    own |= {item.name for name in LOSSES for item in fields_of(LOSSES[name].Params)}
    settings = own | {f"first.{name}" for name in own}
    for row in ROWS.values():
        assert not row.network or (not ROWS[row.network].network and not ROWS[row.network].needs), row.name
        assert row.shell_commands or row.sets is None
        for typed in row.shell_commands:
            _, name, *rest = shlex.split(typed)
            known = {option for parameter in commands[name].params for option in parameter.opts}
            for place, word in enumerate(rest):
                assert not word.startswith("--") or word in known, f"{row.name}: {name} {word}"
                assert rest[place - 1] != "--set" or word.partition("=")[0] in settings, f"{row.name}: {word}"
                assert not word.startswith("/"), f"{row.name}: a path of one machine"


def _scored(path: Path, rows: int, seed: int) -> None:
    """Pairs that share the more words the higher their score."""
    words, random = [f"word{place}" for place in range(30)], np.random.default_rng(seed)
    lines = ["sentence1,sentence2,score"]
    for place in range(rows):
        same = place % 6
        left = random.permutation(words)[:5]
        right = [*left[:same], *random.permutation(words)[: 5 - same]]
        lines.append(f"{' '.join(left)},{' '.join(right)},{same}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path / "home"))
    for part, (rows, seed) in {"train": (60, 1), "dev": (30, 2), "test": (30, 3)}.items():
        _scored(tmp_path / f"sets/stsb/{part}.csv", rows, seed)
    return Places(tmp_path / "sets", tmp_path / "work")


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are made, and not evaluated."""
    monkeypatch.setattr(runner, "evaluate_model", lambda *_: {"mse": 0.5, "pearson": 0.5, "spearman": 0.5, "rows": 30})


def _small(name: str = "small", seeds: tuple[int, ...] = (1, 2)) -> Row:
    command = "fit DATA/stsb/train.csv --kind word2vec --weighting plain --set epochs=2 --set width=8 --seed SEED --out OUT"
    return Row(name, "Small", "comparison", (command,), seeds=seeds, minutes=2)


@pytest.mark.slow
def test_a_row_is_made_judged_kept_and_not_run_again(places: Places, tmp_path: Path) -> None:
    row, path = replace(_small(), minutes=200), tmp_path / "results.json"
    assert run_rows([row], places, Results(path), minutes=100.001) == 0, "the second of two trainings would go beyond"
    assert Results(path).remaining_seeds(row) == [2]
    assert run_rows([row], places, Results(path)) == 0
    results = Results(path)
    assert results.remaining_seeds(row) == []
    assert run_rows([row], Places(tmp_path / "gone", tmp_path), results) == 0, "nothing is left to run"
    first, _ = results.runs(row)
    again = run_once(row, 1, places)
    assert again["dev"] == first["dev"]
    assert again["test"] == first["test"]

    from reproduction.runner import predict

    pairs = [line.split(",") for line in (places.data / "stsb/dev.csv").read_text(encoding="utf-8").splitlines()[1:]]
    cosines = predict(str(places.model(row, 1)), ([pair[0] for pair in pairs], [pair[1] for pair in pairs]))
    errors = [(min(1.0, max(0.0, cosine)) - float(pair[2]) / 5) ** 2 for cosine, pair in zip(cosines, pairs, strict=True)]
    assert first["dev"]["mse"] == pytest.approx(sum(errors) / len(errors))
    other = row.commands[0].replace("word2vec", "cbow")
    assert results.remaining_seeds(replace(row, commands=(other,))) == [1, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("unjudged")
def test_a_row_that_fails_is_told_and_the_next_one_runs(places: Places, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = replace(_small("bad"), commands=("fit DATA/stsb/none.csv --kind word2vec --out OUT",))
    results = Results(tmp_path / "results.json")
    assert run_rows([bad, _small(seeds=(1,))], places, results) == 1
    assert list(results.rows) == ["small"]
    assert "bad: sbert-studio fit exited with 2" in capsys.readouterr().err


def test_rows_that_lack_something_are_not_run(places: Places, tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json")
    rows = [replace(_small(), needs="the hub"), replace(_small(), packages=("no_such_package",))]
    assert run_rows(rows, places, results) == 0
    assert results.rows == {}


def test_files_that_the_sets_do_not_hold_are_made_of_them(tmp_path: Path) -> None:
    for name, lines in {
        "snli/train.csv": ["premise,hypothesis,label", "a,b,neutral"],
        "sick/train.csv": ["sentence1,sentence2,score,label", "c,d,4.5,entailment"],
        "stsb/train.csv": ["sentence1,sentence2,score", "e,f,3.8"],
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    prepare(["nli.csv", "stsb-classes.csv"], tmp_path, tmp_path)
    assert (tmp_path / "nli.csv").read_text(encoding="utf-8").splitlines() == ["sentence1,sentence2,label", "a,b,neutral", "c,d,entailment"]
    assert (tmp_path / "stsb-classes.csv").read_text(encoding="utf-8").splitlines()[1:] == ["e,f,class 4"]


@pytest.mark.slow
@pytest.mark.usefixtures("unjudged")
def test_speeds_are_of_models_made_in_a_few_steps_and_shared_by_rows_of_one_network(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path
) -> None:
    train = "train DATA/stsb/train.csv --dev DATA/stsb/dev.csv --model WORK/small-1 {more} --epochs 4 --seed SEED --out OUT"
    words, results = _small(seeds=(1,)), Results(tmp_path / "results.json")
    run_rows([words], places, results)
    shutil.copytree(tiny_model, tmp_path / "work/tiny")
    gru = replace(words, name="gru", commands=(train.format(more="--loss cosine --set recurrent=gru --set hidden=8"),))
    twin = replace(gru, name="twin", network="gru")
    monkeypatch.setitem(ROWS, "gru", gru)
    cross = replace(words, name="cross", commands=(train.format(more="--set architecture=cross").replace("small-1", "tiny"),))
    measure_speeds([words, gru, twin, cross, replace(gru, name="far", needs="the hub")], places, results)
    assert set(Results(tmp_path / "results.json").speeds) == {"small", "gru", "cross"}
    assert results.speeds["gru"]["sentences_per_second"] > 0
    assert results.speeds["cross"]["pairs_per_second"] > 0
    assert _speed(twin, results) == _speed(gru, results) != ""
    assert _speed(cross, results).endswith(" pairs")
    assert _speed(replace(gru, commands=(*gru.commands, "other")), results) == "", "of other commands"
    assert not places.model(gru, 1).exists(), "a brief training is nobody's model"


def test_results_of_two_processes_and_of_rows_of_one_training_are_joined(tmp_path: Path) -> None:
    one, other = Results(tmp_path / "results.json"), Results(tmp_path / "results.json")
    one.add(_small("a"), {"seed": 1})
    other.add(_small("b"), {"seed": 1})
    assert set(Results(tmp_path / "results.json").rows) == {"a", "b"}
    results = Results(tmp_path / "results.json")
    same = [ROWS[name] for name in ("concat-u-v-difference", "pooling-nli-mean", "objective-classification")]
    results.add(same[0], {"seed": 2})
    results.add(same[1], {"seed": 1})
    assert all([run["seed"] for run in results.runs(row)] == [1, 2] and results.remaining_seeds(row) == [3] for row in same)
    assert results.remaining_seeds(ROWS["concat-u-v"]) == [1, 2, 3]


def test_rows_are_chosen_by_name_or_section_and_the_page_is_written_beside_the_json(tmp_path: Path) -> None:
    assert [row.name for row in select_rows(["rnn", "use"])] == ["use", "rnn"]
    minutes = [row.minutes for row in select_rows(sections=["pooling"])]
    assert minutes == sorted(minutes)
    assert reproduce.main(["--list", "rnn"]) == 0
    assert reproduce.main(["no-such-row", "--list"]) == 2 or reproduce.main(["--list", "--only", "no-such-row"]) == 2
    assert reproduce.main(["--render", "--results", str(tmp_path / "results.json")]) == 0
    assert "Nothing has been measured yet." in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
