"""Teach: any tab hands a table to Fine-tune, which opens with it as if it had been uploaded there.

A handler makes a :func:`lesson` and returns it for the output ``page.teach``; the rest follows by itself::

    def on_teach(key):
        return lesson(page, "labelled on the map.csv", {"text": texts, "label": labels})

    button.click(guarded(on_teach), chosen, page.teach, api_visibility="private")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...data.cells import write_rows
from ...errors import StudioError

if TYPE_CHECKING:
    from ..page import Page

TAB = "Fine-tune"
"""The title of the tab that opens."""


@dataclass(frozen=True)
class Lesson:
    """A table to train on.

    Attributes:
        path: the file, of its own folder, so that no two lessons are the same.
        name: what the visitor calls it; the new model is named after it.
    """

    path: Path
    name: str


def lesson(page: Page, name: str, columns: Mapping[str, Sequence[str]]) -> Lesson:
    """A table as a lesson; its cells are written exactly as they are.

    Args:
        name: of the file, with its ``.csv``.
        columns: name → cells, all of one length; as in an upload, the names and the cells tell what the rows are.

    Raises:
        StudioError: there is no row.
    """
    if not any(len(cells) for cells in columns.values()):
        raise StudioError("there is nothing to teach yet", "choose or label some texts first")
    path = page.lessons.path(name)
    write_rows(path, list(columns), zip(*columns.values(), strict=True), guarded=False)
    return Lesson(path, name)
