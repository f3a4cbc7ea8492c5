"""Imports run one way, heavy libraries stay in their rooms, and the package imports fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "sbert_studio"

# A room may import the rooms of lower number; rooms of equal number only where ALLOWED says so.
LEVEL = {
    "errors": 0, "settings": 1, "workspace": 1, "registry": 1, "caches": 1, "data": 2, "encoders": 3, "objectives": 4,
    "training": 5, "explore": 5, "evaluation": 5, "runs": 6, "studio": 7, "ui": 8, "cli": 9, "__main__": 10,
}  # fmt: skip
ALLOWED = {("training", "evaluation")}
ONLY_IN = {"gradio": ("ui",), "typer": ("cli", "__main__"), "plotly": ("ui",)}
NEVER = {"sentence_transformers", "pickle", "joblib"}
HEAVY = {"umap", "faiss", "peft", "gradio", "sklearn", "transformers", "accelerate", "pandas", "pyarrow", "plotly", "bm25s"}


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path) -> list[tuple[str, bool]]:
    """(absolute dotted module, whether it is imported when the file is) of each import in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {id(inner) for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for inner in ast.walk(node)}
    lazy |= {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    package = ("sbert_studio", *path.relative_to(PACKAGE).parts[:-1])
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            stem = ".".join(part for part in (base, node.module) if part)
            found += [(f"{stem}.{alias.name}", id(node) not in lazy) for alias in node.names]
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    room = _room(path)
    if room == "__init__":
        return
    for module, at_import in _imports(path):
        top, *rest = module.split(".")
        if top == "sbert_studio" and rest and rest[0] in LEVEL:
            other = rest[0]
            below = LEVEL[other] < LEVEL[room] or other == room or (room, other) in ALLOWED
            assert below, f"{path.name} ({room}) imports {module} ({other})"
            if room == "ui" and path.parent.name == "tabs" and "tabs" in rest:
                raise AssertionError(f"the tab {path.name} imports another tab: {module}")
        assert top not in NEVER, f"{path.name} imports {top}"
        if top in ONLY_IN:
            assert room in ONLY_IN[top], f"{top} belongs in {ONLY_IN[top]}, not in {path.name}"
        if top in HEAVY and room != "ui":
            assert not at_import, f"{path.name} imports {top} on import; it belongs in the function that needs it"


def test_only_settings_reads_the_environment() -> None:
    readers = [path.name for path in FILES if "os.environ" in path.read_text(encoding="utf-8") and path.name != "settings.py"]
    assert readers == []


def test_importing_the_package_is_light() -> None:
    code = "import sys, sbert_studio; print([m for m in ('torch', 'gradio', 'transformers', 'pandas', 'numpy') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
