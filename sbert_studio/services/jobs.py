"""Work in the background, such as word vectors that are made or models that are judged: a thread each, one after the other, looked at by
whoever owns it.

It is kept by the program alone, and not by the database: it takes seconds or minutes, and begins anew after a restart.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

from ..errors import StudioError, to_user_error
from ..identity import Identity, current_identity, use_identity
from ..progress import StoppedError, stoppable

if TYPE_CHECKING:
    from ..progress import Progress
    from ..settings import Limits

log = logging.getLogger(__name__)
Status = Literal["queued", "running", "finished", "stopped", "failed"]
ACTIVE = ("queued", "running")
_KEPT = 200  # jobs that have ended and can still be looked at
_ASK = 0.1  # seconds between two questions whether a job that waits is to be stopped


class JobResult(Protocol):
    """What a job came to."""

    @property
    def model(self) -> str:
        """The id of the model that was made; empty of other work."""

    def in_words(self) -> str:
        """What is told of it."""


BeginPhase = Callable[[str, str], "Progress | None"]
"""Told what begins and what it counts, such as (``learning``, ``epochs``); gives what is told how far that is, if anybody asks."""


@dataclass(frozen=True)
class JobView:
    """A job as it stands.

    Attributes:
        id, owner, title: which it is, whose, and what it makes.
        status: queued, running, finished, stopped or failed.
        phase: what goes on; ``unit`` is what ``done`` of ``total`` counts, a total of 0 is not known.
        rate: units a second in this phase; 0 before it can be told.
        seconds: since it began to run, or of the whole of it.
        message, hint: what went wrong, or what was made.
        model: the model's id, once it is there.
        made: what it came to; error: why it came to nothing.
        about: what was asked for, as the page that began it needs it.
        stopping: it was asked to end.
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
    made: JobResult | None = None
    error: StudioError | None = None
    about: object = None
    stopping: bool = False

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.status in ACTIVE

    @property
    def left(self) -> float | None:
        """Seconds that this phase still takes; ``None`` where nothing tells."""
        return (self.total - self.done) / self.rate if self.total and self.rate else None


@dataclass
class _Job:
    view: JobView
    stop: threading.Event = field(default_factory=threading.Event)
    began: float = 0.0
    phase_began: float = 0.0
    base: int = 0
    thread: threading.Thread | None = None
    asker: Identity | None = None


class JobQueue:
    """The jobs of everybody.

    Args:
        limits: how many one owner may have under way, and all together, and how long one may run.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def submit(self, owner: str, title: str, work: Callable[[BeginPhase], JobResult], about: object = None) -> JobView:
        """Do ``work`` in a thread of its own, once those before it are done.

        Raises:
            StudioError: the owner has one under way, or too many wait.
        """
        job = _Job(JobView(f"job-{secrets.token_hex(5)}", owner, title, about=about), asker=current_identity())
        with self._lock:
            self._require_turn(owner)
            self._jobs[job.view.id] = job
            ended = [name for name, one in self._jobs.items() if not one.view.active]
            for name in ended[: max(0, len(ended) - _KEPT)]:
                del self._jobs[name]
        job.thread = threading.Thread(target=self._carry_out, args=(job, work), name="sbert-studio-job", daemon=True)
        job.thread.start()
        return self._seen(job)

    def latest(self, owner: str) -> JobView | None:
        """The owner's: the one that runs, else the one that waits, else the last."""
        own = self.of(owner)
        running = [view for view in own if view.status == "running"] or [view for view in own if view.active][:1] or own
        return running[-1] if running else None

    def of(self, owner: str) -> list[JobView]:
        """All of the owner's that are under way, or can still be looked at, in the order in which they were asked for."""
        with self._lock:
            own = [job for job in self._jobs.values() if job.view.owner == owner]
        return [self._seen(job) for job in own]

    def under_way(self, owner: str | None = None) -> list[JobView]:
        """Those that run or wait, of everybody where no owner is given."""
        with self._lock:
            active = [job for job in self._jobs.values() if job.view.active and owner in (None, job.view.owner)]
        return [self._seen(job) for job in active]

    def stop(self, owner: str, job_id: str) -> JobView:
        """Ask a job to end; it does at its next step, and nothing of it is kept.

        Raises:
            StudioError: the owner has no such job.
        """
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or job.view.owner != owner:
                raise StudioError("this is no longer under way", "reload the page")
            if job.view.active:
                job.stop.set()
                job.view = replace(job.view, stopping=True)
        return self._seen(job)

    def close(self, timeout: float = 10.0) -> None:
        """End all of them, and wait for it."""
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.stop.set()
        for job in jobs:
            if job.thread is not None and job.thread is not threading.current_thread():
                job.thread.join(timeout)

    def _require_turn(self, owner: str) -> None:
        active = [job.view for job in self._jobs.values() if job.view.active]
        own = [view for view in active if view.owner == owner]
        if own and len(own) >= (self._limits.runs or len(own) + 1):
            raise StudioError(
                f"{own[0].title} is under way, and each visitor makes one at a time here", "wait until it has ended, or stop it"
            )
        if self._limits.queue and len(active) >= self._limits.queue:
            raise StudioError(f"{len(active)} are under way, and no more may wait here", "try again later")

    def _carry_out(self, job: _Job, work: Callable[[BeginPhase], JobResult]) -> None:
        try:
            while not self._turn.acquire(timeout=_ASK):
                if job.stop.is_set():
                    raise StoppedError
            try:
                job.began = time.monotonic()
                self._tell(job, status="running")
                with stoppable(lambda: job.stop.is_set() or self._over(job)), use_identity(job.asker):
                    made = work(lambda phase, unit: self._begin(job, phase, unit))
            finally:
                self._turn.release()
            self._tell(job, status="finished", message=made.in_words(), model=made.model, made=made)
        except StoppedError:
            over = self._over(job) and not job.stop.is_set()
            why = f"it took more than the {self._limits.minutes} minutes that it may take here" if over else "nothing was kept"
            self._tell(job, status="stopped", message=why)
        except StudioError as error:
            self._tell(job, status="failed", message=error.message, hint=error.hint, error=error)
        except BaseException as error:
            log.exception("a job came to nothing: %s", job.view.title)
            told = to_user_error(error) if isinstance(error, Exception) else None
            told = told or StudioError("something went wrong on our side; it has been logged", "try again")
            self._tell(job, status="failed", message=told.message, hint=told.hint)

    def _over(self, job: _Job) -> bool:
        return bool(self._limits.minutes and job.began) and time.monotonic() - job.began > 60 * self._limits.minutes

    def _begin(self, job: _Job, phase: str, unit: str) -> Progress:
        if job.stop.is_set():
            raise StoppedError
        job.phase_began, job.base = 0.0, 0
        self._tell(job, phase=phase, unit=unit, done=0, total=0, rate=0.0)

        def show(done: int, total: int) -> None:
            now = time.monotonic()
            if not job.phase_began or done < job.view.done:
                job.phase_began, job.base = now, done
            elapsed = now - job.phase_began
            rate = (done - job.base) / elapsed if elapsed > _ASK else job.view.rate
            self._tell(job, done=done, total=total, rate=rate)

        return show

    def _tell(self, job: _Job, **changes: object) -> None:
        with self._lock:
            seconds = time.monotonic() - job.began if job.began else 0.0
            if changes.get("status") not in (None, *ACTIVE):
                changes["stopping"] = False
            job.view = replace(job.view, seconds=seconds, **changes)  # type: ignore[arg-type]

    def _seen(self, job: _Job) -> JobView:
        with self._lock:
            return replace(job.view, seconds=time.monotonic() - job.began) if job.view.active and job.began else job.view
