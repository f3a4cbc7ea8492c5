"""Numbers on their way between the host and a GPU: from memory that stays in its place, and without waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


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
