"""What a visitor of a shared machine may ask of it; each refusal names the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..settings import Limits

if TYPE_CHECKING:
    from ..runs.run import Run


def require_within_limits(limits: Limits, run: Run, runs: Sequence[Run], elsewhere: str) -> None:
    """Find out whether a run may be begun.

    Args:
        run: as it would be; its spec says how long it is.
        runs: those that wait or train, everybody's.
        elsewhere: where there is no such limit.

    Raises:
        StudioError: it is larger than a run may be here, its owner has one under way, or too many wait.
    """
    spec = run.spec
    stage: Mapping[str, Any] = spec.get("first") or {}
    asked = (
        (run.rows + run.dev_rows, limits.rows, "rows", "take fewer rows"),
        (max(1, int(spec.get("folds", 1))) * int(spec.get("seeds", 1)), limits.trainings, "trainings (folds × seeds)", "ask for fewer"),
        (max(_epochs(spec), _epochs(stage)), limits.epochs, "epochs", "ask for fewer"),
    )
    for wanted, most, what, how in asked:
        if most and wanted > most:
            raise StudioError(f"this run has {wanted:,g} {what}, and here a run has at most {most:,}", f"{how}; {elsewhere}")
    require_free_slot(limits, run.owner, runs, elsewhere)


def _epochs(spec: Mapping[str, Any]) -> float:
    return float(spec.get("epochs", 0)) * int(spec.get("soup", 1))


def require_free_slot(limits: Limits, owner: str, runs: Sequence[Run], elsewhere: str) -> None:
    """Find out whether one more run of this owner may wait here.

    Raises:
        StudioError: they have one under way, or too many wait.
    """
    own = [one for one in runs if one.owner == owner]
    if limits.runs and len(own) >= limits.runs:
        under_way = f"{own[0].name} is {'training' if own[0].status == 'running' else 'waiting for its turn'}"
        most = "one run" if limits.runs == 1 else f"{limits.runs} runs"
        raise StudioError(f"{under_way}, and each visitor has {most} at a time here", f"wait until it has ended, or stop it; {elsewhere}")
    if limits.queue and len(runs) >= limits.queue:
        raise StudioError(f"{len(runs)} runs are under way, and no more than {limits.queue} may wait here", f"try again later; {elsewhere}")


def require_queue_share(limits: Limits, waiting: int, address: str, elsewhere: str) -> None:
    """Find out whether one more run that is asked for from an address may wait: half of the queue is for others.

    Args:
        waiting: how many from there wait already; nobody waits where ``address`` is empty, this machine's own.

    Raises:
        StudioError: too many wait.
    """
    most = max(1, limits.queue // 2)
    if limits.queue and address and waiting >= most:
        raise StudioError(
            f"{waiting} runs from your network wait here, and no more than {most} may, so that others have a turn",
            f"try again later; {elsewhere}",
        )
