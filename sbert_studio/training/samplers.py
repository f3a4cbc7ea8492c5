"""Batch samplers: random, grouped by length, and balanced by class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import StudioError
from ..losses.base import Objective

if TYPE_CHECKING:
    from ..models.training_rows import TrainingRows
    from .spec import TrainSpec


@dataclass(frozen=True)
class ClassSampler:
    """Batches of handfuls, each of some rows of one class (P × K sampling, Hermans et al. 2017, section 2).

    Which rows meet is a function of the seed and the epoch alone. Each epoch cuts every class anew into handfuls of ``together`` rows;
    a small class gives a smaller one, and a single row left over joins the handful before it. The handfuls of a class are spread
    evenly over the epoch. Length decides nothing: sorted by it, the same rows of a class would meet in every epoch.

    Attributes:
        classes: (n,) class ids.
        batch_size: rows a batch, as far as whole handfuls fit.
        seed: with the epoch, all that decides the batches.
        together: rows of a handful; at most half a batch, so that a batch has two classes. Two leave room for the most classes; they
            were chosen together with the learning rate and the epochs that the advisor gives such texts, not by themselves.
        smallest: a last batch of fewer rows is joined to the one before it, and so is one of a single class, which teaches nothing.
    """

    classes: np.ndarray
    batch_size: int
    seed: int
    together: int = 2
    smallest: int = 1

    def batches(self, epoch: int) -> list[np.ndarray]:
        """The batches of an epoch, each an int64 array of rows; every row is in exactly one of them."""
        rng = np.random.default_rng((self.seed, epoch))
        batches: list[list[np.ndarray]] = []
        room = 0
        for handful in self._handfuls(rng):
            if len(handful) > room or not batches:
                batches.append([])
                room = self.batch_size
            batches[-1].append(handful)
            room -= len(handful)
        made = [np.concatenate(batch) for batch in batches]
        if len(made) > 1 and (len(made[-1]) < self.smallest or len(np.unique(self.classes[made[-1]])) < 2):
            made[-2:] = [np.concatenate(made[-2:])]
        return [made[place] for place in rng.permutation(len(made))]

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return len(self.batches(epoch))

    def _handfuls(self, rng: np.random.Generator) -> list[np.ndarray]:
        if not len(self.classes):
            return []
        order = rng.permutation(len(self.classes))
        order = order[np.argsort(self.classes[order], kind="stable")]
        members = np.split(order, np.flatnonzero(np.diff(self.classes[order])) + 1)
        together = min(self.together, max(2, self.batch_size // 2))
        cut = [_cut(rows, together) for rows in members]
        places = [(part + rng.random()) / len(parts) for parts in cut for part in range(len(parts))]
        handfuls = [part for parts in cut for part in parts]
        return [handfuls[place] for place in np.argsort(places, kind="stable")]


def _cut(rows: np.ndarray, together: int) -> list[np.ndarray]:
    """Rows in handfuls of ``together``, the last one smaller, or one row larger where a single row is left."""
    ends = np.arange(together, len(rows), together)
    if len(ends) and len(rows) - ends[-1] == 1:
        ends = ends[:-1]
    return np.split(rows, ends)


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
