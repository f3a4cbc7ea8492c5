"""Several trainings from the same weights, and the mean of the weights that they end with: better than each, and no slower to use.

Source: Wortsman et al. 2022, "Model soups", arXiv:2203.05482, the uniform soup of section 2. Of LoRA adapters the two matrices are averaged
each by itself, so that the rank stays: the mean of their products would need that of all together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

_SUM, _START, _OF_ENCODER = "sum/", "start/", "encoder."


class Soup:
    """The rounds of a training. Of a single round nothing is kept.

    Args:
        learning: the parameters that learn, by name, with the weights that each round begins with.
        ends: after how many steps each round ends.
    """

    def __init__(self, learning: Mapping[str, nn.Parameter], ends: Sequence[int]) -> None:
        self._learning, self._ends = learning, list(ends) if len(ends) > 1 else []
        self._start = {name: item.detach().clone() for name, item in learning.items()} if self._ends else {}
        self._sum: dict[str, Tensor] = {}

    def begins(self, step: int) -> bool:
        """Whether a later round begins with ``step``; if so the parameters are put back."""
        if step not in self._ends:
            return False
        self._put(self._start)
        return True

    def ended(self, steps: int) -> None:
        """After ``steps`` steps: where a round has ended, put the mean of all that have into the parameters."""
        if steps not in self._ends:
            return
        for name, item in self._learning.items():
            self._sum[name] = item.detach() + self._sum[name] if name in self._sum else item.detach().clone()
        over = self._ends.index(steps) + 1
        self._put({name: total / over for name, total in self._sum.items()})

    def is_mean(self, steps: int) -> bool:
        """Whether the parameters are a mean of several rounds after ``steps`` steps."""
        return steps in self._ends[1:]

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint needs: the sum so far, and how heads began; the encoder's beginning is known anyhow."""
        heads = {name: value for name, value in self._start.items() if not name.startswith(_OF_ENCODER)}
        return {_SUM + name: value for name, value in self._sum.items()} | {_START + name: value for name, value in heads.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Take up what ``tensors`` gave; what is not of a soup is given back."""
        rest = {}
        for path, value in tensors.items():
            for prefix, own in ((_SUM, self._sum), (_START, self._start)):
                if path.startswith(prefix):
                    name = path.removeprefix(prefix)
                    own[name] = value.to(self._learning[name].device)
                    break
            else:
                rest[path] = value
        return rest

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, item in self._learning.items():
                item.copy_(weights[name])
