"""Two costs that a CPU need not pay at each step: dropout's slow random numbers, and a gradient of the whole vocabulary.

Neither changes what is computed: dropout drops with the same probability, and the optimiser sees the same gradient.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ...encoders.quantized import QuantizedEmbedding
from .linear import quicken_linear

_STEPS = 1 << 16


class QuickDropout(nn.Dropout):
    """Dropout whose mask, on a CPU, comes from 16 random bits an element instead of a slow Bernoulli draw (about 14 ns each).

    The bits follow from one number of torch's generator, so that setting torch's random state sets the mask.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``input`` with a part ``p`` of its elements at 0 and the others divided by 1 − p."""
        if not self.training or self.p == 0 or input.device.type != "cpu":
            return super().forward(input)
        seed = int(torch.randint(2**62, ()))
        words = -(-input.numel() // 4)
        bits = np.random.SFC64(seed).random_raw(words).view(np.uint16)[: input.numel()]
        keep = torch.from_numpy(bits >= round(self.p * _STEPS)).view(input.shape).to(input.dtype)
        return input * keep.mul_(1 / (1 - self.p))


def quicken(backbone: nn.Module) -> None:
    """Make dropout and linear layers of ``backbone`` quick, and let its embeddings tell only of the rows that a batch has touched."""
    quicken_linear(backbone)
    for module in list(backbone.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                module.add_module(name, QuickDropout(child.p).train(child.training))
        if isinstance(module, nn.Embedding | QuantizedEmbedding):
            module.sparse = True


class RowGradient:
    """The gradient of an embedding in a buffer that stays: only the rows of a batch are written, and wiped afterwards.

    A dense gradient of 30,522 words would be allocated, filled with zeros and summed up anew at each step.
    """

    def __init__(self, parameter: nn.Parameter) -> None:
        self._buffer = torch.zeros_like(parameter)
        self._rows = torch.empty(0, dtype=torch.int64)

    def fill(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The sparse ``gradient`` as a dense one, and its values alone."""
        whole = gradient.coalesce()
        self._rows = whole.indices()[0]
        self._buffer.index_copy_(0, self._rows, whole.values())
        return self._buffer, whole.values()

    def wipe(self) -> None:
        """Zeros again."""
        self._buffer.index_fill_(0, self._rows, 0.0)
