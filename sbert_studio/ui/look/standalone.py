"""Results as one HTML file that opens anywhere: the page's own drawing code, its style and the data are inside, and nothing is fetched."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...workspace import atomic_file
from ..pieces.views import plain
from .theme import PAGE, css, scripts

if TYPE_CHECKING:
    import numpy as np


def packed(array: np.ndarray) -> str:
    """An array's bytes in C order, as base64."""
    return base64.b64encode(array.tobytes()).decode("ascii")


def one_file(path: Path, name: str, data: Any, **parts: str) -> Path:
    """Write ``assets/page/NAME.html`` with all that it needs.

    What visitors have written travels as JSON and is shown as text content, so that none of it is ever read as HTML.

    Args:
        name: of the template and of the script ``NAME.js`` that draws ``data``, with their folder: ``map/export``.
        parts: more scripts, by the names that the template calls them.

    Returns:
        ``path``.
    """
    text = json.dumps(plain(data), ensure_ascii=False)
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
