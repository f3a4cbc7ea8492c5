"""Data-parallel training by ``accelerate launch`` or ``torchrun``; usually a single process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..settings import is_launched_alone


class Processes:
    """This process and its peers.

    Each process holds the whole model and takes its share of each batch; gradients are averaged before each step, so that weights stay
    equal.

    Args:
        device: device of the encoder; with peers, accelerate's choice for this process takes precedence.
    """

    def __init__(self, device: torch.device) -> None:
        from accelerate import Accelerator

        try:
            # On a CPU, torchrun's processes are only seen as companions when told so.
            self._accelerator: Any = Accelerator(cpu=device.type == "cpu")
        except ValueError:  # accelerate's state is the process's: an earlier run here was on another device
            self._accelerator = Accelerator()
        self.count = int(self._accelerator.num_processes)
        self.rank = int(self._accelerator.process_index)
        self.main = bool(self._accelerator.is_main_process)
        self.device = device if self.count == 1 or device.type == "cpu" else torch.device(self._accelerator.device)

    @property
    def note(self) -> str:
        """Return a message on the participating processes, or an empty string."""
        if self.count > 1:
            return f"{self.count} processes train together, each on its share of every batch"
        if is_launched_alone():
            return "accelerate started one process only, as it does on a CPU; give it --multi_gpu, there too, or use torchrun"
        return ""

    def wait(self) -> None:
        """Wait for all processes."""
        self._accelerator.wait_for_everyone()

    def average(self, gradients: Sequence[Tensor]) -> None:
        """Replace each gradient by its mean over the processes in one collective call."""
        if self.count == 1 or not gradients:
            return
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        mean = self._accelerator.reduce(flat, reduction="mean")
        start = 0
        for gradient in gradients:
            gradient.copy_(mean[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean of a scalar over the processes."""
        return value if self.count == 1 else self._accelerator.reduce(value.reshape(1), reduction="mean")[0]

    def any(self, flag: bool) -> bool:
        """Return True on all processes if any passes True."""
        if self.count == 1:
            return flag
        return bool(self._accelerator.reduce(torch.tensor([float(flag)], device=self.device), reduction="sum")[0] > 0)
