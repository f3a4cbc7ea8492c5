"""The languages that the page speaks besides English: a file each in ``assets/languages``."""

from __future__ import annotations

import json
from pathlib import Path

from .theme import PAGE

FOLDER = PAGE.parent / "languages"


def languages() -> dict[str, dict[str, str]]:
    """What the page's JavaScript needs to know of each: ``{code: {name, tag, url}}``, by the names of the files.

    The words themselves are fetched by the browser, from ``url``, once somebody wants them.
    """
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = {"name": held["name"], "tag": held["tag"], "url": served(path)}
    return found


def served(path: Path) -> str:
    """The URL, beside the page's own, of a file in a folder that ``gr.set_static_paths`` was told."""
    return f"gradio_api/file={path.as_posix()}"
