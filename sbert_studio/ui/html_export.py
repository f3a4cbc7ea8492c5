"""Results as one self-contained HTML file with the page's drawing code, its style and the data."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..workspace import atomic_file
from .theme import PAGE, css, scripts
from .views import to_json

if TYPE_CHECKING:
    import numpy as np


def to_base64(array: np.ndarray) -> str:
    """Return an array's bytes in C order, as base64."""
    return base64.b64encode(array.tobytes()).decode("ascii")


def write_html(path: Path, name: str, data: object, **parts: str) -> Path:
    """Write a self-contained HTML file and return its path.

    Visitors' texts are stored as JSON and shown as text content, so that none of them is ever read as HTML.

    Args:
        name: of the template ``assets/page/NAME.html`` and the script ``NAME.js`` that draws ``data``, such as ``map/export``.
        parts: further scripts, by their names in the template.
    """
    text = json.dumps(to_json(data), ensure_ascii=False)
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    code = {"scripts": scripts(), "start": (PAGE / f"{name}.js").read_text(encoding="utf-8"), **parts}
    known = {"css": css(), "data": safe, **{each: script.replace("</script", "<\\/script") for each, script in code.items()}}
    head, *rest = (PAGE / f"{name}.html").read_text(encoding="utf-8").split("{{")
    pieces = [head]
    for piece in rest:
        part, after = piece.split("}}", 1)
        pieces += [known[part], after]
    with atomic_file(path) as target:
        target.write_text("".join(pieces), encoding="utf-8")
    return path
