"""The commands of the tutorials and how-tos, run as they stand on the samples."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sbert_studio.cli.main import run
from sbert_studio.models.static.vectors import VECTOR_PACKAGES, is_package_installed

DOCS = Path(__file__).parents[1] / "docs"
WORDS = "glove-6B-50d"
HANDBOOK = ("training.md", "serving.md", "deployment.md", "statistics.md", "how-to.md")
_BLOCK = re.compile(r"(<!-- not run: .+ -->\n)?```sh\n(.*?)```", re.DOTALL)
PAGES = [*sorted((DOCS / "tutorials").glob("*.md")), DOCS / "how-to.md"]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not is_package_installed(WORDS), reason=f"needs {VECTOR_PACKAGES[WORDS].requirement}")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run_as_they_stand(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_MODEL", WORDS)  # a real model, of words, because it is quick
    folder = tmp_path / "work"
    (folder / "handbook").mkdir(parents=True)
    (folder / "assets").symlink_to(DOCS.parent / "assets")
    for name in HANDBOOK:
        (folder / "handbook" / name).write_bytes((DOCS / name).read_bytes())
    monkeypatch.chdir(folder)
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    commands = [line for skipped, block in blocks if not skipped for line in block.splitlines()]
    assert commands
    for line in commands:
        program, *arguments = shlex.split(line)
        assert program == "sbert-studio"
        assert run(arguments) == 0, f"{line}\n{capsys.readouterr().err}"
        for option in ("--out", "-o"):
            if option in arguments:
                assert (folder / arguments[arguments.index(option) + 1]).exists(), line
