"""Verbs for a run that stopped to ask, or that ended: its question answered, the strength of its model set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...runs.run import Run
from ..part import Part
from .plans import Answered, TrainRequest
from .questions import Unanswered, answered, from_json, question_from_json
from .starting import ALARM

if TYPE_CHECKING:
    from ...data.questions import Option, Question
    from ...runs.files import RunFiles
    from ..services import Services
    from .tuning import Tuning


class Settling(Part):
    """What is decided about a run after its training."""

    def __init__(self, services: Services, tune: Tuning) -> None:
        super().__init__(services)
        self.tune = tune

    def question(self, run_id: str) -> Question | None:
        """What a run asks that an alarm has stopped; ``None`` where it asks nothing."""
        if self.store.get(run_id).status != "asks":
            return None
        asked = [event["question"] for _, event in self.store.events(run_id) if event.get("type") == "asks"]
        return question_from_json(asked[-1]) if asked else None

    def require_no_alarm(self, run_id: str) -> None:
        """Find out whether a run that ended asks something.

        Raises:
            Unanswered: it does.
        """
        if (question := self.question(run_id)) is not None:
            raise Unanswered.of_run(run_id, question)

    def answer(self, run_id: str, place: int) -> Run:
        """Answer what a run asks: it goes on as it is, begins anew with its table read otherwise, or is left.

        Args:
            place: of the answer among the question's options.

        Returns:
            the run that goes on, which is another one where the table is read otherwise; or the one that was left.

        Raises:
            StudioError: the run asks nothing, or there is no such answer.
        """
        question = self.question(run_id)
        if question is None or not 0 <= place < len(question.options):
            raise StudioError("that question is no longer open", "look at the run again")
        option = question.options[place]
        if not option.choice:
            self.store.record(
                run_id, status="stopped", message=f"left as it was, for its rows are to be looked at: {question.text}", hint=""
            )
            return self.store.get(run_id)
        if ALARM in option.choice:
            self.tune.accept(run_id, str(option.choice[ALARM]))
            return self.tune.resume(run_id)
        return self._anew(run_id, question, option)

    def set_strength(self, run_id: str, value: float) -> Run:
        """Make a finished run's model the blend of this strength: 0 is the untuned model, 1 the tuned one. Nothing is trained.

        Raises:
            StudioError: the strength is out of range, the run is not finished, or its model has nothing to be blended with.
        """
        from ...runs.files import RunFiles
        from ...training.events import to_json
        from ...training.fresh import fresh
        from ...training.judging.strength import set_strength

        run, folder = self.store.get(run_id), self.workspace.run(run_id)
        if run.status != "finished":
            raise StudioError(f"the run {run_id} is {run.status}", "choose a finished run")
        materials = RunFiles(folder)
        spec = materials.spec()
        after = set_strength(folder, spec, value, load=lambda: fresh(self.catalog, spec, materials.examples()[0]))
        self.store.record(run_id, after=after)
        if (pins := materials.pins()) is not None and (
            seen := pins.looked_at(self.catalog.load_either(run_id), run.step, kept=True)
        ) is not None:
            self.store.record(run_id, to_json(seen))
        return self.store.get(run_id)

    def _anew(self, run_id: str, question: Question, option: Option) -> Run:
        """A new run of the same files and settings, with the table read as the answer says; the old one is left."""
        from ...runs.files import RunFiles

        run, materials = self.store.get(run_id), RunFiles(self.workspace.run(run_id))
        request = answered_request(materials, run, question, option)
        table = self.tune.read.table(materials.path("data"), materials.source()["data"]["name"], asked=request.choices)
        new = self.tune.submit(self.tune.plan(request, table=table))
        self.store.record(run_id, status="stopped", message=f"{option.answer}: it goes on as {new.id}", hint="")
        return new


def answered_request(materials: RunFiles, run: Run, question: Question, option: Option) -> TrainRequest:
    """What was asked for when the run was begun, with the answer to its question taken up."""
    from ...data.choices.column_choices import ColumnChoices

    told = materials.plan()
    before = ColumnChoices(**from_json(_mapping(told, "choices", "data")))
    source = materials.source()
    return TrainRequest(
        materials.path("data"),
        materials.path("dev") if "dev" in source else None,
        materials.path("first") if "first" in source else None,
        answered(before, option.choice),
        dict(told.get("overrides") or {}),
        run.model,
        run.owner,
        run.name,
        tuple(told.get("changes") or ()),
        (*(Answered(one["question"], one["answer"]) for one in told.get("answered", ())), Answered(question.text, option.answer)),
        materials.pins(),
    )


def _mapping(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        value = value.get(name) or {}
    return dict(value)
