"""The picture of the house, docs/house.md, drawn from the imports: ``python docs/make_house.py`` writes it, a test compares it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sbert_studio"
PAGE = ROOT / "docs" / "house.md"
_TOP = "errors settings workspace registry caches"


def drawn() -> str:
    """The page."""
    rooms, edges = _rooms(), _edges()
    floors = _floors(rooms, edges)
    lines = [
        "# The house",
        "",
        "Drawn from the imports by `python docs/make_house.py`; `tests/test_docs.py` holds it against them. An arrow leads from a room to",
        "those it builds on. What follows from two arrows is left out, and every room stands on the files at the bottom. Nothing leads",
        "upwards.",
        "",
        "```mermaid",
        "flowchart TD",
        *(f"    {a} --> {b}" for a, b in sorted(_reduced(edges), key=lambda edge: (-floors[edge[0]], edge))),
        "```",
        "",
        "| room | what it is for | its sub-rooms |",
        "| --- | --- | --- |",
    ]
    for room in sorted(rooms, key=lambda room: (-floors[room], room)):
        inner = sorted(path.parent.relative_to(PACKAGE / room) for path in (PACKAGE / room).rglob("__init__.py"))
        below = [f"`{path.as_posix()}` {_first_line(PACKAGE / room / path)}" for path in inner if path != Path()]
        lines.append(f"| `{room}` | {_first_line(PACKAGE / room)} | {'<br>'.join(below)} |")
    bottom = ", ".join(f"`{name}`" for name in _TOP.split())
    return "\n".join([*lines, "", f"At the bottom: {bottom}.", ""])


def _rooms() -> list[str]:
    return [path.parent.name for path in PACKAGE.glob("*/__init__.py")]


def _first_line(folder: Path) -> str:
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    first = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", said.splitlines()[0] if said else "")
    return first.replace("``", "`").replace("|", "\\|")


def _edges() -> set[tuple[str, str]]:
    """(room, a room that it imports), imports within functions counted, those for types alone too."""
    rooms, found = set(_rooms()), set()
    for path in PACKAGE.rglob("*.py"):
        room, *inner = path.relative_to(PACKAGE).parts
        if room not in rooms:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                absolute = (node.module or "").split(".")[1:] if (node.module or "").startswith("sbert_studio.") else []
                names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
                for other in [*absolute[:1], *(names if node.level == len(inner) + 1 else [])]:
                    if other in rooms and other != room:
                        found.add((room, other))
    return found


def _floors(rooms: list[str], edges: set[tuple[str, str]]) -> dict[str, int]:
    """The longest way down from each room."""
    floors: dict[str, int] = {}

    def floor(room: str) -> int:
        if room not in floors:
            floors[room] = 1 + max((floor(b) for a, b in edges if a == room), default=0)
        return floors[room]

    for room in rooms:
        floor(room)
    return floors


def _reduced(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows that follow from no others."""

    def reaches(start: str, goal: str) -> bool:
        return any(b == goal or reaches(b, goal) for a, b in edges if a == start)

    return {(a, b) for a, b in edges if not any(c != b and reaches(c, b) for d, c in edges if d == a)}


if __name__ == "__main__":
    PAGE.write_text(drawn(), encoding="utf-8")
