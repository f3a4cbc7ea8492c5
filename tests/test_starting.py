"""What a start reads in, and what it leaves for later: each in a process of its own."""

from __future__ import annotations

import ast
import gc
import importlib.util
import subprocess
import sys
from pathlib import Path

from tiny_studio import studio_at, write_model

from sbert_studio.caches import starting
from sbert_studio.ui.stubs import WithoutStubs

_LATER = (
    "scipy",
    "sklearn",
    "umap",
    "numba",
    "faiss",
    "peft",
    "sympy",
    "torch._dynamo",
    "torch.distributed.tensor",
    "transformers.modeling_utils",
)


def read_in(code: str, *among: str) -> list[str]:
    """Which of these modules are there once the code was carried out."""
    code = f"import sys\n{code}\nprint([name for name in {among!r} if name in sys.modules], file=sys.__stderr__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return list(ast.literal_eval(done.stderr.strip().splitlines()[-1]))


def test_the_package_alone_reads_in_nothing() -> None:
    assert read_in("import sbert_studio", *_LATER, "torch", "numpy", "transformers", "gradio") == []


def test_a_command_that_needs_a_model_reads_in_no_modelling_and_no_compiler(tmp_path: Path) -> None:
    code = (
        "import os; os.environ['SBERT_STUDIO_HOME'] = " + repr(str(tmp_path)) + "\n"
        "from sbert_studio.cli.main import run\nassert run(['similarity', 'a cat', 'a kitten']) == 0"
    )
    assert read_in(code, *_LATER, "gradio", "pandas", "pyarrow") == []


def test_the_page_is_built_without_a_model_s_libraries(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from sbert_studio.settings import Settings; from sbert_studio.studio import Studio\n"
        "from sbert_studio.ui.app import build\n"
        f"build(Studio(Settings(Path({str(tmp_path)!r}))))"
    )
    assert read_in(code, *_LATER, "transformers", "tokenizers", "plotly") == []


def test_gradio_is_imported_without_its_stubs_and_is_whole() -> None:
    """The function that is left out is still what it was; one that is gone leaves Gradio as it is."""
    code = (
        "import sbert_studio.ui, gradio as gr\nfrom gradio import component_meta\n"
        "assert component_meta.create_or_modify_pyi.__module__ == 'sbert_studio.ui.stubs', 'Gradio is imported slowly again'\n"
        "assert component_meta.create_pyi.__module__ == 'gradio.component_meta'\n"
        "assert not any(type(one).__name__ == 'WithoutStubs' for one in sys.meta_path)\n"
        "with gr.Blocks() as blocks: gr.Button('a').click(lambda: 1, None, gr.Number())\n"
        "assert len(blocks.fns) == 1"
    )
    assert read_in(code, "gradio") == ["gradio"]


def test_a_release_of_gradio_without_stubs_is_imported_as_it_is(tmp_path: Path) -> None:
    package = tmp_path / "gradio"
    package.mkdir()
    (package / "__init__.py").write_text("from . import component_meta\n")
    (package / "component_meta.py").write_text("kept = 1\n")
    code = (
        f"sys.path.insert(0, {str(tmp_path)!r})\nfrom sbert_studio.ui.stubs import leave_out_stubs\nleave_out_stubs()\n"
        "import gradio.component_meta as found\n"
        "assert found.kept == 1 and found.__file__.startswith(" + repr(str(tmp_path)) + ") and not hasattr(found, 'create_or_modify_pyi')"
    )
    assert read_in(code, "gradio") == ["gradio"]


def test_other_modules_are_not_its_concern() -> None:
    assert WithoutStubs().find_spec("gradio.blocks") is None
    assert importlib.util.find_spec("json") is not None


def test_cycles_are_looked_for_again_once_it_has_started_or_failed() -> None:
    assert gc.isenabled()
    try:
        with starting() as started:
            assert not gc.isenabled()
            started()
            assert gc.isenabled() and gc.get_freeze_count() > 1000
        assert gc.isenabled()
    finally:
        gc.unfreeze()
    try:
        with starting():
            raise KeyError
    except KeyError:
        assert gc.isenabled()


def test_a_shared_model_is_lean_and_one_to_be_trained_is_not(tmp_path: Path) -> None:
    from sbert_studio.encoders.lean.base import LeanNetwork

    with studio_at(tmp_path, write_model(tmp_path / "tiny")) as studio:
        name = studio.settings.default_model
        assert isinstance(studio.catalog.load(name).backbone, LeanNetwork)  # type: ignore[attr-defined]
        assert not isinstance(studio.catalog.load_fresh(name).backbone, LeanNetwork)
