"""The one cache of vectors: (text digest, encoder fingerprint) → a file of float32, mapped into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..encoders.base import finite
from ..workspace import Workspace
from .arrays import KeyLocks, keep_below, load_array, store_array

if TYPE_CHECKING:
    from ..data.progress import Progress, ShouldStop
    from ..encoders.base import Encoder

_MAX_BYTES = 8 << 30


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
                return found
            vectors = finite(encoder.encode(texts, progress=progress, should_stop=should_stop)).astype(np.float32, copy=False)
            stored = None
            if store_array(path, vectors):
                keep_below(path.parent, self._max_bytes, path)
                stored = load_array(path, shape, mapped=True)
        if stored is None:
            vectors.flags.writeable = False
        return vectors if stored is None else stored
