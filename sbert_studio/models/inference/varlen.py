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


def sent(array: np.ndarray, device: torch.device) -> Tensor:
    """``array`` on ``device``. The host goes on while a GPU fetches it; elsewhere it is shared or copied at once."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


@dataclass(frozen=True)
class Fetched:
    """A tensor on its way to the host.

    Attributes:
        values: where it arrives.
        ready: says that it has; None: it is there.
    """

    values: Tensor
    ready: Any

    @classmethod
    def of(cls, values: Tensor) -> Fetched:
        """Begin to fetch ``values``, which a GPU may still have to compute."""
        if values.device.type != "cuda":
            return cls(values.cpu(), None)
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
        ready.record()
        return cls(host, ready)

    def array(self) -> np.ndarray:
        """The numbers, once they are there."""
        if self.ready is not None:
            self.ready.synchronize()
        return np.asarray(self.values.numpy())


log = logging.getLogger(__name__)
_KERNEL_TYPES = (torch.bfloat16, torch.float16)  # which the kernel for sequences of any length multiplies
_TRIED = (3, 1, 7)  # tokens of the texts by which the kernel is held against plain attention
_TOLERANCE = 2e-2  # of numbers about 1, rounded to bfloat16
_PARTS = ("query", "key", "value")


@dataclass(frozen=True)
class Sequences:
    """Where the texts of a row of tokens stand. Nothing here is ever read by the host.

    Attributes:
        starts: (n + 1,) int32: where each text begins, and the end of the last.
        rows: (tokens,) int64: which text each token is of.
        places: (tokens,) int64: which token of its text each is, from 0.
        longest: tokens of the longest text.
    """

    starts: Tensor
    rows: Tensor
    places: Tensor
    longest: int

    @classmethod
    def of(cls, starts: Tensor, tokens: int, longest: int) -> Sequences:
        """From ``starts`` (n + 1,) int32; the host says how many ``tokens`` there are, so that it need not wait for the device."""
        rows = torch.repeat_interleave(starts.diff(), output_size=tokens).long()
        return cls(starts, rows, torch.arange(tokens, device=starts.device) - starts.index_select(0, rows), longest)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self.starts) - 1

    @property
    def begins(self) -> Tensor:
        """Where each text begins, (n,) int32."""
        return self.starts.narrow(0, 0, len(self))

    @property
    def ends(self) -> Tensor:
        """Behind the last token of each text, (n,) int32."""
        return self.starts.narrow(0, 1, len(self))

    @property
    def lengths(self) -> Tensor:
        """Tokens of each text, (n,) int32."""
        return self.starts.diff()


def attend(query: Tensor, key: Tensor, value: Tensor, of: Sequences, *, scale: float, dropout: float = 0.0) -> Tensor:
    """softmax(q kᵀ · scale) v within each text: (tokens, heads, d) each → the same.

    On a GPU by PyTorch's kernel for sequences of any length (Dao et al. 2022), where it has one for this type and this width and it says
    here what plain attention says; else by :func:`spread_out`. The kernel drops nothing out.
    """
    if query.device.type == "cuda" and query.dtype in _KERNEL_TYPES and not dropout:
        found = query.device.index
        if _kernel_holds(torch.cuda.current_device() if found is None else found, query.dtype, query.shape[2]):
            return _by_kernel(query, key, value, of, scale)
    return spread_out(query, key, value, of, scale=scale, dropout=dropout)


def spread_out(query: Tensor, key: Tensor, value: Tensor, of: Sequences, *, scale: float, dropout: float = 0.0) -> Tensor:
    """The same with the texts in rows of their own for as long as it takes, by the attention that is everywhere."""
    count, (heads, width) = len(of), query.shape[1:]
    flat = of.rows * of.longest + of.places

    def apart(states: Tensor) -> Tensor:
        spread = states.new_zeros(count * of.longest, heads, width).index_copy(0, flat, states)
        return spread.view(count, of.longest, heads, width).transpose(1, 2)

    real = torch.arange(of.longest, device=flat.device) < of.lengths.unsqueeze(1)
    mixed = functional.scaled_dot_product_attention(
        apart(query), apart(key), apart(value), attn_mask=real.view(count, 1, 1, of.longest), dropout_p=dropout, scale=scale
    )
    return mixed.transpose(1, 2).reshape(-1, heads, width).index_select(0, flat)


def _by_kernel(query: Tensor, key: Tensor, value: Tensor, of: Sequences, scale: float) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    found = varlen_attn(query, key, value, of.starts, of.starts, of.longest, of.longest, scale=scale)
    assert isinstance(found, Tensor)  # it gives more where more is asked for
    return found


@functools.cache
def _kernel_holds(device: int, dtype: torch.dtype, width: int) -> bool:
    """Whether the kernel says on this device what plain attention says of three short texts; looked at once."""
    on = torch.device("cuda", device)
    lengths = torch.tensor(_TRIED)
    starts = functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    of = Sequences.of(starts.to(on), sum(_TRIED), max(_TRIED))
    generator = torch.Generator().manual_seed(12)
    query, key, value = (torch.randn(sum(_TRIED), 2, width, generator=generator).to(on, dtype) for _ in _PARTS)
    with torch.no_grad():
        try:
            apart = _by_kernel(query, key, value, of, width**-0.5) - spread_out(query, key, value, of, scale=width**-0.5)
            if float(apart.abs().max()) <= _TOLERANCE:
                return True
            log.info("attention over sequences of any length says otherwise than plain attention here")
        except (RuntimeError, ImportError, ValueError) as error:
            log.info("attention over sequences of any length is not to be had here: %s", error)
    return False
