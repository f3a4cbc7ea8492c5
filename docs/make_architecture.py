"""Write docs/architecture.md from the imports: ``python docs/make_architecture.py``; a test compares it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sbert_studio"
PAGE = ROOT / "docs" / "architecture.md"
_TOP = "errors i18n progress settings workspace registry serialization caches"
_SAME_LEVEL = {("data", "datasets")}  # the readers recognize files of public datasets; no file imports itself in a circle


def render() -> str:
    """Return the page as Markdown."""
    packages, edges = _packages(), _edges()
    levels = _levels(packages, edges)
    lines = [
        "# Architecture",
        "",
        "Generated from the imports by `python docs/make_architecture.py`; `tests/test_docs.py` checks it.",
        "Arrows point from a package to the packages it imports. Arrows implied by two others are omitted, as are the modules at the",
        "bottom, which every package may import.",
        "",
        "```mermaid",
        "flowchart TD",
        *(f"    {a} --> {b}" for a, b in sorted(_reduced(edges), key=lambda edge: (-levels[edge[0]], edge))),
        "```",
        "",
        "| package | contents | subpackages |",
        "| --- | --- | --- |",
    ]
    for package in sorted(packages, key=lambda package: (-levels[package], package)):
        inner = sorted(path.parent.relative_to(PACKAGE / package) for path in (PACKAGE / package).rglob("__init__.py"))
        below = [f"`{path.as_posix()}` {_first_line(PACKAGE / package / path)}" for path in inner if path != Path()]
        lines.append(f"| `{package}` | {_first_line(PACKAGE / package)} | {'<br>'.join(below)} |")
    bottom = ", ".join(f"`{name}`" for name in _TOP.split())
    return "\n".join([*lines, "", f"Modules that every package may import: {bottom}.", ""])


def _packages() -> list[str]:
    return [path.parent.name for path in PACKAGE.glob("*/__init__.py")]


def _first_line(folder: Path) -> str:
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    first = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", said.splitlines()[0] if said else "")
    return first.replace("``", "`").replace("|", "\\|")


def _edges() -> set[tuple[str, str]]:
    """Return (package, imported package) pairs, including imports inside functions and for types only."""
    packages, found = set(_packages()), set()
    for path in PACKAGE.rglob("*.py"):
        package, *inner = path.relative_to(PACKAGE).parts
        if package not in packages:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                absolute = (node.module or "").split(".")[1:] if (node.module or "").startswith("sbert_studio.") else []
                names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
                for other in [*absolute[:1], *(names if node.level == len(inner) + 1 else [])]:
                    if other in packages and other != package and (package, other) not in _SAME_LEVEL:
                        found.add((package, other))
    return found


def _levels(packages: list[str], edges: set[tuple[str, str]]) -> dict[str, int]:
    """Return the length of the longest import chain below each package."""
    levels: dict[str, int] = {}

    def level(package: str) -> int:
        if package not in levels:
            levels[package] = 1 + max((level(b) for a, b in edges if a == package), default=0)
        return levels[package]

    for package in packages:
        level(package)
    return levels


def _reduced(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the edges that no chain of others implies."""

    def reaches(start: str, goal: str) -> bool:
        return any(b == goal or reaches(b, goal) for a, b in edges if a == start)

    return {(a, b) for a, b in edges if not any(c != b and reaches(c, b) for d, c in edges if d == a)}


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
