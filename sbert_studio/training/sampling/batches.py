"""Which way of making batches an objective asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...errors import StudioError
from ...objectives.base import Objective
from .class_sampler import ClassSampler
from .sampler import Sampler

if TYPE_CHECKING:
    from ...encoders.rows import TrainingRows
    from ..spec import TrainSpec


class Batches(Protocol):
    """What makes up each batch, as a function of the seed and the epoch alone."""

    def batches(self, epoch: int) -> list[np.ndarray]:
        """The batches of an epoch, each an int64 array of rows; every row is in exactly one of them."""

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""


SMALLEST_OF_CLASSES = 4
"""Two texts of each of two categories: in a smaller batch nothing is beside a text that it could be told from."""


def require_two_classes(batch_size: int) -> None:
    """Refuse a batch too small for two categories.

    Raises:
        StudioError: it is.
    """
    if batch_size < SMALLEST_OF_CLASSES:
        raise StudioError(
            f"a batch of {batch_size} texts has no room for two texts of each of two categories, and would teach nothing",
            f"choose a batch size of {SMALLEST_OF_CLASSES} or more; a small micro_batch keeps the memory low",
        )


def batches_for(objective: Objective, rows: TrainingRows, spec: TrainSpec, processes: int = 1) -> Batches:
    """Several texts of several classes where the objective compares siblings, else rows of like length, each text once where it
    compares each row with the others.

    Where it ranks the scores of a batch's rows, they are drawn from rows of all lengths: short texts and long ones come from different
    sources, and pairs that never meet are never ranked.

    Args:
        processes: how many share each batch; none may go empty.

    Raises:
        StudioError: the batches are too small for the objective.
    """
    if objective.classes_in_batch and rows.targets is not None:
        require_two_classes(spec.batch_size)
        return ClassSampler(rows.targets.numpy(), spec.batch_size, spec.seed, smallest=processes)
    lengths = np.ones_like(rows.lengths) if objective.ranks else rows.lengths
    return Sampler(lengths, spec.batch_size, spec.seed, rows.ids if objective.in_batch else None, processes)
