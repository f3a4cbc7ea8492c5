"""The help of the command line, the names of its options, and completion in the shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from sbert_studio.cli.completion import complete_models, complete_own_models, complete_runs
from sbert_studio.cli.main import PANELS, app, run
from sbert_studio.losses import CROSS_ENCODER_LOSSES, LOSSES
from sbert_studio.models.export import FORMATS
from sbert_studio.runs.export import EXPORTS

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = [(name, one) for name, command in COMMANDS.items() for one in command.params if one.param_type_name == "option"]
_COMPLETE = """
eval "$(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 sbert-studio --show-completion bash)"
COMP_WORDS=(sbert-studio "$@") COMP_CWORD=$#
_sbert_studio_completion sbert-studio
echo "${COMPREPLY[@]}"
"""


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def show(*arguments: str, code: int = 0) -> str:
        assert run(arguments) == code
        out, err = capsys.readouterr()
        assert not err
        return out

    return show


def test_the_commands_fit_a_small_terminal_and_are_shown_without_one(shown: Callable[..., str]) -> None:
    listed = shown("--help")
    lines = listed.splitlines()
    assert len(lines) < 24 and max(map(len, lines)) <= 80, "24 lines of 80 characters, one of them the prompt"
    assert all(f"{panel}:" in lines for panel in PANELS)
    for name, command in COMMANDS.items():
        assert re.search(rf"(^|  ){name} +{re.escape(command.short_help)}(  |$)", listed, re.MULTILINE), name
    assert shown(code=2) == listed


def test_the_help_explains_every_command_loss_and_export(shown: Callable[..., str]) -> None:
    for name, command in COMMANDS.items():
        summary = (command.callback.__doc__ or "").strip().partition("\n")[0]
        told = shown(name, "--help")
        assert summary and f"sbert-studio {name}" in told and summary in " ".join(told.split())
        assert ("--json" in told) != (name in ("app", "serve")), "these run until they are stopped, and have no answer"
    for names, command, flag in (([*LOSSES, *CROSS_ENCODER_LOSSES], "train", "--loss"), ([*EXPORTS, *FORMATS], "export", "--format")):
        listed = re.search(rf"^  {flag} .*?(?=^  --)", shown(command, "--help"), re.MULTILINE | re.DOTALL)
        assert listed is not None and set(names) <= set(re.split(r"[\s,;().]+", listed[0]))


def test_an_option_has_one_name_everywhere() -> None:
    short: dict[str, set[str]] = defaultdict(set)
    explained: dict[str, set[str]] = defaultdict(set)
    for name, option in OPTIONS:
        long = [one for one in option.opts if one.startswith("--")]
        assert len(long) == 1, (name, option.opts)
        explained[option.help].add(long[0])
        for one in set(option.opts) - set(long):
            short[one].add(long[0])
    assert {one: names for one, names in short.items() if one != "-h"} == {"-k": {"--k"}, "-o": {"--out"}, "-y": {"--yes"}}
    assert not {words: names for words, names in explained.items() if len(names) > 1}
    assert all("-o" in option.opts for _, option in OPTIONS if "--out" in option.opts)
    with_device = {name for name, option in OPTIONS if "--device" in option.opts}
    assert not {name for name, option in OPTIONS if "--model" in option.opts} - with_device


def test_the_device_of_a_command_is_chosen_on_the_command_line(
    capsys: pytest.CaptureFixture[str], tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "abacus")
    command = ["similarity", "a cat", "a dog", "--model", str(tiny_model)]
    assert run([*command, "--device", "cpu"]) == 0
    assert run(command) == 2 and "there is no device 'abacus'" in capsys.readouterr().err
    assert run([*command, "--device", "loom"]) == 2 and "there is no device 'loom'" in capsys.readouterr().err
    assert os.environ["SBERT_STUDIO_DEVICE"] == "abacus"
    monkeypatch.delenv("SBERT_STUDIO_DEVICE")
    assert run([*command, "--device", "cpu"]) == 0 and "SBERT_STUDIO_DEVICE" not in os.environ


@pytest.fixture
def stored(home: Path) -> Path:
    for folder, record in (("runs/run-0a1b2c3d4e", "run.json"), ("fitted/words-0a1b2c3d4e", "fitted.json"), ("runs/run-ffffffffff", "")):
        (home / folder).mkdir(parents=True)
        if record:
            (home / folder / record).write_text(json.dumps({"name": "Bank"}), encoding="utf-8")
    return home


def test_models_and_runs_are_completed_by_name(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(complete_runs("")) == [("run-0a1b2c3d4e", "Bank"), ("run-ffffffffff", "")]
    assert complete_own_models("words") == [("words-0a1b2c3d4e", "Bank")]
    assert [name for name, _ in complete_models("a")] == ["all-MiniLM-L6-v2"]
    monkeypatch.setenv("SBERT_STUDIO_PORT", "nowhere")
    assert complete_runs("") == [], "what is wrong with the settings is reported by the command"


@pytest.mark.process
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_shell_completes_commands_options_and_values(stored: Path, tmp_path: Path) -> None:
    program = tmp_path / "sbert-studio"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sbert_studio "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for words, expected in (
        (["lead"], "leaderboard"),
        (["search", "texts.csv", "query", "--dev"], "--device"),
        (["export", "run-0"], "run-0a1b2c3d4e"),
        (["train", "pairs.csv", "--loss", "naive"], "naive_cosine"),
    ):
        command = ["bash", "-c", _COMPLETE, "bash", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
        assert (done.stdout.strip(), done.stderr) == (expected, ""), words
