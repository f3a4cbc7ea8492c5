"""Map: the corpus drawn by UMAP, with clusters; what is chosen is listed beside it, labelled, cleared away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..panels.mapping.panel import build as mapping
from ..views import view

if TYPE_CHECKING:
    from ...services import Studio
    from ..page import Page

TITLE = "Map"
ORDER = 3


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    view(
        "intro",
        {
            "title": "See the whole corpus at once",
            "text": "Texts that mean alike lie close together. Circle some, or click one.",
        },
        classes=["sb-map-intro"],
    )
    mapping(page, TITLE)
