"""Jobs of the Models tab that train a model: their controls, and the handlers that show, stop and restore the visitor's latest job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ...components import shown_state
from ...page import Page
from ...panel import Panel
from ...run_view import use_model
from ...state import next_runs_version
from ...task_list import job_state, job_view
from ...views import UNCHANGED, Unchanged, Update, Value, props, view

if TYPE_CHECKING:
    from ....services import Studio
    from ....services.jobs import JobQueue


@dataclass(frozen=True)
class JobKind:
    """A kind of jobs.

    Attributes:
        prefix: of the ids of its elements.
        title: accessible name of its progress bar.
        queue: returns its jobs.
    """

    prefix: str
    title: str
    queue: Callable[[Studio], JobQueue]


@dataclass(frozen=True)
class JobPanelView:
    state: Value | None
    job_id: str
    chosen: str  # id of the trained model
    job: Value | None
    stop: Update
    use: Update
    fits_timer: Update
    ended: str | Unchanged  # changes when training has ended


@dataclass(frozen=True)
class RestoredJob:
    view: JobPanelView
    section: Update | Unchanged


def show_job(page: Page, owner: object, kind: JobKind) -> JobPanelView:
    """Return the view of the visitor's latest job."""
    job = kind.queue(page.studio).latest(visitor := page.visitor(owner))
    shown, is_live = job_view(job, kind.title), job is not None and job.active
    model = job.model if job is not None else ""
    return JobPanelView(
        state=job_state(job),
        job_id=job.id if job else "",
        chosen=model,
        job=shown,
        stop=props(visible=bool(job is not None and is_live and not job.stopping)),
        use=props(visible=bool(model)),
        # The timer also polls the jobs of the other kind.
        fits_timer=props(active=any(one.list_active(visitor) for one in (page.studio.embedding_jobs, page.studio.distillation_jobs))),
        ended=UNCHANGED if job is None or is_live else f"{job.id} {job.status}",
    )


def poll_job(page: Page, owner: object, state: Value | None, kind: JobKind) -> JobPanelView | None:
    shown = show_job(page, owner, kind)
    return None if shown.state == state else shown


def stop_job(page: Page, owner: object, job_id: str, kind: JobKind) -> JobPanelView:
    kind.queue(page.studio).stop(page.visitor(owner), job_id)
    return show_job(page, owner, kind)


def restore_job(page: Page, owner: object, kind: JobKind) -> RestoredJob:
    shown = show_job(page, owner, kind)
    # The lists have just been drawn: the end of an earlier training job must not draw them again.
    return RestoredJob(replace(shown, ended=UNCHANGED), props(open=True) if shown.job and shown.job["live"] else UNCHANGED)


def draw_job(kind: JobKind) -> dict[str, gr.components.Component]:
    """Draw the progress of the latest job, and its buttons."""
    job = view("job", elem_id=f"{kind.prefix}-job")
    with gr.Row(elem_classes=["sb-buttons"]):
        stop = gr.Button("Stop", variant="stop", visible=False, elem_classes=["sb-stop"], elem_id=f"{kind.prefix}-stop")
        use = gr.Button("Use this model", variant="primary", visible=False, elem_id=f"{kind.prefix}-use")
    return {"job": job, "stop": stop, "use": use}


def job_states(kind: JobKind) -> dict[str, gr.components.Component]:
    """Draw the invisible components of the latest job, which must be outside a closed accordion."""
    return {
        "job_id": gr.State(""),
        "chosen": gr.State(""),
        "state": shown_state(f"{kind.prefix}-state"),
        # A State changed by an event outside the queue, such as the timer's, triggers no event; a textbox does.
        "ended": gr.Textbox("", visible="hidden", label="ended", elem_id=f"{kind.prefix}-ended"),
    }


def connect_job(panel: Panel, page: Page, kind: JobKind) -> None:
    """Connect the components of :func:`draw_job` and :func:`job_states` to their handlers."""
    panel.on(page.fits_timer.tick, partial(poll_job, kind=kind), queue=False, trigger_mode="once", quiet=True)
    panel.on(panel["stop"].click, partial(stop_job, kind=kind), queue=False, quiet=True)
    panel.on(panel["ended"].change, next_runs_version, output="runs_version", quiet=True)
    panel.on(panel["use"].click, use_model, quiet=True)
    page.on_load.append(lambda loaded: panel.on(loaded.then, partial(restore_job, kind=kind), quiet=True))
