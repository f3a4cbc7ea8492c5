"""Cross-validation of small data sets: every row held out once, then a final model on all rows."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..evaluation.bootstrap import MIN_CLUSTERS, count_clusters
from ..evaluation.evaluate import SCORED_KINDS
from ..workspace import write_json
from . import mistakes
from .alarms import OPPOSITE, accepted, below_chance
from .blend import MARKS, TIE, best, in_brief, unblended
from .checkpoints import Checkpoints, disk_space
from .distributed import Processes
from .evaluator import Evaluator, Marks, hold_out, of_the_rarer, says_nothing
from .events import Asks, Evaluated, Event, Finished, Notice, Part, PartEnded, Phase, Stopped
from .fold_scores import Candidate, judged_by_others, pooled
from .general_probe import GeneralProbe
from .members import Assignment, Load, Member, WholeRun, members, planned_steps
from .pins import Pins
from .prepare import reshape
from .spec import TrainSpec, settled
from .trainer import Outcome, identity_of, read_outcome, train

if TYPE_CHECKING:
    import numpy as np

    from ..data.examples import Examples


PARTS, OUTCOME = "parts", "course.json"
"""Where a run keeps the trainings of its folds, and what they came to."""
_FEW = 1_000  # rows, above which one part of them tells enough
_FEW_OF_CATEGORIES = 2_500  # a text lands right or wrong, which tells less of a row than a score does
FEWEST = 20
"""Rows, below which no folds judge a run."""
_MOST_IN_ONE = 0.6  # of the rows; where most hang together by shared texts, a fold would learn from next to nothing


def in_folds(spec: TrainSpec, examples: Examples, dev: Examples | None, folder: Path | None = None) -> list[Member]:
    """The folds that judge a run, where it is judged by folds; nothing where one part of the rows judges it.

    Args:
        folder: the run's, where it may have begun; one that an earlier version began goes on as it did.

    Raises:
        StudioError: folds are asked for, and cannot be had.
    """
    asked = spec.judge == "folds"
    if dev is not None or spec.folds or spec.seeds > 1 or spec.first or spec.judge == "split" or not spec.dev_fraction:
        if asked:
            raise StudioError(
                "folds cannot judge a run that has a held-out file, a first stage, several seeds, folds of its own or no held-out share",
                "leave one of the two out",
            )
        return []
    few = _FEW_OF_CATEGORIES if examples.kind == "labelled_texts" else _FEW
    if not asked and (not FEWEST <= len(examples) < few or (folder is not None and _begun_by_a_split(folder))):
        return []
    try:
        if examples.kind not in SCORED_KINDS:
            raise StudioError(hold_out(spec, examples, None)[2], "leave out judge=folds")
        found = _told_apart(spec, examples)
    except StudioError:
        if asked:
            raise
        return []
    fits = all(member.held is not None and 1 < len(member.held) <= _MOST_IN_ONE * len(examples) for member in found)
    return found if fits or asked else []


def _told_apart(spec: TrainSpec, examples: Examples) -> list[Member]:
    """As many folds as is usual, or fewer where a label is rare: each holds two rows of it, or else one.

    Raises:
        StudioError: the rows do not give two folds, or not two in which a ranking can be right or wrong.
    """
    usual, refused, found = usual_folds(len(examples)), None, list[Member]()
    for least in (2, 1):
        for number in range(usual, 1, -1):
            try:
                found = members(spec.replace(folds=number, judge="auto"), examples, None)
            except StudioError as error:  # there are fewer sets of rows that share no text
                refused = error
                continue
            held = [member.held for member in found if member.held is not None]
            rarer = [of_the_rarer(one) for one in held]
            if not any(map(says_nothing, held)) and all(one is None or one[1] >= least for one in rarer):
                return found
    if refused is not None and not found:
        raise refused
    raise StudioError("one label is so rare that there are no two folds with rows of both", "give more rows of it, or choose judge=split")


def _begun_by_a_split(folder: Path) -> bool:
    mine = (folder / PARTS).is_dir() or (folder / OUTCOME).is_file()
    return not mine and Checkpoints(folder).newest() is not None


def usual_folds(rows: int) -> int:
    """More folds where they are cheap: each learns from more of the rows. None so small that its rows tell nothing, where that can be."""
    most = 5 if rows <= 150 else 4 if rows <= 350 else 3
    return most if rows < 2 * MIN_CLUSTERS else min(most, rows // MIN_CLUSTERS)


def cross_fitted(
    spec: TrainSpec,
    examples: Examples,
    folds: Sequence[Member],
    emit: Callable[[Event], None],
    should_stop: Callable[[], bool],
    *,
    load: Load,
    folder: Path,
    resume: bool,
    reasons: Sequence[str],
    pins: Pins | None = None,
) -> Outcome:
    """Judge by ``folds``, then train on all rows for the share of the steps, and leave the blend, that did best in them.

    ``after`` has, beside what one training has: ``folds``, ``by_fold``, the score of each, ``tried``, among how many the model was
    chosen, and ``nested``, the score where the choice for each fold is made on the others. Of a tuned model that is kept this is the score
    that is told, for choosing on the rows that give the score would flatter it. Scores are means over the folds, weighted by their rows;
    the bootstrap draws rows within each fold, so that similarities of different models are never ranked together.

    Raises:
        StudioError: as :func:`~sbert_studio.training.trainer.train`.
    """
    identity = identity_of(spec, examples)
    if resume and (ended := read_outcome(folder, identity, OUTCOME)) is not None:
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        emit(ended.event())
        return ended
    if not resume:
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        (folder / OUTCOME).unlink(missing_ok=True)
    steps = [*(planned_steps(fold.spec, fold.learned) for fold in folds), planned_steps(spec, examples)]
    run = _CrossFit(settled(spec, examples), list(folds), load, folder, emit, steps, should_stop, resume, pins)
    return run.carry_out(examples, identity, reasons)


class _CrossFit:
    def __init__(
        self,
        spec: TrainSpec,
        folds: list[Member],
        load: Load,
        folder: Path,
        emit: Callable[[Event], None],
        steps: Sequence[int],
        should_stop: Callable[[], bool],
        resume: bool,
        pins: Pins | None,
    ) -> None:
        self.spec, self.folds, self.load, self.folder, self.pins = spec, folds, load, folder, pins
        self.emit, self.should_stop, self.resume = WholeRun(emit, steps), should_stop, resume
        self.taken: list[Outcome] = []
        self.began = time.perf_counter()
        self.earlier = 0.0  # seconds that the trainings had taken before the run was resumed
        self.main = True
        self.apart: list[int] = []  # of each fold, how many clusters of rows it holds out

    def carry_out(self, examples: Examples, identity: str, reasons: Sequence[str]) -> Outcome:
        self._say(Phase("judging the untuned model first"))
        untuned = self.load(self.spec, examples, None)
        self.main = Processes(untuned.device).main
        reshape(self.spec, untuned)
        general = GeneralProbe.of(untuned)
        scores = [
            Evaluator(fold.held, self._place(fold), learned=fold.learned)(untuned, untuned=True)
            for fold in self.folds
            if fold.held is not None
        ]
        self.apart = [count_clusters(*fold.held.texts) for fold in self.folds if fold.held is not None]
        before = pooled(self._candidates(scores, [Marks(self._place(fold)).untuned() for fold in self.folds]))
        if general is not None:
            before["general"] = general.untuned
        self._say(Evaluated(0, before["metric"], before["score"], before, False))
        held = [fold.held for fold in self.folds if fold.held is not None]
        if not accepted(self.spec, OPPOSITE) and (question := below_chance(untuned, held, scores)) is not None:
            return self._end(self._outcome("asks", before, {}, question=question.to_json()))
        del untuned
        reasons = (*reasons, *_why(len(examples), len(self.folds)))
        for number, (fold, known) in enumerate(zip(self.folds, scores, strict=True), start=1):
            # One fold tells whether the general probe falls apart: the others learn from nearly the same rows.
            watched = {"general": general.untuned} if general is not None and number == 1 else {}
            given = Assignment({**known, **watched}, general=general if number == 1 else None, judges=True)
            outcome = self._take(number, fold, self._place(fold), given, reasons if number == 1 else ())
            if outcome.status != "finished":
                return self._unfinished(outcome, before)
        self._say(Phase("comparing what the folds found"))
        after, share = self._choose(before, scores)
        self._keep_mistakes(after)
        if "gain_interval" not in after and "interval" in after:
            self._say(Notice("one label is so rare in the folds that a gain cannot be told from chance"))
        self._say(Evaluated(self.taken[-1].steps, after["metric"], after["score"], after, True))
        whole = Member("all rows", self.spec.replace(dev_fraction=0), examples, None)
        verdict = Assignment(general=general, verdict=(before, after), share=share)
        outcome = self._take(len(self.folds) + 1, whole, self.folder, verdict, ())
        found = self._outcome(outcome.status, outcome.before, outcome.after, adapter=outcome.adapter, question=outcome.question)
        if self.main and outcome.status == "finished":
            with disk_space("the outcome", self.folder):
                write_json(self.folder / OUTCOME, {"identity": identity, **found.to_json()})
            shutil.rmtree(self.folder / PARTS, ignore_errors=True)
        return self._end(found)

    def _keep_mistakes(self, after: Mapping[str, Any]) -> None:
        """The worst mistakes at the strength that is kept, each by a model that had not seen the row."""
        name = mistakes.name_at(float(after.get("strength", 1.0)))
        found = mistakes.pooled([mistakes.read(self._place(fold) / name) for fold in self.folds])
        if found is not None and self.main:
            mistakes.write(self.folder, found)

    def _candidates(self, scores: Sequence[Mapping[str, Any]], drawn: Sequence[np.ndarray | None]) -> list[Candidate]:
        return [Candidate(*one) for one in zip(scores, drawn, self.apart, strict=True)]

    def _choose(self, before: Mapping[str, Any], untuned_scores: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], float]:
        """The scores of what did best over all folds, and the share of the steps that belongs to it.

        All blends are of the weights after the last step. An earlier evaluation is a choice by itself. What is told of a tuned model that
        was kept is what rows show that did not choose it (see :func:`~sbert_studio.training.fold_scores.judged_by_others`).
        """
        marks = [Marks(self._place(fold)) for fold in self.folds]
        untuned = [one.untuned() for one in marks]
        steps = [one.steps() for one in marks]

        tried = [self._candidates(untuned_scores, untuned)]

        def judged(names: Sequence[str]) -> dict[str, Any]:
            named = list(zip(marks, names, strict=True))
            tried.append(self._candidates([mark.scores(name) for mark, name in named], [mark.resampled(name) for mark, name in named]))
            return pooled(tried[-1], untuned)

        last = [f"step-{own[-1]}" for own in steps]
        tuned: dict[str, Any] = judged(last) | {"strength": 1.0}
        ends = [tuned]
        if not unblended(self.spec):
            between = [judged([f"strength-{strength}"] * len(marks)) | {"strength": strength} for strength in MARKS[1:-1]]
            ends = [{**before, "gain_interval": [0.0, 0.0], "strength": 0.0}, *between, tuned]
        kept, share = best(ends), 1.0
        for place in range(min(map(len, steps)) - 1):
            early = judged([f"step-{own[place]}" for own in steps]) | {"strength": 1.0}
            if early["score"] > kept["score"] + TIE:
                share = steps[0][place] / steps[0][-1]
                ends = [ends[0], early] if len(ends) > 1 else [early]
                kept = early
        blends = not unblended(self.spec)
        honest = judged_by_others(tried if blends else tried[1:], untuned, or_untuned=blends)
        if blends and honest["score"] <= before["score"]:  # it did better on the rows that chose it, and on no others
            kept, share = ends[0], 1.0
        told = {name: honest[name] for name in ("nested", "tried")} if kept["strength"] == 0 else honest
        return {**kept, **told, "strengths": [in_brief(mark) for mark in ends], "folds": len(self.folds)}, share

    def _take(self, number: int, member: Member, place: Path, given: Assignment, reasons: Sequence[str]) -> Outcome:
        self._say(Part(number, len(self.folds) + 1, member.title))
        self._say(Phase("loading the model"))
        began = time.perf_counter()
        outcome = train(
            member.spec,
            member.learned,
            self._tell,
            self.should_stop,
            encoder=self.load(member.spec, member.learned, None),
            folder=place,
            dev=member.held,
            resume=self.resume,
            reasons=reasons,
            assignment=given,
            pins=self.pins,
        )
        self.taken.append(outcome)
        self.earlier += max(0.0, outcome.seconds - (time.perf_counter() - began))
        if outcome.status == "finished":
            self._say(PartEnded(number, len(self.folds) + 1, member.title, outcome.before, outcome.after))
        return outcome

    def _unfinished(self, outcome: Outcome, before: Mapping[str, Any]) -> Outcome:
        if outcome.status == "stopped":
            self._say(Notice("stopped while the folds were judged: there is no model yet; resume the run to go on", passing=True))
        return self._end(self._outcome(outcome.status, before, {}, question=outcome.question))

    def _outcome(
        self,
        status: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        *,
        adapter: Path | None = None,
        question: Mapping[str, Any] | None = None,
    ) -> Outcome:
        seconds = sum(outcome.seconds for outcome in self.taken)
        rows = sum(outcome.pairs_per_second * outcome.seconds for outcome in self.taken)
        steps = sum(outcome.steps for outcome in self.taken)
        rate = rows / seconds if seconds else 0.0
        # Loading, and all judging between the trainings, took their time as well.
        whole = self.earlier + time.perf_counter() - self.began
        return Outcome(status, self.folder / "model", adapter, before, after, steps, whole, rate, question or {})

    def _end(self, outcome: Outcome) -> Outcome:
        self._say(outcome.event())
        return outcome

    def _place(self, fold: Member) -> Path:
        return self.folder / PARTS / fold.name

    def _say(self, event: Event) -> None:
        if self.main:
            self.emit(event)

    def _tell(self, event: Event) -> None:
        """All that a training tells but its end, which is not that of the run."""
        if not isinstance(event, Finished | Stopped | Asks):
            self.emit(event)


def _why(rows: int, folds: int) -> list[str]:
    found = [f"Judged in {folds} folds: with {rows:,} rows each is held out once, and the model itself learns from all of them."]
    if folds < usual_folds(rows):
        found.append("These are fewer folds than usual, so that each holds rows of both labels.")
    return found
