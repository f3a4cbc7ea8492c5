"""The wheel, installed without the checkout: the page opens with its scripts, samples and translations, and answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from packaging.requirements import Requirement
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel holds, and nothing else of this project."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "GITHUB_REPOSITORY": "someone/studio"})
    (wheel,) = (folder / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_the_page_opens_with_all_that_belongs_to_it_and_answers(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "SBERT_STUDIO_HOME": str(tmp_path / "home"), "SBERT_STUDIO_DEVICE": "cpu"}
    told = (tmp_path / "told").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "sbert_studio", "app", "--port", "0"], cwd=tmp_path, env=environment, stdout=told, stderr=subprocess.STDOUT
    )
    try:
        url = wait_until(lambda: re.search(r"http://127\.0\.0\.1:\d+", (tmp_path / "told").read_text()), 120)[0]
        page = httpx.get(url, trust_env=False).text
        assert "SB_PAGE" in page and "中文" in page
        call = f"{url}/gradio_api/call/similarity"
        begun = httpx.post(call, json={"data": ["a cat", "a kitten", ""]}, trust_env=False).json()
        answer = httpx.get(f"{call}/{begun['event_id']}", timeout=60, trust_env=False).text
        assert float(re.search(r'"cosine": ([\d.]+)', answer)[1]) > 0.5  # type: ignore[index]
        assert (installed / "sbert_studio" / "assets" / "samples" / "triplets.csv").is_file()
    finally:
        process.terminate()
        assert process.wait(30) == 0
    assert "launch()" not in (tmp_path / "told").read_text(), "advice of Gradio"


def test_the_description_for_pypi_has_no_settings_of_a_space_and_whole_links(installed: Path) -> None:
    metadata = next(installed.glob("*.dist-info/METADATA")).read_text(encoding="utf-8")
    fields, _, text = metadata.partition("\n\n")
    assert "Project-URL: Repository, https://github.com/someone/studio" in fields and "Description-Content-Type: text/markdown" in fields
    assert text.startswith("# SBERT Studio") and "](https://github.com/someone/studio/blob/HEAD/docs/training.md" in text
    assert not re.findall(r"\]\((?!https?:|#)", text)


def test_what_is_pinned_is_within_what_is_declared() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [Requirement(one) for one in project["dependencies"]]
    declared += [Requirement(one) for extra in project["optional-dependencies"].values() for one in extra]
    pinned: dict[str, str] = {}
    for file in ROOT.glob("requirements*.txt"):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                one = Requirement(line)
                pinned[one.name.lower().replace("_", "-")] = str(one.specifier).removeprefix("==")
    named = {one.name.lower().replace("_", "-"): one for one in declared}
    for name, one in named.items():
        assert name in pinned, f"{name} is in no requirements file"
        assert one.specifier.contains(pinned[name]), f"{name} {pinned[name]} is not within {one.specifier}"
