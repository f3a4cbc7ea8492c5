"""Execution of a single run, in this thread, from the files in its folder.

A copy of the model is trained, and every event goes to the store. Training runs in one go, in time slices on a lent GPU, or in several
processes. For the queue of runs, see :mod:`sbert_studio.runs.runner`.
"""

from __future__ import annotations

import contextlib
import logging
import shlex
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.findings import Option
from ..data.schema.roles import Roles, format_names, format_scale
from ..errors import DiskFull, StudioError, is_disk_full, to_user_error
from ..i18n import _, ngettext
from ..identity import Identity, use_identity
from ..models.inference import zerogpu
from ..progress import StoppedError, stoppable, uninterruptible
from ..settings import is_distributed
from ..training.alarms import OPPOSITE
from ..training.events import Asks, Event, Failed, Notice, Started, Stopped, to_json
from ..workspace import Workspace
from .files import RunFiles
from .store import RunStore
from .tensorboard import TensorBoardLog

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..data.retrieval import RetrievalSet
    from ..models.catalog import Catalog, CatalogSettings
    from ..training.trainer import TrainingOutcome

log = logging.getLogger(__name__)
_STOP_CHECK_INTERVAL = 0.5  # seconds between two checks for a stop request from another process


class LeaseLostError(StudioError):
    """Another process has resumed the run in the meantime and writes its events."""


def execute_run(
    run_id: str,
    store: RunStore,
    workspace: Workspace,
    catalog: Callable[[], Catalog],
    should_stop: Callable[[], bool],
    emit: Callable[[Event], None] | None = None,
) -> Exception | None:
    """Train a run in this thread, from its last checkpoint if any. On return, its status is final and any error is recorded.

    A full disk, a failing TensorBoard log or a failing listener does not end the run. An exception that ends the program, such as a second
    Ctrl-C, is raised after the run was recorded as interrupted.

    Args:
        catalog: called when the run begins.
        should_stop: called at every step and during evaluations; stop requests of other processes are also checked.
        emit: receives each event after the store.

    Returns:
        The error that ended the run, or ``None``.
    """
    run_log = _RunLog(run_id, store, emit)
    try:
        if not store.try_acquire(run_id):
            return StudioError(_("another program is training the run {run_id}", run_id=run_id), "wait until it has ended")
        folder = workspace.run(run_id)
        run_log.begin(folder)
        train = train_in_slices if zerogpu.gpu_name() else train_run
        check = _StopCheck(should_stop, run_id, store)
        # Evaluations stop too, except with several processes, which must all do the same.
        with contextlib.nullcontext() if is_distributed() else stoppable(check):
            run_log.end(train(folder, catalog(), check, run_log.write))
    except LeaseLostError as error:
        return error
    except StoppedError:  # outside the steps, such as while the base model is evaluated
        run_log.stop()
    except StudioError as error:
        is_full = isinstance(error, DiskFull)
        hint = _hint(error, run_id) if is_full else error.hint
        run_log.write(Failed(message=error.describe(), hint=hint))
        return _with_folder(error.message, workspace, run_id, hint) if is_full else error
    except Exception as error:
        with contextlib.suppress(OSError):
            (workspace.run(run_id) / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
        run_log.write(Failed(message=_message(error), hint=_hint(error, run_id)))
        return _with_folder(_message(error), workspace, run_id, _hint(error, run_id)) if is_disk_full(error) else error
    except BaseException:
        store.try_record(
            run_id, status="interrupted", message="the program was closed; resume the run to continue from its last checkpoint"
        )
        raise
    finally:
        run_log.close()
    return None


def execute_replica(folder: Path, catalog: Catalog, should_stop: Callable[[], bool]) -> None:
    """Train the run in ``folder`` in step with the process that executes it, without recording anything."""
    train_run(folder, catalog, should_stop, lambda _event: None)


class _RunLog:
    # Writes the events of a run to the store, to TensorBoard and to a listener, without ever raising.

    def __init__(self, run_id: str, store: RunStore, emit: Callable[[Event], None] | None) -> None:
        self._id, self._store, self._emit = run_id, store, emit
        self._board: TensorBoardLog | None = None
        self._has_before, self._steps = False, 0

    def begin(self, folder: Path) -> None:
        with _log_errors("the log for TensorBoard"):
            self._board = TensorBoardLog(folder)
        with _log_errors("the run's records"):
            run = self._store.get(self._id)
            self._has_before, self._steps = bool(run.before), run.steps
        self._store.try_record(self._id, status="running", message="", hint="")

    def write(self, event: Event) -> None:
        body = to_json(event)
        changes = _changes(body)
        if self._has_before:  # the first of several members evaluates the base model
            changes.pop("before", None)
        self._has_before = self._has_before or "before" in changes
        if changes.get("steps") == self._steps:
            del changes["steps"]  # run.json is written only if more than the step changes
        self._steps = changes.get("steps", self._steps)
        self._store.try_record(self._id, body, **changes)
        if self._board is not None:
            with _log_errors("the log for TensorBoard"):
                if trouble := self._board.write(body):
                    self._store.try_record(self._id, to_json(Notice(trouble)))
        if self._emit is not None:
            with _log_errors("an event"):
                self._emit(event)

    def end(self, outcome: TrainingOutcome) -> None:
        self._store.try_record(
            self._id,
            status=outcome.status,
            before=outcome.before,
            after=outcome.after,
            step=outcome.steps,
            steps=max(outcome.steps, self._steps),
            seconds=outcome.seconds,
            pairs_per_second=outcome.pairs_per_second,
            model_path=outcome.model if outcome.model.is_dir() else None,
            message=str(outcome.question.get("why", "")),
            hint=_describe_options(outcome.question),
        )

    def stop(self) -> None:
        """Record that the run was stopped where its last resume had not changed anything yet."""
        with _log_errors("the run's records"):
            run = self._store.get(self._id)
            model = "" if run.model_path is None else str(run.model_path)
            self.write(Stopped(run.step, run.seconds, run.pairs_per_second, run.before, run.after, model))
        self._store.try_record(self._id, status="stopped", message="", hint="")

    def close(self) -> None:
        if self._board is not None:
            with _log_errors("the log for TensorBoard"):
                self._board.close()


class _StopCheck:
    # ``should_stop`` of this process, or a stop request of another process, which is checked at most twice per second.

    def __init__(self, should_stop: Callable[[], bool], run_id: str, store: RunStore) -> None:
        self._should_stop, self._id, self._store = should_stop, run_id, store
        self._is_requested, self._checked = False, 0.0

    def __call__(self) -> bool:
        if not self._is_requested and time.monotonic() - self._checked > _STOP_CHECK_INTERVAL:
            if self._store.is_lost(self._id):
                message = _("another process resumed the run {id} because this one had stalled", id=self._id)
                raise LeaseLostError(message, "follow it there, or stop it first")
            self._is_requested, self._checked = self._store.is_stop_requested(self._id), time.monotonic()
        return self._is_requested or self._should_stop()


@contextlib.contextmanager
def _log_errors(what: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        log.warning("%s could not be written", what, exc_info=True)


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    kind = body["type"]
    if kind == "started":
        return {
            "steps": body.get("run_steps") or body["steps"],
            "dev_rows": body["dev_rows"],
            "loss": body["loss"],
            "method": body["method"],
        }
    if kind == "step":
        whole = {"step": body["run_step"], "steps": body["run_steps"]} if body.get("run_steps") else {"step": body["step"]}
        return {**whole, "pairs_per_second": body["pairs_per_second"]}
    if kind == "evaluated" and body["step"] == 0:
        return {"before": body["scores"]}
    if kind == "failed":
        return {"status": "failed", "message": body["message"], "hint": body["hint"]}
    return {}


def _describe_options(question: Mapping[str, Any]) -> str:
    if not question:
        return ""
    flags = [f"{option['answer']} ({option['flag']})" if option["flag"] else option["answer"] for option in question["options"]]
    return f"{question['question']} {'; or '.join(flags)}"


def _with_folder(message: str, workspace: Workspace, run_id: str, hint: str) -> StudioError:
    # For the user of this machine; the run's own events, which visitors see, contain none of its folders.
    return DiskFull(_("{message} ({home})", message=message, home=workspace.home / "runs" / run_id), hint)


def _hint(error: Exception, run_id: str) -> str:
    if is_disk_full(error):
        return _("free some disk space, then continue with --resume {run_id}", run_id=run_id)
    return _("the full report is in the run's error.log ({run_id})", run_id=run_id)


def _message(error: Exception) -> str:
    known = to_user_error(error)
    if known is not None:
        return known.message if is_disk_full(error) else str(known).rstrip(".")
    first = str(error).strip().splitlines()
    return (
        _("unexpected error in the trainer ({name}: {first})", name=type(error).__name__, first=first[0][:200])
        if first
        else _("unexpected error in the trainer ({name})", name=type(error).__name__)
    )


def train_run(folder: Path, catalog: Catalog, should_stop: Callable[[], bool], emit: Callable[[Event], None]) -> TrainingOutcome:
    """Train the run in ``folder``, from its last checkpoint if any."""
    from ..models.base import EncodingStoppedError
    from ..training.prepare import create_model
    from ..training.spec import TrainSpec
    from ..training.trainer import RunNotes, TrainingOutcome
    from ..training.trials import run_trials
    from .teacher import TEACHER, add_teacher

    files = RunFiles(folder)
    examples, dev = files.examples()
    spec, first = files.spec(), files.first()
    try:
        examples = add_teacher(examples, spec, catalog, folder / TEACHER, emit, should_stop)
        if first is not None:
            stage = TrainSpec.from_json(spec.first).replace(model=spec.model)
            first = add_teacher(first, stage, catalog, folder / f"first_{TEACHER}", emit, should_stop)
    except EncodingStoppedError:
        stopped = TrainingOutcome("stopped", folder / "model", None, {}, {})
        emit(stopped.event())
        return stopped
    with_options = partial(add_alarm_options, roles=files.roles(), is_dev_file="dev" in files.source())

    def emit_with_options(event: Event) -> None:
        emit(replace(event, question=with_options(event.question)) if isinstance(event, Asks) else event)

    outcome = run_trials(
        spec,
        examples,
        emit_with_options,
        should_stop,
        load=partial(create_model, catalog),
        folder=folder,
        dev=dev,
        first=first,
        notes=RunNotes(tuple(files.reasons()), files.pins(), _unseen_queries(files.retrieval(), examples, emit)),
    )
    if outcome.status == "finished":
        for values in folder.glob(f"*{TEACHER}"):
            with contextlib.suppress(OSError):
                values.unlink()
    return replace(outcome, question=with_options(outcome.question))


def _unseen_queries(retrieval: RetrievalSet | None, examples: Examples, emit: Callable[[Event], None]) -> RetrievalSet | None:
    """Return the retrieval probe without the queries that are training texts; ``None`` if none is left."""
    if retrieval is None:
        return None
    kept = retrieval.unseen(text for column in examples.texts for text in column)
    if left_out := len(retrieval) - len(kept):
        emit(
            Notice(
                ngettext(
                    "{n} query of the retrieval set is a training text and is left out",
                    "{n} queries of the retrieval set are training texts and are left out",
                    left_out,
                )
            )
        )
    return retrieval.take(kept) if kept else None


def add_alarm_options(question: Mapping[str, Any], roles: Roles, *, is_dev_file: bool = False) -> dict[str, Any]:
    """Add the answer that reverses the scores or swaps the columns of the table to an alarm's question; other questions are unchanged.

    Args:
        question: that of :class:`~sbert_studio.training.events.Asks`; may be empty.
        roles: those of the training file. Answers with a label order for other labels are removed, because they cannot be applied.
        is_dev_file: whether the question is about the rows of a validation file.
    """
    found = dict(question)
    options = list(found.get("options", ()))
    if not any(option["choice"].get("accept_alarm") == OPPOSITE for option in options):
        return found
    if is_dev_file:
        found["question"] = _("In the held-out file: {question}", question=found["question"])
    options = [option for option in options if sorted(option["choice"].get("order", roles.labels)) == sorted(roles.labels)]
    if roles.kind == "scored_pairs" and roles.low is not None and roles.high is not None:
        low, high = roles.high, roles.low
        answer = _("no, reverse the scores: {high} means most similar", high=f"{high:g}")
        options = [Option(answer, f"--scale {shlex.quote(format_scale(low, high))}", {"scale": [low, high]}).to_json(), *options]
    if roles.kind == "triplets" and len(roles.texts) == 3:
        anchor, positive, negative = roles.texts
        columns = (anchor, negative, positive)
        answer = _("no, {negative} contains the texts that match {anchor}", negative=negative, anchor=anchor)
        options[0] = Option(answer, f"--columns {shlex.quote(format_names(columns))}", {"columns": list(columns)}).to_json()
    return {**found, "options": options}


def train_in_slices(folder: Path, catalog: Catalog, should_stop: Callable[[], bool], emit: Callable[[Event], None]) -> TrainingOutcome:
    """Train the run in time slices on a lent GPU; each slice resumes from the checkpoint of the previous one, bit-identically.

    Events of a slice are emitted when it ends; ``should_stop`` is called between slices. If no GPU is available, the last checkpoint is
    kept.
    """
    notices: set[str] = set()
    is_first = True
    while True:
        events, outcome = zerogpu.run_on_gpu(
            _train_slice, folder, catalog.settings, catalog.identity, zerogpu.gpu_name(), zerogpu.SLICE_SECONDS
        )
        is_last = outcome.status != "stopped" or should_stop()
        for event in events:
            repeated = isinstance(event, Notice) and event.message in notices
            if repeated or (isinstance(event, Started) and not is_first) or (isinstance(event, Stopped) and not is_last):
                continue
            if isinstance(event, Notice):
                notices.add(event.message)
            emit(event)
        is_first = False
        if is_last:
            return outcome


def _train_slice(
    folder: Path, settings: CatalogSettings, identity: Identity, device: str, seconds: float
) -> tuple[list[Event], TrainingOutcome]:
    events: list[Event] = []
    with use_identity(identity), uninterruptible():
        return events, train_run(folder, settings.open(device), _Deadline(time.monotonic() + seconds).is_over, events.append)


@dataclass
class _Deadline:
    until: float
    calls: int = 0

    def is_over(self) -> bool:
        self.calls += 1  # not before the first step, so that every slice makes progress
        return self.calls > 1 and time.monotonic() > self.until


def is_main_process() -> bool:
    """Return True in the process of ``accelerate launch`` that writes to the store and prints the answer."""
    from accelerate import PartialState

    return bool(PartialState().is_main_process)


def broadcast_from_main(make: Callable[[], str], device: str) -> str:
    """Call ``make`` in the main process and return its result in every process started by ``accelerate``.

    The processes, which train on ``device``, connect here. On several machines they need a shared home folder.

    Raises:
        StudioError: raised in every process if ``make`` raised it.
    """
    from accelerate import PartialState

    state: Any = PartialState(cpu=device == "cpu")
    if state.num_processes == 1:
        return make()
    from accelerate.utils import broadcast_object_list

    sent: list[Any] = ["", None]
    own: StudioError | None = None
    if state.is_main_process:
        try:
            sent[0] = make()
        except StudioError as error:
            own, sent[1] = error, (error.message, error.hint, error.rows)
    broadcast_object_list(sent)
    if sent[1] is not None:
        raise own or StudioError(*sent[1])
    return str(sent[0])
