"""Many texts → vectors on a lent GPU, as many in each slice as its time lets it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError
from ..identity import ANONYMOUS, Identity, current_identity, use_identity
from .base import EncodingStoppedError
from .catalog import Catalog, CatalogSettings
from .inference import zerogpu

if TYPE_CHECKING:
    from ..progress import Progress, ShouldStop

_WORTH = 1_000  # fewer texts are encoded here sooner than a GPU is lent
_AT_ONCE = 2_048
_SENT = 50_000  # texts that are handed to a slice
_catalogs: dict[tuple[CatalogSettings, str], Catalog] = {}  # of a process that carries out slices: the next slice finds its model there


class Elsewhere:
    """Encodes for one model of a catalogue.

    Args:
        settings: of the catalogue. name, precision: by which it loads the model.
        fingerprint: of the model that is loaded here.
    """

    def __init__(self, settings: CatalogSettings, name: str, precision: str, fingerprint: str) -> None:
        self._model = (settings, name, precision, fingerprint)

    def takes(self, texts: Sequence[str]) -> bool:
        """Whether a GPU is worth borrowing for ``texts``."""
        return len(texts) >= _WORTH

    def encode(self, texts: Sequence[str], progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """Vectors of ``texts``, (n, dim) float32, row i for text i.

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
            StudioError: no GPU can be had now.
        """
        from ..progress import checkpoint

        found: list[np.ndarray] = []
        # Whose request it is; a GPU is lent on a Space alone, where nobody is the owner. Another process does not know.
        asker = current_identity() or ANONYMOUS
        done = 0
        while done < len(texts):
            checkpoint()
            if should_stop and should_stop():
                raise EncodingStoppedError
            part = list(texts[done : done + _SENT])
            found.append(zerogpu.on_gpu(_encode_some, *self._model, asker, zerogpu.lent(), part, zerogpu.SECONDS))
            done += len(found[-1])
            if progress:
                progress(done, len(texts))
        return np.concatenate(found)


def _encode_some(
    settings: CatalogSettings, name: str, precision: str, fingerprint: str, asker: Identity, device: str, texts: list[str], seconds: float
) -> np.ndarray:
    """The vectors of the first of ``texts``, as many as ``seconds`` let, and some in any case."""
    began = time.monotonic()
    key = settings, device
    if key not in _catalogs:
        _catalogs[key] = settings.open(device)
    with use_identity(asker):
        encoder = _catalogs[key].load(name, precision)
    if encoder.fingerprint != fingerprint:
        raise StudioError("the model has changed meanwhile", "try again")
    found: list[np.ndarray] = []
    for start in range(0, len(texts), _AT_ONCE):
        if found and time.monotonic() - began > seconds:
            break
        found.append(encoder.encode(texts[start : start + _AT_ONCE]))
    return np.concatenate(found)
