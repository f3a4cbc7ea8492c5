"""Files of the repository that no other test reads: versions, metadata, workflows, and forms for issues."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from sbert_studio import __version__

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = ["3.11", "3.12", "3.13"]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", read("CHANGELOG.md"), re.MULTILINE)
    assert newest and newest[1] == __version__ == yaml.safe_load(read("CITATION.cff"))["version"]


def test_the_versions_of_python_are_those_that_are_tested() -> None:
    listed = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", one)]
    tested = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert listed == tested == PYTHONS and PROJECT["requires-python"] == ">=3.11,<3.14"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_workflows_call_what_exists_and_may_write_nothing_by_default(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([\w./]+):", read("Makefile"), re.MULTILINE))
    steps = [step for job in workflow["jobs"].values() for step in job.get("steps", [])]
    for step in steps:
        for target in re.findall(r"^make (\S+)", step.get("run", ""), re.MULTILINE):
            assert target in targets, target
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
    for name in re.findall(r"(?:assets|docs|\.ci)/[\w./]+", path.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


def test_the_quick_tests_of_other_systems_find_their_packages() -> None:
    (listed,) = re.findall(r"grep -E '\^\((.*?)\)=='", read(".github/workflows/ci.yml"))
    assert set(listed.split("|")) <= set(re.findall(r"^([\w.-]+)==", read("requirements-dev.txt"), re.MULTILINE))


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_a_form_for_issues_has_named_fields(name: str) -> None:
    form = yaml.safe_load(read(f".github/ISSUE_TEMPLATE/{name}.yml"))
    fields = [one for one in form["body"] if one["type"] != "markdown"]
    assert form["name"] and form["description"] and all(one["attributes"]["label"] for one in fields)
    assert len({one["id"] for one in fields}) == len(fields) and any(one.get("validations", {}).get("required") for one in fields)
