"""Examples as token ids, made once: no text is tokenised twice, and none again in a later epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..encoders.batching import TokenRows, unique_texts

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..encoders.transformer import TransformerEncoder

_CHUNK = 8_192


@dataclass(frozen=True)
class TrainingRows:
    """What the steps read.

    Attributes:
        tokens: the distinct texts.
        ids: (columns, n) int64, which of them each row's columns are.
        targets: (n,) float32 scores or int64 class ids, or ``None``.
        pad: the token id that fills a batch.
    """

    tokens: TokenRows
    ids: np.ndarray
    targets: Tensor | None
    pad: int

    @classmethod
    def read(cls, examples: Examples, encoder: TransformerEncoder) -> TrainingRows:
        """Tokenise ``examples`` as ``encoder`` reads them."""
        texts, places = unique_texts(list(chain.from_iterable(examples.texts)))

        def chunks() -> Iterator[list[list[int]]]:
            for start in range(0, len(texts), _CHUNK):
                yield encoder.tokenize(texts[start : start + _CHUNK])

        targets = None if examples.targets is None else torch.from_numpy(np.ascontiguousarray(examples.targets))
        return cls(TokenRows.from_lists(chunks()), places.reshape(len(examples.texts), -1), targets, encoder.tokens.pad)

    def __len__(self) -> int:
        return int(self.ids.shape[1])

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row's longest text, int64 (n,)."""
        return np.asarray(self.tokens.lengths[self.ids].max(axis=0))

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """One padded batch of all columns of ``rows``, column after column, each ``views`` times: for a single forward pass."""
        ids, mask = self.tokens.padded(np.repeat(self.ids[:, rows], views, axis=0).ravel(), self.pad)
        inputs = {"input_ids": torch.from_numpy(ids).to(device, non_blocking=True)}
        if mask is not None:
            inputs["attention_mask"] = torch.from_numpy(mask).to(device, non_blocking=True)
        return inputs

    def names(self, rows: np.ndarray, views: int, device: torch.device) -> list[Tensor]:
        """For each column (each view of it) the (b,) ids of its texts."""
        return [torch.from_numpy(self.ids[column, rows]).to(device) for column in range(len(self.ids)) for _ in range(views)]

    def targets_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        """The (b,) targets of ``rows``."""
        return None if self.targets is None else self.targets[torch.from_numpy(rows)].to(device, non_blocking=True)
