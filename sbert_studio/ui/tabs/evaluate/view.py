"""Layout of the Evaluate tab and its events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ....evaluation.tasks import all_tasks
from ... import routing
from ...components import download_button, first_sight, reranker_chooser, shown_state, upload
from ...panel import Panel
from ...views import view
from . import handlers, relevance
from .model_diff import SUBTAB, build_model_diff
from .recommendation import RECOMMEND, start_recommendation
from .request import EVALUATE_AGAIN, FILE, PUBLIC, SUITE
from .retrieval import RETRIEVAL, write_result
from .view_model import NO_SCORES

if TYPE_CHECKING:
    from ....services import Studio
    from ...page import Page

TITLE = "Evaluate"
ORDER = 5
_ABOUT = "Compare models on texts rated or labelled by people: which is better, by how much, and could it be chance?"
_SOURCES = [("Your data", FILE), ("A suite", SUITE), ("A public dataset", PUBLIC)]
_PUBLIC_HELP = "Id of a dataset on huggingface.co with Parquet files; its test split is used, or the file that you specify after the id."


def build(studio: Studio, page: Page) -> None:
    view("intro", {"title": "How good is it?", "text": _ABOUT})
    with gr.Tabs(elem_classes=["sb-subtabs"], overflow_behavior="wrap") as subtabs:
        with gr.Tab("Scores", id="scores", elem_id="view-first-scores") as scores:
            panel = Panel(page, **_draw_evaluation(page))
            board = Panel(page, **_draw_leaderboard(page))
        with gr.Tab("Compare models", id=SUBTAB, elem_id=f"view-{SUBTAB}") as differences:
            build_model_diff(page, subtabs)
        with gr.Tab("Label relevance", id=relevance.SUBTAB, elem_id=f"view-{relevance.SUBTAB}") as judgments:
            relevance.build_relevance(page, subtabs)
    routing.link_subtabs(page, TITLE.lower(), subtabs, {"scores": scores, SUBTAB: differences, relevance.SUBTAB: judgments})
    _connect_evaluation(page, panel)
    _connect_models(page, panel)
    _connect_leaderboard(page, board, panel["ended"])


def task_choices() -> list[tuple[str, str]]:
    search = ("Search in documents", RETRIEVAL)
    return [("Detected from the columns", "auto"), search, *((task.title, task.name) for task in all_tasks())]


def _draw_evaluation(page: Page) -> dict[str, gr.components.Component]:
    default_model = page.studio.settings.default_model
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
            drawn = _draw_form(page)
        with gr.Column(min_width=320, scale=2):
            drawn |= {
                "job": view("job", elem_id="evaluate-job"),
                "stop": gr.Button("Stop", variant="stop", visible=False, elem_classes=["sb-stop"], elem_id="evaluate-stop"),
                "questions": view("questions", elem_id="evaluate-questions"),
                "conclusion": view("said", elem_id="evaluate-said"),
                "scores": view("table", NO_SCORES, elem_id="evaluate-scores"),
                "chart": view("speeds", elem_id="evaluate-chart"),
                "differences": view("table", elem_id="evaluate-differences"),
                "files": _draw_files(page),
                "offers": view("table", elem_id="evaluate-offers"),
                "details": view("table", elem_id="evaluate-details"),
                "form_key": view("form", elem_id="evaluate-form"),
            }
    return drawn | {
        "state": shown_state("evaluate-state"),
        "job_id": gr.State(""),
        "typed_model": gr.State(""),
        "header_model": gr.State(default_model),
        # A State changed by an event outside the queue, such as the timer's, triggers no event; a textbox does.
        "ended": gr.Textbox("", visible="hidden", label="ended", elem_id="evaluate-ended"),
    }


def _draw_files(page: Page) -> gr.Row:
    with gr.Row(visible=False, elem_classes=["sb-buttons"]) as files:
        download_button("Download workbook", partial(write_result, page), [page.owner, page.corpus], elem_id="evaluate-xlsx")
    return files


def _draw_form(page: Page) -> dict[str, gr.components.Component]:
    models = gr.Dropdown(
        page.model_choices(None, "texts", "pairs"),
        value=[page.studio.settings.default_model],
        multiselect=True,
        allow_custom_value=True,
        label="Models",
        elem_id="evaluate-models",
        elem_classes=["sb-data"],
    )
    source = gr.Radio(_SOURCES, value=FILE, label="Evaluate on", elem_id="evaluate-source")
    with gr.Column(visible=True, elem_classes=["sb-tight"]) as file_group:
        missing = view("note", elem_id="evaluate-missing")
        task = gr.Dropdown(task_choices(), value="auto", label="Task", elem_id="evaluate-task")
        with gr.Column(visible=False, elem_classes=["sb-tight"]) as known_group:
            known_rows = upload("Rows with known answers (optional)", "evaluate-known")
            known_help = gr.HTML("", padding=False, elem_id="evaluate-known-use")
        with gr.Column(visible=False, elem_classes=["sb-tight"]) as search_group:
            reranker = reranker_chooser("evaluate-reranker")
            passages = gr.Checkbox(False, label="Also search passages of long documents", elem_id="evaluate-passages")
    with gr.Column(visible=False, elem_classes=["sb-tight"]) as suite_group:
        suites = handlers.suite_choices(page)
        first = suites[0][1] if suites else None
        suite = gr.Dropdown(suites, value=first, label="Suite", info=handlers.suite_help(page), elem_id="evaluate-suite")
    with gr.Column(visible=False, elem_classes=["sb-tight"]) as public_group:
        more = {"placeholder": "OWNER/NAME", "max_lines": 1, "max_length": 500}
        public_set = gr.Textbox(label="Dataset", info=_PUBLIC_HELP, elem_id="evaluate-public", **more)
    return {
        "models": models,
        "source": source,
        "file": gr.State(None),
        "missing": missing,
        "task": task,
        "known_rows": known_rows,
        "known_help": known_help,
        "known_group": known_group,
        "search_group": search_group,
        "reranker": reranker,
        "passages": passages,
        "file_group": file_group,
        "suite": suite,
        "suite_group": suite_group,
        "public_set": public_set,
        "public_group": public_group,
        "start": gr.Button("Evaluate", variant="primary", elem_id="evaluate-go"),
        "recommend": gr.Button("Recommend a model to start from", elem_id=RECOMMEND),
        "again": gr.Button("Run again", visible="hidden", elem_id=EVALUATE_AGAIN),
    }


def _draw_leaderboard(page: Page) -> dict[str, gr.components.Component]:
    with gr.Column(elem_classes=["sb-panel", "sb-board"]):
        with gr.Row(elem_classes=["sb-board-head"]):
            view("intro", {"title": "Leaderboard", "text": "Scores of all evaluations, best first."})
            choices, look = [(handlers.ALL_SETS, "")], {"elem_classes": ["sb-data"], "min_width": 200, "scale": 0}
            sets = gr.Dropdown(choices, value="", label="Set", elem_id="board-set", **look)
        speeds = view("speeds", elem_id="board-chart")
        table = view("table", handlers.NO_ENTRIES, elem_id="board-table")
        with gr.Row(elem_classes=["sb-buttons"]):
            files = {
                name: download_button(title, partial(handlers.write_file, page, suffix), [page.owner, sets], elem_id=elem_id, visible=False)
                for name, title, suffix, elem_id in (
                    ("csv", "Download CSV", ".csv", "board-csv"),
                    ("markdown", "Download Markdown", ".md", "board-md"),
                )
            }
            remove = gr.Button("Remove", variant="stop", visible=False, elem_id="board-remove")
    return {"sets": sets, "speeds": speeds, "leaderboard": table, **files, "remove": remove, "entry": gr.State(0)}


def _connect_evaluation(page: Page, panel: Panel) -> None:
    panel.on([panel["source"].input, panel["task"].input], handlers.choose_parts, quiet=True)
    panel.on(panel["start"].click, handlers.start_form, progress_on="job")
    panel.on(panel["recommend"].click, start_recommendation, progress_on="job")
    panel.on(panel["again"].click, handlers.repeat_evaluation, progress_on="job")
    panel.on(page.data.change, handlers.follow_data, quiet=True)
    panel.on(first_sight("evaluate-scores").select, handlers.show_first_scores, progress_on="scores")
    # One event for all parts of the form: with several, the response to an earlier state could arrive last.
    parts = [
        panel[name].change for name in ("models", "source", "file", "suite", "public_set", "task", "known_rows", "reranker", "passages")
    ]
    panel.on(parts, handlers.update_form_key, output="form_key", trigger_mode="always_last", quiet=True)
    panel.on(panel["questions"].select, handlers.answer_question, quiet=True)
    panel.on(page.evaluations_timer.tick, handlers.poll_evaluation, queue=False, trigger_mode="once", quiet=True)
    panel.on(panel["stop"].click, handlers.stop_evaluation, queue=False, quiet=True)

    def load(loaded: gr.events.Dependency) -> None:
        panel.on(loaded.then, handlers.restore_evaluation, quiet=True)
        panel.on(loaded.then, handlers.restore_form, quiet=True)

    page.on_load.append(load)


def _connect_models(page: Page, panel: Panel) -> None:
    both = ("models", "reranker")
    panel.on([panel["models"].focus, panel["reranker"].focus], handlers.update_model_choices, output=both, quiet=True)
    panel.on([page.model.change, page.runs_version.change], handlers.follow_header_model, quiet=True)
    # Initially, the header contains the default model. A model stored in the browser arrives as a change; also following the header here
    # could happen last and remove it again.
    page.on_load.append(lambda loaded: panel.on(loaded.then, handlers.update_model_choices, output=both, quiet=True))


def _connect_leaderboard(page: Page, board: Panel, ended: gr.components.Component) -> None:
    board.on([board["sets"].input, ended.change], handlers.show_leaderboard, quiet=True)
    board.on(board["leaderboard"].select, handlers.select_entry, output=("remove", "entry"), quiet=True)
    board.on(board["remove"].click, handlers.remove_entry, quiet=True)
    page.on_load.append(lambda loaded: board.on(loaded.then, handlers.show_leaderboard, quiet=True))
