"""List of running tasks in the header: the page's tasks, background jobs and training runs, with progress and Stop."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import gradio as gr

from ..errors import StudioError
from ..i18n import _, capitalize, join, to_sentence
from ..progress import progress_share
from ..serialization import to_plain
from ..training.events import format_rate
from .page import Page
from .panel import Panel
from .sessions.language import localize
from .sessions.tasks import TASKS, PageTask, session_id
from .views import Value, view

if TYPE_CHECKING:
    from ..runs.run import Run
    from ..services.jobs import JobQueue, JobView

log = logging.getLogger(__name__)
# Seconds; shorter tasks are not listed, because their result appears immediately.
_MIN_RUNNING, _MIN_ENDED = 0.8, 2.0
_MIN_SHARE = 0.02  # minimum share of a phase before its rate predicts the remaining time
_MAX_KNOWN = 50
_TASK, _JOB, _RUN = "work-", "job-", "run-"
# Kind of a page's task → title, final message, tab.
_KINDS = {
    "search": ("Search", "Search finished", "search"),
    "map": ("Map", "Map drawn", "map"),
    "alike": ("Near-duplicates", "Near-duplicates found", "search"),
    "changed": ("Model comparison", "Model comparison finished", ""),
    "suggest": ("Pairs worth labelling", "Pairs found", ""),
    "keep-work": ("Keep my work", "Work kept", "models"),
    "push": ("Push to the Hub", "Pushed", ""),
    "pairs": ("File of pairs", "Pairs scored", "similarity"),
    "tune": ("Training examples", "Examples read", "fine-tune"),
    "estimate": ("Estimate of time and memory", "Time and memory estimated", "fine-tune"),
}
_FILE_SUFFIX = "-file"
_STATUS = {"queued": "queued", "stopped": "stopped", "failed": "failed", "interrupted": "interrupted", "asks": "needs an answer"}
_JOB_STATUS = {"queued": "waiting", "running": "working"}


def draw_task_list(page: Page, name: str) -> gr.HTML:
    """Draw the list; ``name`` is the page's title in the browser's tab."""

    # Polled by the page's JavaScript instead of a gr.Timer, which pauses in a hidden tab, whose title should announce the end of a task.
    def tray_look(request: object) -> Value:
        return localize(poll_tasks(page, request))  # type: ignore[no-any-return]

    def tray_stop(request: object) -> Value:
        return localize(poll_tasks(page, request, stop=True))  # type: ignore[no-any-return]

    return view("tray", {"name": name, "session": "", "owner": None}, elem_id="tray", server=[tray_look, tray_stop])


def connect_task_list(page: Page, task_list: gr.HTML, name: str, loaded: gr.events.Dependency) -> None:
    """Set the visitor of the list once it is known (the event ``loaded``)."""

    def identify(owner: object) -> Value:
        return task_list_owner(name, owner)

    Panel(page, task_list=task_list).on(loaded.then, identify, output="task_list", quiet=True)


def task_list_owner(name: str, owner: object) -> Value:
    """Return the value of the ``tray`` view for the calling page."""
    visitor = owner.get("owner") if isinstance(owner, Mapping) else None
    return {"name": name, "session": session_id(), "owner": {"owner": visitor}}


def poll_tasks(page: Page, request: object, *, stop: bool = False) -> Value:
    """Answer the page's ``{"session", "owner", "known", "id"}`` with ``{"entries"}`` or ``{"error"}``; first stop the task ``id``."""
    sent = request if isinstance(request, Mapping) else {}
    session, owner, ids = sent.get("session"), sent.get("owner"), sent.get("known")
    known = {one for one in ids[:_MAX_KNOWN] if isinstance(one, str)} if isinstance(ids, list) else set()
    session = session if isinstance(session, str) else ""
    try:
        if stop:
            stop_task(page, session, owner, str(sent.get("id") or ""))
        return {"entries": list_tasks(page, session, owner, known)}
    except StudioError as error:
        return {"error": error.message}
    except Exception:
        log.exception("the list of tasks could not be read")
        return {"error": "the tasks cannot be read at the moment"}


def list_tasks(page: Page, session: str, owner: object, known: Collection[str] = ()) -> list[Value]:
    """Return the tasks of a page and of its visitor.

    Args:
        session: id of the page.
        known: ids that the page has shown as running; their end is reported even if they were short.

    Returns:
        entries with ``id, title, tab, status, phase, share`` (``None`` if unknown), ``rate, left`` (seconds or ``None``), ``seconds,
        stopping, done`` (message at the end).
    """
    visitor = page.visitor(owner)
    # The result of a superseded task is not shown, such as that of the first search, once the visitor has searched for something.
    tasks = [task for task in TASKS.for_session(session) if not task.superseded]
    entries = [_task_entry(task) for task in tasks if f"{_TASK}{task.number}" in known or _is_long(task)]
    for jobs, tab, done in _background_jobs(page):
        entries += [_job_entry(page, job, tab, done) for job in jobs.list_jobs(visitor) if job.active or job.id in known]
    running = page.studio.fine_tune.list_active(visitor)
    entries += [_run_entry(page, seen.run, seen.waiting, seen.stopping) for seen in running]
    ended = {name for name in known if name.startswith(_RUN)} - {seen.run.id for seen in running}
    if ended:
        entries += [_run_entry(page, run) for run in page.studio.fine_tune.list_runs(visitor) if run.id in ended]
    return [to_plain(entry) for entry in entries]


def stop_task(page: Page, session: str, owner: object, task_id: str) -> None:
    """Stop a task, a job or a run.

    Raises:
        StudioError: the visitor has no such task running.
    """
    visitor = page.visitor(owner)
    if task_id.startswith(_TASK):
        number = next((task.number for task in TASKS.for_session(session) if f"{_TASK}{task.number}" == task_id), None)
        if number is not None and TASKS.stop(session, number=number):
            return
    elif task_id.startswith(_JOB):
        for jobs, _unused, _unused2 in _background_jobs(page):
            if any(job.id == task_id for job in jobs.list_jobs(visitor)):
                jobs.stop(visitor, task_id)
                return
    elif any(seen.run.id == task_id for seen in page.studio.fine_tune.list_active(visitor)):
        page.studio.fine_tune.stop(task_id)
        return
    raise StudioError("this task is no longer running", "open its tab to see the result")


def job_state(job: JobView | None, *, with_seconds: bool = True) -> Value | None:
    """Return a value that changes whenever the view of a job must be drawn again.

    Args:
        with_seconds: whether the view shows the duration, and changes with each second.
    """
    if job is None:
        return None
    state = {name: getattr(job, name) for name in ("id", "status", "phase", "done", "total", "stopping")}
    return state | ({"seconds": round(job.seconds)} if with_seconds and job.active else {})


def job_view(job: JobView | None, what: str = "word vectors") -> Value | None:
    """Return the value of a ``job`` view; ``None`` without a job. ``what``: accessible name of the progress bar."""
    if job is None:
        return None
    message = join(" ", (to_sentence(part) for part in (job.message, job.hint) if part))
    if job.stopping:
        message = "Stopping after the current step; no result is saved."
    phase = _capitalize(job.phase) if job.status == "running" else {"queued": "Waiting for its turn"}.get(job.status, "")
    same = {name: getattr(job, name) for name in ("title", "status", "unit", "done", "total", "rate", "left", "seconds")}
    shown = {"what": what, "badge": _JOB_STATUS.get(job.status, job.status), "live": job.active, "phase": phase, "message": message}
    share = 1.0 if job.status == "finished" else progress_share(job.done, job.total) or 0.0
    return to_plain(same | shown | {"share": share})  # type: ignore[no-any-return]


def _is_long(task: PageTask) -> bool:
    return task.seconds > (_MIN_ENDED if task.ended else _MIN_RUNNING)


def _background_jobs(page: Page) -> list[tuple[JobQueue, str, str]]:
    return [
        (page.studio.embedding_jobs, "fine-tune", "Static embeddings trained"),
        (page.studio.distillation_jobs, "models", "Distillation finished"),
        (page.studio.evaluation_jobs, "evaluate", "Evaluation finished"),
        (page.studio.document_jobs, "fine-tune", "Training data made from documents"),
        (page.studio.export_jobs, "models", "Model exported"),
    ]


def _task_entry(task: PageTask) -> Value:
    if task.kind in _KINDS:
        title, done, tab = _KINDS[task.kind]
    elif task.kind.endswith(_FILE_SUFFIX):
        title, done, tab = "File", "File read", task.kind.removesuffix(_FILE_SUFFIX)
    else:
        title, tab = _capitalize(task.kind.replace("-", " ")), ""
        done = _("{title}: done", title=title)
    entry = {"id": f"{_TASK}{task.number}", "title": title, "tab": tab, "rate": "", "done": done}
    return entry | _progress(task) | {"stopping": task.status == "running" and task.stop.is_set()}


def _job_entry(page: Page, job: JobView, tab: str, done: str) -> Value:
    rate = (
        _("{rate} {unit} per second", rate=format_rate(job.rate), unit=job.unit)
        if job.status == "running" and job.rate and job.unit
        else ""
    )
    entry = {"id": job.id, "title": job.title, "tab": tab, "rate": rate, "done": done, "stopping": job.stopping}
    return entry | _progress(job, job.unit) | {"theirs": [page.model_title(model) for model in getattr(job.about, "models", ())]}


def _progress(task: PageTask | JobView, unit: str = "") -> Value:
    is_running, done, total = task.status == "running", task.done, task.total
    of = {"done": f"{done:,}", "total": f"{total:,}"}
    counted = (_("{done} of {total} {unit}", **of, unit=unit) if unit else _("{done} of {total}", **of)) if total else ""
    phase = join(" · ", filter(None, (_capitalize(task.phase), counted))) if is_running else _STATUS.get(task.status, "done")
    share, left = (progress_share(done, total), _seconds_left(done, total, task.rate)) if is_running else (None, None)
    return {"status": task.status, "phase": phase, "share": share, "left": left, "seconds": task.seconds}


def _run_entry(page: Page, run: Run, waiting: int = 0, stopping: bool = False) -> Value:
    last = page.studio.fine_tune.get_last_step(run.id) if run.status == "running" else {}
    done, total = int(last.get("run_step") or run.step), int(last.get("run_steps") or run.steps)
    phase = _STATUS.get(run.status, "done")
    if run.status == "running":
        phase = _("Training · step {done} of {total}", done=f"{done:,}", total=f"{total:,}") if done and total else "Training"
    elif run.status == "queued" and waiting:
        phase = _("queued behind {waiting}", waiting=waiting)
    rate, left = float(last.get("pairs_per_second") or 0), last.get("seconds_left")
    return {
        "id": run.id,
        "title": run.name,
        "theirs": [run.name],
        "tab": "fine-tune",
        "status": run.status,
        "phase": phase,
        "share": progress_share(done, total) if run.status == "running" else None,
        "rate": _("{rate} rows per second", rate=format_rate(rate)) if rate else "",
        "left": left if isinstance(left, int | float) and left >= 1 else None,  # evaluation and saving follow the last step
        "seconds": run.seconds,
        "stopping": stopping,
        "done": "Training finished",
    }


def _seconds_left(done: int, total: int, rate: float) -> float | None:
    return (total - done) / rate if rate > 0 and _MIN_SHARE * total <= done < total else None


def _capitalize(text: str) -> str:
    return capitalize(text)
