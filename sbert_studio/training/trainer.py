"""Trainer: fine-tunes a model on examples."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..data.split import find_pair_classes
from ..errors import StudioError
from ..i18n import _
from ..losses.base import KnownPositives
from ..models.inference.machine import autocast_dtype, resolve_precision
from ..models.io.digests import find_damage
from ..models.trainable import Trainable
from ..progress import StoppedError, uninterruptible
from ..serialization import JsonResult
from ..workspace import write_json
from .alarms import FORGETS, is_accepted
from .artifacts import write_artifacts
from .blend import MARKS, WeightBlend, blend_obstacle, choose_blend, record_blends, save_mistakes
from .checkpoints import Checkpoints, TrainingState, read_state, report_full_disk
from .evaluator import EvaluationLog, Evaluator, GeneralProbe, hold_out, weak_validation_warning
from .events import FORMER_NAMES, Asks, Event, Finished, Notice, Phase, Started, Stopped, TrackedExamples
from .fast_layers import pack_batches, restore_linear
from .loop import TrainingLoop, initial_state
from .prepare import fit_head, prepare
from .samplers import Schedule, build_sampler
from .spec import TrainSpec, resolve_loss
from .steps import Processes, TrainingParts

if TYPE_CHECKING:
    from torch import Tensor

    from ..data.examples import Examples
    from ..data.retrieval import RetrievalSet

_OUTCOME = "outcome.json"
_IGNORED = ("checkpoint_every", "accept_alarm")
_LATER_SETTINGS = (
    *(
        "accept_alarm",
        "evaluation",
        "blend",
        "recurrent",
        "hidden",
        "bidirectional",
        "learn_words",
        "activation",
        "codes",
        "soup",
        "prompt",
    ),
    *("teacher", "adaptive_layers", "layers", "max_folds"),
)


@dataclass(frozen=True)
class RunNotes:
    """Additional contents of a run's report: reasons for its settings, and what is scored at every evaluation.

    Attributes:
        pins: tracked examples.
        retrieval: queries and documents of the retrieval probe.
    """

    reasons: tuple[str, ...] = ()
    pins: TrackedExamples | None = None
    retrieval: RetrievalSet | None = None


@dataclass(frozen=True)
class Assignment:
    """Context of a training run, which may be one of several members of a run.

    Attributes:
        untuned: scores of the base model if already evaluated; alarms before the first step are then skipped.
        earlier: spec of the stage that produced ``encoder``; its changes to the model are not repeated.
        weights: base weights by name, if ``encoder`` comes from an earlier stage.
        general: probe of the base model, built from ``encoder`` by default; ``None`` disables the measurement of general quality.
        judges: True for an evaluation-only member, which logs every evaluation (:class:`.evaluator.EvaluationLog`) and leaves no model.
        verdict: final ``before`` and ``after`` scores determined elsewhere; ``after`` has the ``strength`` to keep.
        blends: True if a blend with the base weights may be kept.
        share: share of the steps to take, 0 to 1.
        notes: reported with the run.
    """

    untuned: Mapping[str, Any] = field(default_factory=dict)
    earlier: TrainSpec | None = None
    weights: Mapping[str, Tensor] | None = None
    general: GeneralProbe | Literal["build"] | None = "build"
    judges: bool = False
    verdict: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    blends: bool = True
    share: float = 1.0
    notes: RunNotes = field(default_factory=RunNotes)


@dataclass(frozen=True)
class TrainingOutcome(JsonResult):
    """Result of a run.

    Attributes:
        status: ``finished``, ``stopped``, or ``asks`` if an alarm stopped it (without a model).
        model: folder of the best model, LoRA merged.
        adapter: folder of the LoRA adapter, or ``None``.
        before, after: ``{"metric", "score", "task", "rows", ...}`` of the base and the best model on the held-out rows; empty without them.
            ``general`` is the result of the general probe. ``after`` has the kept ``strength`` and all evaluated
            ``strengths: [{"strength", "score", "general"}]``.
        steps: optimizer steps taken.
        seconds: total time including evaluations.
        pairs_per_second: rows per second, during steps only.
        question: question of an alarm as JSON; else empty.
    """

    status: str
    model: Path
    adapter: Path | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    steps: int = 0
    seconds: float = 0.0
    pairs_per_second: float = 0.0
    question: Mapping[str, Any] = field(default_factory=dict)

    def with_totals(self, outcomes: Sequence[TrainingOutcome]) -> TrainingOutcome:
        """Return a copy with the steps, time and rate of several members."""
        seconds = sum(outcome.seconds for outcome in outcomes)
        rows = sum(outcome.pairs_per_second * outcome.seconds for outcome in outcomes)
        steps = sum(outcome.steps for outcome in outcomes)
        return replace(self, steps=steps, seconds=seconds, pairs_per_second=rows / seconds if seconds else 0.0)

    def event(self) -> Finished | Stopped | Asks:
        if self.status == "asks":
            return Asks(self.steps, self.seconds, self.pairs_per_second, self.before, self.after, "", self.question)
        kind = Finished if self.status == "finished" else Stopped
        return kind(self.steps, self.seconds, self.pairs_per_second, self.before, self.after, str(self.model))


def train(
    spec: TrainSpec,
    examples: Examples,
    emit: Callable[[Event], None],
    should_stop: Callable[[], bool],
    *,
    encoder: Trainable,
    folder: Path,
    dev: Examples | None = None,
    resume: bool = False,
    assignment: Assignment | None = None,
) -> TrainingOutcome:
    """Fine-tune ``encoder`` on ``examples``.

    Args:
        emit: receives events, in this thread.
        should_stop: called at every step.
        encoder: a fresh copy of ``spec.model``, which becomes the best model.
        folder: run folder; receives ``model/``, ``adapter/`` and ``checkpoints/``.
        dev: held-out rows; otherwise a part of the examples is held out.
        resume: continue from the newest checkpoint with bit-identical results, or start if there is none. Otherwise, earlier results in
            ``folder`` are removed.
        assignment: context of a member of a run.

    Raises:
        StudioError: an error the user can fix; checkpoints already written stay intact.
    """
    spec, assignment = resolve_loss(spec, examples), assignment or Assignment()
    train_rows, held, unjudged = hold_out(spec, examples, dev)
    if not len(train_rows):
        raise StudioError("there are no rows to train on", "use a larger file")
    identity = run_identity(spec, train_rows, held)
    marks = EvaluationLog(folder) if assignment.judges else None
    checkpoints = Checkpoints(folder, keeps_best=marks is None)
    processes = Processes(encoder.device)
    lost = _lost_evaluations(marks, processes) if resume else ""
    if (resume := resume and not lost) and (ended := _finished_outcome(folder, identity, checkpoints, marks, processes)) is not None:
        return _end(ended, emit, processes)
    if not resume and processes.main:
        checkpoints.clear()
        (folder / _OUTCOME).unlink(missing_ok=True)
    damaged = checkpoints.repair() if resume and processes.main else ()
    processes.wait()

    encoder.to(processes.device)
    base = encoder.base or spec.model
    state = initial_state(checkpoints, identity, min(spec.micro_batch or spec.batch_size, spec.batch_size), resume)
    loss_fn = prepare(spec, encoder, train_rows, processes, earlier=assignment.earlier)
    if state.step == 0:
        fit_head(spec, loss_fn, encoder, train_rows, processes)
    general = GeneralProbe.build(encoder, assignment.notes.retrieval) if assignment.general == "build" else assignment.general
    rows = encoder.training_rows(train_rows)
    if loss_fn.in_batch and len(rows.ids) > 1:
        loss_fn.set_known_positives(KnownPositives.from_rows(rows.ids, find_pair_classes(train_rows), processes.device))
    evaluator = Evaluator(held, folder, train_rows=train_rows) if held is not None else None
    asks = bool(state.alarm) and not is_accepted(spec, FORGETS)
    state = state if asks else replace(state, alarm={})
    parts = TrainingParts(spec, encoder, loss_fn, rows, evaluator, processes, folder, emit, general, marks, assignment.notes.pins)
    blend = WeightBlend(parts.trainable()[0], assignment.weights, keep_mapped=encoder.device.type == "cpu" and processes.count == 1)
    precision = resolve_precision(spec.precision, processes.device)
    sampler = build_sampler(loss_fn, rows, spec, processes.count)
    schedule = Schedule.plan(sampler, spec.epochs, spec.evaluations_per_epoch, spec.soup).until(assignment.share)
    blends = not (blend_obstacle(spec) or assignment.verdict is not None) and assignment.blends
    loop = TrainingLoop(parts, schedule, precision, state, assignment.untuned, marks_to_come=len(MARKS) - 2 if blends else 0)
    judged = len(held) if held is not None else assignment.verdict[1]["rows"] if assignment.verdict else 0
    parts.emit_event(
        Started(
            schedule.steps, spec.epochs * spec.soup, len(rows), judged, spec.loss, spec.method, str(processes.device), precision,
            spec.batch_size, state.step, tuple(assignment.notes.reasons), state.step, schedule.steps,
        )
    )  # fmt: skip
    doubt = "" if assignment.judges else weak_validation_warning(held)
    remarks = _initial_notices(spec, processes, "" if held is not None or assignment.verdict else unjudged, assignment, general)
    for remark in filter(None, (lost, *damaged, *remarks, doubt)):
        parts.emit_event(Notice(remark))
    if asks:
        return _finish(parts, loop, "asks", base, blend, assignment)
    if resume:
        loop.resume()
    unpack = pack_batches(encoder.backbone) if processes.device.type == "cpu" else lambda: None
    try:
        status = loop.run(should_stop)
    finally:
        unpack()
    return _finish(parts, loop, status, base, blend, assignment)


def _finished_outcome(
    folder: Path, identity: str, checkpoints: Checkpoints, marks: EvaluationLog | None, processes: Processes
) -> TrainingOutcome | None:
    ended = read_outcome(folder, identity, model=marks is None)
    if ended is not None and processes.main and (last := checkpoints.newest()) is not None:
        checkpoints.keep_only(read_state(last).best if marks is None else -1)
    return ended


def _lost_evaluations(marks: EvaluationLog | None, processes: Processes) -> str:
    if marks is None or marks.is_readable:
        return ""
    if processes.main:
        marks.clear()
    return "the stored evaluations of this part are damaged: this part starts over"


def _initial_notices(
    spec: TrainSpec, processes: Processes, unjudged: str, assignment: Assignment, general: GeneralProbe | None
) -> Iterator[str]:
    if processes.note:
        yield processes.note
    if spec.precision == "bfloat16" and autocast_dtype(processes.device) is None:
        yield _("this {type} does not support fast bfloat16: training takes longer than in float32", type=processes.device.type)
    if unjudged and (general is None or "retrieval" not in general.untuned):
        yield _("the model cannot be evaluated, so its last weights are kept: {unjudged}", unjudged=unjudged)
    if general is None and assignment.general is not None and assignment.notes.retrieval is not None:
        yield "retrieval is not measured: a cross-encoder cannot search all documents"


def _finish(
    parts: TrainingParts, loop: TrainingLoop, status: str, base: str, blend: WeightBlend, assignment: Assignment
) -> TrainingOutcome:
    state, processes, folder, began = loop.state, parts.processes, parts.folder, time.perf_counter()
    if status != "asks":
        if parts.marks is None:
            loop.restore_best()
        loop.release()
        parts.encoder.eval()
        if parts.evaluator is not None or parts.general is not None:
            blends = not blend_obstacle(parts.spec) and (parts.evaluator is not None or assignment.verdict is not None)
            parts.emit_event(
                Phase("evaluating the trained model and its blends with the base model" if blends else "evaluating the trained model")
            )
        blend.set_tuned()
        try:
            state = _select(parts, state, blend, assignment, status, loop)
        except StoppedError:
            status = "stopped"
            blend.apply(1.0)
            if parts.marks is not None:
                loop.save_end()
            state = _select(parts, state, blend, assignment, status, loop)
    rate = state.rows / state.seconds if state.seconds else 0.0
    outcome = TrainingOutcome(
        status,
        folder / "model",
        folder / "adapter" if parts.spec.method == "lora" else None,
        state.before,
        state.after,
        state.step,
        state.total_seconds + time.perf_counter() - began,
        rate,
        state.alarm or (loop.question.to_json() if loop.question is not None else {}),
    )
    if processes.main and status != "asks":
        with report_full_disk("the model", folder):
            if parts.marks is None:
                write_artifacts(parts, state, base)
            if status == "finished":
                write_json(folder / _OUTCOME, {"identity": state.identity, **outcome.to_json()})
                parts.checkpoints.keep_only(state.best if parts.marks is None else -1)
    restore_linear(parts.encoder)
    processes.wait()
    return _end(outcome, parts.emit, processes)


def _select(
    parts: TrainingParts, state: TrainingState, blend: WeightBlend, assignment: Assignment, status: str, loop: TrainingLoop
) -> TrainingState:
    """Evaluate the model and its blends, and select one; for a stopped run, only what takes no time."""
    if status == "stopped":
        with uninterruptible():
            if parts.marks is None:
                state = choose_blend(parts, state, blend, assignment, status, loop.candidates)
                if state.after and loop.evaluates_quickly:
                    save_mistakes(parts, float(state.after.get("strength", 1.0)))
            return state
    if parts.marks is not None:
        record_blends(parts, blend)
        return state
    state = choose_blend(parts, state, blend, assignment, status, loop.candidates)
    parts.show_pins(state.step, is_final=True)
    if state.after:
        save_mistakes(parts, float(state.after.get("strength", 1.0)))
    return state


def _end(outcome: TrainingOutcome, emit: Callable[[Event], None], processes: Processes) -> TrainingOutcome:
    if processes.main:
        emit(outcome.event())
    return outcome


def read_outcome(folder: Path, identity: str, name: str = _OUTCOME, *, model: bool = True) -> TrainingOutcome | None:
    """Return the outcome of a finished run; ``None`` if there is none, or if it was produced with different settings.

    Args:
        model: require a complete model folder.
    """
    try:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        if values.pop("identity") != identity:
            return None
        if model and (not (folder / "model").is_dir() or find_damage(folder / "model")):
            return None
        # The folder may have been moved since.
        adapter = folder / "adapter" if values["adapter"] else None
        return TrainingOutcome(**{**values, "model": folder / "model", "adapter": adapter})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # there is none, or it is damaged
        return None


def run_identity(spec: TrainSpec, *examples: Examples | None) -> str:
    """Return a digest of the spec and the rows, 32 hex digits.

    Ignores checkpoint frequency and answers to alarms. Settings of later versions are ignored at their default, so that older runs can be
    resumed.
    """
    decides = {name: value for name, value in _without_defaults(spec.to_json()).items() if name not in _IGNORED}
    decides["first"] = _without_defaults(spec.first)
    words = json.dumps([decides, *("" if part is None else part.digest for part in examples)], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def _without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        FORMER_NAMES.get(name, name): value
        for name, value in values.items()
        if name not in _LATER_SETTINGS or value != TrainSpec.model_fields[name].default
    }
