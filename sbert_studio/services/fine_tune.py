"""Fine-tune models: run, stop, resume, answer a run's question, set the strength."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError, is_disk_full
from ..identity import current_address
from ..progress import uninterruptible
from ..runs.restart import mark_background, resume_background_runs, unmark_background
from ..workspace import atomic_folder, file_name, write_json
from .data import require_model_folder
from .janitor import removal_date
from .limits import require_free_slot, require_queue_share, require_within_limits
from .planning import TrainingPlanner
from .questions import OpenQuestionsError, apply_answer, overrides_from_json, question_from_json
from .resources import Service
from .results import ExportedFile, RunView
from .run_setup import ACCEPT_ALARM, is_run_token, new_run, require_same_request, run_token, write_run_files
from .training_plan import AnsweredQuestion, TrainPlan, TrainRequest, run_row_reports

if TYPE_CHECKING:
    from ..data.questions import Option, Question
    from ..data.row_report import RowReport
    from ..runs.files import RunFiles
    from ..runs.run import Run
    from ..training.events import Event
    from ..training.pins import TrackedExamples
    from .resources import Resources


class _OldSettling(Service):
    """What is decided about a run after its training."""

    def __init__(self, services: Resources, tune: FineTuneService) -> None:
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
            raise OpenQuestionsError.of_run(run_id, question)

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
        if ACCEPT_ALARM in option.choice:
            self.tune.accept(run_id, str(option.choice[ACCEPT_ALARM]))
            return self.tune.resume(run_id)
        return self._anew(run_id, question, option)

    def set_strength(self, run_id: str, value: float) -> Run:
        """Make a finished run's model the blend of this strength: 0 is the untuned model, 1 the tuned one. Nothing is trained.

        Raises:
            StudioError: the strength is out of range, the run is not finished, or its model has nothing to be blended with.
        """
        from ..runs.files import RunFiles
        from ..training.events import to_json
        from ..training.prepare import create_model
        from ..training.strength import set_strength

        run, folder = self.store.get(run_id), self.workspace.run(run_id)
        if run.status != "finished":
            raise StudioError(f"the run {run_id} is {run.status}", "choose a finished run")
        materials = RunFiles(folder)
        spec = materials.spec()
        after = set_strength(folder, spec, value, load=lambda: create_model(self.catalog, spec, materials.examples()[0]))
        self.store.record(run_id, after=after)
        if (pins := materials.pins()) is not None and (seen := pins.score(self.catalog.load_any(run_id), run.step, kept=True)) is not None:
            self.store.record(run_id, to_json(seen))
        return self.store.get(run_id)

    def _anew(self, run_id: str, question: Question, option: Option) -> Run:
        """A new run of the same files and settings, with the table read as the answer says; the old one is left."""
        from ..runs.files import RunFiles

        run, materials = self.store.get(run_id), RunFiles(self.workspace.run(run_id))
        request = restart_request(materials, run, question, option)
        table = self.tune.read.table(materials.path("data"), materials.source()["data"]["name"], asked=request.choices)
        new = self.tune.submit(self.tune.plan(request, table=table))
        self.store.record(run_id, status="stopped", message=f"{option.answer}: it goes on as {new.id}", hint="")
        return new


def restart_request(materials: RunFiles, run: Run, question: Question, option: Option) -> TrainRequest:
    """What was asked for when the run was begun, with the answer to its question taken up."""
    from ..data.schema.overrides import SchemaOverrides

    told = materials.plan()
    before = SchemaOverrides(**overrides_from_json(_mapping(told, "choices", "data")))
    source = materials.source()
    return TrainRequest(
        materials.path("data"),
        materials.path("dev") if "dev" in source else None,
        materials.path("first") if "first" in source else None,
        apply_answer(before, option.choice),
        dict(told.get("overrides") or {}),
        run.model,
        run.owner,
        run.name,
        tuple(told.get("changes") or ()),
        (
            *(AnsweredQuestion(one["question"], one["answer"]) for one in told.get("answered", ())),
            AnsweredQuestion(question.text, option.answer),
        ),
        materials.pins(),
    )


def _mapping(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        value = value.get(name) or {}
    return dict(value)


class FineTuneService(TrainingPlanner):
    """Plans → runs → models. A run id is the permission to see, stop and use a run."""

    def submit(self, plan: TrainPlan | TrainRequest) -> Run:
        """Queue a run in the background, of a plan as it stands; its files are copied at once.

        Raises:
            Unanswered: a question to the files' owner is open.
            StudioError: as :meth:`plan`; or something is so wrong with the rows that nothing can be learned from them.
        """
        run = self._new_run(self.settled(plan))
        mark_background(self.workspace, run.id)
        self.runner.submit(run.id)
        return run

    def train(
        self,
        plan: TrainPlan | TrainRequest,
        *,
        out: str | Path | None = None,
        emit: Callable[[Event], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        began: Callable[[Run], None] | None = None,
    ) -> Run:
        """Train here and now, and return the run as it ended: finished or stopped.

        Args:
            plan: a plan as it stands; a request is planned first, by one process of several.
            out: where to put a copy of the model's folder.
            emit: told each event.
            began: told the run before its first step.

        Raises:
            Unanswered: a question to the files' owner is open.
            StudioError: the run failed for a reason that can be mended. Anything else that is raised is a bug.
        """
        return self._carry_out(lambda: self._new_run(self.settled(plan)), out, emit, should_stop, began)

    def go_on(
        self,
        run_id: str,
        said: TrainRequest | None = None,
        *,
        out: str | Path | None = None,
        emit: Callable[[Event], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        began: Callable[[Run], None] | None = None,
    ) -> Run:
        """Go on here and now with a run that ended early; the arguments are those of :meth:`train`.

        Args:
            said: what was said beside the run's id, which must be what the run began with.
        """
        from ..runs.files import RunFiles

        def begin() -> Run:
            self.store.recover()
            run = self.store.get(run_id)
            require_same_request(run, RunFiles(self.workspace.run(run_id)), said)
            unmark_background(self.workspace, run_id)
            if said is not None and said.overrides.get(ACCEPT_ALARM):
                self.accept(run_id, str(said.overrides[ACCEPT_ALARM]))
            return self.store.claim(run_id)

        return self._carry_out(begin, out, emit, should_stop, began)

    def _carry_out(
        self,
        begin: Callable[[], Run],
        out: str | Path | None,
        emit: Callable[[Event], None] | None,
        should_stop: Callable[[], bool],
        began: Callable[[Run], None] | None,
    ) -> Run:
        from ..runs.execution import execute_replica, execute_run
        from ..runs.training import broadcast_from_main, is_main_process

        if out is not None:
            require_model_folder(Path(out))

        def ready() -> str:
            run = begin()
            if began is not None:
                began(run)
            return run.id

        run_id = broadcast_from_main(ready, self.catalog.device.type)
        with uninterruptible():  # a training ends after a step, with what it has learned, not in the midst of one
            if not is_main_process():
                execute_replica(self.workspace.run(run_id), self.catalog, should_stop)
                return self.store.get(run_id)
            try:
                error = execute_run(run_id, self.store, self.workspace, lambda: self.catalog, should_stop, emit)
            finally:
                self.store.release(run_id)
        if error is not None:
            raise error
        run = self.store.get(run_id)
        if out is not None and run.model_path is not None:
            try:
                with atomic_folder(Path(out).expanduser().resolve()) as part:
                    shutil.copytree(run.model_path, part, dirs_exist_ok=True)
            except OSError as failed:
                if not is_disk_full(failed):
                    raise
                how = f"the model is kept with its run: make room, then sbert-studio export {run_id} --out FILE.zip"
                raise StudioError(f"the disk is full: {out} could not be written", how) from failed
        return run

    def accept(self, run_id: str, alarm: str) -> None:
        """Keep with the run that its owner wants it to go on in spite of this alarm."""
        run = self.store.get(run_id)
        before = str(run.spec.get(ACCEPT_ALARM) or "")
        spec = {**run.spec, ACCEPT_ALARM: alarm if before in ("", alarm) else "both"}
        write_json(self.workspace.run(run_id) / "spec.json", spec)
        self.store.record(run_id, spec=spec)

    def run(self, run_id: str, after: int = 0) -> RunView:
        """A run and its events numbered above ``after``; poll with the view's ``cursor``."""
        self.store.recover()
        run = self.store.get(run_id)
        return self._seen(run, tuple(self.store.events(run_id, after)))

    def under_way(self, owner: str | None = None) -> list[RunView]:
        """The runs (of one owner) that wait or train, in the order of their turns, each with its place among everybody's; no events."""
        return [self._seen(run) for run in reversed(self.runs(owner)) if run.active]

    def pins(self, run_id: str) -> TrackedExamples | None:
        """What a run is watched by, where its owner pinned anything."""
        from ..runs.files import RunFiles

        return RunFiles(self.workspace.run(run_id)).pins()

    def mistakes(self, run_id: str) -> dict[str, Any] | None:
        """The held-out rows that a run's model gets most wrong, see :func:`~sbert_studio.training.mistakes.find_mistakes`."""
        from ..training.mistakes import MISTAKES, read_mistakes

        return read_mistakes(self.workspace.run(run_id) / MISTAKES)

    def last_step(self, run_id: str) -> dict[str, Any]:
        """What a run told last of its steps; empty before the first."""
        return self.store.last_event(run_id, "step") or {}

    def _seen(self, run: Run, events: tuple[tuple[int, dict[str, Any]], ...] = ()) -> RunView:
        due = removal_date(self.settings, self.workspace, run)
        stopping = run.active and self.store.is_stop_requested(run.id)
        return RunView(run, events, self._before(run), stopping, due.isoformat(timespec="seconds") if due else "")

    def _before(self, run: Run) -> int:
        """How many runs go before this one: as the runner here has it, or, where another process has it, by when they were begun."""
        if run.status != "queued":
            return 0
        if place := self.runner.position(run.id):
            return place
        turns = [one.id for one in reversed(self.store.runs()) if one.active]
        return turns.index(run.id) if run.id in turns else 0

    def accounts(self, run_id: str) -> dict[str, RowReport]:
        """What became of every row of a run's files, those held out told apart; empty of runs of earlier versions."""
        from ..runs.files import RunFiles

        return run_row_reports(self.store.get(run_id), RunFiles(self.workspace.run(run_id)))

    def runs(self, owner: str | None = None) -> list[Run]:
        """The runs (of one owner), newest first. One whose process died reads as interrupted."""
        self.store.recover()
        return self.store.runs(owner)

    def stop(self, run_id: str) -> Run:
        """Ask a run to stop; its best and its last weights are kept, and it can be resumed."""
        return self.runner.stop(run_id)

    def token_of(self, run_id: str) -> str:
        """What gives a caller of the API the right to stop this run."""
        return run_token(self.workspace, run_id)

    def stop_with_token(self, run_id: str, token: str) -> Run:
        """:meth:`stop` for a caller of the API.

        Raises:
            StudioError: there is no such run, or the token is another's.
        """
        self._require_token(run_id, token)
        return self.stop(run_id)

    def _require_token(self, run_id: str, token: str) -> None:
        self.store.recover()
        if not is_run_token(self.workspace, self.store.get(run_id).id, token):
            raise StudioError("this is not the token of that run", "give the one that /train returned with the run's id")

    def resume(self, run_id: str) -> Run:
        """Queue an interrupted, stopped or failed run again, to go on from its last checkpoint."""
        require_free_slot(self.settings.limits, self.store.get(run_id).owner, self._active(), self.settings.elsewhere)
        run = self.store.claim(run_id)
        mark_background(self.workspace, run_id)
        self.runner.submit(run_id)
        return run

    def resume_with_token(self, run_id: str, token: str) -> Run:
        """:meth:`resume` for a caller of the API.

        Raises:
            StudioError: as :meth:`stop_with_token`; or the run is finished or under way, or the limits have no room for it.
        """
        self._require_token(run_id, token)
        return self.resume(run_id)

    def take_up(self) -> list[Run]:
        """Queue again what the last end of the program interrupted here in the background."""
        return resume_background_runs(self.workspace, self.store, self.runner)

    def delete_run(self, run_id: str) -> None:
        """Remove a run with its model, its data and its events.

        Raises:
            StudioError: it is still under way.
        """
        self.store.recover()
        run = self.store.get(run_id)
        if run.active:
            raise StudioError(f"the run {run_id} is {run.status}", "stop it before deleting it")
        self.store.delete(run_id)

    def export(self, run_id: str, path: str | Path | None = None, kind: str = "all") -> ExportedFile:
        """A zip of a finished run.

        Args:
            kind: one of :data:`~sbert_studio.runs.export.EXPORTS`: everything that another person needs to use it and to check
                it, or a part of it.

        Raises:
            StudioError: there is no such run or kind, or the run lacks what is to be handed on.
        """
        from ..runs.export import EXPORTS, write_zip

        chosen, run = EXPORTS[kind](), self.store.get(run_id)
        self.accounts(run_id)  # with the rows that were held out, for the card
        part = "" if kind == "all" else f"-{kind}"
        target = self.workspace.exports() / f"{file_name(run.name, 'model')}-{run.id}{part}.zip" if path is None else Path(path)
        write_zip(chosen, run, self.workspace.run(run_id), target)
        return ExportedFile(target, target.stat().st_size)

    def _active(self) -> list[Run]:
        self.store.recover()
        return [run for run in self.store.runs() if run.active]

    def _new_run(self, plan: TrainPlan) -> Run:
        from ..runs.files import RunFiles

        run = new_run(plan)
        require_within_limits(self.settings.limits, run, self._active(), self.settings.elsewhere)
        require_queue_share(self.settings.limits, self.runner.count_queued(current_address()), current_address(), self.settings.elsewhere)
        folder = self.workspace.run(run.id)
        try:
            write_run_files(RunFiles(folder), plan)
            self.store.add(run)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return run
