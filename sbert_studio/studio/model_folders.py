"""Whether a folder that somebody named can take a model."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..errors import StudioError


def require_writable(out: Path) -> None:
    """Find out before long work that the model has nowhere to go: its folder's place is tried.

    Raises:
        StudioError: it cannot be made, is in use, or holds something that is not a model.
    """
    whole, choose = out.expanduser().resolve(), "name a folder that is new, empty or holds a model"
    if whole.is_file():
        raise StudioError(f"{whole.name} is a file", choose)
    if Path.cwd().resolve().is_relative_to(whole) or whole.parent == whole:
        raise StudioError(
            f"the folder {out} is the one you stand in, or holds it, and would be replaced", "name a new folder, such as model"
        )
    if whole.is_dir() and any(whole.iterdir()) and not (whole / "modules.json").is_file() and not (whole / "config.json").is_file():
        raise StudioError(f"the folder {whole.name} holds something that is not a model", choose)
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(prefix=".part-", dir=whole.parent)).rmdir()
    except OSError as error:
        raise StudioError(f"the folder {out} cannot be made: {error.strerror}", "name a folder that you may write") from error
