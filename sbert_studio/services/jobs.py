"""Background jobs of the page other than training runs, such as evaluations and static embeddings; run one at a time.

Each job has its own thread. Jobs exist only in memory: they take seconds or minutes, and have to be started again after a restart.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from ..errors import StudioError, to_user_error
from ..i18n import _
from ..identity import Identity, current_identity, use_identity
from ..progress import Progress, StoppedError, stoppable
from ..settings import Limits

log = logging.getLogger(__name__)
Status = Literal["queued", "running", "finished", "stopped", "failed"]
ACTIVE = ("queued", "running")
_MAX_ENDED = 200  # ended jobs that can still be viewed
_POLL_SECONDS = 0.1  # seconds between two checks of a waiting job for a stop request


class JobResult(Protocol):
    """Result of a job."""

    @property
    def model(self) -> str:
        """Id of the new model; empty for other kinds of jobs."""

    def describe(self) -> str:
        """Return a message for the user."""


BeginPhase = Callable[[str, str], "Progress | None"]
"""Called with the title and unit of a phase, such as (``learning``, ``epochs``); returns its progress callback, if any."""


@dataclass(frozen=True)
class JobView:
    """State of a job.

    Attributes:
        title: description of the job.
        phase: the current phase, with ``done`` of ``total`` in ``unit``; a total of 0 is unknown.
        rate: units per second in this phase; 0 until it can be measured.
        seconds: seconds since the job started, or its total duration.
        message, hint: result or error.
        model: id of the new model.
        result, error: the outcome of an ended job.
        about: the request, in the form needed by the page that submitted the job.
        stopping: whether a stop was requested.
    """

    id: str
    owner: str
    title: str
    status: Status = "queued"
    phase: str = ""
    unit: str = ""
    done: int = 0
    total: int = 0
    rate: float = 0.0
    seconds: float = 0.0
    message: str = ""
    hint: str = ""
    model: str = ""
    result: JobResult | None = None
    error: StudioError | None = None
    about: object = None
    stopping: bool = False

    @property
    def active(self) -> bool:
        """True while the job is waiting or running."""
        return self.status in ACTIVE

    @property
    def left(self) -> float | None:
        """Estimated seconds left in this phase; ``None`` if unknown, as after its last unit, when work continues."""
        return (self.total - self.done) / self.rate if self.done < self.total and self.rate else None


@dataclass
class _BackgroundJob:
    view: JobView
    stop: threading.Event = field(default_factory=threading.Event)
    began: float = 0.0
    phase_began: float = 0.0
    base: int = 0
    thread: threading.Thread | None = None
    identity: Identity | None = None


def latest_job(jobs: Sequence[JobView]) -> JobView | None:
    """Return the running one of some jobs, in order of submission, else the first that waits, else the last one."""
    found = [job for job in jobs if job.status == "running"] or [job for job in jobs if job.active][:1] or jobs
    return found[-1] if found else None


class JobQueue:
    """All background jobs of one kind.

    Args:
        limits: maximum number of jobs per owner and in total, and maximum minutes per job.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._jobs: dict[str, _BackgroundJob] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def submit(self, owner: str, title: str, work: Callable[[BeginPhase], JobResult], about: object = None) -> JobView:
        """Queue ``work``; it runs in its own thread after the jobs before it."""
        job = _BackgroundJob(JobView(f"job-{secrets.token_hex(5)}", owner, title, about=about), identity=current_identity())
        with self._lock:
            self._require_free_slot(owner)
            self._jobs[job.view.id] = job
            ended = [name for name, one in self._jobs.items() if not one.view.active]
            for name in ended[: max(0, len(ended) - _MAX_ENDED)]:
                del self._jobs[name]
        job.thread = threading.Thread(target=self._execute, args=(job, work), name="sbert-studio-job", daemon=True)
        job.thread.start()
        return self._view(job)

    def latest(self, owner: str) -> JobView | None:
        """Return an owner's running job, else the waiting job, else the last one."""
        return latest_job(self.list_jobs(owner))

    def list_jobs(self, owner: str) -> list[JobView]:
        """Return an owner's jobs in order of submission, including recently ended ones."""
        with self._lock:
            own = [job for job in self._jobs.values() if job.view.owner == owner]
        return [self._view(job) for job in own]

    def list_active(self, owner: str | None = None) -> list[JobView]:
        """Return the waiting and running jobs (of one owner)."""
        with self._lock:
            active = [job for job in self._jobs.values() if job.view.active and owner in (None, job.view.owner)]
        return [self._view(job) for job in active]

    def stop(self, owner: str, job_id: str) -> JobView:
        """Request that a job stop; it ends at its next step and its result is discarded."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or job.view.owner != owner:
                raise StudioError("this job is no longer running", "reload the page")
            if job.view.active:
                job.stop.set()
                job.view = replace(job.view, stopping=True)
        return self._view(job)

    def close(self, timeout: float = 10.0) -> None:
        """Stop all jobs and wait for them."""
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.stop.set()
        for job in jobs:
            if job.thread is not None and job.thread is not threading.current_thread():
                job.thread.join(timeout)

    def _require_free_slot(self, owner: str) -> None:
        active = [job.view for job in self._jobs.values() if job.view.active]
        own = [view for view in active if view.owner == owner]
        if own and len(own) >= (self._limits.runs or len(own) + 1):
            raise StudioError(
                _("{title} is running, and each visitor may run only one at a time here", title=own[0].title),
                "wait until it has ended, or stop it",
            )
        if self._limits.queue and len(active) >= self._limits.queue:
            raise StudioError(_("{active} jobs are queued, which is the maximum", active=len(active)), "try again later")

    def _execute(self, job: _BackgroundJob, work: Callable[[BeginPhase], JobResult]) -> None:
        try:
            while not self._turn.acquire(timeout=_POLL_SECONDS):
                if job.stop.is_set():
                    raise StoppedError
            try:
                job.began = time.monotonic()
                self._update(job, status="running")
                with stoppable(lambda: job.stop.is_set() or self._is_overdue(job)), use_identity(job.identity):
                    result = work(lambda phase, unit: self._begin(job, phase, unit))
            finally:
                self._turn.release()
            self._update(job, status="finished", message=result.describe(), model=result.model, result=result)
        except StoppedError:
            overdue = self._is_overdue(job) and not job.stop.is_set()
            message = _("it exceeded the limit of {minutes} minutes", minutes=self._limits.minutes) if overdue else "no result was saved"
            self._update(job, status="stopped", message=message)
        except StudioError as error:
            self._update(job, status="failed", message=error.message, hint=error.hint, error=error)
        except BaseException as error:
            log.exception("a job failed: %s", job.view.title)
            known = to_user_error(error) if isinstance(error, Exception) else None
            known = known or StudioError("something went wrong on our side; it has been logged", "try again")
            self._update(job, status="failed", message=known.message, hint=known.hint)

    def _is_overdue(self, job: _BackgroundJob) -> bool:
        return bool(self._limits.minutes and job.began) and time.monotonic() - job.began > 60 * self._limits.minutes

    def _begin(self, job: _BackgroundJob, phase: str, unit: str) -> Progress:
        if job.stop.is_set():
            raise StoppedError
        job.phase_began, job.base = 0.0, 0
        self._update(job, phase=phase, unit=unit, done=0, total=0, rate=0.0)

        def report(done: int, total: int) -> None:
            now = time.monotonic()
            if not job.phase_began or done < job.view.done:
                job.phase_began, job.base = now, done
            elapsed = now - job.phase_began
            rate = (done - job.base) / elapsed if elapsed > _POLL_SECONDS else job.view.rate
            self._update(job, done=done, total=total, rate=rate)

        return report

    def _update(self, job: _BackgroundJob, **changes: object) -> None:
        with self._lock:
            seconds = time.monotonic() - job.began if job.began else 0.0
            if changes.get("status") not in (None, *ACTIVE):
                changes["stopping"] = False
            job.view = replace(job.view, seconds=seconds, **changes)  # type: ignore[arg-type]

    def _view(self, job: _BackgroundJob) -> JobView:
        with self._lock:
            return replace(job.view, seconds=time.monotonic() - job.began) if job.view.active and job.began else job.view
