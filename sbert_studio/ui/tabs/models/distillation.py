"""Distillation of a teacher into a smaller model on the texts of the selected data: the form, its handlers and the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....data.loading.table import table_from_columns
from ....errors import StudioError
from ....i18n import to_sentence
from ....progress import StoppedError, bind_checkpoint
from ....runs.runner import lower_priority
from ....services.static_embeddings import STATIC
from ...page import Page
from ...views import Update, Value, props
from .jobs import JobKind, JobPanelView, show_job
from .static_embeddings import MAX_NAME

if TYPE_CHECKING:
    from ....data.loading.table import Table
    from ....services.distillation import Distillation
    from ....services.jobs import BeginPhase, JobView
    from ....services.static_embeddings import FittedEmbeddings

JOB = JobKind("distil", "distillation", lambda studio: studio.distillation_jobs)
HELP = (
    "A small model learns to give the texts of the selected data the vectors of a larger model, or the scores of a cross-encoder. "
    "A tenth of the texts is held out, to measure how much of the teacher is kept."
)
_ESTIMATE_NOTE = "Before and after it, the agreement on the held-out texts is measured."


def teacher_choices(page: Page, owner: object) -> list[tuple[str, str]]:
    """Return (title, name) of the models that may be imitated; names on the Hugging Face Hub can be typed."""
    return page.model_choices(owner, "texts", "pairs")


def student_choices(page: Page) -> list[tuple[str, str]]:
    """Return (title, name) of the models to train: the default and built-in ones, and static embeddings, which need no training."""
    titles = page.model_titles(None)
    names = dict.fromkeys((page.studio.settings.default_model, *page.studio.catalog.bundled()))
    return [*((titles.get(name, name), name) for name in names), ("Static embeddings: over a hundred times as fast, less accurate", STATIC)]


def start(page: Page, owner: object, corpus: str | None, teacher: str | None, student: str | None, name: str) -> JobPanelView:
    start_distillation(page, owner, corpus, teacher or "", student or "", name)
    return show_job(page, owner, JOB)


def start_distillation(page: Page, owner: object, corpus: str | None, teacher: str, student: str, name: str) -> JobView:
    """Queue the job; training is also listed among the visitor's runs, and can be resumed there if it was stopped.

    Raises:
        StudioError: no teacher is chosen, or the student is unknown or the teacher itself.
    """
    studio, visitor = page.studio, page.visitor(owner)
    _require_models(page, teacher, student)
    table = _texts(page, corpus)
    title = name.strip()[:MAX_NAME] or f"{page.model_title(teacher).rsplit('/', 1)[-1]}-distilled"

    def work(begin: BeginPhase) -> Distillation | FittedEmbeddings:
        lower_priority()  # as for other runs, so that searches stay fast and a run that trains meanwhile has its share
        if student == STATIC:
            return _distill_static(page, teacher, table, title, visitor, begin)
        checkpoint = bind_checkpoint()

        def should_stop() -> bool:
            try:
                checkpoint()
            except StoppedError:
                return True
            return False

        return studio.distillation.distill(
            teacher, table, student, columns=("text",), owner=visitor, name=title, begin_phase=begin, should_stop=should_stop
        )

    return studio.distillation_jobs.submit(visitor, title, work)


def estimate(page: Page, corpus: str | None, teacher: str | None, student: str | None) -> Value:
    """Return the estimated time and memory of the training.

    Raises:
        StudioError: as :func:`start_distillation`.
    """
    teacher, student = teacher or "", student or ""
    _require_models(page, teacher, student)
    if student == STATIC:
        return {"title": "Static embeddings need no training: the teacher encodes each word once.", "reasons": []}
    found = page.studio.distillation.estimate(teacher, _texts(page, corpus), student, columns=("text",))
    return {"title": to_sentence(found.describe_cost()), "reasons": [to_sentence(found.describe_steps()), _ESTIMATE_NOTE]}


def forget_estimate() -> Update:
    """Hide the estimate, which was for other models or texts."""
    return props(value=None)


def _require_models(page: Page, teacher: str, student: str) -> None:
    if not teacher:
        raise StudioError("there is no teacher", "choose the model to imitate")
    if student not in {known for _title, known in student_choices(page)}:
        raise StudioError("this student is unknown", "choose one from the list")
    if teacher == student:
        raise StudioError("the teacher and the student are the same model", "choose a larger teacher")


def _texts(page: Page, corpus: str | None) -> Table:
    selected = page.corpora.selected(corpus)
    return table_from_columns(selected.corpus.name, {"text": (selected.corpus.passages or selected.corpus).texts})


def _distill_static(page: Page, teacher: str, table: Table, title: str, visitor: str, begin: BeginPhase) -> Distillation | FittedEmbeddings:
    studio, columns = page.studio, ("text",)
    fitted = studio.static_embeddings.distill(teacher, vocabulary=table, columns=columns, name=title, owner=visitor, begin_phase=begin)
    return studio.distillation.compare(teacher, fitted.model, table, columns=columns, begin_phase=begin) or fitted
