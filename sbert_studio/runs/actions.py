"""Actions that a run offers in each state; the page, the command line and the API all follow :func:`available_actions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from ..errors import StudioError
from ..i18n import _

if TYPE_CHECKING:
    from .run import Run

Action = Literal["stop", "answer", "resume", "use", "download", "rename", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)
_HINTS: dict[Action, str] = {
    "stop": "only queued and running runs can be stopped",
    "answer": "only a run that was stopped by an alarm has a question",
    "resume": "only interrupted, stopped or failed runs can be resumed",
    "use": "choose a finished run whose model encodes texts",
    "download": "choose a run that has a model",
    "rename": "rename it when it has ended",
    "delete": "stop it before deleting it",
}


def available_actions(run: Run, *, is_stopping: bool = False, is_damaged: bool = False) -> tuple[Action, ...]:
    """Return the actions that work in the current state of a run, in the order of :data:`ACTIONS`.

    Args:
        is_stopping: a stop was requested, and takes effect after the current step.
        is_damaged: the files of its model cannot be read, so that it can neither be used nor downloaded.
    """
    if run.active:
        return () if is_stopping else ("stop",)
    found: set[Action] = {"rename", "delete"}
    # An alarm must be answered first: resuming without an answer would stop at the same question.
    if run.status == "asks":
        found.add("answer")
    elif run.resumable:
        found.add("resume")
    if has_model(run) and not is_damaged:
        found.add("download")
        # Cross-encoders and poly-encoders score pairs; they are chosen as re-rankers in the Search tab, and in Evaluate.
        if run.spec.get("architecture", "siamese") == "siamese":
            found.add("use")
    return tuple(action for action in ACTIONS if action in found)


def has_model(run: Run) -> bool:
    """Return True if an ended run has a model folder."""
    return run.status in ("finished", "stopped") and run.model_path is not None and run.model_path.is_dir()


def require_action(run: Run, action: Action) -> None:
    """Check that a run offers an action.

    Raises:
        StudioError: the action is not available in the current state of the run.
    """
    if action not in available_actions(run):
        raise StudioError(_("the run {run_id} is {status}", run_id=run.id, status=run.status), _HINTS[action])
