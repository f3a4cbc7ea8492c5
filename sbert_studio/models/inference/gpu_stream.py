"""Encode texts on a GPU without padding, tokenizing the next batch meanwhile."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...progress import checkpoint
from ..base import EncodingStoppedError
from ..modules.pooling import Pooling
from .batching import TokenRows, token_batches, unique_texts
from .varlen import Fetched, Sequences, sent

if TYPE_CHECKING:
    from ...progress import Progress, ShouldStop
    from ..sentence_encoder import SentenceEncoder


def pooled(pooling: Pooling, hidden: Tensor, of: Sequences) -> Tensor:
    """(tokens, d) → (n, d · modes) float32; no value is read by the host, and sums have one order."""
    hidden = hidden.float()
    real = None if not pooling.skip else of.places >= pooling.skip
    parts = [_mode(mode, hidden, of, real, pooling.skip) for mode in pooling.modes]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def _mode(mode: str, hidden: Tensor, of: Sequences, real: Tensor | None, skip: int) -> Tensor:
    """By the tokens that are ``real`` (None: all); a text that has none of them is that of its first one, or zeros, as elsewhere."""
    begins, lengths = of.begins, of.lengths
    if mode == "cls":
        return hidden.index_select(0, torch.where(lengths > skip, begins + skip, begins))
    if mode == "last":
        return hidden.index_select(0, torch.where(lengths > skip, of.ends - 1, begins))
    if mode == "max":
        masked = hidden if real is None else hidden.masked_fill(~real.unsqueeze(1), float("-inf"))
        highest = _by_text("max", masked, of)
        return highest.masked_fill(highest == float("-inf"), 0.0)
    if mode == "weighted_mean":
        weights = (of.places + 1).float() if real is None else (of.places + 1) * real.float()
        total, weight = _by_text("sum", hidden * weights.unsqueeze(1), of), _by_text("sum", weights.unsqueeze(1), of)
    else:
        total = _by_text("sum", hidden if real is None else hidden * real.unsqueeze(1), of)
        weight = (lengths - skip).clamp(min=0).unsqueeze(1).float()
    weight = weight.clamp(min=1e-9)
    return total / (weight.sqrt() if mode == "mean_sqrt_len" else weight)


def _by_text(how: str, values: Tensor, of: Sequences) -> Tensor:
    """The ``sum`` or the ``max`` of the rows of each text: (tokens, d) → (n, d)."""
    return torch.segment_reduce(values, how, offsets=of.starts, axis=0, unsafe=True)  # unsafe: the host does not look first


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
