"""What gives a pair of texts a score without giving each a vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...data.progress import Progress, ShouldStop


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

    @abstractmethod
    def predict(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None, should_stop: ShouldStop | None = None
    ) -> np.ndarray:
        """Scores of ``pairs`` in their order: (n,) float32 for one label, else logits (n, labels).

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
        """
