"""Imports run one way, heavy libraries stay in their rooms, and the package imports fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "sbert_studio"

# A room may import the rooms of lower number; rooms of equal number only where ALLOWED says so.
LEVEL = {
    "errors": 0, "settings": 1, "workspace": 1, "registry": 1, "caches": 1, "data": 2, "wordvectors": 3, "encoders": 4,
    "objectives": 5, "training": 6, "explore": 6, "evaluation": 6, "runs": 7, "bench": 7, "studio": 8, "ui": 9, "cli": 10, "__main__": 11,
}  # fmt: skip
ALLOWED = {("training", "evaluation")}
ONLY_IN = {"gradio": ("ui",), "typer": ("cli", "__main__"), "plotly": ("ui",)}
NEVER = {"sentence_transformers", "pickle", "joblib"}
HEAVY = {"umap", "faiss", "peft", "gradio", "sklearn", "transformers", "accelerate", "pandas", "pyarrow", "plotly", "bm25s", "gensim"}


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path) -> list[tuple[str, str]]:
    """(absolute dotted module, ``at once``, ``when called`` or ``for types``) of each import in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    def within(nodes: Iterable[ast.AST]) -> set[int]:
        return {id(inner) for node in nodes for inner in ast.walk(node)}

    called = within(node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    types = within(node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"))
    package = ("sbert_studio", *path.relative_to(PACKAGE).parts[:-1])
    found = []
    for node in ast.walk(tree):
        when = "for types" if id(node) in types else "when called" if id(node) in called else "at once"
        if isinstance(node, ast.Import):
            found += [(alias.name, when) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            stem = ".".join(part for part in (base, node.module) if part)
            found += [(f"{stem}.{alias.name}", when) for alias in node.names]
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    room = _room(path)
    if room == "__init__":
        return
    for module, when in _imports(path):
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
            assert when != "at once", f"{path.name} imports {top} on import; it belongs in the function that needs it"


def _file_of(module: str) -> Path | None:
    """The file that an import of ``sbert_studio.a.b.name`` loads: that of ``b``, or of ``name`` where it is a file of its own."""
    parts = module.split(".")[1:]
    for length in range(len(parts), -1, -1):
        stem = PACKAGE.joinpath(*parts[:length])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if length and path.is_file():
                return path
    return None


def _circle() -> list[str]:
    """Files that run each other in a circle, imports inside functions counted, or nothing; names of types alone do not count."""
    edges = {
        path: {found for module, when in _imports(path) if when != "for types" and module.startswith("sbert_studio.")
               and (found := _file_of(module)) is not None and found != path}
        for path in FILES
    }  # fmt: skip
    done: set[Path] = set()

    def visit(path: Path, above: tuple[Path, ...]) -> list[str]:
        if path in above:
            return [str(one.relative_to(PACKAGE)) for one in (*above[above.index(path) :], path)]
        if path in done:
            return []
        for other in sorted(edges[path]):
            if found := visit(other, (*above, path)):
                return found
        done.add(path)
        return []

    return next((found for path in FILES if (found := visit(path, ()))), [])


def test_no_file_imports_itself_in_a_circle() -> None:
    assert _circle() == []


def test_only_settings_reads_the_environment() -> None:
    readers = [path.name for path in FILES if "os.environ" in path.read_text(encoding="utf-8") and path.name != "settings.py"]
    assert readers == []


def test_importing_the_package_is_light() -> None:
    code = "import sys, sbert_studio; print([m for m in ('torch', 'gradio', 'transformers', 'pandas', 'numpy') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
