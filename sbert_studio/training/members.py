"""The trainings of one run (stages, seeds, folds), and the progress of all of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.splits.splitting import folds
from ..errors import StudioError
from ..models.trainable import Trainable
from .evaluator import hold_out, stratified
from .events import Event, Part, PartEnded, Started, Step
from .samplers import Sampler
from .schedule import Schedule
from .spec import TrainSpec, settled

if TYPE_CHECKING:
    from torch import Tensor

    from ..data.examples import Examples
    from .general_probe import GeneralProbe


Load = Callable[[TrainSpec, "Examples", Path | None], Trainable]
"""A fresh copy of the spec's model for these examples; of the model in a folder instead, where one is given."""


@dataclass(frozen=True)
class Assignment:
    """What others have found out, or will need.

    Attributes:
        untuned: the scores to compare with, where others have judged the untuned model; an alarm before the first step is theirs, too.
        earlier: the spec of the stage that ``encoder`` comes from; what it has put on the model is not put on again.
        weights: the untuned model's, by name, where ``encoder`` already comes from an earlier stage.
        general: the probe of the untuned model; without one nothing tells what the training costs elsewhere.
        judges: this training is there to judge: it notes every evaluation (:class:`~sbert_studio.training.evaluator.Marks`) and leaves
            no model.
        verdict: ``before`` and ``after`` as others have judged them; ``after`` has the ``strength`` that the model is to be left with.
        blends: whether a blend with the untuned weights may be kept; the next stage goes on from what a first one has learned.
        share: of the steps that are taken, 0 to 1.
    """

    untuned: Mapping[str, Any] = field(default_factory=dict)
    earlier: TrainSpec | None = None
    weights: Mapping[str, Tensor] | None = None
    general: GeneralProbe | None = None
    judges: bool = False
    verdict: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    blends: bool = True
    share: float = 1.0


_NAMED_GROUPS = 3


@dataclass(frozen=True)
class Member:
    """One training of several.

    Attributes:
        title: for people, such as "seed 13, fold 2 of 10".
        spec: of this training alone.
        learned, held: its rows; ``held`` is ``None`` where nothing judges it.
    """

    title: str
    spec: TrainSpec
    learned: Examples
    held: Examples | None

    @property
    def name(self) -> str:
        """The title as a folder may be called."""
        return "-".join("".join(letter if letter.isascii() and letter.isalnum() else " " for letter in self.title).split())[:60]


def members(spec: TrainSpec, examples: Examples, dev: Examples | None) -> list[Member]:
    """The trainings of ``spec``: one for each seed, and of each one for each fold.

    Seeds share their held-out rows, so that their scores differ by nothing else; with folds each seed divides the rows anew. With
    groups (``by_group``), each fold is judged on groups that it has not learned from: as many folds as groups leave one out each.

    Raises:
        StudioError: nothing would judge them, or the rows do not give so many folds.
    """
    alone = spec.replace(folds=0, seeds=1)
    if spec.folds:
        if dev is not None:
            raise StudioError("folds are judged by each other, and a held-out file was given as well", "leave out one of the two")
        return [member for place in range(spec.seeds) for member in _folds(alone.replace(seed=spec.seed + place), spec, examples)]
    learned, held, unjudged = hold_out(spec, examples, dev)
    if spec.seeds == 1:
        return [Member("second stage", alone, learned, held)]
    if held is None:
        raise StudioError(f"several seeds are compared by their scores, and there are none: {unjudged}", "give a held-out file")
    return [Member(f"seed {seed}", alone.replace(seed=seed), learned, held) for seed in range(spec.seed, spec.seed + spec.seeds)]


def _folds(alone: TrainSpec, spec: TrainSpec, examples: Examples) -> list[Member]:
    found = []
    divided = folds(examples, spec.folds, alone.seed, groups=spec.by_group, stratify=stratified(spec))
    for number, (learned, held) in enumerate(divided, start=1):
        title = f"fold {number} of {spec.folds}" if spec.seeds == 1 else f"seed {alone.seed}, fold {number} of {spec.folds}"
        groups = sorted(set(held.groups)) if spec.by_group else []
        if 0 < len(groups) <= _NAMED_GROUPS:
            title += f", judged on {', '.join(groups)}"
        found.append(Member(title, alone, learned, held))
    return found


def summary(scores: Sequence[Mapping[str, Any]], kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The scores of one training as they are; of several ``{"metric", "task", "rows", "score": mean, "sd", "each"}``.

    Trainings that nothing judged, such as a fold whose held-out rows all have the same label, take no part.

    ``sd`` is the standard deviation of a sample (n − 1).

    Args:
        kept: the scores of the model that is kept, to stand beside the mean.
    """
    known = [one for one in scores if one]
    if len(known) < 2:
        return dict(known[0]) if known else {}
    each = [float(one["score"]) for one in known]
    found = {"metric": known[0]["metric"], "task": known[0]["task"], "rows": sum(int(one["rows"]) for one in known) // len(known)}
    found |= {"score": statistics.fmean(each), "sd": statistics.stdev(each), "each": each}
    return found | ({"kept": dict(kept)} if kept else {})


def planned_steps(spec: TrainSpec, learned: Examples) -> int:
    """The steps of a training before its batches are made; it may turn out to have some more or fewer."""
    spec = settled(spec, learned)
    sampler = Sampler(np.ones(len(learned), np.int64), spec.batch_size, spec.seed)
    return Schedule.plan(sampler, spec.epochs, spec.evaluations_per_epoch, spec.soup).steps


class WholeRun:
    """Passes on what the trainings of a run tell, with the steps and the time left of all of them.

    What is told of the whole never falls back: where a training turns out longer than was planned, those after it are taken to be
    that much longer too, and the steps in all are told as few enough that the share done stays.

    Args:
        emit: told what happens.
        planned: the steps of each training, in order.
        clock: seconds, rising.
    """

    def __init__(self, emit: Callable[[Event], None], planned: Sequence[int], clock: Callable[[], float] = time.perf_counter) -> None:
        self._emit, self._clock = emit, clock
        self._planned = [float(steps) for steps in planned]
        self._place, self._from, self._started = 0, 0, False
        self._began = clock()
        self._seconds, self._taken = 0.0, 0  # of the trainings that are over, where they were carried out here
        self._share = 0.0

    def __call__(self, event: Event) -> None:
        """Pass on one event."""
        if isinstance(event, Part):
            self._place = event.number - 1
            self._began, self._from, self._started = self._clock(), 0, False
        elif isinstance(event, Started):
            self._planned[self._place] = event.steps
            self._from, self._started = event.step, True
            event = replace(event, run_step=self._done(event.step), run_steps=self._all(self._done(event.step)))
        elif isinstance(event, Step):
            done = self._done(event.step)
            event = replace(event, run_step=done, run_steps=self._all(done), seconds_left=self._left(event))
        elif isinstance(event, PartEnded) and self._started:  # one that had ended before a resume tells nothing of the pace
            self._seconds += self._clock() - self._began
            self._taken += round(self._planned[self._place]) - self._from
        self._emit(event)

    def _done(self, step: int) -> int:
        return round(sum(self._planned[: self._place])) + step

    def _all(self, done: int) -> int:
        steps = round(sum(self._planned))
        if self._share > 0:
            steps = max(done, min(steps, math.floor(done / self._share)))
        self._share = max(self._share, done / steps if steps else 0.0)
        return steps

    def _left(self, event: Step) -> float:
        """Seconds: of this training, and of those after it at the pace of all so far, evaluations and loading counted."""
        whole = self._clock() - self._began + event.seconds_left
        own = event.steps - self._from
        a_step = (self._seconds + whole) / max(1, self._taken + own)
        return event.seconds_left + a_step * sum(self._planned[self._place + 1 :])
