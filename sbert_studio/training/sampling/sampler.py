"""Which rows make up each batch: a function of the seed and the epoch alone, so that a resumed run needs no memory of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

# Rows are sorted by length within a window of this many batches: long enough that a batch holds hardly any padding,
# short enough that each epoch mixes anew which rows meet.
_WINDOW = 64


@dataclass(frozen=True)
class Sampler:
    """Batches of rows of similar length, in random order.

    Attributes:
        lengths: (n,) the tokens of each row's longest text.
        batch_size: rows a batch.
        seed: with the epoch, all that decides the batches.
        distinct: (columns, n) ids of texts; no batch then holds a text twice. ``None`` where that does not matter.
        smallest: a last batch of fewer rows is joined to the one before it.
    """

    lengths: np.ndarray
    batch_size: int
    seed: int
    distinct: np.ndarray | None = None
    smallest: int = 1

    def batches(self, epoch: int) -> list[np.ndarray]:
        """The batches of an epoch, each an int64 array of rows; every row is in exactly one of them."""
        rng = np.random.default_rng((self.seed, epoch))
        order = rng.permutation(len(self.lengths))
        # Rows of one length stay shuffled: the sort is stable.
        windows = (self._by_length(order[start : start + self._window]) for start in range(0, len(order), self._window))
        batches = self._cut(windows) if self.distinct is None else self._fill(windows, self.distinct)
        if len(batches) > 1 and len(batches[-1]) < self.smallest:
            batches[-2:] = [np.concatenate(batches[-2:])]
        return [batches[place] for place in rng.permutation(len(batches))]

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""
        if self.distinct is not None:
            return len(self.batches(epoch))
        full, rest = divmod(len(self.lengths), self.batch_size)
        return full + (rest >= self.smallest or (rest > 0 and full == 0))

    @property
    def _window(self) -> int:
        return _WINDOW * self.batch_size

    def _by_length(self, rows: np.ndarray) -> np.ndarray:
        return rows[np.argsort(self.lengths[rows], kind="stable")]

    def _cut(self, windows: Iterable[np.ndarray]) -> list[np.ndarray]:
        return [window[start : start + self.batch_size] for window in windows for start in range(0, len(window), self.batch_size)]

    def _fill(self, windows: Iterable[np.ndarray], ids: np.ndarray) -> list[np.ndarray]:
        """First fit: a row goes into the first batch with room that comes after the last batch that holds one of its texts."""
        batches: list[list[int]] = []
        after = np.zeros(int(ids.max(initial=-1)) + 1, np.int64).tolist()  # text → the batch after the last that holds it
        first = 0
        for window in windows:
            for row, texts in zip(window.tolist(), ids[:, window].T.tolist(), strict=True):
                place = max(first, *(after[text] for text in texts))
                while place < len(batches) and len(batches[place]) == self.batch_size:
                    place += 1
                while place >= len(batches):
                    batches.append([])
                batches[place].append(row)
                for text in texts:
                    after[text] = place + 1
                while first < len(batches) and len(batches[first]) == self.batch_size:
                    first += 1
        return [np.asarray(batch, np.int64) for batch in batches if batch]
