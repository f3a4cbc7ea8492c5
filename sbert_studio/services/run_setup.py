"""Setup of a run: limits of a shared machine, the run's files, restart mark and access token, and checks before it is resumed."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..data.document_pairs import count_origins
from ..data.loading.table import SUFFIXES
from ..errors import StudioError
from ..i18n import _
from ..runs.run import Run, new_run_id, utc_now
from ..settings import Limits
from ..workspace import Workspace, digest_file, file_name, write_json
from .data import existing_file
from .training_plan import FIRST_STAGE_PREFIX, PlanFile, TrainPlan, TrainRequest, describe_row_reports, exclude_shared_texts

if TYPE_CHECKING:
    from ..data.retrieval import RetrievalSet
    from ..runs.files import RunFiles, RunInput
    from ..runs.runner import Runner
    from ..runs.store import RunStore


ACCEPT_ALARM = "accept_alarm"
"""Setting that answers an alarm; the only setting allowed when a run is resumed."""
_RESTART_FILE = "background.json"
_MAX_RESTARTS = 3
_GIVEN_UP = _(
    "the program ended each of the {max_restarts} times it resumed this run; resume the run manually to try again",
    max_restarts=_MAX_RESTARTS,
)
_TOKEN_DIGITS = 40
log = logging.getLogger(__name__)


def require_within_limits(limits: Limits, run: Run, runs: Sequence[Run], elsewhere: str) -> None:
    """Check that a new run is not too large, its owner has not too many active runs, and the queue is not full.

    Args:
        runs: all queued and running runs.
        elsewhere: sentence on how to avoid the limit.

    Raises:
        StudioError: a limit is exceeded.
    """
    spec = run.spec
    stage: Mapping[str, Any] = spec.get("first") or {}
    checks = (
        (run.rows + run.dev_rows, limits.rows, "rows", "use fewer rows"),
        (max(1, int(spec.get("folds", 1))) * int(spec.get("seeds", 1)), limits.trainings, "training runs (folds × seeds)", "request fewer"),
        (max(_epochs(spec), _epochs(stage)), limits.epochs, "epochs", "request fewer"),
    )
    for value, limit, unit, hint in checks:
        if limit and value > limit:
            raise StudioError(
                _("this run has {value} {unit}; the maximum here is {limit}", value=f"{value:,g}", unit=unit, limit=f"{limit:,}"),
                _("{hint}; {elsewhere}", hint=hint, elsewhere=elsewhere),
            )
    require_free_slot(limits, run.owner, runs, elsewhere)


def _epochs(spec: Mapping[str, Any]) -> float:
    from ..training.spec import TrainSpec

    spec = {**TrainSpec().to_json(), **spec} if spec else {"epochs": 0, "soup": 1}
    return float(spec["epochs"]) * int(spec["soup"])


def require_free_slot(limits: Limits, owner: str, runs: Sequence[Run], elsewhere: str) -> None:
    """Check that an owner has not too many active runs, and that the queue is not full.

    Raises:
        StudioError: a limit is exceeded.
    """
    own = [one for one in runs if one.owner == owner]
    if limits.runs and len(own) >= limits.runs:
        under_way = (
            _("{name} is training", name=own[0].name)
            if own[0].status == "running"
            else _("{name} is waiting for its turn", name=own[0].name)
        )
        most = "one run" if limits.runs == 1 else _("{runs} runs", runs=limits.runs)
        raise StudioError(
            _("{under_way}, and each visitor may have {most} at a time here", under_way=under_way, most=most),
            _("wait until it has ended, or stop it; {elsewhere}", elsewhere=elsewhere),
        )
    if limits.queue and len(runs) >= limits.queue:
        raise StudioError(
            _("{runs} runs are queued, and the maximum is {queue}", runs=len(runs), queue=limits.queue),
            _("try again later; {elsewhere}", elsewhere=elsewhere),
        )


def require_queue_share(limits: Limits, waiting: int, address: str, elsewhere: str) -> None:
    """Raise a StudioError if ``address`` has queued half of the runs that may wait; this machine (``""``) has no limit."""
    most = max(1, limits.queue // 2)
    if limits.queue and address and waiting >= most:
        raise StudioError(
            _(
                "{waiting} runs from your network are queued, and the maximum is {most}, so that others get their turn",
                waiting=waiting,
                most=most,
            ),
            _("try again later; {elsewhere}", elsewhere=elsewhere),
        )


def mark_for_restart(workspace: Workspace, run_id: str) -> None:
    """Mark a run to be resumed automatically if the program ends while it is queued or training."""
    write_json(workspace.run(run_id) / _RESTART_FILE, {"restarts": 0})


def unmark_for_restart(workspace: Workspace, run_id: str) -> None:
    """Remove the mark, because a run continued in a terminal must not be resumed automatically."""
    with suppress(OSError):
        (workspace.home / "runs" / run_id / _RESTART_FILE).unlink(missing_ok=True)


def resubmit_interrupted(workspace: Workspace, store: RunStore, runner: Runner) -> list[Run]:
    """Requeue, in their original order, the marked runs that were interrupted when the program ended.

    A run that was interrupted three times in a row is skipped, because it may be the cause of the crash.
    """
    store.recover()
    resumed = []
    for run in reversed(store.runs(status="interrupted")):
        note = workspace.home / "runs" / run.id / _RESTART_FILE
        try:
            restarts = int(json.loads(note.read_text(encoding="utf-8"))["restarts"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not marked, or damaged
        try:
            if restarts >= _MAX_RESTARTS:
                store.record(run.id, message=_GIVEN_UP)
                note.unlink()
                continue
            write_json(note, {"restarts": restarts + 1})
            store.claim(run.id)
            runner.submit(run.id)
            resumed.append(run)
        except (StudioError, OSError) as error:
            log.warning("the run %s could not be resumed: %s", run.id, error)
    return resumed


def new_run(plan: TrainPlan) -> Run:
    """Return a queued run of this plan with a new id; nothing is written yet."""
    request, spec = plan.request, plan.spec
    name = request.name if request.name and request.name.strip() else default_run_name(plan.table.name)
    return Run(
        id=new_run_id(),
        owner=request.owner,
        name=name.encode("utf-8", "replace").decode("utf-8"),
        status="queued",
        created=utc_now(),
        model=spec.model,
        loss=spec.loss,
        method=spec.method,
        spec=spec.to_json(),
        rows=len(plan.examples),
        dev_rows=0 if plan.dev_examples is None else len(plan.dev_examples),
    )


def default_run_name(file: str) -> str:
    """Return the name of a file without the suffixes of its format and compression."""
    stem = PurePath(file_name(file)).stem
    while PurePath(stem).suffix.lower() in SUFFIXES:
        stem = PurePath(stem).stem
    return stem


def write_run_files(files: RunFiles, plan: TrainPlan, retrieval: RetrievalSet | None = None) -> None:
    """Write all input files of the run to its folder; ``retrieval`` is the retrieval probe."""
    given = {part: _run_file(source) for part, source in plan.sources.items()}
    if plan.first is not None and plan.dev_examples is not None:
        given["first"] = replace(given["first"], account=exclude_shared_texts(plan.first.account, plan.first.examples, plan.dev_examples))
    reasons = (*describe_row_reports({part: file.account for part, file in given.items()}), *plan.reasons)
    pins = None if plan.request.pins is None else plan.request.pins.with_texts(plan.examples)
    files.write(plan.spec, given, reasons, _plan_record(plan), pins, own_dev=None if plan.dev else plan.dev_examples, retrieval=retrieval)


def require_same_request(run: Run, files: RunFiles, request: TrainRequest | None) -> None:
    """Check that a request given together with a run's id matches the settings of the run.

    Raises:
        StudioError: a setting, a file, the name or the columns differ.
    """
    if request is None:
        return
    if request.choices:
        raise StudioError(_("the run {id} was started with different columns", id=run.id), "a resumed run keeps its columns; omit them")
    if request.name is not None and request.name != run.name:
        raise StudioError(
            _("the run {id} is called {name}, not {name2}", id=run.id, name=repr(run.name), name2=repr(request.name)),
            "a resumed run keeps its name; omit --name",
        )
    if request.retrieval is not None:
        raise StudioError(_("the run {id} keeps the retrieval set that it was started with", id=run.id), "omit --retrieval")
    _require_same_settings(run, {**request.overrides, **({} if request.model is None else {"model": request.model})})
    source = files.source()
    for part, given, what in (("data", request.data, "the file"), ("dev", request.dev, "--dev"), ("first", request.first, "--first")):
        _require_same_file(run, source.get(part), given, what)


def _run_file(source: PlanFile) -> RunInput:
    from ..runs.files import RunInput

    options = {name: getattr(source.choices, name) for name in ("encoding", "delimiter", "header")}
    return RunInput(source.given, source.roles, source.examples, source.account, options)


def _plan_record(plan: TrainPlan) -> dict[str, Any]:
    request = plan.request
    found = (*plan.diagnosis.findings, *(plan.earlier.findings if plan.earlier else ()))
    findings = [{"severity": one.severity, "message": one.message, "rows": len(one.rows)} for one in found]
    return {
        "choices": {part: asdict(source.choices) for part, source in plan.sources.items() if part != "dev"},
        "overrides": dict(request.overrides),
        "changes": list(request.changes),
        "answered": [one.to_json() for one in request.answered],
        "as_read": [question.to_json() for question in plan.questions],
        "findings": findings,
        "splits": {part: split.to_json() for part, split in plan.splits.items()},
        "digests": plan.digests,
        "origins": count_origins(plan.table),
    }


def _require_same_settings(run: Run, settings: Mapping[str, Any]) -> None:
    stage = run.spec.get("first", {})
    known = {**run.spec, **run.spec.get("loss_params", {})}
    known |= {f"{FIRST_STAGE_PREFIX}{key}": value for key, value in {**stage, **stage.get("loss_params", {})}.items()}
    for name, value in settings.items():
        if name == ACCEPT_ALARM:
            continue
        if value not in (None, "auto") and not _is_same_value(value, known.get(name)):
            raise StudioError(
                _(
                    "the run {id} was started with {name} {known}, not {value}",
                    id=run.id,
                    name=name,
                    known=repr(known.get(name)),
                    value=repr(value),
                ),
                "a resumed run keeps its settings; omit them",
            )


def _require_same_file(run: Run, stored: Mapping[str, Any] | None, path: Any, what: str) -> None:
    if not isinstance(path, str | Path):
        return
    if stored is None:
        raise StudioError(
            _("the run {id} was started without {what}", id=run.id, what=what), _("omit {what}, or start a new run with it", what=what)
        )
    if digest_file(existing_file(path)) != stored["sha256"]:
        raise StudioError(
            _("the run {id} was started with a different file, {name}", id=run.id, name=stored["name"]),
            _("omit {what}, or start a new run with it", what=what),
        )


def _is_same_value(value: Any, stored: Any) -> bool:
    # A typed value is a string; numbers may be written differently.
    try:
        return float(value) == float(stored)
    except (TypeError, ValueError):
        return str(value) == str(stored)


def strength_marks(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the evaluated strengths of a run and the current one; ``None`` if the model cannot be interpolated.

    Args:
        before, after: the run's scores.
    """
    kept = after.get("kept") or after
    marks = kept.get("strengths") or after.get("strengths")
    if not marks:
        return None
    shown = [{"strength": mark["strength"], "score": mark["score"], "general": mark.get("general")} for mark in marks]
    return {"marks": shown, "strength": kept.get("strength", after.get("strength", 1.0))}


def run_token(workspace: Workspace, run_id: str) -> str:
    """Return the run's access token: 40 hex digits."""
    return _digest(workspace, _("run {run_id}", run_id=run_id))[:_TOKEN_DIGITS]


def is_run_token(workspace: Workspace, run_id: str, token: object) -> bool:
    """Return True if ``token`` is the run's, compared in constant time."""
    return isinstance(token, str) and hmac.compare_digest(run_token(workspace, run_id).encode(), token.encode("utf-8", "replace"))


def api_owner(workspace: Workspace, address: str) -> str:
    """Return the owner name of an API caller on a shared page: a keyed hash of its address."""
    return f"api-{_digest(workspace, f'address {address}')[:16]}"


def _digest(workspace: Workspace, words: str) -> str:
    return hmac.new(workspace.secret(), words.encode(), hashlib.sha256).hexdigest()
