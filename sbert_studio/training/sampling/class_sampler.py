"""Batches that hold several texts of several classes: what is learned from a category needs its siblings beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
