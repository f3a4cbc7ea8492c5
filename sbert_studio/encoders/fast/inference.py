"""Texts → vectors as fast as the machine allows: nothing tokenised, padded, computed or copied that need not be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from ..base import EncodingStoppedError
from ..runtime import token_budget
from .batching import TokenRows, token_batches, unique_texts
from .lanes import in_lanes, lane_count

if TYPE_CHECKING:
    from torch import Tensor

    from ...data.progress import Progress, ShouldStop
    from ..sentence import SentenceEncoder

# How many texts are tokenised at a time: enough to keep all cores busy, few enough to bound memory and hear a stop.
_CHUNK = 8_192


def encode_texts(
    encoder: SentenceEncoder, texts: Sequence[str], progress: Progress | None = None, should_stop: ShouldStop | None = None
) -> np.ndarray:
    """Vectors of ``texts``, (n, dim) float32, row i for text i; the caller has turned gradients and dropout off.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    distinct, inverse = unique_texts(texts)
    vectors = np.empty((len(inverse), encoder.dim), np.float32)
    # Each distinct text's vector is written where the text stands first, and copied from there to where it recurs.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(inverse), prepend=-1))
    done = 0
    for batch, found in _computed(encoder, distinct, should_stop):
        vectors[first[batch]] = found.cpu().numpy()
        done += len(batch)
        if progress and done < len(vectors):
            progress(done, len(vectors))
    if len(first) < len(vectors):
        again = np.ones(len(vectors), bool)
        again[first] = False
        vectors[again] = vectors[first[inverse[again]]]
    if progress:
        progress(len(vectors), len(vectors))
    return vectors


def _computed(encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None) -> Iterator[tuple[np.ndarray, Tensor]]:
    """The rows of each batch of distinct ``texts``, and their vectors."""
    rows = _tokenised(encoder, texts, should_stop)
    batches = _batches(encoder, rows)
    inputs = (_read(encoder, rows, batch, should_stop) for batch in batches)
    lanes = lane_count(encoder.device, len(batches)) if encoder.laned else 1
    yield from zip(batches, in_lanes(encoder, inputs, lanes) if lanes > 1 else map(encoder, inputs), strict=True)


def batches_of(
    encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None = None
) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
    """The rows of each batch of distinct ``texts``, like in length, the longest first; and the batch, as ``encoder`` reads it.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    rows = _tokenised(encoder, texts, should_stop)
    for batch in _batches(encoder, rows):
        yield batch, _read(encoder, rows, batch, should_stop)


def _batches(encoder: SentenceEncoder, rows: TokenRows) -> list[np.ndarray]:
    return token_batches(rows.lengths, *token_budget(encoder.device))


def _read(encoder: SentenceEncoder, rows: TokenRows, batch: np.ndarray, should_stop: ShouldStop | None) -> dict[str, Tensor]:
    _check(should_stop)
    ids, mask = rows.padded(batch, encoder.tokens.pad)
    inputs = {"input_ids": encoder.moved(ids)}
    return inputs if mask is None else {**inputs, "attention_mask": encoder.moved(mask)}


def _tokenised(encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None) -> TokenRows:
    def chunks() -> Iterator[list[list[int]]]:
        for start in range(0, len(texts), _CHUNK):
            _check(should_stop)
            yield encoder.tokenize(texts[start : start + _CHUNK])

    return TokenRows.from_lists(chunks())


def _check(should_stop: ShouldStop | None) -> None:
    checkpoint()
    if should_stop and should_stop():
        raise EncodingStoppedError
