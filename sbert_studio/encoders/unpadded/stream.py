"""Texts → vectors on a device that computes by itself: it is kept at work, and the host tokenises meanwhile.

A part of the texts is read ahead, the part before it is queued on the device, and the vectors of the one before that come back in one
copy. Within a part no value travels to the host.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...data.progress import checkpoint
from ..base import EncodingStoppedError
from ..fast.batching import TokenRows, token_batches, unique_texts
from .copies import Fetched, sent
from .sequences import Sequences

if TYPE_CHECKING:
    from ...data.progress import Progress, ShouldStop
    from ..sentence import SentenceEncoder

log = logging.getLogger(__name__)
_PART = 2_048  # texts that are tokenised, and whose vectors are fetched, at a time
_AHEAD = 2  # parts that are tokenised before they are needed
_ROWS = 16_384  # of a batch: a kernel's grid holds no more than 65,535
_TOKENS = 65_536  # of a batch: more does not make a launch any cheaper
_FEWEST = 1_024
_SHARE = 4  # a batch may take one part in so many of the memory that is free
_HELD = 24  # times a token's vector in float32 that a batch holds at its widest, attention spread out included


def encode_unpadded(
    encoder: SentenceEncoder, texts: Sequence[str], progress: Progress | None = None, should_stop: ShouldStop | None = None
) -> np.ndarray:
    """Vectors of ``texts``, (n, dim) float32, row i for text i; ``encoder`` reads texts one behind the other, without gradients.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    distinct, inverse = unique_texts(texts)
    vectors = np.empty((len(distinct), encoder.dim), np.float32)
    stream, waiting = _Stream(encoder, should_stop), deque[tuple[int, np.ndarray, Fetched]]()
    done = 0

    def land() -> int:
        start, rows, fetched = waiting.popleft()
        vectors[start + rows] = fetched.array()
        return len(rows)

    for start, tokens in _read_ahead(encoder, distinct):
        waiting.append((start, *stream.compute(tokens)))
        if len(waiting) > 1:
            done += land()
            if progress:
                progress(done, len(texts))
    while waiting:
        land()
    if progress:
        progress(len(texts), len(texts))
    return vectors if len(distinct) == len(texts) else vectors[inverse]


def token_room(device: torch.device, width: int) -> int:
    """How many tokens a batch may have, by the memory that is free on ``device``, for vectors of ``width`` components a token."""
    if device.type != "cuda":
        return _TOKENS
    free, _ = torch.cuda.mem_get_info(device)
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # PyTorch holds it, and gives it again
    return max(_FEWEST, min(_TOKENS, free // (_SHARE * _HELD * 4 * width)))


def batch_of(tokens: TokenRows, rows: np.ndarray, device: torch.device) -> tuple[Tensor, Sequences]:
    """The ids of ``rows``, (tokens,) int32 on ``device``, one text behind the other, and where these stand; sent in one copy."""
    ids, starts = tokens.unpadded(rows)
    both = sent(np.concatenate([starts, ids]), device)
    begins = both.narrow(0, 0, len(starts))
    return both.narrow(0, len(starts), len(ids)), Sequences.of(begins, len(ids), int(np.diff(starts).max()))


def _read_ahead(encoder: SentenceEncoder, texts: list[str]) -> Iterator[tuple[int, TokenRows]]:
    """Where each part begins, and its tokens; the next ones are tokenised in a thread of their own meanwhile."""

    def tokens(start: int) -> TokenRows:
        return TokenRows.from_lists([encoder.tokenize(texts[start : start + _PART])])

    with ThreadPoolExecutor(1, "tokenise") as pool:
        coming = deque[tuple[int, Future[TokenRows]]]()
        try:
            for start in range(0, len(texts), _PART):
                coming.append((start, pool.submit(tokens, start)))
                if len(coming) > _AHEAD:
                    first, read = coming.popleft()
                    yield first, read.result()
            while coming:
                first, read = coming.popleft()
                yield first, read.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Stream:
    """Queues parts on the encoder's device, in batches that its memory holds."""

    def __init__(self, encoder: SentenceEncoder, should_stop: ShouldStop | None) -> None:
        self._encoder, self._device, self._should_stop = encoder, encoder.device, should_stop
        self._room = token_room(self._device, encoder.hidden_size)

    def compute(self, tokens: TokenRows) -> tuple[np.ndarray, Fetched]:
        """The rows of ``tokens`` in the order of their vectors, and these on their way to the host."""
        while True:
            try:
                batches = token_batches(tokens.lengths, self._room, _ROWS)
                found = [self._vectors(tokens, batch) for batch in batches]
                return np.concatenate(batches), Fetched.of(torch.cat(found) if len(found) > 1 else found[0])
            except torch.OutOfMemoryError:
                if self._room <= _FEWEST:
                    raise
            found = []
            self._room = max(_FEWEST, self._room // 2)
            log.info("memory ran out; batches have at most %s tokens now", self._room)
            if self._device.type == "cuda":
                torch.cuda.empty_cache()

    def _vectors(self, tokens: TokenRows, rows: np.ndarray) -> Tensor:
        checkpoint()
        if self._should_stop and self._should_stop():
            raise EncodingStoppedError
        return self._encoder.unpadded(*batch_of(tokens, rows, self._device))
