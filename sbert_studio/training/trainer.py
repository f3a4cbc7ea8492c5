"""Examples → a better encoder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.siblings import siblings
from ..encoders.digests import damage
from ..encoders.runtime import autocast_dtype, resolve_precision
from ..errors import StudioError
from ..objectives.relation import Relation
from ..workspace import write_json
from .advisor import settled
from .batches import batches_for
from .checkpoint import Checkpoints, disk_space
from .events import Event, Finished, Notice, Started, Stopped
from .export import export
from .judge import Judge, hold_out
from .loop import Loop, starting_state
from .packing import pack_batches
from .parts import Parts
from .prepare import prepare
from .probe import fit_head
from .processes import Processes
from .rows import read_rows
from .schedule import Schedule
from .spec import TrainSpec
from .tuned import Tuned

if TYPE_CHECKING:
    from ..data.examples import Examples

_OUTCOME = "outcome.json"


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: ``finished`` or ``stopped``.
        model: the folder of the best model, LoRA merged.
        adapter: the folder of the LoRA adapter, or ``None``.
        before, after: ``{"metric", "score", "task", "rows", ...}`` of the untuned and the best model on the held-out rows; empty
            where there are none.
        steps: optimiser steps taken.
        seconds: of the whole run, evaluations too.
        pairs_per_second: rows a second over the steps alone.
    """

    status: str
    model: Path
    adapter: Path | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    steps: int
    seconds: float
    pairs_per_second: float

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "model": str(self.model), "adapter": None if self.adapter is None else str(self.adapter)}

    def event(self) -> Finished | Stopped:
        """What tells of it."""
        kind = Finished if self.status == "finished" else Stopped
        return kind(self.steps, self.seconds, self.pairs_per_second, self.before, self.after, str(self.model))


def train(
    spec: TrainSpec,
    examples: Examples,
    emit: Callable[[Event], None],
    should_stop: Callable[[], bool],
    *,
    encoder: Tuned,
    folder: Path,
    dev: Examples | None = None,
    resume: bool = False,
    reasons: Sequence[str] = (),
    untuned: Mapping[str, Any] | None = None,
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
        untuned: the scores to compare with, where ``encoder`` already comes from an earlier stage; else it is judged first.

    Raises:
        StudioError: something that a person can mend; checkpoints that were written are intact.
    """
    spec = settled(spec, examples)
    learned, held, unjudged = hold_out(spec, examples, dev)
    if not len(learned):
        raise StudioError("there are no rows to learn from", "give a larger file")
    identity = identity_of(spec, learned, held)
    checkpoints = Checkpoints(folder)
    processes = Processes(encoder.device)
    if resume and (ended := read_outcome(folder, identity)) is not None:
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
    objective = prepare(spec, encoder, learned, processes)
    if state.step == 0:
        fit_head(spec, objective, encoder, learned, processes)
    rows = read_rows(learned, encoder)
    if objective.in_batch and len(rows.ids) > 1:
        objective.know(Relation.of(rows.ids, siblings(learned), processes.device))
    parts = Parts(
        spec, encoder, objective, rows, Judge(held, folder, learned=learned) if held is not None else None, processes, folder, emit
    )
    precision = resolve_precision(spec.precision, processes.device)
    schedule = Schedule.plan(batches_for(objective, rows, spec, processes.count), spec.epochs, spec.evaluations_per_epoch)
    loop = Loop(parts, schedule, precision, state, untuned or {})
    parts.say(
        Started(
            schedule.steps, spec.epochs, len(rows), 0 if held is None else len(held), spec.objective, spec.method,
            str(processes.device), precision, spec.batch_size, state.step, tuple(reasons),
        )
    )  # fmt: skip
    for found in damaged:
        parts.say(Notice(found))
    if processes.note:
        parts.say(Notice(processes.note))
    if spec.precision == "bfloat16" and autocast_dtype(processes.device) is None:
        parts.say(Notice(f"this {processes.device.type} has no fast bfloat16: training takes longer than in float32"))
    if held is None:
        parts.say(Notice(f"nothing measures how good the model is, and its last weights are kept: {unjudged}"))
    if resume:
        loop.resume()
    unpack = pack_batches(encoder.backbone) if processes.device.type == "cpu" else lambda: None
    try:
        reached = loop.run(should_stop)
    finally:
        unpack()
    return _finish(parts, loop, reached, base)


def _finish(parts: Parts, loop: Loop, reached: bool, base: str) -> Outcome:
    loop.restore_best()
    parts.encoder.eval()
    state, processes, folder = loop.state, parts.processes, parts.folder
    rate = state.rows / state.seconds if state.seconds else 0.0
    outcome = Outcome(
        "finished" if reached else "stopped",
        folder / "model",
        folder / "adapter" if parts.spec.method == "lora" else None,
        state.before,
        state.after,
        state.step,
        state.total_seconds,
        rate,
    )
    if processes.main:
        with disk_space("the model"):
            export(parts, state, base)
            if reached:
                write_json(folder / _OUTCOME, {"identity": state.identity, **outcome.to_json()})
                parts.checkpoints.keep_only(state.best)
    if state.before and state.after and state.after["score"] <= state.before["score"]:
        parts.say(Notice("the tuned model is no better than the untuned one on the held-out rows; more rows, or a lower rate, may help"))
    processes.wait()
    _conclude(outcome, emit=parts.emit, processes=processes)
    return outcome


def _conclude(outcome: Outcome, emit: Callable[[Event], None], processes: Processes) -> None:
    if processes.main:
        emit(outcome.event())


def read_outcome(folder: Path, identity: str, name: str = _OUTCOME) -> Outcome | None:
    """The outcome of a run that had already reached its end; ``None`` where there is none, or it is that of other settings."""
    try:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        if values.pop("identity") != identity or not (folder / "model").is_dir() or damage(folder / "model"):
            return None
        # The folder may have been moved since.
        adapter = folder / "adapter" if values["adapter"] else None
        return Outcome(**{**values, "model": folder / "model", "adapter": adapter})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # there is none, or it is damaged
        return None


def identity_of(spec: TrainSpec, *examples: Examples | None) -> str:
    """Names what decides the result: the spec, but for how often checkpoints are written, and the rows. 32 hex digits."""
    decides = {name: value for name, value in spec.to_json().items() if name != "checkpoint_every"}
    words = json.dumps([decides, *("" if part is None else part.digest for part in examples)], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:32]
