"""Layout of the Models tab and its events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ....explore.map_edits import MAX_NAME_LENGTH
from ...components import PushPanel, caption, download_button, form, refresh_model_choices, sample_picker, upload
from ...panel import Panel
from ...run_view import use_model
from ...state import compare_with_base
from ...views import view
from . import distillation, exports, handlers, kept_work, static_embeddings
from .handlers import no_selection
from .jobs import connect_job, draw_job, job_states

if TYPE_CHECKING:
    from ....services import Studio
    from ...page import Page

TITLE = "Models"
ORDER = 6


def build(studio: Studio, page: Page) -> None:
    view("intro", {"title": "Models and runs", "text": "The models included with the studio, and your own."})
    kept_work.build(page)
    _build_static_embeddings(studio, page)
    _build_distillation(page)
    chosen = gr.State("")
    with gr.Row():
        with gr.Column(min_width=300, scale=2):
            cards = view("cards", elem_id="models-cards")
        with gr.Column(elem_classes=["sb-panel"], min_width=320, scale=3, elem_id="models-whole"):
            panel = Panel(
                page,
                chosen=chosen,
                cards=cards,
                listed=gr.State([]),
                run=view("run", elem_id="models-run"),
                facts=view("facts", no_selection(), elem_id="models-facts"),
                curves=view("curves", elem_id="models-curves"),
            )
            with gr.Row(elem_classes=["sb-buttons"]):
                write = partial(handlers.write_zip, page)
                panel.components |= {
                    "stop": gr.Button("Stop", variant="stop", visible=False, elem_id="models-stop"),
                    "resume": gr.Button("Resume", variant="primary", visible=False, elem_id="models-resume"),
                    "use": gr.Button("Use this model", variant="primary", visible=False, elem_id="models-use"),
                    "compare": gr.Button("Compare models", visible=False, elem_id="models-changes"),
                    "save": download_button("Download zip", write, [chosen], elem_id="models-zip", visible=False),
                    "rename": gr.Button("Rename", visible=False, elem_id="models-rename"),
                    "delete": gr.Button("Delete", variant="stop", visible=False, elem_id="models-delete"),
                    "confirm": gr.Button("Yes, delete", variant="stop", visible=False, elem_id="models-sure"),
                }
            panel.components["new_name"] = gr.Textbox(
                label="New name", max_lines=1, max_length=MAX_NAME_LENGTH, visible=False, submit_btn="Rename", elem_id="models-new-name"
            )
            panel.components["exports"] = view("exports", elem_id="models-exports")
            # Gradio shows a "hidden" component when the enclosing row is shown a second time; the class keeps it hidden.
            panel.components["export_file"] = gr.DownloadButton(visible="hidden", elem_id="models-export-file", elem_classes=["sb-file"])
            push = PushPanel(page, "models")
            panel.components["push"] = push.whole
    selected = panel.on(cards.select, handlers.select_model, each=True, quiet=True)
    selected.then(None, js="() => SB.reveal('models-whole')")
    panel.on(page.location.change, handlers.open_location, quiet=True)
    panel.on(panel["use"].click, use_model, quiet=True)
    panel.on(panel["compare"].click, compare_with_base, output="models_to_compare", quiet=True)
    panel.on(panel["stop"].click, handlers.stop_run, queue=False, quiet=True)
    panel.on(panel["resume"].click, handlers.resume_run, quiet=True)
    panel.on(panel["rename"].click, handlers.ask_name, output=("rename", "new_name"), queue=False, quiet=True)
    panel.on(panel["new_name"].submit, handlers.rename_run, quiet=True)
    panel.on(panel["delete"].click, handlers.confirm_deletion, output=("delete", "confirm"), queue=False, quiet=True)
    panel.on(panel["confirm"].click, handlers.delete_model, quiet=True)
    panel.on(page.runs_version.change, handlers.refresh_models, quiet=True)
    panel.on(panel["exports"].select, exports.act, each=True, queue=False, quiet=True)
    push.listen(chosen)
    page.on_load.append(lambda loaded: panel.on(loaded.then, handlers.show_first_model, quiet=True))


def _build_static_embeddings(studio: Studio, page: Page) -> None:
    with (
        gr.Column(elem_classes=["sb-panel", "sb-fit"]),
        gr.Accordion("Train static embeddings", open=False, elem_id="fit-open") as section,
        gr.Row(),
    ):
        with gr.Column(min_width=280, scale=2):
            file = upload("Texts: CSV, TSV, TXT, JSONL, XLSX or Parquet", "fit-file")
            samples = sample_picker(static_embeddings.samples(), static_embeddings.PREFIX)
            chosen_note = view("note", elem_id="fit-chosen")
        with gr.Column(min_width=280, scale=3):
            settings = form(static_embeddings.embeddings_form(studio), elem_id="fit-form")
            start = gr.Button("Train embeddings", variant="primary", elem_id="fit-go")
            job = draw_job(static_embeddings.JOB)
    panel = Panel(
        page,
        section=section,
        file=file,
        chosen_file=gr.State(None),
        chosen_note=chosen_note,
        form=settings,
        **job,
        **job_states(static_embeddings.JOB),
    )
    panel.on(file.change, static_embeddings.choose_file, output=("chosen_file", "chosen_note"), quiet=True)
    panel.on(samples.select, static_embeddings.choose_sample, output=("chosen_file", "chosen_note"), quiet=True)
    panel.on(settings.input, static_embeddings.change_form, output="form", trigger_mode="always_last", quiet=True)
    panel.on(start.click, static_embeddings.start, progress_on="job")
    connect_job(panel, page, static_embeddings.JOB)


def _build_distillation(page: Page) -> None:
    with (
        gr.Column(elem_classes=["sb-panel", "sb-fit"]),
        gr.Accordion("Distill a teacher", open=False, elem_id="distil-open") as section,
    ):
        caption(distillation.HELP)
        with gr.Row():
            teacher = gr.Dropdown(
                distillation.teacher_choices(page, None), value="", label="Teacher", allow_custom_value=True, elem_id="distil-teacher"
            )
            students = distillation.student_choices(page)
            student = gr.Dropdown(students, value=students[0][1], label="Student", elem_id="distil-student")
            name = gr.Textbox(label="Model name", placeholder="Defaults to the name of the teacher", max_lines=1, elem_id="distil-name")
        with gr.Row(elem_classes=["sb-buttons"]):
            start = gr.Button("Distill", variant="primary", elem_id="distil-go")
            ask = gr.Button("Estimate time and memory", elem_id="distil-ask")
        forecast = view("reasons", elem_id="distil-estimate")
        job = draw_job(distillation.JOB)
    panel = Panel(
        page,
        section=section,
        teacher=teacher,
        student=student,
        name=name,
        ask=ask,
        forecast=forecast,
        **job,
        **job_states(distillation.JOB),
    )
    refresh_model_choices(page, teacher, lambda owner: distillation.teacher_choices(page, owner))
    panel.on(start.click, distillation.start, progress_on="job")
    # One at a time: two estimates would slow each other down.
    panel.on(ask.click, distillation.estimate, output="forecast", progress_on="ask", concurrency_limit=1)
    panel.on([teacher.change, student.change, page.data.change], distillation.forget_estimate, output="forecast", queue=False, quiet=True)
    connect_job(panel, page, distillation.JOB)
