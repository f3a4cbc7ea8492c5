"""Start, restart and resume runs; access tokens of API runs."""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..workspace import Workspace, digest_file, file_name
from .data import existing_file
from .training_plan import FIRST_STAGE_PREFIX, PlanFile, TrainPlan, TrainRequest, describe_row_reports, exclude_shared_texts

if TYPE_CHECKING:
    from ..runs.files import InputFile, RunFiles
    from ..runs.run import Run


log = logging.getLogger(__name__)


ACCEPT_ALARM = "accept_alarm"
"""The setting by which an alarm is answered; a run that is gone on with may be given it."""


def new_run(plan: TrainPlan) -> Run:
    """A run of this plan that waits, with an id of its own; nothing is written yet."""
    from ..runs.run import Run, new_run_id, utc_now

    request, spec = plan.request, plan.spec
    return Run(
        id=new_run_id(),
        owner=request.owner,
        name=(request.name or file_name(plan.table.name).rsplit(".", 1)[0]).encode("utf-8", "replace").decode("utf-8"),
        status="queued",
        created=utc_now(),
        model=spec.model,
        objective=spec.objective,
        method=spec.method,
        spec=spec.to_json(),
        rows=len(plan.examples),
        dev_rows=0 if plan.dev is None else len(plan.dev.examples),
    )


def write_run_files(materials: RunFiles, plan: TrainPlan) -> None:
    """All that the run needs, as files in its folder."""
    files = {part: _given(source) for part, source in plan.sources.items()}
    if plan.first is not None and plan.dev is not None:
        files["first"] = replace(files["first"], account=exclude_shared_texts(plan.first.account, plan.first.examples, plan.dev.examples))
    reasons = (*describe_row_reports({part: given.account for part, given in files.items()}), *plan.reasons)
    pins = None if plan.request.pins is None else plan.request.pins.with_texts(plan.examples)
    materials.write(plan.spec, files, reasons, _told(plan), pins)


def require_same_request(run: Run, materials: RunFiles, said: TrainRequest | None) -> None:
    """Find out whether what was said beside a run's id is what it began with.

    Raises:
        StudioError: it began with another file, other settings, or such as cannot be said again.
    """
    if said is None:
        return
    if said.choices:
        raise StudioError(f"the run {run.id} began with columns of its own", "a resumed run keeps its columns; leave them out")
    if said.name is not None and said.name != run.name:
        raise StudioError(f"the run {run.id} is called {run.name!r}, not {said.name!r}", "a resumed run keeps its name; leave --name out")
    _require_same_settings(run, {**said.overrides, **({} if said.model is None else {"model": said.model})})
    source = materials.source()
    for part, given, what in (("data", said.data, "the file"), ("dev", said.dev, "--dev"), ("first", said.first, "--first")):
        _require_same_file(run, source.get(part), given, what)


def _given(source: PlanFile) -> InputFile:
    from ..runs.files import InputFile

    asked = source.choices
    read = {"encoding": asked.encoding, "delimiter": asked.delimiter, "header": asked.header}
    return InputFile(source.given, source.roles, source.examples, source.account, read)


def _told(plan: TrainPlan) -> dict[str, Any]:
    """What was found, asked and answered, as plain data for the run's folder."""
    from dataclasses import asdict

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
        "digests": {part: source.examples.digest for part, source in plan.sources.items()},
    }


def _require_same_settings(run: Run, asked: Mapping[str, Any]) -> None:
    stage = run.spec.get("first", {})
    known = {**run.spec, **run.spec.get("objective_params", {})}
    known |= {f"{FIRST_STAGE_PREFIX}{key}": value for key, value in {**stage, **stage.get("objective_params", {})}.items()}
    for name, value in asked.items():
        if name == ACCEPT_ALARM:  # an answer to what the run asks
            continue
        if value not in (None, "auto") and not _same(value, known.get(name)):
            raise StudioError(
                f"the run {run.id} began with {name} {known.get(name)!r}, not {value!r}",
                "a resumed run keeps its settings; leave them out",
            )


def _require_same_file(run: Run, kept: Mapping[str, Any] | None, given: Any, what: str) -> None:
    if not isinstance(given, str | Path):
        return
    if kept is None:
        raise StudioError(f"the run {run.id} began without {what}", f"leave {what} out, or start a new run with it")
    if digest_file(existing_file(given)) != kept["sha256"]:
        raise StudioError(f"the run {run.id} began with another file, {kept['name']}", f"leave {what} out, or start a new run with it")


def _same(asked: Any, kept: Any) -> bool:
    """Whether a value as it was typed is the value that was kept."""
    try:
        return float(asked) == float(kept)
    except (TypeError, ValueError):
        return str(asked) == str(kept)


def strength_marks(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the dial shows: the marks that were judged and where it stands; ``None`` where there is nothing between two models.

    Args:
        before, after: a run's scores; of several trainings, those of the one whose model was kept.
    """
    kept = after.get("kept") or after
    marks = kept.get("strengths") or after.get("strengths")
    if not marks:
        return None
    shown = [{"strength": mark["strength"], "score": mark["score"], "general": mark.get("general")} for mark in marks]
    return {"marks": shown, "strength": kept.get("strength", after.get("strength", 1.0))}


_LENGTH = 40


def run_token(workspace: Workspace, run_id: str) -> str:
    """The token of a run: 40 hex digits that nobody guesses."""
    return _digest(workspace, f"run {run_id}")[:_LENGTH]


def is_run_token(workspace: Workspace, run_id: str, token: object) -> bool:
    """Whether ``token`` is the run's; the time that this takes tells nothing of it."""
    return isinstance(token, str) and hmac.compare_digest(run_token(workspace, run_id).encode(), token.encode("utf-8", "replace"))


def api_owner(workspace: Workspace, address: str) -> str:
    """Whose runs a caller's are on a shared page: a name made from its address, which nobody reads back from it."""
    return f"api-{_digest(workspace, f'address {address}')[:16]}"


def _digest(workspace: Workspace, words: str) -> str:
    return hmac.new(workspace.secret(), words.encode(), hashlib.sha256).hexdigest()
