"""Texts → for each word the rows that hold it and its BM25 weight there: three arrays, as a sparse matrix by columns."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from ..terms import words

if TYPE_CHECKING:
    from ...data.progress import Progress

_K1, _B = 1.5, 0.75
_EVERY = 2048  # texts between two words of progress
_AT_ONCE = 1 << 16  # texts of which the words are counted at once


@dataclass(frozen=True)
class Postings:
    """The rows and weights of word w are those from ``starts[w]`` to ``starts[w + 1]``, by rising row.

    Attributes:
        rows: how many texts there are.
        vocabulary: word → w.
        starts: (words + 1,) int64.
        at: (p,) int32.
        weights: (p,) float32.
    """

    rows: int
    vocabulary: dict[str, int]
    starts: np.ndarray
    at: np.ndarray
    weights: np.ndarray


def postings(texts: Sequence[str], progress: Progress | None = None) -> Postings:
    """BM25 in Lucene's variant: ln(1 + (n − df + ½) / (df + ½)) · tf / (tf + k₁ (1 − b + b · length / mean length)).

    Robertson & Zaragoza 2009; Kamphuis et al. 2020 compare the variants. Weights are those of bm25s, to single precision: this is in
    place of it, because it can be stopped, tells how far it is, and keeps no list of a million texts' words.

    Args:
        texts: n texts.
        progress: told of texts.
    """
    vocabulary: dict[str, int] = {}
    lengths = np.zeros(len(texts), np.int64)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for start in range(0, len(texts), _AT_ONCE):
        found = array("q")
        for row in range(start, min(start + _AT_ONCE, len(texts))):
            if row % _EVERY == 0:
                checkpoint()
                if progress is not None:
                    progress(row, len(texts))
            tokens = words(texts[row], singles=True)
            lengths[row] = len(tokens)
            found.extend([vocabulary.setdefault(token, len(vocabulary)) for token in tokens])
        rows = np.repeat(np.arange(start, min(start + _AT_ONCE, len(texts))), lengths[start : start + _AT_ONCE])
        cells, counts = np.unique(np.frombuffer(found, np.int64) << 32 | rows, return_counts=True)
        parts.append(((cells >> 32).astype(np.int32), (cells & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32)))
    checkpoint()
    having = np.zeros(len(vocabulary), np.int64)
    for of, _, _ in parts:
        having += np.bincount(of, minlength=len(vocabulary))
    starts = np.concatenate([[0], np.cumsum(having)])
    rare = np.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
    usual = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1e-9)) if len(texts) else np.zeros(0)
    at, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    free = starts[:-1].copy()
    for of, held, times in parts:  # by word, then row; and parts by rising rows
        checkpoint()
        of_word = np.bincount(of, minlength=len(vocabulary))
        place = np.arange(len(of)) - np.repeat(np.cumsum(of_word) - of_word, of_word) + np.repeat(free, of_word)
        at[place], weights[place] = held, rare[of] * times / (times + usual[held])
        free += of_word
    if progress is not None:
        progress(len(texts), len(texts))
    return Postings(len(texts), vocabulary, starts, at, weights)
