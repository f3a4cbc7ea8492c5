"""The examples of CONTRIBUTING.md, written into a copy of the package and used."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from processes import started
from tiny_studio import write_pairs

ROOT = Path(__file__).parents[1]
_SETTING = re.compile(r"```python\n(    \w+: int = variable\(.*\))\n```")
# Subclasses with other kinds of examples and another main score, which the types of their bases must allow.
_SUBCLASSES = """
from sbert_studio.evaluation.tasks.pairs import PairTask
from sbert_studio.losses.cosine import CosineSimilarityLoss


class BinaryTask(PairTask):
    kinds = ("labelled_pairs", "scored_pairs")
    main = ("accuracy",)


class ScoredLoss(CosineSimilarityLoss):
    kinds = ("scored_pairs",)
"""
# Tests that hold for every loss, task, tab and document; of those for losses, the ones of the new loss.
_TESTS = ("tests/losses/test_conformance.py", "tests/evaluation/test_tasks.py", "tests/ui/test_events.py", "tests/test_docs.py")
_DOCUMENTS_AND_TESTS = """
import runpy, sys
arguments, sys.argv[1:] = sys.argv[1:], []
for script in ("make_tables", "make_reference", "make_languages"):
    runpy.run_path(f"docs/{script}.py", run_name="__main__")
import pytest
sys.exit(pytest.main(arguments))
"""
_OF_EVERY_KIND = "huber or scored_kinds or no_two_tasks or few_and_small or test_docs"
_EXAMPLE = re.compile(r"`(sbert_studio/[\w/]+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)


def use_examples(package: Path, home: Path, model: Path, pairs: Path) -> None:
    """Forget the package that this process was forked with, import the copy instead, and print what came of its examples."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "sbert_studio"]:
        del sys.modules[name]
    sys.path.insert(0, str(package))
    import sbert_studio
    from sbert_studio.cli.main import run
    from sbert_studio.models.io.load import load_folder
    from sbert_studio.models.io.sources import read_model_info
    from sbert_studio.services import Studio, TrainRequest
    from sbert_studio.settings import Settings, variables
    from sbert_studio.ui.app import build

    assert Path(sbert_studio.__file__).is_relative_to(package)
    told: dict[str, Any] = {}
    help_page = io.StringIO()
    with redirect_stdout(help_page):
        assert run(["evaluate", "--help"]) == 0
    told["help"] = help_page.getvalue()
    with Studio(Settings(home=home, device="cpu", default_model=str(model)), allow_folders=True) as studio:
        quick = {"epochs": 1, "batch_size": 8, "precision": "float32", "evaluation": "split"}
        request = TrainRequest(pairs, overrides=quick | {"loss": "huber", "delta": 0.1})
        done = studio.fine_tune.train(request)
        told["loss"] = [done.status, done.spec["loss_params"]]
        with zipfile.ZipFile(studio.fine_tune.export(done.id, home / "scores.zip", "scores").path) as exported:
            told["export"] = [name.rpartition("/")[2] for name in exported.namelist()]
        os.environ["SBERT_STUDIO_SEARCH_RESULTS"] = "7"
        told["setting"] = [Settings.from_env().search_results, "SBERT_STUDIO_SEARCH_RESULTS" in {name for name, *_ in variables()}]  # type: ignore[attr-defined]

        listed = json.loads((model / "modules.json").read_text())
        at = next(place for place, one in enumerate(listed) if one["type"].endswith("Normalize"))
        listed.insert(at, {"idx": at, "name": "cut", "path": "cut", "type": "sbert_studio.models.modules.Truncate"})
        cut = home / "cut"
        shutil.copytree(model, cut)
        (cut / "digests.json").unlink(missing_ok=True)
        (cut / "cut").mkdir()
        (cut / "cut" / "config.json").write_text('{"size": 5}')
        (cut / "modules.json").write_text(json.dumps(listed))
        encoder = load_folder(cut)
        encoder.save(home / "again")
        again = load_folder(home / "again")
        told["module"] = [
            again.dim, list(again.encode(["cat dog"]).shape), read_model_info(home / "again").dim, again.portable, repr(again.layers),
        ]  # fmt: skip
        told["same"] = bool((again.encode(["cat dog", "moon"]) == encoder.encode(["cat dog", "moon"])).all())
        other = TrainRequest(pairs, model=str(home / "again"), overrides=quick | {"loss": "cosine"})
        tuned = studio.fine_tune.train(other).model_path
        assert tuned is not None
        told["tuned"] = load_folder(tuned).dim

        compared = studio.evaluation.evaluate_models([str(model), str(cut)], [pairs], "absolute_error")
        told["task"] = [[report.scores for report in one.reports] for one in compared.models]
        told["comparisons"] = [[one.difference, one.interval] for one in compared.comparisons]
        with build(studio) as page:
            told["tabs"] = [block.label for block in page.blocks.values() if type(block).__name__ == "Tab"]
    print(json.dumps(told))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with every example in it."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("sbert_studio", "assets"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    examples = _EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(examples) == 5
    for name, code in examples:
        assert not (folder / name).exists(), f"{name} is there already"
        (folder / name).write_text(code, encoding="utf-8")
    (line,) = _SETTING.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    settings = folder / "sbert_studio" / "settings.py"
    settings.write_text(
        settings.read_text(encoding="utf-8").replace("    host: str = variable(", f"{line}\n    host: str = variable(", 1), encoding="utf-8"
    )
    return folder


@pytest.mark.process
@pytest.mark.slow
def test_every_example_passes_the_checks(package: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", package)
    names = [name for name, _ in _EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))]
    (package / "subclasses.py").write_text(_SUBCLASSES, encoding="utf-8")
    typed = [*names, "sbert_studio/settings.py", "subclasses.py"]
    for command in (
        ["ruff", "check", *names],
        ["ruff", "format", "--check", *names],
        ["mypy", "--cache-dir", str(ROOT / ".mypy_cache"), *typed],
    ):
        environment = {**os.environ, "PYTHONPATH": str(package), "MYPYPATH": str(package)}
        found = subprocess.run([sys.executable, "-m", *command], cwd=package, env=environment, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.process
@pytest.mark.slow
def test_every_example_passes_the_tests_of_its_kind(package: Path, tmp_path: Path) -> None:
    """With nothing else but the generated documents."""
    checkout = shutil.copytree(package, tmp_path / "checkout")
    for name in ("docs", "tests", "benchmarks", "deploy", "examples"):  # all that the documents link to
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "browser"))
    for path in filter(Path.is_file, ROOT.iterdir()):
        shutil.copy(path, checkout)
    command = [sys.executable, "-c", _DOCUMENTS_AND_TESTS, "-o", "addopts=", "-q", "-m", "not process", "-k", _OF_EVERY_KIND, *_TESTS]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    found = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, (found.stdout + found.stderr)[-5000:]


@pytest.mark.process
@pytest.mark.slow
def test_every_example_works_as_it_stands(package: Path, tiny_model: Path, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv", 24)
    with started(tmp_path, use_examples, package, tmp_path / "home", tiny_model, pairs, COLUMNS="200") as child:
        told = json.loads(child.succeed(250).splitlines()[-1])
    assert told["loss"] == ["finished", {"delta": 0.1}]
    assert told["module"] == [5, [1, 5], 5, False, "[Truncate(size=5)]"]
    assert told["same"]
    assert told["export"] == ["scores.json"] and told["setting"] == [7, True]
    assert told["tuned"] == 5
    for (scores,) in told["task"]:
        low, high = scores["interval"]
        assert 0 < low < scores["absolute_error"] < high
    ((difference, (low, high)),) = told["comparisons"]
    assert low < difference < high, "models are compared with an interval"
    assert "Shout" in told["tabs"]
    assert "absolute_error" in told["help"], "the command line offers the task"
