"""Examples → a better encoder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.splits.siblings import siblings
from ..errors import StudioError
from ..losses.base import Relation
from ..models.io.digests import damage
from ..models.runtime import autocast_dtype, resolve_precision
from ..models.trainable import Trainable
from ..workspace import write_json
from .alarms import FORGETS, accepted
from .artifacts import export
from .blend import MARKS, Blend, unblended
from .checkpoints import Checkpoints, disk_space, read_state
from .conclusion import concluded, keep_mistakes, noted
from .distributed import Processes
from .evaluator import Evaluator, Marks, hold_out, says_little
from .events import Asks, Event, Finished, Notice, Phase, Started, Stopped
from .fast_layers import plain_linear
from .general_probe import GeneralProbe
from .loop import Loop, starting_state
from .members import Assignment
from .packing import pack_batches
from .pins import Pins
from .prepare import fit_head, prepare
from .samplers import batches_for
from .schedule import Schedule
from .spec import TrainSpec, settled
from .steps import Parts

if TYPE_CHECKING:
    from ..data.examples import Examples

_OUTCOME = "outcome.json"
_NO_MATTER = ("checkpoint_every", "accept_alarm")
_LATER = ("accept_alarm", "judge", "blend", "recurrent", "hidden", "bidirectional", "learn_words", "activation", "codes", "soup", "prompt")
_UNUSUAL = object()


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: ``finished``, ``stopped``, or ``asks`` where an alarm stopped it: there is no model then.
        model: the folder of the best model, LoRA merged.
        adapter: the folder of the LoRA adapter, or ``None``.
        before, after: ``{"metric", "score", "task", "rows", ...}`` of the untuned and the best model on the held-out rows; empty
            where there are none. ``general`` is what a probe of everyday pairs found. ``after`` has the ``strength`` of the blend
            of untuned and tuned weights that was kept, and all that were judged: ``strengths: [{"strength", "score", "general"}]``.
        steps: optimiser steps taken.
        seconds: of the whole run, evaluations too.
        pairs_per_second: rows a second over the steps alone.
        question: what an alarm asks, as :class:`~sbert_studio.data.questions.Question` has it in JSON; else empty.
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
        """Plain JSON values."""
        return {**asdict(self), "model": str(self.model), "adapter": None if self.adapter is None else str(self.adapter)}

    def event(self) -> Finished | Stopped | Asks:
        """What tells of it."""
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
    pins: Pins | None = None,
) -> Outcome:
    """Tune ``encoder`` on ``examples``.

    Args:
        emit: told what happens, in this thread.
        should_stop: asked at every step.
        encoder: a fresh copy of ``spec.model`` (or a cross-encoder made from it), which is used up: it ends as the best model.
        folder: the run's; takes ``model/``, ``adapter/`` and ``checkpoints/``.
        dev: rows to judge by; without them a part of the examples is held out.
        resume: go on from the newest checkpoint in ``folder``, to the same weights as if nothing had happened; start over
            where there is none. Otherwise what an earlier run left in ``folder`` is removed.
        reasons: why these settings, to be shown with the start.
        assignment: what is different for a training that is one of several.
        pins: told of at every evaluation; they change nothing of the model.

    Raises:
        StudioError: something that a person can mend; checkpoints that were written are intact.
    """
    spec = settled(spec, examples)
    learned, held, unjudged = hold_out(spec, examples, dev)
    if not len(learned):
        raise StudioError("there are no rows to learn from", "give a larger file")
    identity = identity_of(spec, learned, held)
    marks = Marks(folder) if assignment is not None and assignment.judges else None
    checkpoints = Checkpoints(folder, keeps_best=marks is None)
    processes = Processes(encoder.device)
    lost = _lost(marks, processes) if resume else ""
    if (resume := resume and not lost) and (ended := _over(folder, identity, checkpoints, marks, processes)) is not None:
        _conclude(ended, emit, processes)
        return ended
    if not resume and processes.main:
        checkpoints.clear()
        (folder / _OUTCOME).unlink(missing_ok=True)
    damaged = checkpoints.mend() if resume and processes.main else ()
    processes.wait()

    encoder.to(processes.device)
    base = encoder.base or spec.model
    state = starting_state(checkpoints, identity, min(spec.micro_batch or spec.batch_size, spec.batch_size), resume)
    objective = prepare(spec, encoder, learned, processes, earlier=None if assignment is None else assignment.earlier)
    if state.step == 0:
        fit_head(spec, objective, encoder, learned, processes)
    if assignment is None:
        assignment = Assignment(general=GeneralProbe.of(encoder))
    rows = encoder.training_rows(learned)
    if objective.in_batch and len(rows.ids) > 1:
        objective.know(Relation.of(rows.ids, siblings(learned), processes.device))
    judge = Evaluator(held, folder, learned=learned) if held is not None else None
    asks = bool(state.alarm) and not accepted(spec, FORGETS)
    state = state if asks else replace(state, alarm={})
    parts = Parts(spec, encoder, objective, rows, judge, processes, folder, emit, assignment.general, marks, pins)
    blend = Blend(parts.learning()[0], assignment.weights, aside=encoder.device.type == "cpu" and processes.count == 1)
    precision = resolve_precision(spec.precision, processes.device)
    schedule = Schedule.plan(batches_for(objective, rows, spec, processes.count), spec.epochs, spec.evaluations_per_epoch, spec.soup).until(
        assignment.share
    )
    loop = Loop(parts, schedule, precision, state, assignment.untuned, marks_to_come=_marks_to_come(spec, assignment))
    judged = len(held) if held is not None else assignment.verdict[1]["rows"] if assignment.verdict else 0
    parts.say(
        Started(
            schedule.steps, spec.epochs * spec.soup, len(rows), judged, spec.objective, spec.method,
            str(processes.device), precision, spec.batch_size, state.step, tuple(reasons), state.step, schedule.steps,
        )
    )  # fmt: skip
    doubt = "" if assignment.judges else says_little(held)
    remarks = _remarks(spec, processes, "" if held is not None or assignment.verdict else unjudged)
    for remark in filter(None, (lost, *damaged, *remarks, doubt)):
        parts.say(Notice(remark))
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


def _over(folder: Path, identity: str, checkpoints: Checkpoints, marks: Marks | None, processes: Processes) -> Outcome | None:
    """The outcome of a training that had already reached its end, whose process may have been killed while it removed checkpoints."""
    ended = read_outcome(folder, identity, model=marks is None)
    if ended is not None and processes.main and (last := checkpoints.newest()) is not None:
        checkpoints.keep_only(read_state(last).best if marks is None else -1)
    return ended


def _lost(marks: Marks | None, processes: Processes) -> str:
    """Why a training that only judges has to begin anew, its evaluations with it; nothing where it need not."""
    if marks is None or marks.whole:
        return ""
    if processes.main:
        marks.clear()
    return "the evaluations that were kept of this part are damaged: it begins anew"


def _marks_to_come(spec: TrainSpec, assignment: Assignment) -> int:
    """How many blends are judged once the steps are taken."""
    return 0 if unblended(spec) or assignment.verdict is not None or not assignment.blends else len(MARKS) - 2


def _remarks(spec: TrainSpec, processes: Processes, unjudged: str) -> Iterator[str]:
    """What a person should know of a training that begins; ``unjudged``: why nothing judges it, if nothing does."""
    if processes.note:
        yield processes.note
    if spec.precision == "bfloat16" and autocast_dtype(processes.device) is None:
        yield f"this {processes.device.type} has no fast bfloat16: training takes longer than in float32"
    if unjudged:
        yield f"nothing measures how good the model is, and its last weights are kept: {unjudged}"


def _finish(parts: Parts, loop: Loop, reached: str, base: str, blend: Blend, assignment: Assignment) -> Outcome:
    state, processes, folder, began = loop.state, parts.processes, parts.folder, time.perf_counter()
    if reached != "asks":
        if parts.marks is None:
            loop.restore_best()
        loop.release()
        parts.encoder.eval()
        if parts.judge is not None or parts.general is not None:
            blends = not unblended(parts.spec) and (parts.judge is not None or assignment.verdict is not None)
            parts.say(Phase("judging the trained model, and blends of it with the untuned one" if blends else "judging the trained model"))
        blend.between()
        if parts.marks is None:
            state = concluded(parts, state, blend, assignment, reached, loop.candidates)
            parts.show_pins(state.step, kept=True)
            keep_mistakes(parts, state)
        elif reached == "finished":
            noted(parts, blend)
    rate = state.rows / state.seconds if state.seconds else 0.0
    outcome = Outcome(
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
        with disk_space("the model", folder):
            if parts.marks is None:
                export(parts, state, base)
            if reached == "finished":
                write_json(folder / _OUTCOME, {"identity": state.identity, **outcome.to_json()})
                parts.checkpoints.keep_only(state.best if parts.marks is None else -1)
    plain_linear(parts.encoder)
    processes.wait()
    _conclude(outcome, emit=parts.emit, processes=processes)
    return outcome


def _conclude(outcome: Outcome, emit: Callable[[Event], None], processes: Processes) -> None:
    if processes.main:
        emit(outcome.event())


def read_outcome(folder: Path, identity: str, name: str = _OUTCOME, *, model: bool = True) -> Outcome | None:
    """The outcome of a run that had already reached its end; ``None`` where there is none, or it is that of other settings.

    Args:
        model: whether it must have left a whole model.
    """
    try:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        if values.pop("identity") != identity:
            return None
        if model and (not (folder / "model").is_dir() or damage(folder / "model")):
            return None
        # The folder may have been moved since.
        adapter = folder / "adapter" if values["adapter"] else None
        return Outcome(**{**values, "model": folder / "model", "adapter": adapter})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # there is none, or it is damaged
        return None


def identity_of(spec: TrainSpec, *examples: Examples | None) -> str:
    """Names what decides the result: the spec, but for how often checkpoints are written and how an alarm was answered, and the rows.

    32 hex digits. Settings that came later than the first version are left out where they are as usual, so that its runs go on.
    """
    decides = {name: value for name, value in _unusual(spec.to_json()).items() if name not in _NO_MATTER}
    decides["first"] = _unusual(spec.first)
    words = json.dumps([decides, *("" if part is None else part.digest for part in examples)], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def _unusual(values: Mapping[str, Any]) -> dict[str, Any]:
    """A spec's values without the later settings that are as usual."""
    usual = {name: TrainSpec.__dataclass_fields__[name].default for name in _LATER}
    return {name: value for name, value in values.items() if value != usual.get(name, _UNUSUAL)}
