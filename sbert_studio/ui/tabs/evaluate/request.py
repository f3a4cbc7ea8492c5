"""Requests of the Evaluate tab: what its form asks for, and which of the visitor's evaluations a page shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ....data.schema.roles import SchemaOverrides
from ....evaluation.tasks import TASKS, get_task
from ....services.jobs import BeginPhase, latest_job
from ....services.retrieval import RetrievalOptions
from ...components import form_key
from ...page import Page
from ...sessions import file_store
from ...views import Value
from .view_model import EvaluationPanel

if TYPE_CHECKING:
    from ....services.jobs import JobView

FILE, SUITE, PUBLIC = "file", "suite", "public"
EVALUATE_AGAIN = "evaluate-again"
"""Id of the button that repeats an evaluation of the form."""
AUTO = "auto"


@dataclass(frozen=True)
class EvaluationForm:
    models: Sequence[str] | None = ()
    source: str = ""
    file: str | None = None
    suite: str | None = None
    public_set: str | None = None
    task: str = AUTO
    known_rows: str | None = None
    reranker: str | None = ""
    passages: bool = False

    @property
    def key(self) -> str:
        """Key that identifies the values that have an effect."""
        file = [file_store.fingerprint(self.file), self.task, file_store.fingerprint(known_rows_file(self.task, self.known_rows))]
        data: object = {FILE: file, SUITE: self.suite, PUBLIC: (self.public_set or "").strip()}.get(self.source)
        return form_key(sorted(self.models or ()), self.source, data, self.reranker or "", self.passages)


@dataclass(frozen=True)
class EvaluationData:
    path: Path | str  # a file or the address of a public dataset
    name: str  # shown to the visitor
    overrides: SchemaOverrides = field(default_factory=SchemaOverrides)  # answers to questions about the file
    suite: str = ""  # name of a suite, instead of a file
    known_rows: Path | None = None  # file of rows with known answers, for a task that uses them


Evaluate = Callable[["Page", "EvaluationRequest", "EvaluationOwner", BeginPhase], EvaluationPanel]
"""Computes a result in the background."""


@dataclass(frozen=True)
class EvaluationOwner:
    """Who a result is for.

    Attributes:
        visitor: id.
        titles: titles of models by name.
        provenance: how the result was computed, for the page.
    """

    visitor: str
    titles: Mapping[str, str]
    provenance: Value


@dataclass(frozen=True)
class EvaluationRequest:
    data: EvaluationData
    models: tuple[str, ...]
    task: str
    form: EvaluationForm = field(default_factory=EvaluationForm)  # values of the form at its start
    stored_file: str = ""  # stored_file, stored_known_rows: ids of the form's files in the visitor's file store
    stored_known_rows: str = ""
    header_model: str = ""  # model in the header at its start
    repeat_button: str = EVALUATE_AGAIN  # id of the button that repeats it
    run: Evaluate | None = None  # what computes the result; by default an evaluation of the models

    @property
    def retrieval(self) -> RetrievalOptions:
        """Options of the form for retrieval."""
        reranker, overrides = self.form.reranker or "", self.data.overrides or None
        return RetrievalOptions(reranker=reranker, passages=self.form.passages, overrides=overrides)


def current_job(page: Page, owner: object, corpus: str | None) -> JobView | None:
    """Return the evaluation to show: the latest one that is not on other data than the selected, else the latest of all.

    Another page of the visitor may evaluate on other data at the same time.
    """
    jobs, selected = page.studio.evaluation_jobs.list_jobs(page.visitor(owner)), page.corpora.selected(corpus)
    key = file_store.fingerprint(selected.path)
    return latest_job([job for job in jobs if _data_key(job) in ("", key)]) or latest_job(jobs)


def _data_key(job: JobView) -> str:
    """Return the fingerprint of the file that an evaluation is on; empty if it is on none."""
    path = job.about.data.path if isinstance(job.about, EvaluationRequest) and not job.about.data.suite else ""
    return file_store.fingerprint(path) if isinstance(path, Path) else ""


def last_request(page: Page, owner: object, corpus: str | None) -> EvaluationRequest | None:
    """Return the request of :func:`current_job`."""
    return request_of(current_job(page, owner, corpus))


def request_of(job: JobView | None) -> EvaluationRequest | None:
    return job.about if job is not None and isinstance(job.about, EvaluationRequest) else None


def reference_help(task: str) -> str:
    """Return how a task uses rows with known answers; empty if it does not, or if the task is not known yet."""
    return get_task(task).reference_help if task in TASKS else ""


def known_rows_file(task: str, path: str | None) -> Path | None:
    """Return the file of rows with known answers, unless the task does not use it (the form then hides it)."""
    return Path(path) if path and reference_help(task) else None
