"""Which texts share a batch: no text twice, neighbours in length together, a bounded number of tokens each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np


@dataclass(frozen=True)
class TokenRows:
    """The token ids of many texts in one flat array: 4 bytes a token, where lists of Python integers need 36.

    Attributes:
        flat: all ids, int32, one text after another.
        starts: where each text's ids begin, int64, and the end of the last: n + 1 numbers.
    """

    flat: np.ndarray
    starts: np.ndarray

    @classmethod
    def from_lists(cls, chunks: Iterable[Sequence[Sequence[int]]]) -> TokenRows:
        """Join chunks of id lists; each chunk may be freed before the next is made."""
        flats, lengths = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for chunk in chunks:
            sizes = np.fromiter((len(row) for row in chunk), np.int64, len(chunk))
            lengths.append(sizes)
            flats.append(np.fromiter(chain.from_iterable(chunk), np.int32, int(sizes.sum())))
        return cls(np.concatenate(flats), np.cumsum(np.concatenate(lengths)))

    @classmethod
    def joined(cls, parts: Sequence[TokenRows]) -> TokenRows:
        """The rows of several, one after another."""
        lengths = [np.zeros(1, np.int64), *(part.lengths for part in parts)]
        return cls(np.concatenate([np.empty(0, np.int32), *(part.flat for part in parts)]), np.cumsum(np.concatenate(lengths)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, int64 (n,)."""
        return np.diff(self.starts)

    def padded(self, rows: np.ndarray, pad: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Ids (b, longest) int64, filled with ``pad`` on the right, and the mask int64, or None where all are equally long."""
        begins = self.starts[rows]
        sizes = self.starts[rows + 1] - begins
        places = begins[:, None] + np.arange(int(sizes.max(initial=0)))
        if sizes.min(initial=0 if not len(sizes) else sizes[0]) == sizes.max(initial=0):
            return self.flat[places].astype(np.int64), None
        real = places < (begins + sizes)[:, None]
        ids = np.where(real, self.flat[np.minimum(places, len(self.flat) - 1)], pad)
        return ids.astype(np.int64), real.astype(np.int64)

    def unpadded(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids of ``rows`` one text behind the other, int32, and where each begins, int32, with the end of the last: b + 1 numbers."""
        begins = self.starts[rows]
        sizes = self.starts[rows + 1] - begins
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        places = np.arange(int(starts[-1])) + np.repeat(begins - starts[:-1], sizes)
        return self.flat[places], starts.astype(np.int32)


def unique_texts(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The distinct texts in the order of first sight, and for each text its number among them, int64 (n,)."""
    numbers: dict[str, int] = {}
    inverse = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64, len(texts))
    return list(numbers), inverse


def token_batches(lengths: np.ndarray, budget: int, max_rows: int) -> list[np.ndarray]:
    """Rows in batches of similar length, the longest first.

    A batch's rows × its longest row never exceed ``budget`` tokens (a row longer than the budget stands alone), nor its
    rows ``max_rows``. Longest first: a batch that does not fit in memory fails at once rather than at the end.
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        size = max(1, min(max_rows, budget // longest))
        batches.append(order[start : start + size])
        start += size
    return batches
