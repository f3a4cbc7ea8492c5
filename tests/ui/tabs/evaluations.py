"""Evaluations as the Evaluate tab runs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sbert_studio.services.jobs import JobView
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.evaluate.handlers import start_evaluation
from sbert_studio.ui.tabs.evaluate.request import EvaluationData, EvaluationRequest
from sbert_studio.ui.tabs.evaluate.view_model import EvaluationPanel

from .. import waiting


def start(page: Page, owner: object, models: Sequence[str], data: EvaluationData, task: str = "auto") -> JobView:
    return start_evaluation(page, owner, EvaluationRequest(data, tuple(models), task))


def ended(page: Page, owner: object = None) -> JobView:
    return waiting.ended(lambda: page.studio.evaluation_jobs.latest(page.visitor(owner)))


def evaluate(page: Page, models: Sequence[str], path: Path, task: str = "auto") -> EvaluationPanel:
    """Evaluate models on a file and return the result."""
    start(page, None, models, EvaluationData(path, path.name), task)
    job = ended(page)
    assert isinstance(job.result, EvaluationPanel), job
    return job.result
