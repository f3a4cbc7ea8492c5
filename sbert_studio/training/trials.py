"""Execution of all members of a run: stages, seeds and folds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.findings import Question
from ..data.split import find_leaks
from ..errors import StudioError
from ..i18n import _
from ..models.quantized import densify_embeddings
from ..workspace import atomic_folder, write_json
from .alarms import CHECKED_KINDS, MIN_ROWS, OPPOSITE, check_below_chance, is_accepted, sample_rows
from .artifacts import HELD_OUT, MISTAKES, REFERENCE
from .blend import blend_obstacle
from .checkpoints import Checkpoints, report_full_disk
from .crossval import MemberTrainer, cross_validate
from .evaluator import Evaluator, GeneralProbe, hold_out, uninformative_reason
from .events import Evaluated, Event, Notice, Part
from .members import OUTCOME, PARTS, Load, Member, plan_folds, plan_members, planned_steps, summarize_scores
from .prepare import apply_architecture
from .spec import TrainSpec
from .trainer import Assignment, RunNotes, TrainingOutcome, read_outcome, run_identity, train

if TYPE_CHECKING:
    from ..data.examples import Examples

_FIRST = "first"
FIRST = "first stage"
"""Title of the stage on other rows."""


def run_trials(
    spec: TrainSpec,
    examples: Examples,
    emit: Callable[[Event], None],
    should_stop: Callable[[], bool],
    *,
    load: Load,
    folder: Path,
    dev: Examples | None = None,
    first: Examples | None = None,
    notes: RunNotes | None = None,
) -> TrainingOutcome:
    """Train all members of ``spec``, resuming from their checkpoints if any; see :func:`~sbert_studio.training.trainer.train`.

    With several seeds or folds, scores are means with standard deviations (``score``, ``sd``, ``each``), and the model with the largest
    gain is kept.

    Args:
        load: returns a fresh encoder for each member.
        first: examples of the first stage, if ``spec.first`` is set; rows that contain a held-out text are skipped.

    Raises:
        StudioError: see ``train``; or folds, groups or held-out rows are impossible.
    """
    notes = notes or RunNotes()
    if dev is not None and (known := int(find_leaks(examples, dev).sum())):
        emit(Notice(_("{known} training rows contain a text of the held-out file, so the scores are too optimistic", known=f"{known:,}")))
    folds = plan_folds(spec, examples, dev, folder) if first is None else None
    if (question := _check_alarm_first(spec, examples, dev, load, folder, bool(folds))) is not None:
        return _ask(question, folder, {}, emit)
    if folds:
        return cross_validate(spec, examples, folds, emit, should_stop, load=load, folder=folder, notes=notes)
    if first is None and spec.folds == 0 and spec.seeds == 1:
        encoder, alone = load(spec, examples, None), Assignment(notes=notes)
        return train(spec, examples, emit, should_stop, encoder=encoder, folder=folder, dev=dev, resume=True, assignment=alone)
    identity = run_identity(spec, examples, dev, first)
    if (ended := read_outcome(folder, identity, OUTCOME)) is not None:
        emit(ended.event())
        return ended
    plan = plan_members(spec, examples, dev)
    stage = TrainSpec.from_json(spec.first).replace(model=spec.model) if first is not None else spec
    steps = [*([] if first is None else [planned_steps(stage, first)]), *(planned_steps(member.spec, member.train_rows) for member in plan)]
    trials = _Trials(MemberTrainer(load, emit, should_stop, steps, notes), folder, notes.reasons)
    source = None
    if first is not None:
        before, question = trials.evaluate_base(plan[0])
        if question is not None:
            return _ask(question, folder, before, emit)
        outcome = trials.train(Member(FIRST, stage, trials.unseen(first, plan), None), folder / _FIRST, None)
        source = outcome.model
    for member in plan if source is None or outcome.status == "finished" else ():
        if trials.train(member, folder / PARTS / member.name, source).status != "finished":
            break
    return trials.conclude(source is not None, identity)


def _ask(question: Question, folder: Path, before: dict[str, Any], emit: Callable[[Event], None]) -> TrainingOutcome:
    outcome = TrainingOutcome("asks", folder / "model", None, before, {}, 0, 0.0, 0.0, question.to_json())
    emit(outcome.event())
    return outcome


def _check_alarm_first(spec: TrainSpec, examples: Examples, dev: Examples | None, load: Load, folder: Path, folds: bool) -> Question | None:
    if is_accepted(spec, OPPOSITE) or Checkpoints(folder).newest() is not None or examples.kind not in CHECKED_KINDS:
        return None
    cross = spec.architecture == "cross"
    held = hold_out(spec, examples, dev)[1] if cross or not folds else None
    few = not folds and (held is None or len(held) < MIN_ROWS)
    if not (cross or few):
        return None
    looked_at = sample_rows(examples) if held is None or len(held) < MIN_ROWS else held
    if len(looked_at) < 2:
        return None
    try:
        encoder = load(spec.replace(architecture="siamese", loss="auto") if cross else spec, examples, None)
    except StudioError:
        if not cross:
            raise
        return None  # it is already a cross-encoder
    if encoder.has_untrained_scores:
        return None
    return check_below_chance(encoder, [looked_at], [Evaluator(looked_at)(encoder)])


class _Trials:
    def __init__(self, trainer: MemberTrainer, folder: Path, reasons: tuple[str, ...]) -> None:
        self.trainer, self.folder, self.reasons = trainer, folder, reasons

    def evaluate_base(self, member: Member) -> tuple[dict[str, Any], Question | None]:
        if member.held is None or uninformative_reason(member.held):
            return {}, None
        untuned = self.trainer.load(member.spec, member.train_rows, None)
        before = Evaluator(member.held, train_rows=member.train_rows)(untuned)
        self.trainer.emit(Evaluated(0, before["metric"], before["score"], before, False))
        return before, None if is_accepted(member.spec, OPPOSITE) else check_below_chance(untuned, [member.held], [before])

    def unseen(self, first: Examples, plan: Sequence[Member]) -> Examples:
        for held in (member.held for member in plan if member.held is not None):
            known = find_leaks(first, held)
            if known.any():
                self.trainer.emit(
                    Notice(_("{known} rows of the first stage contain a held-out text and are skipped", known=f"{int(known.sum()):,}"))
                )
                first = first.take((~known).nonzero()[0])
        return first

    def train(self, member: Member, folder: Path, source: Path | None) -> TrainingOutcome:
        number = len(self.trainer.outcomes) + 1
        self.trainer.emit(Part(number, self.trainer.parts, member.title))
        notes = RunNotes(self.reasons if number == 1 else ())
        if source is not None:
            assignment = self._base_scores(member, folder)
        else:
            assignment = Assignment(blends=False, general=None, notes=notes) if member.title == FIRST else Assignment(notes=notes)
        return self.trainer.train_member(member, folder, source, assignment)

    def _base_scores(self, member: Member, folder: Path) -> Assignment:
        untuned = self.trainer.load(member.spec, member.train_rows, None)
        apply_architecture(member.spec, untuned)
        general = GeneralProbe.build(untuned, self.trainer.retrieval)
        held = None if member.held is None or uninformative_reason(member.held) else member.held
        scores = {} if held is None else Evaluator(held, folder, train_rows=member.train_rows)(untuned, untuned=True)
        scores |= {"general": general.untuned} if general is not None and scores else {}
        densify_embeddings(untuned)  # like the model saved by the first stage
        weights = {} if blend_obstacle(member.spec) else dict(untuned.named_parameters())
        return Assignment(scores, TrainSpec.from_json(member.spec.first), weights or None, general)

    def conclude(self, has_first_stage: bool, identity: str) -> TrainingOutcome:
        taken = self.trainer.outcomes
        evaluated = taken[1:] if has_first_stage else taken
        best = max(evaluated or taken, key=lambda outcome: (bool(outcome.after), _gain(outcome)))
        outcome = TrainingOutcome(
            taken[-1].status,
            self.folder / "model",
            # After a first stage, the adapter's base model is not available elsewhere.
            self.folder / "adapter" if best.adapter is not None and not has_first_stage else None,
            summarize_scores([outcome.before for outcome in evaluated]),
            summarize_scores([outcome.after for outcome in evaluated], best=best.after),
            question=taken[-1].question,
        ).with_totals(taken)
        if self.trainer.main and outcome.status != "asks":
            with report_full_disk("the model", self.folder):
                self._keep(best, outcome)
                if outcome.status == "finished":
                    write_json(self.folder / OUTCOME, {"identity": identity, **outcome.to_json()})
            if outcome.status == "finished":
                for name in (PARTS, _FIRST):
                    shutil.rmtree(self.folder / name, ignore_errors=True)
        self.trainer.emit(outcome.event())
        return outcome

    def _keep(self, best: TrainingOutcome, outcome: TrainingOutcome) -> None:
        for target, source in ((outcome.model, best.model), (outcome.adapter, best.adapter)):
            if target is not None and source is not None:
                with atomic_folder(target) as part:
                    shutil.copytree(source, part, dirs_exist_ok=True)
        # Keep the fine-tuned weights, so that another strength can be set later.
        if outcome.status == "finished" and (kept := best.model.parent / "checkpoints").is_dir():
            shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)
            shutil.copytree(kept, self.folder / "checkpoints")
        for name in (HELD_OUT, REFERENCE, MISTAKES):
            if (best.model.parent / name).is_file():
                shutil.copyfile(best.model.parent / name, self.folder / name)


def _gain(outcome: TrainingOutcome) -> float:
    return outcome.after["score"] - outcome.before["score"] if outcome.after and outcome.before else 0.0
