"""Fine-tuning service: start, follow, stop, resume and export runs, answer their questions, set the strength."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.findings import Option, Question
from ..data.row_report import RowReport
from ..data.schema.roles import SchemaOverrides
from ..errors import StudioError, is_disk_full
from ..explore.map_edits import clean_name
from ..i18n import _
from ..identity import current_address
from ..progress import uninterruptible
from ..runs.run import ACTIVE, Action, Run, available_actions, has_model, require_action
from ..training.events import Event, to_json
from ..workspace import atomic_folder, file_name, write_json
from .data import DataService, require_model_folder
from .janitor import removal_date
from .planning import TrainingPlanner
from .questions import OpenQuestionsError, apply_answer, overrides_from_json, question_from_json
from .resources import Resources, Service
from .results import ExportedFile, RunView
from .retrieval import RetrievalService
from .run_setup import (
    ACCEPT_ALARM,
    is_run_token,
    mark_for_restart,
    new_run,
    require_free_slot,
    require_queue_share,
    require_same_request,
    require_within_limits,
    resubmit_interrupted,
    run_token,
    unmark_for_restart,
    write_run_files,
)
from .training_plan import AnsweredQuestion, TrainPlan, TrainRequest, run_row_reports

if TYPE_CHECKING:
    from ..runs.files import RunFiles
    from ..training.events import TrackedExamples

OnEvent = Callable[["Event"], None]
OnStart = Callable[[Run], None]
RETRIEVAL_PROBE = 200, 1_000
"""Maximum numbers of queries and of documents of the retrieval probe, which are encoded at every evaluation."""


class FineTuneService(Service):
    """Turns plans into runs and models. Anyone who knows a run's id may see, stop and use it."""

    def __init__(self, resources: Resources, data: DataService, planner: TrainingPlanner, retrieval: RetrievalService) -> None:
        super().__init__(resources)
        self._data, self._planner, self._retrieval = data, planner, retrieval

    # Start, stop and resume

    def submit(self, plan: TrainPlan | TrainRequest) -> Run:
        """Queue a run in the background; its files are copied immediately."""
        run = self._create_run(self._planner.require_trainable(plan))
        mark_for_restart(self.workspace, run.id)
        self.runner.submit(run.id)
        return run

    def resubmit(self, run_id: str) -> Run:
        """Requeue an interrupted, stopped or failed run; it continues from its last checkpoint."""
        require_free_slot(self.settings.limits, self.store.get(run_id).owner, self._active(), self.settings.elsewhere)
        run = self.store.claim(run_id)
        mark_for_restart(self.workspace, run_id)
        self.runner.submit(run_id)
        return run

    def train(
        self,
        plan: TrainPlan | TrainRequest,
        *,
        out: str | Path | None = None,
        on_event: OnEvent | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        on_start: OnStart | None = None,
    ) -> Run:
        """Train in this process and return the finished or stopped run.

        Args:
            plan: a plan, or a request, which is planned first (by the main process if there are several).
            out: folder for a copy of the model.
            on_event: called with each event.
            on_start: called with the run before its first step.
        """
        return self._execute(lambda: self._create_run(self._planner.require_trainable(plan)), out, on_event, should_stop, on_start)

    def resume(
        self,
        run_id: str,
        request: TrainRequest | None = None,
        *,
        out: str | Path | None = None,
        on_event: OnEvent | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        on_start: OnStart | None = None,
    ) -> Run:
        """Continue an ended run in this process; the arguments are those of :meth:`train`.

        Args:
            request: settings given together with the run's id; they must match those of the run.
        """
        from ..runs.files import RunFiles

        def claim() -> Run:
            self.store.recover()
            run = self.store.get(run_id)
            require_same_request(run, RunFiles(self.workspace.run(run_id)), request)
            unmark_for_restart(self.workspace, run_id)
            if request is not None and request.overrides.get(ACCEPT_ALARM):
                self.accept_alarm(run_id, str(request.overrides[ACCEPT_ALARM]))
            return self.store.claim(run_id)

        return self._execute(claim, out, on_event, should_stop, on_start)

    def stop(self, run_id: str) -> Run:
        """Request that a run stop; its best and last weights are kept, and it can be resumed."""
        return self.runner.stop(run_id)

    def get_token(self, run_id: str) -> str:
        """Return the token with which an API caller can stop and resume this run."""
        return run_token(self.workspace, run_id)

    def stop_with_token(self, run_id: str, token: str) -> Run:
        """Stop a run for an API caller that has its token."""
        self._require_token(run_id, token)
        return self.stop(run_id)

    def resubmit_with_token(self, run_id: str, token: str) -> Run:
        """Resubmit a run for an API caller that has its token."""
        self._require_token(run_id, token)
        return self.resubmit(run_id)

    def resume_interrupted(self) -> list[Run]:
        """Requeue the background runs that were interrupted by the last shutdown."""
        return resubmit_interrupted(self.workspace, self.store, self.runner)

    # View runs

    def get_run(self, run_id: str, after: int = 0) -> RunView:
        """Return a run and its events numbered above ``after``; poll with the view's ``cursor``."""
        self.store.recover()
        return self._view(self.store.get(run_id), tuple(self.store.events(run_id, after)))

    def list_runs(self, owner: str | None = None) -> list[Run]:
        """List the runs (of one owner), newest first. Runs of dead processes are listed as interrupted."""
        self.store.recover()
        return self.store.runs(owner)

    def list_views(self, owner: str | None = None) -> list[RunView]:
        """List the runs (of one owner) without events: active ones in queue order, then the others, newest first."""
        runs = self.list_runs(owner)
        return [self._view(run) for run in (*(one for one in reversed(runs) if one.active), *(one for one in runs if not one.active))]

    def list_active(self, owner: str | None = None) -> list[RunView]:
        """List the queued and running runs (of one owner) in queue order, without events."""
        return [self._view(run) for run in reversed(self.list_runs(owner)) if run.active]

    def get_pins(self, run_id: str) -> TrackedExamples | None:
        """Return the example pairs tracked during a run, if any."""
        return self._files(run_id).pins()

    def get_mistakes(self, run_id: str) -> dict[str, Any] | None:
        """Return the held-out rows with the largest errors; see :func:`~sbert_studio.training.artifacts.find_mistakes`."""
        from ..training.artifacts import MISTAKES, read_mistakes

        return read_mistakes(self.workspace.run(run_id) / MISTAKES)

    def get_last_step(self, run_id: str) -> dict[str, Any]:
        """Return a run's last step event; empty before the first."""
        return self.store.last_event(run_id, "step") or {}

    def get_row_reports(self, run_id: str) -> dict[str, RowReport]:
        """Return the row report of each of a run's files, with held-out rows counted separately; empty for runs of earlier versions."""
        return run_row_reports(self.store.get(run_id), self._files(run_id))

    def get_reasons(self, run_id: str) -> tuple[str, ...]:
        """Return the sentences that a run began with: the use of each file's rows, then one for each automatic choice."""
        return self._files(run_id).reasons()

    def get_splits(self, run_id: str) -> dict[str, Any]:
        """Return the column that assigns the rows of each file to parts, and the number of rows of each part."""
        return dict(self._files(run_id).plan().get("splits") or {})

    # Change, export and delete finished runs

    def get_question(self, run_id: str) -> Question | None:
        """Return the question of a run stopped by an alarm; ``None`` if it has none."""
        if self.store.get(run_id).status != "asks":
            return None
        questions = [event["question"] for _, event in self.store.events(run_id) if event.get("type") == "asks"]
        return question_from_json(questions[-1]) if questions else None

    def require_no_alarm(self, run_id: str) -> None:
        """Raise an OpenQuestionsError if an ended run has an unanswered question."""
        if (question := self.get_question(run_id)) is not None:
            raise OpenQuestionsError.of_run(run_id, question)

    def answer(self, run_id: str, option: int) -> Run:
        """Answer a run's question: continue it, restart with a different interpretation of the table, or leave it stopped.

        Args:
            option: index of the answer among the question's options.

        Returns:
            The run that continues (a new one if the interpretation changes), or the one that stays stopped.
        """
        question = self.get_question(run_id)
        if question is None or not 0 <= option < len(question.options):
            raise StudioError("that question was already answered", "reload the run")
        chosen = question.options[option]
        if not chosen.choice:
            message = _("not resumed, because you want to review its rows: {text}", text=question.text)
            self.store.record(run_id, status="stopped", message=message, hint="")
            return self.store.get(run_id)
        if ACCEPT_ALARM in chosen.choice:
            self.accept_alarm(run_id, str(chosen.choice[ACCEPT_ALARM]))
            return self.resubmit(run_id)
        return self._start_over(run_id, question, chosen)

    def accept_alarm(self, run_id: str, alarm: str) -> None:
        """Record that the user wants to continue the run despite this alarm."""
        run = self.store.get(run_id)
        before = str(run.spec.get(ACCEPT_ALARM) or "")
        spec = {**run.spec, ACCEPT_ALARM: alarm if before in ("", alarm) else "both"}
        write_json(self.workspace.run(run_id) / "spec.json", spec)
        self.store.record(run_id, spec=spec)

    def set_strength(self, run_id: str, value: float) -> Run:
        """Interpolate a finished run's weights with those of its base model: 0 is the base model, 1 the fine-tuned one.

        Nothing is trained.
        """
        from ..training.blend import set_strength
        from ..training.prepare import create_model

        run, files = self.store.get(run_id), self._files(run_id)
        if run.status != "finished":
            raise StudioError(_("the run {run_id} is {status}", run_id=run_id, status=run.status), "choose a finished run")
        spec = files.spec()
        after = set_strength(files.folder, spec, value, load=lambda: create_model(self.catalog, spec, files.examples()[0]))
        self.store.record(run_id, after=after)
        pins = files.pins()
        event = None if pins is None else pins.score(self.catalog.load_any(run_id), run.step, is_final=True)
        if event is not None:
            self.store.record(run_id, to_json(event))
        return self.store.get(run_id)

    def export(self, run_id: str, path: str | Path | None = None, kind: str = "all") -> ExportedFile:
        """Write a zip of a finished run.

        Args:
            kind: one of :data:`~sbert_studio.runs.export.EXPORTS`: everything needed to use and verify the model, or a part.
        """
        from ..runs.export import EXPORTS, write_zip

        export, run = EXPORTS[kind](), self.store.get(run_id)
        self.get_row_reports(run_id)  # completes the reports shown in the model card
        suffix = "" if kind == "all" else f"-{kind}"
        target = self.workspace.exports() / f"{file_name(run.name, 'model')}-{run.id}{suffix}.zip" if path is None else Path(path)
        write_zip(export, run, self.workspace.run(run_id), target)
        return ExportedFile(target, target.stat().st_size)

    def delete_run(self, run_id: str) -> None:
        """Delete an ended run with its model, data and events."""
        self.store.recover()
        require_action(self.store.get(run_id), "delete")
        self.store.delete(run_id)

    def rename(self, run_id: str, name: str) -> Run:
        """Rename an ended run and its model; its id stays the same.

        Raises:
            StudioError: the name has no visible character, is too long or that of another run of the same owner, or the run has not ended.
        """
        self.store.recover()
        run = self.store.get(run_id)
        require_action(run, "rename")
        wanted = clean_name(name)
        if any(one.name == wanted for one in self.store.runs(run.owner) if one.id != run_id):
            raise StudioError(_("another run is named {name}", name=repr(wanted)), "choose another name")
        self.store.record(run_id, name=wanted)
        return self.store.get(run_id)

    def list_actions(self, run: Run) -> tuple[Action, ...]:
        """Return the actions that a run offers now, also considering a requested stop and damaged model files."""
        from ..models.io.sources import read_model_info

        is_damaged = has_model(run) and bool(read_model_info(run.model_path).damaged)
        return available_actions(run, is_stopping=self._is_stopping(run), is_damaged=is_damaged)

    def _execute(
        self,
        prepare: Callable[[], Run],
        out: str | Path | None,
        on_event: OnEvent | None,
        should_stop: Callable[[], bool],
        on_start: OnStart | None,
    ) -> Run:
        from ..runs.execution import broadcast_from_main, execute_replica, execute_run, is_main_process

        if out is not None:
            require_model_folder(Path(out))

        def start() -> str:
            run = prepare()
            if on_start is not None:
                on_start(run)
            return run.id

        run_id = broadcast_from_main(start, self.catalog.device.type)
        with uninterruptible():  # training stops after a step and keeps its progress, not in the middle of a step
            if not is_main_process():
                execute_replica(self.workspace.run(run_id), self.catalog, should_stop)
                return self.store.get(run_id)
            try:
                error = execute_run(run_id, self.store, self.workspace, lambda: self.catalog, should_stop, on_event)
            finally:
                self.store.release(run_id)
        if error is not None:
            raise error
        run = self.store.get(run_id)
        if out is not None and run.model_path is not None:
            _copy_model(run, out)
        return run

    def _create_run(self, plan: TrainPlan) -> Run:
        from ..runs.files import RunFiles

        probe = plan.request.retrieval
        data = self._retrieval.read(probe) if isinstance(probe, str | Path) else probe
        retrieval = None if data is None else data.sample(*RETRIEVAL_PROBE)
        run, limits, elsewhere = new_run(plan), self.settings.limits, self.settings.elsewhere
        require_within_limits(limits, run, self._active(), elsewhere)
        require_queue_share(limits, self.runner.count_queued(current_address()), current_address(), elsewhere)
        folder = self.workspace.run(run.id)
        try:
            write_run_files(RunFiles(folder), plan, retrieval)
            self.store.add(run)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return run

    def _start_over(self, run_id: str, question: Question, option: Option) -> Run:
        run, files = self.store.get(run_id), self._files(run_id)
        request = restart_request(files, run, question, option)
        table = self._data.read_table(files.path("data"), files.source()["data"]["name"], overrides=request.choices)
        new = self.submit(self._planner.plan(request, table=table))
        self.store.record(run_id, status="stopped", message=_("{answer}: continued as {id}", answer=option.answer, id=new.id), hint="")
        return new

    def _active(self) -> list[Run]:
        self.store.recover()
        return [run for status in ACTIVE for run in self.store.runs(status=status)]

    def _files(self, run_id: str) -> RunFiles:
        from ..runs.files import RunFiles

        return RunFiles(self.workspace.run(run_id))

    def _view(self, run: Run, events: tuple[tuple[int, dict[str, Any]], ...] = ()) -> RunView:
        due = removal_date(self.settings, self.workspace, run)
        return RunView(run, events, self._queue_position(run), self._is_stopping(run), due.isoformat(timespec="seconds") if due else "")

    def _is_stopping(self, run: Run) -> bool:
        return run.active and self.store.is_stop_requested(run.id)

    def _queue_position(self, run: Run) -> int:
        """Return the number of runs ahead: in this process's queue or, for another process's run, by creation time."""
        if run.status != "queued":
            return 0
        if place := self.runner.position(run.id):
            return place
        queue = [one.id for one in reversed(self.store.runs()) if one.active]
        return queue.index(run.id) if run.id in queue else 0

    def _require_token(self, run_id: str, token: str) -> None:
        self.store.recover()
        if not is_run_token(self.workspace, self.store.get(run_id).id, token):
            raise StudioError("this is not the token of this run", "use the token that /train returned with the run's id")


def restart_request(files: RunFiles, run: Run, question: Question, option: Option) -> TrainRequest:
    """Return the original request of a run, with the answer to its question applied."""
    plan, source = files.plan(), files.source()
    overrides = SchemaOverrides(**overrides_from_json((plan.get("choices") or {}).get("data") or {}))
    answered = [AnsweredQuestion(one["question"], one["answer"]) for one in plan.get("answered", ())]
    return TrainRequest(
        files.path("data"),
        files.path("dev") if "dev" in source else None,
        files.path("first") if "first" in source else None,
        apply_answer(overrides, option.choice),
        dict(plan.get("overrides") or {}),
        run.model,
        run.owner,
        run.name,
        tuple(plan.get("changes") or ()),
        (*answered, AnsweredQuestion(question.text, option.answer)),
        files.pins(),
        files.retrieval(),
    )


def _copy_model(run: Run, out: str | Path) -> None:
    assert run.model_path is not None
    try:
        with atomic_folder(Path(out).expanduser().resolve()) as part:
            shutil.copytree(run.model_path, part, dirs_exist_ok=True)
    except OSError as error:
        if not is_disk_full(error):
            raise
        hint = _("the model is kept with its run: free some disk space, then run sbert-studio export {id} --out FILE.zip", id=run.id)
        raise StudioError(_("the disk is full: {out} could not be written", out=out), hint) from error
