"""Run several trainings: stages, seeds and folds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.questions import Question
from ..data.split import find_leaks
from ..errors import StudioError
from ..models.quantized import densify_embeddings
from ..workspace import atomic_folder, write_json
from .alarms import CHECKED_KINDS, MIN_ROWS, OPPOSITE, check_below_chance, is_accepted, sample_rows
from .artifacts import HELD_OUT, REFERENCE
from .blend import blend_obstacle
from .checkpoints import Checkpoints, report_full_disk
from .crossval import cross_validate, plan_folds
from .distributed import Processes
from .evaluator import Evaluator, hold_out, uninformative_reason
from .events import Asks, Evaluated, Event, Finished, Notice, Part, PartEnded, Stopped
from .general_probe import GeneralProbe
from .members import Assignment, Load, Member, RunProgress, plan_members, planned_steps, summarize_scores
from .mistakes import MISTAKES
from .pins import TrackedExamples
from .prepare import apply_architecture
from .spec import TrainSpec
from .trainer import TrainingOutcome, read_outcome, run_identity, train

if TYPE_CHECKING:
    from ..data.examples import Examples

_PARTS, _FIRST, _OUTCOME = "parts", "first", "course.json"
FIRST = "first stage"
"""The title of the training on other rows."""
_STAGE = Assignment(blends=False)


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
    resume: bool = True,
    reasons: Sequence[str] = (),
    pins: TrackedExamples | None = None,
) -> TrainingOutcome:
    """Run all trainings of ``spec``; arguments are those of :func:`~sbert_studio.training.trainer.train`.

    With several seeds or folds, scores are means with standard deviation (``score``, ``sd``, ``each``), and the model with the largest
    gain is kept.

    Args:
        load: returns a fresh encoder for each training.
        first: examples of the first stage, if ``spec.first`` is set; rows that contain a held-out text are left out.

    Raises:
        StudioError: as ``train``; or folds, groups or held-out rows are impossible.
    """
    if dev is not None and (known := int(find_leaks(examples, dev).sum())):
        emit(Notice(f"{known:,} rows to learn from hold a text of the held-out file, so the scores flatter"))
    folds = plan_folds(spec, examples, dev, folder) if first is None else None
    if (question := _check_alarm_first(spec, examples, dev, load, folder, bool(folds))) is not None:
        asks = TrainingOutcome("asks", folder / "model", None, {}, {}, 0, 0.0, 0.0, question.to_json())
        emit(asks.event())
        return asks
    if folds:
        return cross_validate(
            spec, examples, folds, emit, should_stop, load=load, folder=folder, resume=resume, reasons=reasons, pins=pins
        )  # fmt: skip
    if first is None and spec.folds == 0 and spec.seeds == 1:
        encoder = load(spec, examples, None)
        return train(spec, examples, emit, should_stop, encoder=encoder, folder=folder, dev=dev, resume=resume, reasons=reasons, pins=pins)
    identity = run_identity(spec, examples, dev, first)
    if resume and (ended := read_outcome(folder, identity, _OUTCOME)) is not None:
        emit(ended.event())
        return ended
    plan = plan_members(spec, examples, dev)
    stage = TrainSpec.from_json(spec.first).replace(model=spec.model) if first is not None else spec
    steps = [*([] if first is None else [planned_steps(stage, first)]), *(planned_steps(member.spec, member.learned) for member in plan)]
    course = _Trials(folder, load, RunProgress(emit, steps), should_stop, len(steps), tuple(reasons), resume, pins)
    source, taken = None, []
    if first is not None:
        if (question := course.evaluate_base(plan[0])) is not None:
            asks = TrainingOutcome("asks", folder / "model", None, course.before, {}, 0, 0.0, 0.0, question.to_json())
            emit(asks.event())
            return asks
        taken.append(course.train_member(Member(FIRST, stage, course.unseen(first, plan), None), folder / _FIRST, None))
        source = taken[0].model
    for member in plan if not taken or taken[0].status == "finished" else ():
        taken.append(course.train_member(member, folder / _PARTS / member.name, source))
        if taken[-1].status != "finished":
            break
    return course.conclude(taken, taken[1:] if first is not None else taken, identity)


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
        encoder = load(spec.replace(architecture="siamese", objective="auto") if cross else spec, examples, None)
    except StudioError:
        if not cross:
            raise
        return None  # it is a cross-encoder already
    if encoder.has_untrained_scores:
        return None
    return check_below_chance(encoder, [looked_at], [Evaluator(looked_at)(encoder)])


class _Trials:
    def __init__(
        self,
        folder: Path,
        load: Load,
        emit: Callable[[Event], None],
        should_stop: Callable[[], bool],
        parts: int,
        reasons: tuple[str, ...],
        resume: bool,
        pins: TrackedExamples | None,
    ) -> None:
        self.folder, self.load, self.should_stop = folder, load, should_stop
        self.emit, self.parts, self.reasons, self.resume, self.pins = emit, parts, reasons, resume, pins
        self.number, self.main = 0, True
        self.before: dict[str, Any] = {}

    def evaluate_base(self, member: Member) -> Question | None:
        if member.held is None or uninformative_reason(member.held):
            return None
        untuned = self.load(member.spec, member.learned, None)
        self.before = Evaluator(member.held, learned=member.learned)(untuned)
        self.emit(Evaluated(0, self.before["metric"], self.before["score"], self.before, False))
        return None if is_accepted(member.spec, OPPOSITE) else check_below_chance(untuned, [member.held], [self.before])

    def unseen(self, first: Examples, plan: Sequence[Member]) -> Examples:
        for held in (member.held for member in plan if member.held is not None):
            known = find_leaks(first, held)
            if known.any():
                self.emit(Notice(f"{int(known.sum()):,} rows of the first stage hold a held-out text and are left out"))
                first = first.take((~known).nonzero()[0])
        return first

    def train_member(self, member: Member, place: Path, source: Path | None) -> TrainingOutcome:
        self.number += 1
        self.emit(Part(self.number, self.parts, member.title))
        given = self._base_scores(member, place) if source is not None else _STAGE if member.title == FIRST else None
        encoder = self.load(member.spec, member.learned, source)
        self.main = Processes(encoder.device).main
        outcome = train(
            member.spec,
            member.learned,
            self._forward,
            self.should_stop,
            encoder=encoder,
            folder=place,
            dev=member.held,
            resume=self.resume,
            reasons=self.reasons if self.number == 1 else (),
            assignment=given,
            pins=self.pins,
        )
        if outcome.status == "finished":
            self.emit(PartEnded(self.number, self.parts, member.title, outcome.before, outcome.after))
        return outcome

    def _base_scores(self, member: Member, place: Path) -> Assignment:
        untuned = self.load(member.spec, member.learned, None)
        apply_architecture(member.spec, untuned)
        general = GeneralProbe.build(untuned)
        held = None if member.held is None or uninformative_reason(member.held) else member.held
        scores = {} if held is None else Evaluator(held, place, learned=member.learned)(untuned, untuned=True)
        scores |= {"general": general.untuned} if general is not None and scores else {}
        densify_embeddings(untuned)  # as the model that the first stage has saved
        weights = {} if blend_obstacle(member.spec) else dict(untuned.named_parameters())
        return Assignment(scores, TrainSpec.from_json(member.spec.first), weights or None, general)

    def conclude(self, taken: Sequence[TrainingOutcome], judged: Sequence[TrainingOutcome], identity: str) -> TrainingOutcome:
        best = max(judged or taken, key=lambda outcome: (bool(outcome.after), _gain(outcome)))
        seconds = sum(outcome.seconds for outcome in taken)
        outcome = TrainingOutcome(
            taken[-1].status,
            self.folder / "model",
            # After a first stage the adapter's base is a model that nobody else has.
            self.folder / "adapter" if best.adapter is not None and self.parts == len(judged) else None,
            summarize_scores([outcome.before for outcome in judged]),
            summarize_scores([outcome.after for outcome in judged], kept=best.after),
            sum(outcome.steps for outcome in taken),
            seconds,
            sum(outcome.pairs_per_second * outcome.seconds for outcome in taken) / seconds if seconds else 0.0,
            taken[-1].question,
        )
        if self.main and outcome.status != "asks":
            with report_full_disk("the model", self.folder):
                self._keep(best, outcome)
                if outcome.status == "finished":
                    write_json(self.folder / _OUTCOME, {"identity": identity, **outcome.to_json()})
            if outcome.status == "finished":
                for name in (_PARTS, _FIRST):
                    shutil.rmtree(self.folder / name, ignore_errors=True)
        self.emit(outcome.event())
        return outcome

    def _keep(self, best: TrainingOutcome, outcome: TrainingOutcome) -> None:
        for target, source in ((outcome.model, best.model), (outcome.adapter, best.adapter)):
            if target is not None and source is not None:
                with atomic_folder(target) as part:
                    shutil.copytree(source, part, dirs_exist_ok=True)
        # The tuned weights stay, so that another strength can be set later.
        if outcome.status == "finished" and (kept := best.model.parent / "checkpoints").is_dir():
            shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)
            shutil.copytree(kept, self.folder / "checkpoints")
        for name in (HELD_OUT, REFERENCE, MISTAKES):
            if (best.model.parent / name).is_file():
                shutil.copyfile(best.model.parent / name, self.folder / name)

    def _forward(self, event: Event) -> None:
        if not isinstance(event, Finished | Stopped | Asks):
            self.emit(event)


def _gain(outcome: TrainingOutcome) -> float:
    return outcome.after["score"] - outcome.before["score"] if outcome.after and outcome.before else 0.0
