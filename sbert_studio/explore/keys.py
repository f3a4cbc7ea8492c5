"""Texts by 16 bytes each, so that what is known of one corpus is found again in another that shares texts with it."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..workspace import Workspace
from .arrays import keep_below, load_array, store_array

KEY = np.dtype("S16")
_MAX_BYTES = 256 << 20


def keys_of(texts: Sequence[str]) -> np.ndarray:
    """(n,) of 16 bytes: BLAKE2 of each text."""
    found = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY.itemsize).digest() for text in texts)
    return np.frombuffer(found, KEY)


def places_of(wanted: np.ndarray, have: np.ndarray) -> np.ndarray:
    """Where each of (n,) keys first stands among (m,) others, (n,) int64; -1 where it does not."""
    if not len(have):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(have, kind="stable")
    place = np.minimum(np.searchsorted(have, wanted, sorter=order), len(have) - 1)
    return np.where(have[order[place]] == wanted, order[place], -1)


class TextKeys:
    """The keys of corpora by their digest, kept on disk.

    Args:
        workspace: where the files lie.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def get(self, texts: Sequence[str], digest: str) -> np.ndarray:
        """(n,) keys of the texts with this digest, made where they are not kept."""
        path = self._path(digest)
        found = load_array(path, (len(texts),), KEY, mapped=True)
        if found is None:
            found = keys_of(texts)
            if store_array(path, found):
                keep_below(path.parent, _MAX_BYTES, path)
        return found

    def repair(self, texts: Sequence[str], digest: str) -> None:
        """Write the keys of the texts with this digest anew where their file is damaged."""
        if self._path(digest).is_file():
            self.get(texts, digest)

    def known(self, digest: str) -> np.ndarray | None:
        """The keys of a corpus that was seen before, if they are still there."""
        with contextlib.suppress(ValueError):
            return load_array(self._path(digest), None, KEY, mapped=True)
        return None

    def _path(self, digest: str) -> Path:
        return self._workspace.cache("texts") / f"{digest}.npy"
