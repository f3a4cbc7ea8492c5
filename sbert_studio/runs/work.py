"""One run carried out: its files are read, an encoder copy of its own is trained, every event goes to the store."""

from __future__ import annotations

import errno
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..training.events import Event, Failed, Notice, to_json
from ..workspace import Workspace
from .materials import Materials
from .store import Store
from .tensorboard import TensorBoardLog

if TYPE_CHECKING:
    from ..encoders.catalog import Catalog
    from ..training.trainer import Outcome

_ASK_EVERY = 0.5  # seconds between two looks at the store for a wish to stop


def perform(
    run_id: str,
    store: Store,
    workspace: Workspace,
    catalog: Callable[[], Catalog],
    should_stop: Callable[[], bool],
    emit: Callable[[Event], None] | None = None,
) -> Exception | None:
    """Train the run ``run_id`` here and now; on return its status in the store is final.

    A run that has checkpoints goes on from the last one.

    Args:
        catalog: called when the run begins.
        should_stop: asked at every step; the wish of another process, left in the store, counts as well.
        emit: sees each event after it was stored.

    Returns:
        What went wrong, already recorded, or ``None``.
    """

    known = bool(store.get(run_id).before)

    def record(event: Event) -> None:
        nonlocal known
        body = to_json(event)
        changes = _changes(body)
        if known:  # of several trainings in a run, the first has told of the untuned model
            changes.pop("before", None)
        known = known or "before" in changes
        store.record(run_id, body, **changes)
        if trouble := board.write(body):
            store.record(run_id, to_json(Notice(trouble)))
        if emit is not None:
            emit(event)

    folder = workspace.run(run_id)
    board = TensorBoardLog(folder)
    try:
        store.record(run_id, status="running", message="", hint="")
        outcome = _train(folder, catalog(), _either(should_stop, run_id, store), record)
        store.record(
            run_id,
            status=outcome.status,
            before=outcome.before,
            after=outcome.after,
            step=outcome.steps,
            steps=max(outcome.steps, store.get(run_id).steps),  # of several trainings, each told its own
            seconds=outcome.seconds,
            pairs_per_second=outcome.pairs_per_second,
            model_path=outcome.model if outcome.model.is_dir() else None,
            message=str(outcome.question.get("why", "")),
            hint=_answers(outcome.question),
        )
    except StudioError as error:
        record(Failed(message=str(StudioError(error.message, rows=error.rows)).rstrip("."), hint=error.hint))
        return error
    except Exception as error:
        (folder / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
        record(Failed(message=_plain(error), hint=f"the full report is in the run's error.log ({run_id})"))
        return error
    finally:
        board.close()
    return None


def accompany(folder: Path, catalog: Catalog, should_stop: Callable[[], bool]) -> None:
    """Train the run in ``folder`` as a companion of the process that performs it; nothing is recorded here."""
    _train(folder, catalog, should_stop, lambda _event: None)


def _train(folder: Path, catalog: Catalog, should_stop: Callable[[], bool], emit: Callable[[Event], None]) -> Outcome:
    from ..training.course import run_course
    from ..training.tuned import fresh

    materials = Materials(folder)
    examples, dev = materials.examples()
    return run_course(
        materials.spec(),
        examples,
        emit,
        should_stop,
        load=partial(fresh, catalog),
        folder=folder,
        dev=dev,
        first=materials.first(),
        reasons=materials.reasons(),
    )


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    """The columns of a run that an event changes."""
    kind = body["type"]
    if kind == "started":
        return {"steps": body["steps"], "dev_rows": body["dev_rows"], "objective": body["objective"], "method": body["method"]}
    if kind == "step":
        return {"step": body["step"], "pairs_per_second": body["pairs_per_second"]}
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
            asked, looked = store.asked_to_stop(run_id), time.monotonic()
        return asked or should_stop()

    return ask


def _plain(error: Exception) -> str:
    """What happened, in a sentence, for a person who did not write this program."""
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return "there was not enough memory; choose a smaller batch size or a smaller model"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk is full; make room and resume the run"
    first = str(error).strip().splitlines()
    return f"something unforeseen happened in the trainer ({type(error).__name__}{': ' + first[0][:200] if first else ''})"
