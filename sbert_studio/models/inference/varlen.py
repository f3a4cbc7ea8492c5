"""Variable-length batches: sequences concatenated without padding."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

log = logging.getLogger(__name__)
_KERNEL_TYPES = (torch.bfloat16, torch.float16)
_PROBE_LENGTHS = (3, 1, 7)  # tokens of the sequences on which the kernel is compared with padded attention
_TOLERANCE = 2e-2  # of values around 1, rounded to bfloat16


def to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Copy ``array`` to ``device``: asynchronously to a GPU, elsewhere at once or sharing memory."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


@dataclass(frozen=True)
class HostCopy:
    """An asynchronous copy of a tensor to the host.

    Attributes:
        values: destination.
        event: recorded when the copy is complete; ``None`` if it was synchronous.
    """

    values: Tensor
    event: Any

    @classmethod
    def start(cls, values: Tensor) -> HostCopy:
        """Start to copy ``values``, which a GPU may still have to compute."""
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
        """Build from ``starts`` (n + 1,) int32; the number of ``tokens`` is passed so that the host need not wait for the device."""
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

    On a GPU this uses PyTorch's variable-length kernel (Dao et al. 2022) if it supports dtype and width and agrees with padded attention
    on this device; else :func:`padded_attention`. The kernel has no dropout.
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
