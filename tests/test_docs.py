"""What the documents say exists."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from packaging.requirements import Requirement

from sbert_studio.cli.main import app
from sbert_studio.data.schema.roles import SchemaOverrides
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


def test_the_packages_for_zerogpu_are_those_of_the_app_with_its_pytorch() -> None:
    lock = load_script("make_lock")
    usual, zerogpu = lock.FILE.read_text(encoding="utf-8"), lock.ZEROGPU_FILE.read_text(encoding="utf-8")
    assert zerogpu == lock.for_zerogpu(usual), "run python docs/make_lock.py"
    pins = [dict(re.findall(r"^([\w-]+)(?:\[.*\])?==([\w.]+)", text, re.MULTILINE)) for text in (usual, zerogpu)]
    assert {name for name in pins[1] if pins[1][name] != pins[0].get(name)} == {"torch", "spaces", "requests"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = next(line for line in project["dependencies"] if line.startswith("torch>"))
    assert Requirement(needed).specifier.contains(pins[1]["torch"])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tables_match_the_code(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    if load_script("make_tables").with_tables(text) != text:
        pytest.fail(f"a table of {document} is out of date: run make docs, or python docs/make_tables.py")


def test_every_table_is_in_a_document_and_complete() -> None:
    tables = load_script("make_tables")
    texts = [(ROOT / document).read_text(encoding="utf-8") for document in DOCUMENTS]
    assert sorted(name for text in texts for name in tables.names_of_tables(text)) == sorted(tables.TABLES)
    rows = {line.split("|")[1].strip(): line for line in tables.losses_table().splitlines()}
    for name in LOSSES:
        lacking = [field.name for field in fields_of(LOSSES[name].Params) if f"`{field.name}`" not in rows.get(f"`{name}`", "")]
        assert f"`{name}`" in rows and not lacking, f"the table of losses lacks {name} or its settings {lacking}"
    rows = {line.split("|")[1].strip(): line for line in tables.tasks_table().splitlines()}
    for task in all_tasks():
        assert task.help in rows[f"`{task.name}`"]
    assert "by the columns" in rows["`sts`"] and all("with `--task" in rows[f"`{name}`"] for name in ("clustering", "senteval", "topics"))


@pytest.mark.parametrize("document", [*DOCUMENTS, "docs/serving.md"])
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


def test_links_between_the_documents_lead_somewhere() -> None:
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("name", ["cli.md", "losses.md", "settings.md"])
def test_reference_matches_the_code(name: str) -> None:
    if (ROOT / "docs" / name).read_text(encoding="utf-8") != load_script("make_reference").PAGES[name]():
        pytest.fail(f"docs/{name} is out of date: run make docs, or python docs/make_reference.py")


@pytest.mark.slow
def test_architecture_page_matches_the_imports() -> None:
    made = load_script("make_architecture")
    if made.PAGE.read_text(encoding="utf-8") != made.render():
        pytest.fail("docs/architecture.md is out of date: run make docs, or python docs/make_architecture.py")
