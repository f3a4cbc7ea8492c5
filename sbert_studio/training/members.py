"""Members of a run: one training run for each stage, seed and fold, and the overall progress."""

from __future__ import annotations

import hashlib
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.split import make_folds
from ..errors import StudioError
from ..evaluation.bootstrap import MIN_CLUSTERS
from ..evaluation.evaluate import SCORED_KINDS
from ..evaluation.learning_curve import MIN_ROWS as MIN_CURVE_ROWS
from ..evaluation.learning_curve import nested_parts
from ..i18n import _
from .checkpoints import Checkpoints
from .evaluator import hold_out, rarer_label, stratify_option, uninformative_reason
from .events import Event, Part, PartEnded, Started, Step
from .samplers import LengthGroupedSampler, Schedule
from .spec import TrainSpec, resolve_loss

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.trainable import Trainable

Load = Callable[[TrainSpec, "Examples", Path | None], "Trainable"]
"""Returns a fresh copy of the spec's model for these examples, or of the model in a folder, if one is given."""
PARTS, OUTCOME = "parts", "course.json"
"""Folder of a run's members, and file of their combined outcome."""
MIN_ROWS = 20
"""Minimum number of rows for cross-validation by default."""
_FEW_ROWS = 1_000  # with more rows a single split is informative enough
_FEW_LABELLED_TEXTS = 2_500  # binary outcomes are less informative per row than scores
_MAX_FOLD_SHARE = 0.6  # if most rows are connected by shared texts, one fold would have almost no training rows
_NAMED_GROUPS = 3
_MAX_NAME = 60
_BLENDS = 3  # evaluated after training
_STEP_PASSES = 3.0  # forward and backward pass
PROBED_PAIRS = 126
"""Pairs of the general probe for a model with one language."""
_PROBED_MARKS = 5  # after a cross-validation, the model is probed at each strength


@dataclass(frozen=True)
class Member:
    """One of several training runs that make up a run.

    Attributes:
        title: such as "seed 13, fold 2 of 10".
        spec: its own specification.
        train_rows, held: training and held-out rows; ``held`` is ``None`` without evaluation.
    """

    title: str
    spec: TrainSpec
    train_rows: Examples
    held: Examples | None

    @property
    def name(self) -> str:
        """Name of its folder: the title in ASCII letters and digits."""
        name = "-".join("".join(letter if letter.isascii() and letter.isalnum() else " " for letter in self.title).split())
        # Long titles, with the names of groups, may differ at the end only.
        return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 9]}-{hashlib.sha256(self.title.encode()).hexdigest()[:8]}"


def plan_members(spec: TrainSpec, examples: Examples, dev: Examples | None) -> list[Member]:
    """Return the members of ``spec``: one for each seed and fold.

    Seeds share their held-out rows; with folds, each seed splits the rows differently. With groups (``by_group``), each fold is evaluated
    on unseen groups.

    Raises:
        StudioError: there is no evaluation, or there are not enough rows for this number of folds.
    """
    alone = spec.replace(folds=0, seeds=1)
    if spec.folds:
        if dev is not None:
            raise StudioError("folds and a held-out file cannot be combined", "omit one of the two")
        return [member for place in range(spec.seeds) for member in _folds(alone.replace(seed=spec.seed + place), spec, examples)]
    train_rows, held, unjudged = hold_out(spec, examples, dev)
    if spec.seeds == 1:
        return [Member("second stage", alone, train_rows, held)]
    if held is None:
        raise StudioError(_("several seeds cannot be compared without scores: {unjudged}", unjudged=unjudged), "use a held-out file")
    return [
        Member(_("seed {seed}", seed=seed), alone.replace(seed=seed), train_rows, held) for seed in range(spec.seed, spec.seed + spec.seeds)
    ]


def _folds(alone: TrainSpec, spec: TrainSpec, examples: Examples) -> list[Member]:
    found = []
    divided = make_folds(examples, spec.folds, alone.seed, groups=spec.by_group, stratify=stratify_option(spec))
    for number, (train_rows, held) in enumerate(divided, start=1):
        title = (
            _("fold {number} of {folds}", number=number, folds=spec.folds)
            if spec.seeds == 1
            else _("seed {seed}, fold {number} of {folds}", seed=alone.seed, number=number, folds=spec.folds)
        )
        groups = sorted(set(held.groups)) if spec.by_group else []
        if 0 < len(groups) <= _NAMED_GROUPS:
            title += _(", evaluated on {groups}", groups=", ".join(groups))
        found.append(Member(title, alone, train_rows, held))
    return found


def plan_folds(spec: TrainSpec, examples: Examples, dev: Examples | None, folder: Path | None = None) -> list[Member]:
    """Return the folds of a cross-validated run; empty if a single split is used.

    Args:
        folder: run folder; a run started by an earlier version keeps its plan.

    Raises:
        StudioError: folds were requested but are impossible.
    """
    asked = spec.evaluation == "folds"
    if dev is not None or spec.folds or spec.seeds > 1 or spec.first or spec.evaluation == "split" or not spec.dev_fraction:
        if asked:
            raise StudioError(
                "evaluation=folds cannot be combined with a held-out file, a first stage, several seeds, folds or a held-out share of 0",
                "omit one of the two",
            )
        return []
    few = _FEW_LABELLED_TEXTS if examples.kind == "labelled_texts" else _FEW_ROWS
    if not asked and (not MIN_ROWS <= len(examples) < few or (folder is not None and _started_with_split(folder))):
        return []
    try:
        if examples.kind not in SCORED_KINDS:
            raise StudioError(hold_out(spec, examples, None)[2], "omit evaluation=folds")
        found = _separable_folds(spec, examples)
    except StudioError:
        if asked:
            raise
        return []
    fits = all(member.held is not None and 1 < len(member.held) <= _MAX_FOLD_SHARE * len(examples) for member in found)
    return found if fits or asked else []


def plan_curve(folds: Sequence[Member]) -> list[Member]:
    """Return the first fold with a quarter and half of its training rows, for the learning curve; empty if they are too few."""
    if not folds or len(folds[0].train_rows) < MIN_CURVE_ROWS:
        return []
    fold = folds[0]
    parts = nested_parts(fold.train_rows, seed=fold.spec.seed)
    return [replace(fold, title=_("{fold}, {rows} training rows", fold=fold.title, rows=len(rows)), train_rows=rows) for rows in parts]


def _separable_folds(spec: TrainSpec, examples: Examples) -> list[Member]:
    usual, refused, found = usual_fold_count(spec, len(examples)), None, list[Member]()
    for least in (2, 1):
        for number in range(usual, 1, -1):
            try:
                found = plan_members(spec.replace(folds=number, evaluation="auto"), examples, None)
            except StudioError as error:  # there are fewer groups of rows without shared texts
                refused = error
                continue
            held = [member.held for member in found if member.held is not None]
            rarer = [rarer_label(one) for one in held]
            if not any(map(uninformative_reason, held)) and all(one is None or one[1] >= least for one in rarer):
                return found
    if refused is not None and not found:
        raise refused
    raise StudioError(
        "one label is so rare that no two folds can contain rows of both labels", "add rows with that label, or choose evaluation=split"
    )


def _started_with_split(folder: Path) -> bool:
    mine = (folder / PARTS).is_dir() or (folder / OUTCOME).is_file()
    return not mine and Checkpoints(folder).newest() is not None


def usual_fold_count(spec: TrainSpec, rows: int) -> int:
    """Return the number of folds unless a label is too rare for it: the default, at most the maximum of ``spec``."""
    return min(default_fold_count(rows), spec.max_folds or rows)


def default_fold_count(rows: int) -> int:
    """Return the default number of folds: more for fewer rows, but with enough rows in each to be informative."""
    most = 5 if rows <= 150 else 4 if rows <= 350 else 3
    return most if rows < 2 * MIN_CLUSTERS else min(most, rows // MIN_CLUSTERS)


def summarize_scores(scores: Sequence[Mapping[str, Any]], best: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the scores of a single member, or ``{"metric", "task", "rows", "score": mean, "sd", "each"}`` of several.

    Members without evaluation are ignored. ``sd`` is the sample standard deviation (n − 1).

    Args:
        best: scores of the kept model, added to the mean.
    """
    known = [one for one in scores if one]
    if len(known) < 2:
        return dict(known[0]) if known else {}
    each = [float(one["score"]) for one in known]
    found = {"metric": known[0]["metric"], "task": known[0]["task"], "rows": sum(int(one["rows"]) for one in known) // len(known)}
    found |= {"score": statistics.fmean(each), "sd": statistics.stdev(each), "each": each}
    return found | ({"kept": dict(best)} if best else {})


def count_passes(spec: TrainSpec, examples: Examples, folds: Sequence[Member]) -> float:
    """Return how often a run passes over all texts, in passes of encoding them; a training step takes as long as three of these.

    Args:
        folds: those of the cross-validation; empty for a run on one split.
    """
    epochs = spec.epochs * spec.soup
    evaluations = epochs * spec.evaluations_per_epoch + _BLENDS + 1
    is_labelled = examples.kind == "labelled_texts"  # compared with the training rows, which are encoded too
    probed = 2 * PROBED_PAIRS * (evaluations + _PROBED_MARKS * bool(folds)) / max(1, sum(map(len, examples.texts)))
    if not folds:
        return _STEP_PASSES * epochs + evaluations * (1 if is_labelled else spec.dev_fraction) + probed
    members = [*folds, *plan_curve(folds)]
    rows = [(len(one.train_rows), len(one.held or ())) for one in members]
    trained = sum(train for train, _held in rows) + len(examples)
    evaluated = sum(held + train * is_labelled for train, held in rows)
    return (_STEP_PASSES * epochs * trained + evaluations * evaluated) / max(1, len(examples)) + probed


def planned_steps(spec: TrainSpec, train_rows: Examples) -> int:
    """Estimate the number of steps before the batches are created."""
    spec = resolve_loss(spec, train_rows)
    sampler = LengthGroupedSampler(np.ones(len(train_rows), np.int64), spec.batch_size, spec.seed)
    return Schedule.plan(sampler, spec.epochs, spec.evaluations_per_epoch, spec.soup).steps


class OverallProgress:
    """Forwards the events of all members of a run with total steps and remaining time.

    The reported progress never decreases: if a member takes more steps than planned, later ones are assumed to do so too.

    Args:
        emit: receives the events.
        planned: planned steps of each member.
        clock: monotonic seconds.
    """

    def __init__(self, emit: Callable[[Event], None], planned: Sequence[int], clock: Callable[[], float] = time.perf_counter) -> None:
        self._emit, self._clock = emit, clock
        self._planned = [float(steps) for steps in planned]
        self._place, self._from, self._started = 0, 0, False
        self._began = clock()
        self._seconds, self._taken = 0.0, 0  # time and steps of finished members, if they ran in this process
        self._share = 0.0

    def __call__(self, event: Event) -> None:
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
        elif isinstance(event, PartEnded) and self._started:  # a member that ended before a resume says nothing about the speed
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
        whole = self._clock() - self._began + event.seconds_left
        own = event.steps - self._from
        a_step = (self._seconds + whole) / max(1, self._taken + own)
        return event.seconds_left + a_step * sum(self._planned[self._place + 1 :])
