"""Which model is used where none is chosen: the language of the texts decides, and whoever chose one is only warned."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import WORDS, sentences, studio_at, write_static

from sbert_studio.cli.main import run
from sbert_studio.data.language import count_languages
from sbert_studio.models.io.bundled import BUNDLED
from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.ui import verbs as api

CHINESE = ["我的银行卡什么时候到", "今天天气很好", "他在公园里跑步", "怎么申请退款", "手机无法开机"]


@pytest.fixture
def other(tiny_model: Path, tmp_path: Path) -> str:
    """The folder of a second model, which stands for the multilingual one."""
    folder = tmp_path / "multilingual"
    shutil.copytree(tiny_model, folder)
    return str(folder)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "zh.txt"
    path.write_text("\n".join(CHINESE) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Pairs that are mostly Chinese, with words that the tiny model knows."""
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(["sentence1", "sentence2", "score"])
        for number, (text, word) in enumerate(zip(sentences(40), WORDS * 2, strict=True)):
            writer.writerow([f"他看见了那只动物{number} {text[:6]}", f"她在公园里跑步 {word}", number % 6])
    return path


@pytest.fixture
def called(tiny_model: Path, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command with --json and returns its object and what it said on stderr."""
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(tiny_model))
    monkeypatch.setenv("SBERT_STUDIO_MULTILINGUAL_MODEL", other)
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")

    def call(*arguments: object) -> tuple[dict[str, Any], str]:
        code = run([*map(str, arguments), "--json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        return json.loads(out), err

    return call


def test_settings_say_which_model_reads_other_languages() -> None:
    home = {"SBERT_STUDIO_HOME": "x"}
    assert Settings.from_env(home).multilingual == "multilingual-e5-small"
    assert Settings.from_env({**home, "SBERT_STUDIO_MODEL": "mine"}).multilingual == "", "a model that was set is meant for all texts"
    both = {**home, "SBERT_STUDIO_MODEL": "mine", "SBERT_STUDIO_MULTILINGUAL_MODEL": "theirs"}
    assert Settings.from_env(both).multilingual == "theirs"
    assert Settings.from_env({**home, "SBERT_STUDIO_MULTILINGUAL_MODEL": ""}).multilingual == ""


def test_the_default_model_and_warnings_follow_the_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with studio_at(tmp_path / "home", "all-MiniLM-L6-v2", multilingual_model=str(write_static(tmp_path / "static"))) as studio:
        other = str(tmp_path / "static")
        (note,) = studio.languages.language_notes(CHINESE)
        assert note.endswith(f"Choose {other}, which supports many languages.")
        path = tmp_path / "zh.txt"
        path.write_text("\n".join(CHINESE), encoding="utf-8")
        found = studio.languages.check_readability(studio.data.read_corpus(path), ["universal-sentence-encoder", other])
        assert found is not None and found.alternatives[0] == other
        assert studio.languages.language_notes(CHINESE, other) == ()
    chinese, english = count_languages(CHINESE), count_languages(["Where is the card that I ordered?"])
    with Studio(Settings(home=tmp_path / "home", device="cpu")) as studio:
        installed = "multilingual-e5-small" in studio.catalog.bundled()
        assert studio.languages.default_model(english) == "all-MiniLM-L6-v2"
        assert studio.languages.default_model(chinese) == ("multilingual-e5-small" if installed else "all-MiniLM-L6-v2")
        monkeypatch.delitem(BUNDLED, "multilingual-e5-small", raising=False)
        assert studio.languages.default_model(chinese) == "all-MiniLM-L6-v2"
        (note,) = studio.languages.language_notes(CHINESE)
        assert "Choose intfloat/multilingual-e5-small from the Hugging Face Hub" in note


def test_commands_without_a_model_choose_by_the_language_and_say_so(
    called: Any, corpus: Path, pairs: Path, other: str, tiny_model: Path, tmp_path: Path
) -> None:
    line = f"the texts are mostly Chinese: using {other}; use --model {tiny_model} for the English model"
    commands: list[list[object]] = [
        ["similarity", *CHINESE[:2]], ["similarity", "--pairs", pairs], ["search", corpus, "银行卡"], ["mine", corpus],
        ["map", corpus, "--out", tmp_path / "map.html"], ["encode", corpus, "--out", tmp_path / "x.npy"], ["check", pairs],
    ]  # fmt: skip
    for command in commands:
        found, err = called(*command)
        assert found["model"] == other and line in err, command
        found, err = called(*command, "--model", tiny_model)
        assert found["model"] == str(tiny_model) and "using" not in err, command
    english = tmp_path / "en.txt"
    english.write_text("the cat is on the mat\nthe dog was in the park\n")
    found, err = called("mine", english)
    assert found["model"] == str(tiny_model) and "using" not in err
    found, err = called("search", corpus, "银行卡", "--mode", "lexical")
    assert found["model"] is None and "using" not in err, "no model is asked"


def test_a_training_without_a_model_begins_from_the_one_for_its_language(called: Any, pairs: Path, other: str, tiny_model: Path) -> None:
    found, err = called("train", pairs, "--plan", "--as-read")
    assert found["spec"]["model"] == other
    assert any(reason.startswith(f"Model {other}: most texts look like Chinese") for reason in found["reasons"])
    quick = ["--loss", "cosine", "--epochs", 1, "--batch-size", 8, "--set", "evaluation=split", "--as-read"]
    found, err = called("train", pairs, *quick)
    assert found["base"] == other and f"using {other}; use --model {tiny_model}" in err
    found, err = called("train", pairs, *quick, "--model", tiny_model)
    assert found["base"] == str(tiny_model) and "using" not in err


def test_callers_of_the_api_are_told_the_model(tiny_model: Path, other: str, corpus: Path, tmp_path: Path) -> None:
    with studio_at(tmp_path / "home", tiny_model, multilingual_model=other) as studio:
        assert api.similarity(studio, *CHINESE[:2], "").model == other
        assert api.search(studio, str(corpus), "银行卡", 3, "semantic", "", "").model == other
        assert api.search(studio, str(corpus), "银行卡", 3, "semantic", str(tiny_model), "").model == str(tiny_model)
        assert api.mine(studio, str(corpus), 3, "", "").model == other
        assert api.draw_map(studio, str(corpus), "2", 2, "", "").model == other
