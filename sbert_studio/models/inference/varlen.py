"""Variable-length batches: attention and pooling of sequences concatenated without padding, and encoding on a GPU."""

from __future__ import annotations

import functools
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ..base import check_stop
from .batching import TokenRows, token_batches, unique_texts

if TYPE_CHECKING:
    from ...progress import Progress, ShouldStop
    from ..modules.pooling import Pooling
    from ..sentence_encoder import SentenceEncoder


log = logging.getLogger(__name__)
_KERNEL_TYPES = (torch.bfloat16, torch.float16)
_PROBE_LENGTHS = (3, 1, 7)  # sequence lengths for comparing the kernel with padded attention
_TOLERANCE = 2e-2  # tolerance for values around 1, rounded to bfloat16


def to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Copy ``array`` to ``device``: asynchronously to a GPU, otherwise synchronously or sharing memory."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


@dataclass(frozen=True)
class HostCopy:
    """An asynchronous copy of a tensor to the host; ``event`` is recorded when it is complete, ``None`` if it was synchronous."""

    values: Tensor
    event: Any

    @classmethod
    def start(cls, values: Tensor) -> HostCopy:
        if values.device.type != "cuda":
            return cls(values.cpu(), None)
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        return cls(host, event)

    def wait(self) -> np.ndarray:
        if self.event is not None:
            self.event.synchronize()
        return np.asarray(self.values.numpy())


@dataclass(frozen=True)
class Sequences:
    """Boundaries of concatenated sequences. All tensors stay on the device: nothing here synchronizes with the host.

    Attributes:
        starts: (n + 1,) int32, the start of each sequence and the end of the last.
        rows: (tokens,) int64, the sequence of each token.
        places: (tokens,) int64, the position of each token in its sequence, from 0.
        longest: length of the longest sequence.
    """

    starts: Tensor
    rows: Tensor
    places: Tensor
    longest: int

    @classmethod
    def from_starts(cls, starts: Tensor, tokens: int, longest: int) -> Sequences:
        """Build from ``starts`` (n + 1,) int32; ``tokens`` is passed so that the host need not wait for the device."""
        rows = torch.repeat_interleave(starts.diff(), output_size=tokens).long()
        return cls(starts, rows, torch.arange(tokens, device=starts.device) - starts.index_select(0, rows), longest)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def begins(self) -> Tensor:
        return self.starts.narrow(0, 0, len(self))

    @property
    def ends(self) -> Tensor:
        return self.starts.narrow(0, 1, len(self))

    @property
    def lengths(self) -> Tensor:
        return self.starts.diff()


def varlen_attention(query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, *, scale: float, dropout: float = 0.0) -> Tensor:
    """Return softmax(q kᵀ · scale) v within each sequence: (tokens, heads, d) each → the same shape.

    On a GPU this uses PyTorch's variable-length kernel (Dao et al. 2022) if the kernel supports dtype and width and agrees with padded
    attention on this device; else :func:`padded_attention`. The kernel has no dropout.
    """
    if query.device.type == "cuda" and query.dtype in _KERNEL_TYPES and not dropout:
        index = query.device.index
        if _is_kernel_correct(torch.cuda.current_device() if index is None else index, query.dtype, query.shape[2]):
            return _kernel_attention(query, key, value, sequences, scale)
    return padded_attention(query, key, value, sequences, scale=scale, dropout=dropout)


def padded_attention(query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, *, scale: float, dropout: float = 0.0) -> Tensor:
    """Compute :func:`varlen_attention` on padded sequences."""
    count, (heads, width) = len(sequences), query.shape[1:]
    flat = sequences.rows * sequences.longest + sequences.places

    def pad(states: Tensor) -> Tensor:
        padded = states.new_zeros(count * sequences.longest, heads, width).index_copy(0, flat, states)
        return padded.view(count, sequences.longest, heads, width).transpose(1, 2)

    mask = torch.arange(sequences.longest, device=flat.device) < sequences.lengths.unsqueeze(1)
    mixed = functional.scaled_dot_product_attention(
        pad(query), pad(key), pad(value), attn_mask=mask.view(count, 1, 1, sequences.longest), dropout_p=dropout, scale=scale
    )
    return mixed.transpose(1, 2).reshape(-1, heads, width).index_select(0, flat)


def _kernel_attention(query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, scale: float) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    starts, longest = sequences.starts, sequences.longest
    mixed = varlen_attn(query, key, value, starts, starts, longest, longest, scale=scale)
    assert isinstance(mixed, Tensor)  # a tuple only if auxiliary outputs are requested
    return mixed


@functools.cache
def _is_kernel_correct(device_index: int, dtype: torch.dtype, width: int) -> bool:
    device = torch.device("cuda", device_index)
    starts = functional.pad(torch.tensor(_PROBE_LENGTHS).cumsum(0), (1, 0)).to(torch.int32)
    sequences = Sequences.from_starts(starts.to(device), sum(_PROBE_LENGTHS), max(_PROBE_LENGTHS))
    generator = torch.Generator().manual_seed(12)
    query, key, value = (torch.randn(sum(_PROBE_LENGTHS), 2, width, generator=generator).to(device, dtype) for _ in range(3))
    with torch.no_grad():
        try:
            expected = padded_attention(query, key, value, sequences, scale=width**-0.5)
            difference = _kernel_attention(query, key, value, sequences, width**-0.5) - expected
            if float(difference.abs().max()) <= _TOLERANCE:
                return True
            log.info("the variable-length attention kernel differs from padded attention on this device, and is not used")
        except (RuntimeError, ImportError, ValueError) as error:
            log.info("the variable-length attention kernel is not available: %s", error)
    return False


_CHUNK = 2_048  # texts tokenized and fetched at once
_CHUNKS_AHEAD = 2  # chunks tokenized ahead
_MAX_ROWS = 16_384  # per batch, because a kernel's grid is limited to 65,535
_MAX_TOKENS = 65_536  # per batch; more do not amortize a launch any better
_MIN_TOKENS = 1_024
_MEMORY_FRACTION = 4  # a batch may use a quarter of the free memory
_STATES_PER_TOKEN = 24  # float32 vectors per token at the memory peak, including padded attention


def pool_sequences(pooling: Pooling, hidden: Tensor, sequences: Sequences) -> Tensor:
    """Pool (tokens, d) to (n, d · modes) float32 without synchronizing with the host; sums are deterministic."""
    hidden = hidden.float()
    real = None if not pooling.skip else sequences.places >= pooling.skip
    parts = [_pool_mode(mode, hidden, sequences, real, pooling.skip) for mode in pooling.modes]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


# Pool the ``real`` tokens (None: all); a text without any gets its first token, or zeros, as in Pooling.
def _pool_mode(mode: str, hidden: Tensor, sequences: Sequences, real: Tensor | None, skip: int) -> Tensor:
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
    """Return the vectors of ``texts``, (n, dim) float32, row i for text i.

    Requires ``encoder.uses_varlen``, and must be called without gradients.
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
    """Return how many tokens of ``width`` components fit into a batch, given the free memory of ``device``."""
    if device.type != "cuda":
        return _MAX_TOKENS
    free, _ = torch.cuda.mem_get_info(device)
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # reserved by PyTorch but reusable
    return max(_MIN_TOKENS, min(_MAX_TOKENS, free // (_MEMORY_FRACTION * _STATES_PER_TOKEN * 4 * width)))


def varlen_batch(tokens: TokenRows, rows: np.ndarray, device: torch.device) -> tuple[Tensor, Sequences]:
    """Send the ids of ``rows``, (tokens,) int32, and their boundaries to ``device`` in one copy."""
    ids, starts = tokens.flattened(rows)
    both = to_device(np.concatenate([starts, ids]), device)
    begins = both.narrow(0, 0, len(starts))
    return both.narrow(0, len(starts), len(ids)), Sequences.from_starts(begins, len(ids), int(np.diff(starts).max()))


def _read_ahead(encoder: SentenceEncoder, texts: list[str]) -> Iterator[tuple[int, TokenRows]]:
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
    def __init__(self, encoder: SentenceEncoder, should_stop: ShouldStop | None) -> None:
        self._encoder, self._device, self._should_stop = encoder, encoder.device, should_stop
        self._budget = max_batch_tokens(self._device, encoder.hidden_size)

    def compute(self, tokens: TokenRows) -> tuple[np.ndarray, HostCopy]:
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
        check_stop(self._should_stop)
        return self._encoder.forward_varlen(*varlen_batch(tokens, rows, self._device))
