"""Files that a visitor put into a form: kept beside their others, so that a reload puts them there again."""

from __future__ import annotations

import hashlib
import shutil
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError

if TYPE_CHECKING:
    from ..page import Page


def keep(page: Page, owner: Any, path: str | Path | None, use: str) -> str:
    """What finds the file at ``path`` again; empty where there is none, or no room for it.

    Args:
        use: the form that it is kept for.
    """
    if not path:
        return ""
    kept = page.kept.keep(page.visitor(owner), Path(path), Path(path).name, "", use)
    return "" if kept is None else kept.id


def again(page: Page, owner: Any, kept: object) -> str | None:
    """A copy that an upload box may hold of the file that :func:`keep` found room for; ``None`` where it is gone, or somebody else's."""
    try:
        found = page.kept.get(page.visitor(owner), kept)
        copy = page.downloads.path(found.name)
        shutil.copyfile(found.path, copy)
    except (StudioError, OSError):
        return None
    return str(copy)


def known_by(path: str | Path | None) -> str:
    """What a file is known by wherever it lies: its name and its bytes; empty where there is none."""
    try:
        found = Path(path) if path else None
        return "" if found is None else f"{found.name} {_digest(found, found.stat().st_mtime_ns, found.stat().st_size)}"
    except OSError:
        return str(path)


@lru_cache(maxsize=64)
def _digest(path: Path, _changed: int, _size: int) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()
