"""Work in the background as the page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..panels.tuning.follow import sentence
from ..pieces.views import Value, plain

if TYPE_CHECKING:
    from ...services.jobs import JobView

_STATUS = {"queued": "waiting", "running": "working"}


def job_view(job: JobView | None, what: str = "word vectors") -> Value | None:
    """The value of a ``job`` view; ``None`` where there is none.

    Args:
        what: is done, for those who do not see the bar.
    """
    if job is None:
        return None
    message = " ".join(sentence(part) for part in (job.message, job.hint) if part)
    if job.stopping:
        message = "Stopping… It ends after the step it is in; nothing of it is kept."
    phase = job.phase[:1].upper() + job.phase[1:] if job.status == "running" else {"queued": "Waiting for its turn"}.get(job.status, "")
    return plain(  # type: ignore[no-any-return]
        {
            "title": job.title,
            "what": what,
            "status": job.status,
            "badge": _STATUS.get(job.status, job.status),
            "live": job.active,
            "phase": phase,
            "unit": job.unit,
            "done": job.done,
            "total": job.total,
            "rate": job.rate,
            "left": job.left,
            "seconds": job.seconds,
            "message": message,
        }
    )
