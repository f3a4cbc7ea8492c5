"""Fine-tune a model on examples."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.split import find_pair_classes
from ..errors import StudioError
from ..losses.base import KnownPositives
from ..models.inference.machine import autocast_dtype, resolve_precision
from ..models.io.digests import find_damage
from ..models.trainable import Trainable
from ..workspace import write_json
from .alarms import FORGETS, is_accepted
from .artifacts import write_artifacts
from .blend import MARKS, WeightBlend, blend_obstacle
from .checkpoints import Checkpoints, read_state, report_full_disk
from .conclusion import conclude, record_blends, save_mistakes
from .distributed import Processes
from .evaluator import EvaluationLog, Evaluator, hold_out, weak_validation_warning
from .events import Asks, Event, Finished, Notice, Phase, Started, Stopped
from .fast_layers import restore_linear
from .general_probe import GeneralProbe
from .loop import TrainingLoop, initial_state
from .members import Assignment
from .packing import pack_batches
from .pins import TrackedExamples
from .prepare import fit_head, prepare
from .samplers import build_sampler
from .schedule import Schedule
from .spec import TrainSpec, resolve_objective
from .steps import TrainingParts

if TYPE_CHECKING:
    from ..data.examples import Examples

_OUTCOME = "outcome.json"
_IGNORED = ("checkpoint_every", "accept_alarm")
_LATER_SETTINGS = (
    "accept_alarm",
    "judge",
    "blend",
    "recurrent",
    "hidden",
    "bidirectional",
    "learn_words",
    "activation",
    "codes",
    "soup",
    "prompt",
)
_MISSING = object()


@dataclass(frozen=True)
class TrainingOutcome:
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
        pairs_per_second: rows per second over the steps alone.
        question: question of an alarm as JSON; else empty.
    """

    status: str
    model: Path
    adapter: Path | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    steps: int
    seconds: float
    pairs_per_second: float
    question: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "model": str(self.model), "adapter": None if self.adapter is None else str(self.adapter)}

    def event(self) -> Finished | Stopped | Asks:
        """The event that reports this outcome."""
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
    reasons: Sequence[str] = (),
    assignment: Assignment | None = None,
    pins: TrackedExamples | None = None,
) -> TrainingOutcome:
    """Fine-tune ``encoder`` on ``examples``.

    Args:
        emit: receives events, in this thread.
        should_stop: called at every step.
        encoder: a fresh copy of ``spec.model``, which becomes the best model.
        folder: run folder; receives ``model/``, ``adapter/`` and ``checkpoints/``.
        dev: held-out rows; otherwise a part of the examples is held out.
        resume: continue from the newest checkpoint to bit-identical weights, or start if there is none. Otherwise earlier results in
            ``folder`` are removed.
        reasons: reasons for the settings, reported at the start.
        assignment: context of a training that is one of several.
        pins: tracked examples, scored at every evaluation.

    Raises:
        StudioError: an error the user can fix; written checkpoints are intact.
    """
    spec = resolve_objective(spec, examples)
    learned, held, unjudged = hold_out(spec, examples, dev)
    if not len(learned):
        raise StudioError("there are no rows to learn from", "give a larger file")
    identity = run_identity(spec, learned, held)
    marks = EvaluationLog(folder) if assignment is not None and assignment.judges else None
    checkpoints = Checkpoints(folder, keeps_best=marks is None)
    processes = Processes(encoder.device)
    lost = _lost_evaluations(marks, processes) if resume else ""
    if (resume := resume and not lost) and (ended := _finished_outcome(folder, identity, checkpoints, marks, processes)) is not None:
        _conclude(ended, emit, processes)
        return ended
    if not resume and processes.main:
        checkpoints.clear()
        (folder / _OUTCOME).unlink(missing_ok=True)
    damaged = checkpoints.repair() if resume and processes.main else ()
    processes.wait()

    encoder.to(processes.device)
    base = encoder.base or spec.model
    state = initial_state(checkpoints, identity, min(spec.micro_batch or spec.batch_size, spec.batch_size), resume)
    objective = prepare(spec, encoder, learned, processes, earlier=None if assignment is None else assignment.earlier)
    if state.step == 0:
        fit_head(spec, objective, encoder, learned, processes)
    if assignment is None:
        assignment = Assignment(general=GeneralProbe.build(encoder))
    rows = encoder.training_rows(learned)
    if objective.in_batch and len(rows.ids) > 1:
        objective.set_known_positives(KnownPositives.from_rows(rows.ids, find_pair_classes(learned), processes.device))
    judge = Evaluator(held, folder, learned=learned) if held is not None else None
    asks = bool(state.alarm) and not is_accepted(spec, FORGETS)
    state = state if asks else replace(state, alarm={})
    parts = TrainingParts(spec, encoder, objective, rows, judge, processes, folder, emit, assignment.general, marks, pins)
    blend = WeightBlend(parts.trainable()[0], assignment.weights, keep_mapped=encoder.device.type == "cpu" and processes.count == 1)
    precision = resolve_precision(spec.precision, processes.device)
    schedule = Schedule.plan(
        build_sampler(objective, rows, spec, processes.count), spec.epochs, spec.evaluations_per_epoch, spec.soup
    ).until(assignment.share)
    loop = TrainingLoop(parts, schedule, precision, state, assignment.untuned, marks_to_come=_marks_to_come(spec, assignment))
    judged = len(held) if held is not None else assignment.verdict[1]["rows"] if assignment.verdict else 0
    parts.emit_event(
        Started(
            schedule.steps, spec.epochs * spec.soup, len(rows), judged, spec.objective, spec.method,
            str(processes.device), precision, spec.batch_size, state.step, tuple(reasons), state.step, schedule.steps,
        )
    )  # fmt: skip
    doubt = "" if assignment.judges else weak_validation_warning(held)
    remarks = _initial_notices(spec, processes, "" if held is not None or assignment.verdict else unjudged)
    for remark in filter(None, (lost, *damaged, *remarks, doubt)):
        parts.emit_event(Notice(remark))
    if asks:
        return _finish(parts, loop, "asks", base, blend, assignment)
    if resume:
        loop.resume()
    unpack = pack_batches(encoder.backbone) if processes.device.type == "cpu" else lambda: None
    try:
        reached = loop.run(should_stop)
    finally:
        unpack()
    return _finish(parts, loop, reached, base, blend, assignment)


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
    return "the evaluations that were kept of this part are damaged: it begins anew"


def _marks_to_come(spec: TrainSpec, assignment: Assignment) -> int:
    return 0 if blend_obstacle(spec) or assignment.verdict is not None or not assignment.blends else len(MARKS) - 2


def _initial_notices(spec: TrainSpec, processes: Processes, unjudged: str) -> Iterator[str]:
    if processes.note:
        yield processes.note
    if spec.precision == "bfloat16" and autocast_dtype(processes.device) is None:
        yield f"this {processes.device.type} has no fast bfloat16: training takes longer than in float32"
    if unjudged:
        yield f"nothing measures how good the model is, and its last weights are kept: {unjudged}"


def _finish(
    parts: TrainingParts, loop: TrainingLoop, reached: str, base: str, blend: WeightBlend, assignment: Assignment
) -> TrainingOutcome:
    state, processes, folder, began = loop.state, parts.processes, parts.folder, time.perf_counter()
    if reached != "asks":
        if parts.marks is None:
            loop.restore_best()
        loop.release()
        parts.encoder.eval()
        if parts.judge is not None or parts.general is not None:
            blends = not blend_obstacle(parts.spec) and (parts.judge is not None or assignment.verdict is not None)
            parts.emit_event(
                Phase("judging the trained model, and blends of it with the untuned one" if blends else "judging the trained model")
            )
        blend.set_tuned()
        if parts.marks is None:
            state = conclude(parts, state, blend, assignment, reached, loop.candidates)
            parts.show_pins(state.step, kept=True)
            save_mistakes(parts, state)
        elif reached == "finished":
            record_blends(parts, blend)
    rate = state.rows / state.seconds if state.seconds else 0.0
    outcome = TrainingOutcome(
        reached,
        folder / "model",
        folder / "adapter" if parts.spec.method == "lora" else None,
        state.before,
        state.after,
        state.step,
        state.total_seconds + time.perf_counter() - began,
        rate,
        state.alarm or (loop.question.to_json() if loop.question is not None else {}),
    )
    if processes.main and reached != "asks":
        with report_full_disk("the model", folder):
            if parts.marks is None:
                write_artifacts(parts, state, base)
            if reached == "finished":
                write_json(folder / _OUTCOME, {"identity": state.identity, **outcome.to_json()})
                parts.checkpoints.keep_only(state.best if parts.marks is None else -1)
    restore_linear(parts.encoder)
    processes.wait()
    _conclude(outcome, emit=parts.emit, processes=processes)
    return outcome


def _conclude(outcome: TrainingOutcome, emit: Callable[[Event], None], processes: Processes) -> None:
    if processes.main:
        emit(outcome.event())


def read_outcome(folder: Path, identity: str, name: str = _OUTCOME, *, model: bool = True) -> TrainingOutcome | None:
    """Return the outcome of a finished run; ``None`` if there is none, or it is of other settings.

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
    """Return 32 hex digits that identify the spec and the rows.

    Ignores checkpoint frequency and alarm answers. Settings of later versions are left out at their default, so that older runs resume.
    """
    decides = {name: value for name, value in _without_defaults(spec.to_json()).items() if name not in _IGNORED}
    decides["first"] = _without_defaults(spec.first)
    words = json.dumps([decides, *("" if part is None else part.digest for part in examples)], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def _without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    usual = {name: TrainSpec.__dataclass_fields__[name].default for name in _LATER_SETTINGS}
    return {name: value for name, value in values.items() if value != usual.get(name, _MISSING)}
