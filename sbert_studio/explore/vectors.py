"""The one cache of vectors: (text digest, encoder fingerprint) → a file of float32, mapped into memory."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.progress import KeyLocks
from ..encoders.base import finite
from ..workspace import Workspace
from .arrays import keep_below, load_array, store_array
from .keys import TextKeys, places_of

if TYPE_CHECKING:
    from ..data.progress import Progress, ShouldStop
    from ..encoders.base import Encoder

_MAX_BYTES = 8 << 30
_OTHERS = 8  # other corpora whose texts are looked through, those used last


class VectorStore:
    """Vectors that were computed once stay computed, for every tab, process and restart.

    Args:
        workspace: where the files lie.
        max_bytes: how much they may take; beyond it the least recently used go.
    """

    def __init__(self, workspace: Workspace, max_bytes: int = _MAX_BYTES) -> None:
        self._workspace = workspace
        self._max_bytes = max_bytes
        self._locks = KeyLocks()
        self._keys = TextKeys(workspace)

    def get(
        self,
        texts: Sequence[str],
        digest: str,
        encoder: Encoder,
        progress: Progress | None = None,
        should_stop: ShouldStop | None = None,
    ) -> np.ndarray:
        """The vectors of ``texts``: (n, dim) float32, read-only, row i for text i.

        Callers that ask for the same vectors at once wait for one encoding. A damaged file is encoded again.
        Texts that stood in another corpus are not.

        Args:
            texts: n texts.
            digest: their :func:`~sbert_studio.workspace.digest_texts`.

        Raises:
            StudioError: the model returns vectors that are not finite.
        """
        shape = (len(texts), encoder.dim)
        if not texts:
            return np.zeros(shape, np.float32)
        path = self._workspace.vectors(digest, encoder.fingerprint)
        with self._locks[path.name]:
            found = load_array(path, shape, mapped=True)
            if found is not None:
                self._keys.repair(texts, digest)
                return found
            vectors = self._made(texts, digest, encoder, progress, should_stop)
            stored = None
            if store_array(path, vectors):
                keep_below(path.parent, self._max_bytes, path)
                stored = load_array(path, shape, mapped=True)
        if stored is None:
            vectors.flags.writeable = False
        return vectors if stored is None else stored

    def _made(
        self, texts: Sequence[str], digest: str, encoder: Encoder, progress: Progress | None, should_stop: ShouldStop | None
    ) -> np.ndarray:
        """The vectors of texts of which there is no file: those that another corpus has, and the others encoded."""
        vectors = self._known(texts, digest, encoder)
        if vectors is None:
            return finite(encoder.encode(texts, progress=progress, should_stop=should_stop)).astype(np.float32, copy=False)
        known, found = vectors
        new = np.flatnonzero(~known)
        if len(new):
            found[new] = finite(encoder.encode([texts[row] for row in new.tolist()], progress=progress, should_stop=should_stop))
        return found

    def _known(self, texts: Sequence[str], digest: str, encoder: Encoder) -> tuple[np.ndarray, np.ndarray] | None:
        """Which of the texts stand in other corpora, (n,) bool, and their vectors, (n, dim); None where none does."""
        keys = self._keys.get(texts, digest)
        found: np.ndarray | None = None
        known = np.zeros(len(texts), bool)
        for path in self._others(encoder.fingerprint):
            if known.all():
                break
            have = self._keys.known(path.name.split("-")[0])
            if have is None:
                continue
            left = np.flatnonzero(~known)
            places = places_of(keys[left], have)
            if not (places >= 0).any():
                continue
            others = load_array(path, (len(have), encoder.dim), mapped=True)
            if others is None:
                continue
            found = np.empty((len(texts), encoder.dim), np.float32) if found is None else found
            rows = left[places >= 0]
            found[rows] = others[places[places >= 0]]
            known[rows] = True
        return None if found is None else (known, found)

    def _others(self, fingerprint: str) -> list[Path]:
        """The files of other corpora by the same encoder, those used last first."""
        ages = []
        for path in self._workspace.vectors("0", fingerprint).parent.glob(f"*-{fingerprint}.npy"):
            with contextlib.suppress(OSError):
                if not path.name.startswith("."):
                    ages.append((-path.stat().st_mtime, path))
        return [path for _, path in sorted(ages)][:_OTHERS]
