"""The training loop: steps, evaluations, checkpoints and stopping."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ..caches import trim_heap
from ..data.findings import Question
from ..errors import StudioError
from ..i18n import _
from ..models.inference.varlen import HostCopy
from ..models.quantized import trained_ids
from ..progress import StoppedError, uninterruptible
from .alarms import OPPOSITE, check_below_chance, check_forgetting, is_accepted
from .blend import ModelSoup
from .checkpoints import Checkpoints, TrainingState, TrainingTensors, read_state, read_tensors
from .evaluator import Candidates
from .events import Evaluated, Notice, Phase, Saved, Step, Throughput
from .samplers import Schedule
from .steps import GradientSteps, TrainingParts

_MAX_BAD_STEPS = 5
_SECONDS_BETWEEN = 90.0
_MIN_INTERVAL_RATIO = 30  # minimum ratio of the time between two checkpoints to the time for writing one
_QUICK_SECONDS = 2.0  # an evaluation that may still be made once the run is to stop
_SEEDS_DIFFER = 0.003  # typical difference between the held-out scores of two seeds
_CHOICE_UNKNOWN = (
    "an earlier version started this run and did not store the resampled scores of its evaluations: the interval of "
    "the gain does not account for the selection of the checkpoint on the same rows"
)


@dataclass(frozen=True)
class _QueuedStep:
    step: int
    rows: int
    values: HostCopy


class TrainingLoop:
    """Runs the remaining training steps.

    Args:
        parts: components of the training run.
        schedule: batches of each step.
        precision: precision of the forward pass.
        state: initial state, or that of the checkpoint.
        untuned: scores of the base model if known; otherwise they are measured first.
        marks_to_come: number of blends evaluated after the last step, for the time estimate.

    Attributes:
        state: current state.
        question: question of an alarm that stopped the run.
        candidates: all evaluations; the best one is the model.
    """

    def __init__(
        self,
        parts: TrainingParts,
        schedule: Schedule,
        precision: str,
        state: TrainingState,
        untuned: Mapping[str, Any],
        marks_to_come: int = 0,
    ) -> None:
        self.state = state
        self.question: Question | None = None
        self.candidates = Candidates()
        self._known, self._marks_to_come = untuned, marks_to_come
        self._evaluation_seconds: list[float] = []
        self._parts, self._schedule, self._evaluator, self._processes = parts, schedule, parts.evaluator, parts.processes
        self._steps = GradientSteps(parts, precision, state.micro_batch)
        self._learning, self._fixed = parts.trainable(), trained_ids(parts.encoder)
        self._optimiser, self._soup = parts.create_optimizer(schedule.ends), ModelSoup(parts.named(), schedule.ends)
        self._pace = Throughput(state.rows, state.seconds)
        self._began = time.perf_counter() - state.total_seconds
        self._saved_at, self._wait = time.perf_counter(), _SECONDS_BETWEEN
        self._taken: deque[_QueuedStep] = deque()
        self._ahead = queue_depth(parts.processes.device)
        self._owes_evaluation = False  # the run was stopped during the evaluation of the step that it resumes from

    @property
    def evaluates_quickly(self) -> bool:
        """Return True if the evaluations so far were so short that a run that is to stop can still make one."""
        return bool(self._evaluation_seconds) and max(self._evaluation_seconds) <= _QUICK_SECONDS

    def resume(self) -> None:
        if self._evaluator is not None:
            self._evaluator.repair(self._parts.encoder)
        path = self._parts.checkpoints.newest()
        if path is not None:
            tensors = self._restore(path, weights_only=False)
            self._optimiser.load(self._soup.load(tensors.optimiser))
            if self._evaluator is not None and self._parts.marks is None:
                known = {} if self.state.best < 0 else self.state.evaluations
                self.candidates.load(known, tensors.evaluations)
                if known is None:
                    self._parts.emit_event(Notice(_CHOICE_UNKNOWN))
            step = self.state.step
            self._owes_evaluation = self._evaluator is not None and step in self._schedule.evaluations and not self._is_evaluated(step)

    def _is_evaluated(self, step: int) -> bool:
        if self._parts.marks is not None:
            return step in self._parts.marks.steps()
        return self.state.evaluations is None or f"step-{step}" in self.state.evaluations  # None: by an earlier version

    def restore_best(self) -> None:
        if self.state.best not in (-1, self.state.step):
            self._restore(self._parts.checkpoints.at(self.state.best), weights_only=True)

    def release(self) -> None:
        """Free optimizer moments and running means, which are needed for steps only."""
        del self._optimiser, self._soup, self._steps
        trim_heap()

    def run(self, should_stop: Callable[[], bool]) -> str:
        """Take all remaining steps.

        Returns:
            ``finished``; ``stopped`` if ``should_stop`` returned True, or at a :func:`~sbert_studio.progress.checkpoint` of an evaluation;
            ``asks`` if there is a ``question``.

        Raises:
            StudioError: several consecutive losses were not finite, or memory or disk ran out.
        """
        try:
            return self._take_steps(should_stop)
        except StoppedError:
            self._end_early()
            return "stopped"

    def _take_steps(self, should_stop: Callable[[], bool]) -> str:
        if self._evaluator is not None and not self.state.before:
            self._begin()
            if self.question is not None:
                return "asks"
        if self.state.step == 0:
            self._parts.show_pins(0)
        if self._owes_evaluation:
            self._owes_evaluation = False
            self._keep()
            if self.question is not None:
                return "asks"
        self._pace.begin()
        for batch in self._schedule.batches(self.state.step):
            if self._processes.any(should_stop()):
                self._end_early()
                return "stopped"
            step = self.state.step
            if self._soup.begins(step):
                self._optimiser.reset()
            loss, notice = self._steps.backward(batch, step)
            norm = self._optimiser.step(step, loss)
            if notice:
                self._parts.emit_event(Notice(notice))
            self._taken.append(_QueuedStep(step, len(batch), HostCopy.start(torch.stack([loss.float(), norm.float()]))))
            self.state = replace(self.state, step=step + 1, micro_batch=self._steps.micro_batch)
            self._settle(self._ahead)
            self._soup.ended(step + 1)
            if self._keep():
                self._pace.begin()
            if self.question is not None:
                return "asks"
        self._settle()
        self._count()
        return "finished"

    def _begin(self) -> None:
        if self._known and self._parts.marks is not None:
            self.state = replace(self.state, before=dict(self._known))
            return
        self._evaluate()
        if self._evaluator is not None and not self._known and not is_accepted(self._parts.spec, OPPOSITE):
            self.question = check_below_chance(self._parts.encoder, [self._evaluator.dev], [self.state.before])

    def _keep(self) -> bool:
        due, marked = self._due(), self.state.step in self._schedule.evaluations
        if not (due or marked):
            return False
        self._settle()
        trim_heap()  # free the memory of batches for evaluation and checkpoints
        if marked:
            self._parts.show_pins(self.state.step)
        judged = self._evaluator is not None and marked
        if not (due or judged):
            return True
        better = self._evaluate() if judged else False
        if self.question is not None:
            self.state = replace(self.state, alarm=self.question.to_json())
        if due or self.question is not None or (better and self._parts.marks is None):
            self._save()
        return True

    def _end_early(self) -> None:
        self._settle()
        self._count()
        if not self.state.step:
            return
        self._save()
        if self._evaluator is not None and self._parts.marks is None and self.state.best < 0:
            if self.evaluates_quickly or self._processes.count > 1:
                with uninterruptible():
                    self._evaluate()
            else:
                self._parts.emit_event(Notice("stopped before the first evaluation: the model was not evaluated", passing=True))

    def save_end(self) -> None:
        """Write a checkpoint after the last step, from which a stopped run resumes with its last evaluations."""
        self._save()

    def _evaluate(self) -> bool:
        assert self._evaluator is not None
        untuned, began = self.state.step == 0, time.perf_counter()
        self._parts.emit_event(Phase("evaluating the base model" if untuned else "evaluating on the held-out rows"))
        scores = self._evaluator(self._parts.encoder, untuned=untuned and not self._known)
        if (general := self._parts.general) is not None:
            scores["general"] = general.untuned if untuned and not self._known else general(self._parts.encoder)
        self._evaluation_seconds.append(time.perf_counter() - began)
        allowed = _SEEDS_DIFFER if self._soup.is_mean(self.state.step) else 0.0
        highest = None if self.state.best < 0 else self.state.after["score"] if self.state.highest is None else self.state.highest
        better = not untuned and (highest is None or scores["score"] > highest - allowed)
        if untuned:
            self.state = replace(self.state, before=dict(self._known) or scores)
        elif better:
            self.state = replace(self.state, after=scores, best=self.state.step)
        if not untuned:
            self.state = replace(self.state, highest=scores["score"] if highest is None else max(highest, scores["score"]))
            self.question = check_forgetting(self._parts.spec, self.state.before, scores)
            self._remember(scores)
        self._parts.emit_event(Evaluated(self.state.step, scores["metric"], scores["score"], scores, better))
        return better

    def _remember(self, scores: Mapping[str, Any]) -> None:
        assert self._evaluator is not None
        name = f"step-{self.state.step}"
        if self._parts.marks is not None:
            self._parts.marks.add(name, scores, self._evaluator.resampled)
            return
        self.candidates.add(name, scores, self._evaluator.resampled)
        after = self.candidates.select(f"step-{self.state.best}", self.state.after, self._evaluator.untuned())
        self.state = replace(self.state, after=after, evaluations=self.candidates.scores())

    def _due(self) -> bool:
        if self.state.step == self._schedule.steps:
            return self._parts.marks is None
        if self._parts.spec.checkpoint_every:
            return self.state.step % self._parts.spec.checkpoint_every == 0
        return self._processes.any(time.perf_counter() - self._saved_at > self._wait)

    def _count(self) -> None:
        total = time.perf_counter() - self._began
        self.state = replace(self.state, rows=self._pace.rows, seconds=self._pace.seconds, total_seconds=total)

    def _save(self) -> None:
        start = time.perf_counter()
        self._count()
        if self._evaluator is None:
            self.state = replace(self.state, best=self.state.step)
        if self._processes.main:
            going_on = {} if self.state.step == self._schedule.steps else self._optimiser.tensors() | self._soup.tensors()
            encoder, loss_fn = self._learning
            tensors = TrainingTensors({**encoder, **self._fixed}, loss_fn, going_on, self.candidates.tensors())
            path = self._parts.checkpoints.write(self.state, tensors)
            self._parts.emit_event(Saved(self.state.step, str(path)))
        self._processes.wait()
        self._saved_at = time.perf_counter()
        self._wait = max(_SECONDS_BETWEEN, _MIN_INTERVAL_RATIO * (self._saved_at - start))

    def _restore(self, path: Path, *, weights_only: bool) -> TrainingTensors:
        tensors = read_tensors(path, weights_only=weights_only)
        with torch.no_grad():
            for learning, stored in zip(self._learning, (tensors.encoder, tensors.loss_fn), strict=True):
                for name, parameter in learning.items():
                    parameter.copy_(stored[name])
        return tensors

    def _settle(self, ahead: int = 0) -> None:
        while len(self._taken) > ahead:
            taken = self._taken.popleft()
            loss, norm = taken.values.wait().tolist()
            self._pace.end(taken.rows)
            self._check_step(taken.step, loss, norm)

    def _check_step(self, step: int, loss: float, norm: float) -> None:
        done = step + 1
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self._skipped(done, loss)
            return
        self.state = replace(self.state, bad=0)
        ends = done in (1, self._schedule.steps)
        if self._pace.is_due() or ends:
            steps, epoch, rate = self._schedule.steps, self._schedule.epoch_of(done), self._optimiser.rate(step)
            self._parts.emit_event(Step(done, steps, epoch, loss, rate, self._pace.rate, self._left(done), norm, done, steps))

    def _left(self, done: int) -> float:
        judged = sum(step >= done for step in self._schedule.evaluations) + self._marks_to_come if self._evaluator is not None else 0
        known = self._evaluation_seconds or ([self._evaluator.seconds] if self._evaluator is not None else [0.0])
        return self._pace.left(self._schedule.steps - done) + judged * sum(known) / len(known)

    def _skipped(self, step: int, loss: float) -> None:
        self.state = replace(self.state, bad=self.state.bad + 1)
        what = "loss" if not math.isfinite(loss) else "gradient"
        if self.state.bad >= _MAX_BAD_STEPS:
            raise StudioError(
                _(
                    "the {what} was not a finite number {max_bad_steps} times in a row, up to step {step}",
                    what=what,
                    max_bad_steps=_MAX_BAD_STEPS,
                    step=step,
                ),
                _(
                    "lower the learning rate (it is {learning_rate}), or choose precision float32",
                    learning_rate=f"{self._parts.spec.learning_rate:g}",
                ),
            )
        self._parts.emit_event(Notice(_("the {what} of step {step} was not a finite number; the step was skipped", what=what, step=step)))


def queue_depth(device: torch.device) -> int:
    """Return the number of steps queued before results are read, so that a GPU does not wait for the host."""
    return 4 if device.type == "cuda" else 0


def initial_state(checkpoints: Checkpoints, identity: str, micro_batch: int, resume: bool) -> TrainingState:
    """Return the state of the newest checkpoint, or a new one.

    Raises:
        StudioError: the checkpoint belongs to another spec or other examples.
    """
    path = checkpoints.newest() if resume else None
    if path is None:
        return TrainingState(identity=identity, micro_batch=micro_batch, evaluations={})
    state = read_state(path)
    if state.identity != identity:
        raise StudioError(
            "the checkpoint belongs to a run with different settings or data", "start a new run, or resume with the same settings and data"
        )
    return state
