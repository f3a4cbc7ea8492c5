"""An evaluation as it stands, for the page: how far it is, what it asks, what it came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....services.training_questions import Unanswered
from ...task_list import job_view
from ...views import Value, placeholder, questions_view
from .work import Done

if TYPE_CHECKING:
    from ....services.jobs import JobView

BLANK = "Scores appear here, a row for each model."
OPEN = "Scores appear here once the question is answered."


def job_value(job: JobView | None) -> Value | None:
    """The panel of an evaluation; nothing once it has ended in a result or in a question."""
    hidden = job is None or job.status == "finished" or isinstance(job.error, Unanswered)
    return None if hidden else job_view(job, "evaluation")


def results_of(job: JobView | None) -> list[Any]:
    """The question, the sentence, the scores, the chart, where models differ and the details of an evaluation, as far as there are any."""
    if job is not None and isinstance(job.made, Done):
        return [None, job.made.words, job.made.scores, job.made.chart, job.made.differences, job.made.details]
    if job is not None and isinstance(job.error, Unanswered):
        return [questions_view("Before it can judge", job.error.questions), None, placeholder(OPEN), None, None, None]
    return [None, None, placeholder(BLANK), None, None, None]


def mark(job: JobView | None) -> str:
    """What of a job decides whether its page has to be drawn anew."""
    return (
        ""
        if job is None
        else f"{job.id} {job.status} {job.phase} {job.done} {job.total} {job.stopping} {job.seconds if job.active else 0:.0f}"
    )
