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
from .varlen import HostCopy, Sequences, to_device

if TYPE_CHECKING:
    from ...progress import Progress, ShouldStop
    from ..sentence_encoder import SentenceEncoder

log = logging.getLogger(__name__)
_CHUNK = 2_048  # texts tokenized and fetched at once
_CHUNKS_AHEAD = 2  # chunks tokenized ahead
_MAX_ROWS = 16_384  # per batch: a kernel's grid is limited to 65,535
_MAX_TOKENS = 65_536  # per batch: more does not amortise a launch any better
_MIN_TOKENS = 1_024
_MEMORY_FRACTION = 4  # a batch may use a quarter of the free memory
_STATES_PER_TOKEN = 24  # float32 vectors held per token at the peak, padded attention included


def pool_sequences(pooling: Pooling, hidden: Tensor, sequences: Sequences) -> Tensor:
    """Pool (tokens, d) to (n, d · modes) float32 without synchronizing with the host; sums are deterministic."""
    hidden = hidden.float()
    real = None if not pooling.skip else sequences.places >= pooling.skip
    parts = [_pool_mode(mode, hidden, sequences, real, pooling.skip) for mode in pooling.modes]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def _pool_mode(mode: str, hidden: Tensor, sequences: Sequences, real: Tensor | None, skip: int) -> Tensor:
    """Pool by the tokens that are ``real`` (``None``: all); a text without any gets its first token, or zeros, as in :class:`Pooling`."""
    begins, lengths = sequences.begins, sequences.lengths
    if mode == "cls":
        return hidden.index_select(0, torch.where(lengths > skip, begins + skip, begins))
    if mode == "last":
        return hidden.index_select(0, torch.where(lengths > skip, sequences.ends - 1, begins))
    if mode == "max":
        masked = hidden if real is None else hidden.masked_fill(~real.unsqueeze(1), float("-inf"))
        highest = _reduce("max", masked, sequences)
        return highest.masked_fill(highest == float("-inf"), 0.0)
    if mode == "weighted_mean":
        weights = (sequences.places + 1).float() if real is None else (sequences.places + 1) * real.float()
        total, weight = _reduce("sum", hidden * weights.unsqueeze(1), sequences), _reduce("sum", weights.unsqueeze(1), sequences)
    else:
        total = _reduce("sum", hidden if real is None else hidden * real.unsqueeze(1), sequences)
        weight = (lengths - skip).clamp(min=0).unsqueeze(1).float()
    weight = weight.clamp(min=1e-9)
    return total / (weight.sqrt() if mode == "mean_sqrt_len" else weight)


def _reduce(reduction: str, values: Tensor, sequences: Sequences) -> Tensor:
    return torch.segment_reduce(values, reduction, offsets=sequences.starts, axis=0, unsafe=True)  # unsafe skips a check on the host


def encode_varlen(
    encoder: SentenceEncoder, texts: Sequence[str], progress: Progress | None = None, should_stop: ShouldStop | None = None
) -> np.ndarray:
    """Return the vectors of ``texts``, (n, dim) float32, row i for text i; requires ``encoder.uses_varlen``, called without gradients.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    distinct, inverse = unique_texts(texts)
    vectors = np.empty((len(distinct), encoder.dim), np.float32)
    stream, waiting = _Stream(encoder, should_stop), deque[tuple[int, np.ndarray, HostCopy]]()
    done = 0

    def land() -> int:
        start, rows, fetched = waiting.popleft()
        vectors[start + rows] = fetched.wait()
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


def max_batch_tokens(device: torch.device, width: int) -> int:
    """Return how many tokens of ``width`` components fit into a batch, by the free memory of ``device``."""
    if device.type != "cuda":
        return _MAX_TOKENS
    free, _ = torch.cuda.mem_get_info(device)
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # reserved by PyTorch and reusable
    return max(_MIN_TOKENS, min(_MAX_TOKENS, free // (_MEMORY_FRACTION * _STATES_PER_TOKEN * 4 * width)))


def varlen_batch(tokens: TokenRows, rows: np.ndarray, device: torch.device) -> tuple[Tensor, Sequences]:
    """Send the ids of ``rows``, (tokens,) int32, and their boundaries to ``device`` in one copy."""
    ids, starts = tokens.flattened(rows)
    both = to_device(np.concatenate([starts, ids]), device)
    begins = both.narrow(0, 0, len(starts))
    return both.narrow(0, len(starts), len(ids)), Sequences.from_starts(begins, len(ids), int(np.diff(starts).max()))


def _read_ahead(encoder: SentenceEncoder, texts: list[str]) -> Iterator[tuple[int, TokenRows]]:
    """Yield the start and the token ids of each chunk, tokenizing the next chunks in a thread."""

    def tokens(start: int) -> TokenRows:
        return TokenRows.from_lists([encoder.tokenize(texts[start : start + _CHUNK])])

    with ThreadPoolExecutor(1, "tokenise") as pool:
        coming = deque[tuple[int, Future[TokenRows]]]()
        try:
            for start in range(0, len(texts), _CHUNK):
                coming.append((start, pool.submit(tokens, start)))
                if len(coming) > _CHUNKS_AHEAD:
                    first, read = coming.popleft()
                    yield first, read.result()
            while coming:
                first, read = coming.popleft()
                yield first, read.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Stream:
    """Compute chunks in batches that fit the device's memory; halve the batch when memory runs out."""

    def __init__(self, encoder: SentenceEncoder, should_stop: ShouldStop | None) -> None:
        self._encoder, self._device, self._should_stop = encoder, encoder.device, should_stop
        self._budget = max_batch_tokens(self._device, encoder.hidden_size)

    def compute(self, tokens: TokenRows) -> tuple[np.ndarray, HostCopy]:
        """Return the rows of ``tokens`` in the order of their vectors, and the vectors on their way to the host."""
        while True:
            try:
                batches = token_batches(tokens.lengths, self._budget, _MAX_ROWS)
                found = [self._vectors(tokens, batch) for batch in batches]
                return np.concatenate(batches), HostCopy.start(torch.cat(found) if len(found) > 1 else found[0])
            except torch.OutOfMemoryError:
                if self._budget <= _MIN_TOKENS:
                    raise
            found = []
            self._budget = max(_MIN_TOKENS, self._budget // 2)
            log.info("memory ran out; batches have at most %s tokens now", self._budget)
            if self._device.type == "cuda":
                torch.cuda.empty_cache()

    def _vectors(self, tokens: TokenRows, rows: np.ndarray) -> Tensor:
        checkpoint()
        if self._should_stop and self._should_stop():
            raise EncodingStoppedError
        return self._encoder.forward_varlen(*varlen_batch(tokens, rows, self._device))
