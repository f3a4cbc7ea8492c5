"""Batch samplers (rows of similar length, several rows per class), and the schedule of a run's steps and evaluations."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..losses.base import Loss

if TYPE_CHECKING:
    from ..models.trainable import TrainingRows
    from .spec import TrainSpec


@dataclass(frozen=True)
class ClassBalancedSampler:
    """Batches with several rows of each class (P × K sampling, Hermans et al. 2017, section 2).

    Batches are a function of seed and epoch. In each epoch, every class is split into new groups of ``together`` rows, spread evenly over
    the epoch; small classes give smaller groups, and a single remaining row joins the previous group. Rows are not sorted by length, which
    would group the same rows in every epoch.

    Attributes:
        classes: (n,) class ids.
        batch_size: rows per batch, as far as whole groups fit.
        seed: random seed.
        together: rows per group, at most half a batch so that a batch has two classes.
        smallest: a last batch with fewer rows, or with a single class, is merged into the previous one.
    """

    classes: np.ndarray
    batch_size: int
    seed: int
    together: int = 2
    smallest: int = 1

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Return the batches of an epoch, int64 arrays of rows; each row occurs once."""
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
        return len(self.batches(epoch))

    def _handfuls(self, rng: np.random.Generator) -> list[np.ndarray]:
        if not len(self.classes):
            return []
        order = rng.permutation(len(self.classes))
        order = order[np.argsort(self.classes[order], kind="stable")]
        members = np.split(order, np.flatnonzero(np.diff(self.classes[order])) + 1)
        together = min(self.together, max(2, self.batch_size // 2))
        cut = [_cut_groups(rows, together) for rows in members]
        places = [(part + rng.random()) / len(parts) for parts in cut for part in range(len(parts))]
        handfuls = [part for parts in cut for part in parts]
        return [handfuls[place] for place in np.argsort(places, kind="stable")]


def _cut_groups(rows: np.ndarray, size: int) -> list[np.ndarray]:
    ends = np.arange(size, len(rows), size)
    if len(ends) and len(rows) - ends[-1] == 1:
        ends = ends[:-1]
    return np.split(rows, ends)


# Rows are sorted by length within a window of this many batches: long enough that batches have hardly any padding, short enough that each
# epoch combines different rows.
_WINDOW = 64


@dataclass(frozen=True)
class LengthGroupedSampler:
    """Batches of rows of similar length, in random order (smart batching).

    Attributes:
        lengths: (n,) number of tokens of each row's longest text.
        batch_size: rows per batch.
        seed: random seed; batches are a function of seed and epoch.
        distinct: (columns, n) text ids; no batch contains a text twice. ``None`` if duplicates are allowed.
        smallest: a last batch with fewer rows is merged into the previous one.
    """

    lengths: np.ndarray
    batch_size: int
    seed: int
    distinct: np.ndarray | None = None
    smallest: int = 1

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Return the batches of an epoch, int64 arrays of rows; each row occurs once."""
        rng = np.random.default_rng((self.seed, epoch))
        order = rng.permutation(len(self.lengths))
        # Rows of one length stay shuffled: the sort is stable.
        windows = (self._by_length(order[start : start + self._window]) for start in range(0, len(order), self._window))
        batches = self._cut(windows) if self.distinct is None else self._fill(windows, self.distinct)
        if len(batches) > 1 and len(batches[-1]) < self.smallest:
            batches[-2:] = [np.concatenate(batches[-2:])]
        return [batches[place] for place in rng.permutation(len(batches))]

    def count(self, epoch: int) -> int:
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
        batches: list[list[int]] = []
        after = np.zeros(int(ids.max(initial=-1)) + 1, np.int64).tolist()  # text → the batch after the last one that contains it
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


class BatchSampler(Protocol):
    """Protocol of samplers: batches as a function of seed and epoch."""

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Return the batches of an epoch, int64 arrays of rows; each row occurs once."""

    def count(self, epoch: int) -> int:
        """Return the number of batches of an epoch."""


MIN_CLASS_BATCH = 4
"""Minimum batch size with classes: two texts of each of two categories; smaller batches lack positives or negatives."""


def require_two_classes(batch_size: int) -> None:
    """Reject a batch size too small for two classes.

    Raises:
        StudioError: the batch is too small.
    """
    if batch_size < MIN_CLASS_BATCH:
        raise StudioError(
            _(
                "a batch of {batch_size} texts is too small for two texts from each of two categories",
                batch_size=batch_size,
            ),
            _(
                "choose a batch size of {min_class_batch} or more; a small micro_batch keeps memory low",
                min_class_batch=MIN_CLASS_BATCH,
            ),
        )


def build_sampler(loss_fn: Loss, rows: TrainingRows, spec: TrainSpec, processes: int = 1) -> BatchSampler:
    """Create the sampler of a loss: class-balanced if the loss needs classes in a batch, else length-grouped.

    For in-batch losses, a text occurs at most once per batch. Losses that rank the scores of a batch use rows of all lengths: short and
    long texts come from different sources, and pairs that never share a batch are never ranked.

    Args:
        processes: number of processes that share each batch; none may be empty.

    Raises:
        StudioError: the batches are too small for the loss.
    """
    if loss_fn.classes_in_batch and rows.targets is not None:
        require_two_classes(spec.batch_size)
        return ClassBalancedSampler(rows.targets.numpy(), spec.batch_size, spec.seed, smallest=processes)
    lengths = np.ones_like(rows.lengths) if loss_fn.ranks else rows.lengths
    return LengthGroupedSampler(lengths, spec.batch_size, spec.seed, rows.ids if loss_fn.in_batch else None, processes)


@dataclass(frozen=True)
class Schedule:
    """Steps of a run, numbered from 0.

    Attributes:
        sampler: batches of an epoch.
        starts: first step of each epoch, and the total number of steps.
        evaluations: numbers of steps after which to evaluate, including the last.
        epochs: fractional epochs of all rounds.
        each: fractional epochs of one round.
        ends: number of steps at the end of each round; the learning rate rises and falls once per round.
    """

    sampler: BatchSampler
    starts: tuple[int, ...]
    evaluations: frozenset[int]
    epochs: float
    each: float
    ends: tuple[int, ...]

    @classmethod
    def plan(cls, sampler: BatchSampler, epochs: float, evaluations_per_epoch: int, rounds: int = 1) -> Schedule:
        """Plan ``rounds`` times ``epochs`` passes over the rows.

        Later rounds are evaluated only at their end, because they cannot be better before.
        """
        starts, evaluations, ends = [0], set[int](), list[int]()
        passes = math.ceil(epochs)
        for epoch in range(rounds * passes):
            whole = sampler.count(epoch)
            count = max(1, math.ceil(whole * min(1.0, epochs - epoch % passes) - 1e-9))
            if not ends:
                places = {whole * (part + 1) // evaluations_per_epoch for part in range(evaluations_per_epoch)}
                evaluations |= {starts[-1] + place for place in places if 0 < place <= count}
            starts.append(starts[-1] + count)
            if (epoch + 1) % passes == 0:
                ends.append(starts[-1])
        return cls(sampler, tuple(starts), frozenset(evaluations | {*ends}), epochs * rounds, epochs, tuple(ends))

    def until(self, share: float) -> Schedule:
        """Return the first ``share`` (0 to 1) of the steps with unchanged learning rates; later rounds are kept whole.

        Partial later rounds could not be averaged.
        """
        if share >= 1:
            return self
        steps = max(1, round(share * self.ends[-1]))
        if steps > self.ends[0]:
            steps = min(self.ends, key=lambda end: abs(end - steps))
        starts = (*(start for start in self.starts if start < steps), steps)
        ends = frozenset({step for step in self.evaluations if step < steps} | {steps})
        return Schedule(self.sampler, starts, ends, self.epoch_of(steps), self.each, self.ends)

    @property
    def steps(self) -> int:
        return self.starts[-1]

    def epoch_of(self, step: int) -> float:
        if step >= self.steps:
            return self.epochs
        epoch = int(np.searchsorted(self.starts, step, side="right")) - 1
        over = bisect.bisect_right(self.ends, step)
        # An earlier round may have ended within its last epoch.
        done = over * self.each + epoch - over * math.ceil(self.each)
        return done + (step - self.starts[epoch]) / self.sampler.count(epoch)

    def batches(self, step: int) -> Iterator[np.ndarray]:
        for epoch, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            if end > step:
                yield from self.sampler.batches(epoch)[max(0, step - start) : end - start]
