"""What the documents say exists."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from sbert_studio.cli.main import app
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.datasets.suites import SUITES
from sbert_studio.evaluation.tasks import all_tasks
from sbert_studio.losses import LOSSES
from sbert_studio.registry import fields_of
from sbert_studio.training.spec import TrainSpec

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "docs/training.md", "docs/evaluation.md"]


def load_script(name: str) -> Any:
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guide_names_every_objective_and_its_settings() -> None:
    guide = (ROOT / "docs/training.md").read_text(encoding="utf-8")
    rows = [line for line in guide.splitlines() if line.startswith("| `")]
    for name in LOSSES:
        (row,) = [line for line in rows if f"`{name}`" in line.split("|")[1]]
        for field in fields_of(LOSSES[name].Params):
            assert f"`{field.name}`" in row


def test_the_guide_names_every_task_and_suite_in_its_own_words() -> None:
    lines = (ROOT / "docs/evaluation.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| `")]
    told = {cells[0].strip("`"): cells[1] for cells in rows}
    assert told == {task.name: task.help for task in all_tasks()} | {name: SUITES[name].title for name in SUITES}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_in_the_documents_have_the_options_that_they_are_shown_with(document: str) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    own = {item.name for item in TrainSpec.settings()} | {field.name for name in LOSSES for field in fields_of(LOSSES[name].Params)}
    settings = own | {f"first.{name}" for name in own | {item.name for item in fields(SchemaOverrides)}}
    text = (ROOT / document).read_text(encoding="utf-8")
    shown = re.findall(r"^sbert-studio (\w+)(.*)$", text, re.MULTILINE)
    assert shown
    for name, rest in shown:
        known = {option for parameter in commands[name].params for option in parameter.opts}
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest.split("#")[0]):
            assert option in known, f"{name} {option}"
    for key in re.findall(r"--set ([\w.]+)=", text):
        assert key in settings, key


def test_readme_lists_the_environment_variables() -> None:
    written = load_script("make_settings").with_table(text := (ROOT / "README.md").read_text(encoding="utf-8"))
    assert written == text and "| `SBERT_STUDIO_LIMIT_RUNS_MB` |" in text, "run python docs/make_settings.py"


def test_links_between_the_documents_lead_somewhere() -> None:
    for document in [*DOCUMENTS, "CONTRIBUTING.md", "CHANGELOG.md"]:
        path = ROOT / document
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{document}: {target}"


@pytest.mark.slow
def test_architecture_page_matches_the_imports() -> None:
    made = load_script("make_architecture")
    assert made.PAGE.read_text(encoding="utf-8") == made.render(), "run python docs/make_architecture.py"
