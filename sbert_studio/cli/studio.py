"""The studio as the command line opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..studio import Studio


def open_studio() -> Studio:
    """A studio on this machine's settings. Whoever types a command may name any folder, whatever the page allows."""
    from ..studio import Studio

    return Studio(allow_folders=True)
