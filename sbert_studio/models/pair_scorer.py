"""What gives a pair of texts a score without giving each a vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError

if TYPE_CHECKING:
    from ..progress import Progress, ShouldStop
    from .base import Encoder


class PairScorer(ABC):
    """Pair → score, or a logit for each class.

    Attributes:
        labels: how many scores a pair gets; a single one grows with how alike the two are.
    """

    labels: int

    @property
    @abstractmethod
    def class_names(self) -> tuple[str, ...]:
        """The name of each class, a class' place being its id; none where there is a single score."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """16 hex digits that change with the weights and the configuration."""

    @abstractmethod
    def predict(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None, should_stop: ShouldStop | None = None
    ) -> np.ndarray:
        """Scores of ``pairs`` in their order: (n,) float32 for one label, else logits (n, labels).

        Args:
            progress: told how many pairs are done; by one that has :attr:`candidates`, how many texts.

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
        """

    @property
    def candidates(self) -> Encoder | None:
        """What gives a pair's second text a vector that serves every query, to be made once and kept; ``None``: pairs are read whole."""
        return None

    def against(self, queries: Sequence[str], candidates: np.ndarray) -> np.ndarray:
        """Scores (q, c) float32 of every query with every candidate, these as the vectors (c, d) that :attr:`candidates` gives.

        Raises:
            StudioError: the model reads pairs whole.
        """
        raise StudioError("this model reads every pair whole, and keeps no vectors", "give it pairs")
