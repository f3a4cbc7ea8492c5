"""Imports run one way, heavy libraries stay in their rooms, and the package imports fast."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "sbert_studio"

# A package may import packages of a lower level, and of its own level only if ALLOWED lists it.
LEVEL = {
    "memory": 0, "i18n": 0, "errors": 0, "shutdown": 0, "settings": 1, "workspace": 1, "registry": 1, "caches": 1,
    "identity": 1, "progress": 1, "serialization": 1,
    "data": 2, "datasets": 2, "models": 4, "losses": 5, "training": 6, "explore": 6, "evaluation": 6, "runs": 7, "shards": 7,
    "services": 8, "server": 8, "ui": 9, "cli": 10, "notebook": 10, "__main__": 11,
}  # fmt: skip
ALLOWED = {
    ("settings", "registry"), ("data", "datasets"), ("datasets", "data"), ("errors", "i18n"), ("errors", "memory"), ("caches", "progress"),
    ("training", "evaluation"),
}  # fmt: skip
ONLY_IN = {"gradio": ("ui",), "typer": ("cli", "__main__"), "plotly": ("ui",)}
TYPES_ONLY = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
NEVER = {"sentence_transformers", "pickle", "joblib"}
HEAVY = {
    "umap", "faiss", "peft", "gradio", "sklearn", "transformers", "accelerate", "pandas", "pyarrow", "plotly", "bm25s", "gensim", "ray",
}  # fmt: skip


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _tab(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[2].removesuffix(".py") if parts[:2] == ("ui", "tabs") else ""


@cache
def _imports(path: Path, root: Path = PACKAGE) -> list[tuple[str, str]]:
    """(absolute dotted module, ``at once``, ``when called`` or ``for types``) of each import in a file."""
    package = ("sbert_studio", *path.relative_to(root).parts[:-1])
    found = []

    def visit(nodes: Iterable[ast.AST], when: str) -> None:
        for node in nodes:
            if isinstance(node, ast.Import):
                found.extend((alias.name, when) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
                stem = ".".join(part for part in (base, node.module) if part)
                found.extend((f"{stem}.{alias.name}", when) for alias in node.names)
            elif isinstance(node, ast.If) and ast.unparse(node.test) in TYPES_ONLY:
                visit(node.body, "for types")
                visit(node.orelse, when)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                visit(node.body, "when called" if when == "at once" else when)
            elif not isinstance(node, ast.expr):
                visit(ast.iter_child_nodes(node), when)

    visit(ast.parse(path.read_text(encoding="utf-8")).body, "at once")
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
            if (tab := _tab(path)) and rest[:2] == ["ui", "tabs"] and rest[2] != tab:
                raise AssertionError(f"the tab {tab} imports another tab: {module}")
        assert top not in NEVER, f"{path.name} imports {top}"
        if top in ONLY_IN:
            assert room in ONLY_IN[top], f"{top} belongs in {ONLY_IN[top]}, not in {path.name}"
        if top in HEAVY and room != "ui":
            assert when != "at once", f"{path.name} imports {top} on import; it belongs in the function that needs it"


def _file_of(module: str, root: Path) -> Path | None:
    """The file that an import of ``sbert_studio.a.b.name`` loads: that of ``b``, or of ``name`` where it is a file of its own."""
    parts = module.split(".")[1:]
    for length in range(len(parts), -1, -1):
        stem = root.joinpath(*parts[:length])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if length and path.is_file():
                return path
    return None


def _runs(path: Path, root: Path) -> set[Path]:
    """What a file runs: those that it imports, each with the packages around it, and of a registry's package all files in it."""
    loaded = {
        found for module, when in _imports(path, root)
        if when != "for types" and module.startswith("sbert_studio.") and (found := _file_of(module, root)) is not None
    }  # fmt: skip
    around = {parent / "__init__.py" for found in loaded for parent in found.parents if parent.is_relative_to(root) and parent != root}
    loaded |= {package for package in around if package.is_file() and not path.is_relative_to(package.parent)}
    text = path.read_text(encoding="utf-8")
    for walk, files in (("iter_modules", "*.py"), ("walk_packages", "**/*.py")):
        if f"{walk}(__path__" in text:
            loaded |= set(path.parent.glob(files))
    return loaded - {path}


def _circle(root: Path) -> list[str]:
    """Files that run each other in a circle, imports inside functions counted, or nothing; names of types alone do not count."""
    files = sorted(root.rglob("*.py"))
    edges = {path: _runs(path, root) for path in files}
    done: set[Path] = set()

    def visit(path: Path, above: tuple[Path, ...]) -> list[str]:
        if path in above:
            return [str(one.relative_to(root)) for one in (*above[above.index(path) :], path)]
        if path in done:
            return []
        for other in sorted(edges[path]):
            if found := visit(other, (*above, path)):
                return found
        done.add(path)
        return []

    return next((found for path in files if (found := visit(path, ()))), [])


def test_no_file_imports_itself_in_a_circle() -> None:
    assert _circle(PACKAGE) == []


_REGISTRY = "import importlib, pkgutil\nfor one in pkgutil.iter_modules(__path__):\n    importlib.import_module(one.name)"


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from .b import x", "b.py": "def f():\n    from . import a"},
        {"a.py": "from .kinds import x", "kinds/__init__.py": _REGISTRY, "kinds/one.py": "from ..a import x"},
        {"a.py": "from .room.b import x", "room/__init__.py": "from . import c", "room/b.py": "", "room/c.py": "from ..a import x"},
        {"a.py": "from .b import x", "b.py": "if not TYPE_CHECKING:\n    from .a import x"},
        {"a.py": "from .b import x", "b.py": "if TYPE_CHECKING:\n    pass\nelse:\n    from .a import x"},
    ],
    ids=["inside a function", "through a registry", "through a package", "where types are not checked", "else"],
)
def test_a_circle_is_seen(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert _circle(tmp_path)


def test_only_settings_reads_the_environment() -> None:
    readers = [path.name for path in FILES if "os.environ" in path.read_text(encoding="utf-8") and path.name != "settings.py"]
    assert readers == []
