"""What is under way for a visitor, whatever kind of work it is, as the entries of one list."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...training.events import format_rate
from ..page import Page
from ..pieces.views import Value, plain
from ..visitors.visits import VISITS, Work

if TYPE_CHECKING:
    from ...runs.run import Run
    from ...services.jobs import Jobs, JobView

_SEEN_AFTER = 0.8  # seconds: what is done sooner is seen by its result
_TOLD_AFTER = 2.0
_TELLS = 0.02  # the part of a phase after which its rate tells how long the rest takes
_WORK, _JOB, _RUN = "work-", "job-", "run-"
# Of each kind of a page's own work: what it is, what is said once it is done, and the tab it is in.
_KINDS = {
    "search": ("Search", "Search answered", "search"),
    "map": ("Map", "Map drawn", "map"),
    "alike": ("Near-duplicates", "Near-duplicates found", "search"),
    "changed": ("What changed", "Changes drawn", ""),
    "suggest": ("Pairs worth labelling", "Pairs found", ""),
    "push": ("Push to the Hub", "Pushed", ""),
    "pairs": ("Pairs of a file", "Pairs compared", "similarity"),
    "tune": ("File of examples", "Examples read", "fine-tune"),
}
_FILE = "-file"
_STATUS = {"queued": "waits for its turn", "stopped": "stopped", "failed": "failed", "interrupted": "interrupted", "asks": "asks you"}


def entries(page: Page, session: str, owner: object, known: Collection[str] = ()) -> list[Value]:
    """What is under way on the page of a session and for its visitor, and how it ended.

    Args:
        session: the page's own name, see :func:`~sbert_studio.ui.visitors.visits.session`.
        owner: the value of ``page.owner``.
        known: ids of what the page has seen under way: its end is told as well, however soon it came.

    Returns:
        a value each: ``id, title, tab, status, phase, share`` (``None`` where nothing tells), ``rate, left`` (seconds, or ``None``),
        ``seconds, stopping, done`` (what is said at the end).
    """
    visitor = page.visitor(owner)
    own = ((work, f"{_WORK}{work.number}" in known) for work in VISITS.of(session))
    found = [_work(work) for work, seen in own if seen or work.seconds > (_TOLD_AFTER if work.ended else _SEEN_AFTER)]
    for jobs, tab, done in _jobs_of(page):
        found += [_job(page, job, tab, done) for job in jobs.of(visitor) if job.active or job.id in known]
    under_way = page.studio.tune.under_way(visitor)
    found += [_run(page, seen.run, seen.waiting, seen.stopping) for seen in under_way]
    gone = {name for name in known if name.startswith(_RUN)} - {seen.run.id for seen in under_way}
    if gone:
        found += [_run(page, run) for run in page.studio.tune.runs(visitor) if run.id in gone]
    return [plain(entry) for entry in found]


def stop(page: Page, session: str, owner: object, name: str) -> None:
    """Ask one of them to end.

    Raises:
        StudioError: the visitor has none of that name under way.
    """
    visitor = page.visitor(owner)
    if name.startswith(_WORK):
        number = next((work.number for work in VISITS.of(session) if f"{_WORK}{work.number}" == name), None)
        if number is not None and VISITS.stop(session, number=number):
            return
    elif name.startswith(_JOB):
        for jobs, _, _ in _jobs_of(page):
            if any(job.id == name for job in jobs.of(visitor)):
                jobs.stop(visitor, name)
                return
    elif any(seen.run.id == name for seen in page.studio.tune.under_way(visitor)):
        page.studio.tune.stop(name)
        return
    raise StudioError("this is no longer under way", "look at the tab it was begun in")


def _jobs_of(page: Page) -> list[tuple[Jobs, str, str]]:
    """The jobs in the background, the tab they are in, and what is said of one that is done."""
    return [(page.studio.jobs, "fine-tune", "Word vectors made"), (page.studio.evaluations, "evaluate", "Models judged")]


def _work(work: Work) -> Value:
    title, done, tab = _KINDS.get(work.kind) or _of_another_kind(work.kind)
    counted = f"{work.done:,} of {work.total:,}" if work.total and work.status == "running" else ""
    return {
        "id": f"{_WORK}{work.number}",
        "title": title,
        "tab": tab,
        "status": work.status,
        "phase": " · ".join(filter(None, (work.phase, counted))) if work.status == "running" else _STATUS.get(work.status, "done"),
        "share": _share(work.done, work.total),
        "rate": "",
        "left": _left(work.done, work.total, work.rate),
        "seconds": work.seconds,
        "stopping": work.status == "running" and work.stop.is_set(),
        "done": done,
    }


def _of_another_kind(kind: str) -> tuple[str, str, str]:
    if kind.endswith(_FILE):
        return "File", "File read", kind.removesuffix(_FILE)
    name = kind.replace("-", " ").capitalize()
    return name, f"{name}: done", ""


def _job(page: Page, job: JobView, tab: str, done: str) -> Value:
    running = job.status == "running"
    counted = f"{job.done:,} of {job.total:,} {job.unit}" if job.total else ""
    return {
        "id": job.id,
        "title": job.title,
        "theirs": [page.titled(model) for model in getattr(job.about, "models", ())],
        "tab": tab,
        "status": job.status,
        "phase": " · ".join(filter(None, (job.phase[:1].upper() + job.phase[1:], counted))) if running else _STATUS.get(job.status, "done"),
        "share": _share(job.done, job.total) if running else None,
        "rate": f"{format_rate(job.rate)} {job.unit} a second" if running and job.rate and job.unit else "",
        "left": _left(job.done, job.total, job.rate) if running else None,
        "seconds": job.seconds,
        "stopping": job.stopping,
        "done": done,
    }


def _run(page: Page, run: Run, waiting: int = 0, stopping: bool = False) -> Value:
    last = page.studio.tune.last_step(run.id) if run.status == "running" else {}
    done, total = int(last.get("run_step") or run.step), int(last.get("run_steps") or run.steps)
    phase = _STATUS.get(run.status, "done")
    if run.status == "running":
        phase = f"Training · step {done:,} of {total:,}" if done and total else "Training"
    elif run.status == "queued" and waiting:
        phase = f"waits: {waiting} before it"
    rate = float(last.get("pairs_per_second") or 0)
    return {
        "id": run.id,
        "title": run.name,
        "theirs": [run.name],
        "tab": "fine-tune",
        "status": run.status,
        "phase": phase,
        "share": _share(done, total) if run.status == "running" else None,
        "rate": f"{format_rate(rate)} rows a second" if rate else "",
        "left": last.get("seconds_left"),
        "seconds": run.seconds,
        "stopping": stopping,
        "done": "Training finished",
    }


def _share(done: int, total: int) -> float | None:
    return min(1.0, done / total) if total else None


def _left(done: int, total: int, rate: float) -> float | None:
    """Seconds that a phase still takes; ``None`` while too little of it is done to tell."""
    return (total - done) / rate if rate > 0 and total and done >= _TELLS * total else None
