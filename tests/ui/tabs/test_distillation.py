"""A teacher is distilled on the selected data in the Models tab, as a job and a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_studio import sentences, write_static

from sbert_studio.errors import StudioError
from sbert_studio.services.jobs import JobView
from sbert_studio.services.static_embeddings import STATIC
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.models import distillation
from sbert_studio.ui.tabs.models.jobs import show_job

from .. import waiting


def ended(page: Page) -> JobView:
    return waiting.ended(lambda: page.studio.distillation_jobs.latest("local"))


@pytest.fixture
def corpus(page: Page, tmp_path: Path) -> str:
    path = tmp_path / "notes.csv"
    path.write_text("text\n" + "\n".join(dict.fromkeys(sentences(90))) + "\n", encoding="utf-8")
    return page.corpora.open_file(None, path)


@pytest.mark.slow
def test_a_student_is_trained_as_a_run_and_says_what_it_keeps(page: Page, corpus: str, tmp_path: Path) -> None:
    student = page.studio.settings.default_model
    teacher = str(write_static(tmp_path / "teacher"))
    distillation.start_distillation(page, None, corpus, teacher, student, " Small ")
    job = ended(page)
    assert (job.status, job.title) == ("finished", "Small"), job.message
    run = page.studio.store.get(job.model)
    assert (run.name, run.status, run.owner) == ("Small", "finished", "local")
    assert "agreement with" in job.message and "times as fast" in job.message
    view = show_job(page, None, distillation.JOB)
    assert view.chosen == job.model and view.use["visible"] and not view.stop["visible"] and not view.fits_timer["active"]


def test_static_embeddings_are_compared_with_the_teacher(page: Page, corpus: str) -> None:
    distillation.start_distillation(page, None, corpus, page.studio.settings.default_model, STATIC, "")
    job = ended(page)
    assert job.status == "finished", job.message
    assert job.model.startswith("words-") and "times as fast" in job.message and job.title.endswith("-distilled")


def test_impossible_distillations_are_refused(page: Page, corpus: str) -> None:
    model = page.studio.settings.default_model
    for teacher, student, message in (("", STATIC, "no teacher"), (model, "unknown", "student is unknown"), (model, model, "same model")):
        with pytest.raises(StudioError, match=message):
            distillation.start_distillation(page, None, corpus, teacher, student, "")
