"""One run carried out: its files are read, an encoder copy of its own is trained, every event goes to the store."""

from __future__ import annotations

import contextlib
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import DiskFull, StudioError, is_disk_full, plainly
from ...models.inference.zerogpu import lent
from ...training.events import Event, Failed, Notice, to_json
from ...workspace import Workspace
from ..exports.tensorboard import TensorBoardLog
from ..records.store import Store
from .slices import train_in_slices
from .training import train_run

if TYPE_CHECKING:
    from ...models.catalog import Catalog
    from ...training.trainer import Outcome

log = logging.getLogger(__name__)
_ASK_EVERY = 0.5  # seconds between two looks at the store for a wish to stop


class TakenAwayError(StudioError):
    """Another process has gone on with the run meanwhile, and tells of it from then on."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"another program has gone on with the run {run_id}, since this one did not move for long", "follow it there, or stop it first"
        )


def perform(
    run_id: str,
    store: Store,
    workspace: Workspace,
    catalog: Callable[[], Catalog],
    should_stop: Callable[[], bool],
    emit: Callable[[Event], None] | None = None,
) -> Exception | None:
    """Train the run ``run_id`` here and now; on return its status in the store is final, whatever went wrong.

    A run that has checkpoints goes on from the last one. What the database, the log for TensorBoard or ``emit`` refuse to take
    does not end it.

    Args:
        catalog: called when the run begins.
        should_stop: asked at every step; the wish of another process, left in the store, counts as well.
        emit: sees each event after it was told to the store.

    Returns:
        What went wrong, already recorded, or ``None``.

    Raises:
        BaseException: what ends the program (Ctrl-C a second time, say), after the run was recorded as interrupted.
    """
    books = _Books(run_id, store, emit)
    try:
        if not store.claim(run_id):
            return StudioError(f"another program trains the run {run_id}", "wait until it has ended")
        folder = workspace.run(run_id)
        books.begin(folder)
        train = train_in_slices if lent() else train_run
        outcome = train(folder, catalog(), _either(should_stop, run_id, store), books.write)
        books.end(outcome)
    except TakenAwayError as error:
        return error
    except StudioError as error:
        full = isinstance(error, DiskFull)
        hint = _hint(error, run_id) if full else error.hint
        books.write(Failed(message=str(StudioError(error.message, rows=error.rows)).rstrip("."), hint=hint))
        return _where(error.message, workspace, run_id, hint) if full else error
    except Exception as error:
        with contextlib.suppress(OSError):
            (workspace.run(run_id) / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
        books.write(Failed(message=_plain(error), hint=_hint(error, run_id)))
        return _where(_plain(error), workspace, run_id, _hint(error, run_id)) if is_disk_full(error) else error
    except BaseException:
        store.tell(run_id, status="interrupted", message="the program was ended; resume the run to go on from its last checkpoint")
        raise
    finally:
        books.close()
    return None


class _Books:
    """What is written down of a run while it goes. Nothing here raises."""

    def __init__(self, run_id: str, store: Store, emit: Callable[[Event], None] | None) -> None:
        self._id, self._store, self._emit = run_id, store, emit
        self._board: TensorBoardLog | None = None
        self._judged, self._steps = False, 0

    def begin(self, folder: Path) -> None:
        """The run trains from now on."""
        with _told("the log for TensorBoard"):
            self._board = TensorBoardLog(folder)
        with _told("what was known of the run"):
            run = self._store.get(self._id)
            self._judged, self._steps = bool(run.before), run.steps
        self._store.tell(self._id, status="running", message="", hint="")

    def write(self, event: Event) -> None:
        """Something happened."""
        body = to_json(event)
        changes = _changes(body)
        if self._judged:  # of several trainings in a run, the first has told of the untuned model
            changes.pop("before", None)
        self._judged = self._judged or "before" in changes
        if changes.get("steps") == self._steps:
            del changes["steps"]  # a file is written where more than the step changes
        self._steps = changes.get("steps", self._steps)
        self._store.tell(self._id, body, **changes)
        if self._board is not None:
            with _told("the log for TensorBoard"):
                if trouble := self._board.write(body):
                    self._store.tell(self._id, to_json(Notice(trouble)))
        if self._emit is not None:
            with _told("an event"):
                self._emit(event)

    def end(self, outcome: Outcome) -> None:
        """The run ended well."""
        self._store.tell(
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
            hint=_answers(outcome.question),
        )

    def close(self) -> None:
        """No more is written."""
        if self._board is not None:
            with _told("the log for TensorBoard"):
                self._board.close()


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Go on where something beside the training fails."""
    try:
        yield
    except Exception:
        log.warning("%s could not be told", what, exc_info=True)


def accompany(folder: Path, catalog: Catalog, should_stop: Callable[[], bool]) -> None:
    """Train the run in ``folder`` as a companion of the process that performs it; nothing is recorded here."""
    train_run(folder, catalog, should_stop, lambda _event: None)


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    """The columns of a run that an event changes."""
    kind = body["type"]
    if kind == "started":
        return {
            "steps": body.get("run_steps") or body["steps"],
            "dev_rows": body["dev_rows"],
            "objective": body["objective"],
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


def _answers(question: Mapping[str, Any]) -> str:
    """The question of an alarm, and how it is answered, for a terminal and the lists."""
    if not question:
        return ""
    flags = [f"{option['answer']} ({option['flag']})" if option["flag"] else option["answer"] for option in question["options"]]
    return f"{question['question']} {'; or '.join(flags)}"


def _either(should_stop: Callable[[], bool], run_id: str, store: Store) -> Callable[[], bool]:
    """``should_stop`` here, or the wish left in the store, which is looked up twice a second at most."""
    asked, looked = False, 0.0

    def ask() -> bool:
        nonlocal asked, looked
        if not asked and time.monotonic() - looked > _ASK_EVERY:
            if store.lost(run_id):
                raise TakenAwayError(run_id)
            asked, looked = store.asked_to_stop(run_id), time.monotonic()
        return asked or should_stop()

    return ask


def _where(message: str, workspace: Workspace, run_id: str, hint: str) -> StudioError:
    """A full disk for whoever sits at this machine; the run's own events, which visitors see, name no folder of it."""
    return DiskFull(f"{message} ({workspace.home / 'runs' / run_id})", hint)


def _hint(error: Exception, run_id: str) -> str:
    if is_disk_full(error):
        return f"make room, then go on with --resume {run_id}"
    return f"the full report is in the run's error.log ({run_id})"


def _plain(error: Exception) -> str:
    """What happened, in a sentence, for a person who did not write this program."""
    known = plainly(error)
    if known is not None:
        return known.message if is_disk_full(error) else str(known).rstrip(".")
    first = str(error).strip().splitlines()
    return f"something unforeseen happened in the trainer ({type(error).__name__}{': ' + first[0][:200] if first else ''})"
