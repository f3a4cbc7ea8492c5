"""A teacher is distilled on the selected data in the Models tab, as a job and a run."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from tiny_studio import sentences, write_static

from sbert_studio.errors import StudioError
from sbert_studio.i18n import translate
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
    forecast = distillation.estimate(page, corpus, teacher, student)
    assert re.match(r"About .+ GB of memory\.", str(forecast["title"])) and "steps" in str(forecast["reasons"][0])
    assert "no training" in distillation.estimate(page, corpus, teacher, STATIC)["title"]
    with pytest.raises(StudioError, match="no teacher"):
        distillation.estimate(page, corpus, "", student)
    distillation.start_distillation(page, None, corpus, teacher, student, " Small ")
    job = ended(page)
    assert (job.status, job.title) == ("finished", "Small"), job.message
    run = page.studio.store.get(job.model)
    assert (run.name, run.status, run.owner) == ("Small", "finished", "local")
    assert "agreement with" in job.message and "times as fast" in job.message
    view = show_job(page, None, distillation.JOB)
    assert view.chosen == job.model and view.use["visible"] and not view.stop["visible"] and not view.fits_timer["active"]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own")
def test_distillation_leaves_the_processor_to_searches(page: Page, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, seen = os.getpriority(os.PRIO_PROCESS, threading.get_native_id()), list[int]()
    distill = page.studio.static_embeddings.distill

    def record(*args: Any, **named: Any) -> Any:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return distill(*args, **named)

    monkeypatch.setattr(page.studio.static_embeddings, "distill", record)
    distillation.start_distillation(page, None, corpus, page.studio.settings.default_model, STATIC, "")
    assert ended(page).status == "finished"
    assert [priority > usual for priority in seen] == [True]


def test_static_embeddings_are_compared_with_the_teacher(page: Page, corpus: str) -> None:
    distillation.start_distillation(page, None, corpus, page.studio.settings.default_model, STATIC, "")
    job = ended(page)
    assert job.status == "finished", job.message
    assert job.model.startswith("words-") and "times as fast" in job.message and job.title.endswith("-distilled")


def test_the_form_speaks_the_language_of_the_visitor(page: Page) -> None:
    from sbert_studio.ui.app import build_page

    blocks = build_page(page.studio, page).blocks.values()
    words = next(block.placeholder for block in blocks if isinstance(block, gr.Textbox) and block.elem_id == "distil-name")
    assert words == "Defaults to the name of the teacher" and translate(words, "zh") != words


def test_impossible_distillations_are_refused(page: Page, corpus: str) -> None:
    model = page.studio.settings.default_model
    for teacher, student, message in (("", STATIC, "no teacher"), (model, "unknown", "student is unknown"), (model, model, "same model")):
        with pytest.raises(StudioError, match=message):
            distillation.start_distillation(page, None, corpus, teacher, student, "")
