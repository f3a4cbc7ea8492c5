"""Limits of a shared machine: how large a run may be, and how many a visitor may have. Each refusal names the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import StudioError
from ..runs.run import Run
from ..settings import Limits


def require_within_limits(limits: Limits, run: Run, runs: Sequence[Run], elsewhere: str) -> None:
    """Check that a run may be started.

    Args:
        run: the new run.
        runs: all queued and running runs.
        elsewhere: sentence on where the limit does not apply.

    Raises:
        StudioError: the run is too large, its owner has too many active runs, or the queue is full.
    """
    spec = run.spec
    stage: Mapping[str, Any] = spec.get("first") or {}
    checks = (
        (run.rows + run.dev_rows, limits.rows, "rows", "take fewer rows"),
        (max(1, int(spec.get("folds", 1))) * int(spec.get("seeds", 1)), limits.trainings, "trainings (folds × seeds)", "ask for fewer"),
        (max(_epochs(spec), _epochs(stage)), limits.epochs, "epochs", "ask for fewer"),
    )
    for value, limit, unit, hint in checks:
        if limit and value > limit:
            raise StudioError(f"this run has {value:,g} {unit}, and here a run has at most {limit:,}", f"{hint}; {elsewhere}")
    require_free_slot(limits, run.owner, runs, elsewhere)


def _epochs(spec: Mapping[str, Any]) -> float:
    from ..training.spec import TrainSpec

    spec = {**TrainSpec().to_json(), **spec} if spec else {"epochs": 0, "soup": 1}
    return float(spec["epochs"]) * int(spec["soup"])


def require_free_slot(limits: Limits, owner: str, runs: Sequence[Run], elsewhere: str) -> None:
    """Check that an owner may queue one more run.

    Raises:
        StudioError: the owner has too many active runs, or the queue is full.
    """
    own = [one for one in runs if one.owner == owner]
    if limits.runs and len(own) >= limits.runs:
        under_way = f"{own[0].name} is {'training' if own[0].status == 'running' else 'waiting for its turn'}"
        most = "one run" if limits.runs == 1 else f"{limits.runs} runs"
        raise StudioError(f"{under_way}, and each visitor has {most} at a time here", f"wait until it has ended, or stop it; {elsewhere}")
    if limits.queue and len(runs) >= limits.queue:
        raise StudioError(f"{len(runs)} runs are under way, and no more than {limits.queue} may wait here", f"try again later; {elsewhere}")


def require_queue_share(limits: Limits, waiting: int, address: str, elsewhere: str) -> None:
    """Check that one address does not take more than half of the queue.

    Args:
        waiting: runs queued from the address.
        address: empty for this machine, which has no limit.

    Raises:
        StudioError: too many runs wait.
    """
    most = max(1, limits.queue // 2)
    if limits.queue and address and waiting >= most:
        raise StudioError(
            f"{waiting} runs from your network wait here, and no more than {most} may, so that others have a turn",
            f"try again later; {elsewhere}",
        )
