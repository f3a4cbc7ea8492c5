"""Indexes by words kept between starts: one file a corpus, mapped into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import KeyLocks, checkpoint
from ..arrays import keep_below, load_array, store_array
from .index import LexicalIndex
from .postings import Postings, postings

if TYPE_CHECKING:
    from ...data.progress import Progress
    from ...workspace import Workspace

_VERSION = 1  # of the file, of how texts are read as words, and of the weights: another one is made anew
_WORTH = 20_000  # texts below which an index is made as fast as it is read
_HEAD = 4


class LexicalStore:
    """Indexes by words of corpora, made once.

    Args:
        workspace: where the files lie.
        max_bytes: how much they may take; beyond it the least recently used go.
    """

    def __init__(self, workspace: Workspace, max_bytes: int) -> None:
        self._workspace, self._max_bytes = workspace, max_bytes
        self._locks = KeyLocks()

    def get(self, texts: Sequence[str], digest: str, progress: Progress | None = None) -> LexicalIndex:
        """The index of ``texts``. A damaged file is made anew.

        Args:
            digest: the texts' :func:`~sbert_studio.workspace.digest_texts`.
            progress: told of texts.
        """
        if len(texts) < _WORTH:
            return LexicalIndex(texts, progress)
        path = self._workspace.words(digest)
        with self._locks[path.name]:
            found = _read(load_array(path, None, np.uint8, mapped=True), len(texts))
            if found is None:
                found = postings(texts, progress)
                checkpoint()
                if store_array(path, _written(found)):
                    keep_below(path.parent, self._max_bytes, path)
                    found = _read(load_array(path, None, np.uint8, mapped=True), len(texts)) or found
        return LexicalIndex(found)


def _written(index: Postings) -> np.ndarray:
    """(bytes,) uint8: version, rows, words and postings; starts; rows; weights; the words, a line each."""
    head = np.array([_VERSION, index.rows, len(index.vocabulary), len(index.at)], np.int64)
    text = np.frombuffer("\n".join(index.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
    return np.concatenate([part.view(np.uint8) for part in (head, index.starts.astype(np.int64), index.at, index.weights, text)])


def _read(kept: np.ndarray | None, rows: int) -> Postings | None:
    if kept is None or kept.ndim != 1 or len(kept) < _HEAD * 8:
        return None
    version, of, words, count = kept[: _HEAD * 8].view(np.int64).tolist()
    if version != _VERSION or of != rows:
        return None
    ends = np.cumsum([_HEAD * 8, (words + 1) * 8, count * 4, count * 4]).tolist()
    starts, at, weights = (
        kept[start:end].view(kind) for start, end, kind in zip(ends, ends[1:], (np.int64, np.int32, np.float32), strict=False)
    )
    text = bytes(kept[ends[-1] :]).decode("utf-8", "surrogatepass")
    return Postings(rows, {word: number for number, word in enumerate(text.split("\n") if words else [])}, starts, at, weights)
