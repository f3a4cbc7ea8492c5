"""The next batch is put together in a thread of its own while this one computes."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from ...encoders.rows import TrainingRows


class Ahead:
    """The inputs of batches, one of which may be prepared before it is asked for; what is given is the same either way.

    Args:
        rows: what the batches are made from.
        views: how often each column is encoded.
        device: where the inputs go.
    """

    def __init__(self, rows: TrainingRows, views: int, device: torch.device) -> None:
        self._rows, self._views, self._device = rows, views, device
        self._worker: ThreadPoolExecutor | None = None
        self._expected: tuple[np.ndarray, Future[dict[str, Tensor]]] | None = None

    def expect(self, rows: np.ndarray) -> None:
        """Begin to prepare ``rows``, which are asked for next."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "next-batch")
        self._expected = rows, self._worker.submit(self._rows.inputs, rows, self._views, self._device)

    def inputs(self, rows: np.ndarray) -> dict[str, Tensor]:
        """The inputs of ``rows``, expected or not."""
        if self._expected is not None and np.array_equal(self._expected[0], rows):
            (_, prepared), self._expected = self._expected, None
            return prepared.result()
        return self._rows.inputs(rows, self._views, self._device)

    def close(self) -> None:
        """Prepare nothing more."""
        if self._worker is not None:
            self._worker.shutdown(wait=True, cancel_futures=True)
        self._worker = self._expected = None
