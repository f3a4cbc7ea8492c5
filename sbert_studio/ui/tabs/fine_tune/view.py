"""Layout of the Fine-tune tab and its events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ... import components
from ...components import PushPanel, cancel_button, caption, download_button, first_sight, upload
from ...panel import Panel
from ...run_view import NO_RUN, FollowedRun, use_model, write_run_zip
from ...state import FINE_TUNE, compare_with_base, next_runs_version
from ...views import view
from . import documents_panel, handlers, label_panel, run_panel, view_model
from .view_model import KINDS, NO_FILE, NO_GROUP, pins_form

if TYPE_CHECKING:
    from ....services import Studio
    from ...page import Page
    from ...panel import EventOptions

TITLE = FINE_TUNE
ORDER = 4
_ABOUT = "Train on examples of what should count as similar; the model can then be selected in every tab."
_DEV = "Validation examples with the same columns; by default, part of the rows is held out"
_FIRST = "Examples of any kind to train on first, such as inference labels before scored pairs"
_EXACT = (
    "An exact copy of all cells: uploading it here or training on it from the command line gives the same"
    " rows. Do not open it in a spreadsheet, which runs cells that begin with = as formulas."
)
_PINS_HELP = "Texts whose similarity you can judge yourself. They are scored at every evaluation, but not used for training."
# One event at a time: an edit made while another is processed is sent after the response, with the values set by the response. If sent
# immediately, it would contain the previous values, which would count as chosen by the visitor.
_IN_TURN: EventOptions = {"trigger_mode": "always_last", "concurrency_limit": 1, "concurrency_id": "tune-form", "quiet": True}


def build(studio: Studio, page: Page) -> None:
    view("intro", {"title": "Fine-tune a model", "text": _ABOUT})
    panel = Panel(page, draft=gr.State(None), chosen=gr.State(""), followed=gr.State(FollowedRun()), listed=gr.State(None))
    with gr.Row():
        with gr.Column(min_width=320, scale=4):
            _draw_data(page, panel)
            panel.components |= {
                "reasons": view("reasons", elem_id="tune-reasons", classes=["sb-aside"]),
                "command": view("command", elem_id="tune-command", classes=["sb-aside"]),
            }
        with gr.Column(min_width=320, scale=5):
            _draw_form(panel)
            push = _draw_run(page, panel)
            panel.components["runs"] = view("runs", elem_id="tune-runs")
    _connect_data(page, panel)
    _connect_form(page, panel)
    _connect_run(page, panel)
    documents_panel.connect(page, panel)
    push.listen(panel["chosen"])


def _draw_data(page: Page, panel: Panel) -> None:
    with gr.Column(elem_classes=["sb-panel"]):
        cancel_button("tune")
        documents_panel.draw(page, panel)
        panel.components["preview"] = view("table", NO_FILE, elem_id="tune-preview")
        data = {"elem_classes": ["sb-data"]}
        with (
            gr.Accordion("Advanced: columns", open=False, visible=False, elem_id="tune-roles", elem_classes=["sb-remember"]) as roles,
            gr.Row(),
        ):
            kinds = [(words, kind) for kind, words in KINDS.items()]
            panel.components |= {
                "kind": gr.Dropdown(kinds, value=None, label="Kind of examples", elem_id="tune-kind", min_width=200),
                "columns": gr.Dropdown([], multiselect=True, label="Text columns, in order", elem_id="tune-columns", min_width=200, **data),
                "target": gr.Dropdown([], label="Score, label or category", elem_id="tune-target", min_width=140, **data),
                "low": gr.Number(label="Lowest score", elem_id="tune-low", min_width=110),
                "high": gr.Number(label="Highest score", elem_id="tune-high", min_width=110),
                "group": gr.Dropdown([NO_GROUP], value="", label="Topic or group", elem_id="tune-group", min_width=140, **data),
            }
        panel.components |= {"roles": roles, "findings": view("findings", elem_id="tune-findings")}
        with gr.Column(visible=False, elem_classes=["sb-tight"]) as changed:
            write = partial(handlers.write_changed_file, page)
            download_button("Download the changed file", write, [panel["draft"]], elem_id="tune-fixed")
            view("note", {"text": _EXACT})
        panel.components["changed"] = changed
        with gr.Accordion("Use my own validation file", open=False):
            panel.components["dev"] = upload(_DEV, "tune-dev")
        with gr.Accordion("Pre-train on another file first", open=False):
            panel.components["first"] = upload(_FIRST, "tune-first")


def _draw_form(panel: Panel) -> None:
    with gr.Column(elem_classes=["sb-panel"]):
        displayed = view_model.settings_view(None, view_model.default_settings())
        settings = components.form(displayed, elem_id="tune-settings")
        name = gr.Textbox(label="Model name", placeholder="(defaults to the file name)", max_lines=1, max_length=80, elem_id="tune-name")
        with gr.Accordion("Track example pairs", open=False, elem_id="tune-pinned") as section:
            caption(_PINS_HELP)
            pins = components.form(pins_form(), elem_id="tune-pin-form")
            more = gr.Button("Another pair", size="sm", elem_id="tune-pin-more", elem_classes=["sb-pin-more"])
        questions = view("questions", elem_id="tune-questions")
        trainings = view("note", elem_id="tune-trainings")
        with gr.Row(elem_classes=["sb-buttons"]):
            start = gr.Button("Start training", variant="primary", elem_id="tune-start")
            estimate = gr.Button("Estimate time and memory", elem_id="tune-ask")
        cancel_button(handlers.ESTIMATE)
        panel.components |= {
            "settings": settings,
            "name": name,
            "pins_section": section,
            "pins": pins,
            "more_pairs": more,
            "questions": questions,
            "trainings": trainings,
            "start": start,
            "estimate": estimate,
            "forecast": view("reasons", elem_id="tune-estimate"),
        }


def _draw_run(page: Page, panel: Panel) -> PushPanel:
    with gr.Column(elem_classes=["sb-panel"]):
        panel.components |= {
            "run": view("run", NO_RUN, elem_id="tune-run"),
            "alarm": view("questions", elem_id="tune-alarm"),
            "strength": view("strength", elem_id="tune-strength"),
            "pinned": view("pins", elem_id="tune-pins"),
            "mistakes": view("mistakes", elem_id="tune-mistakes"),
            "labels": view("labels", elem_id="tune-labels"),
        }
        with gr.Row(elem_classes=["sb-buttons"]):
            panel.components |= {
                "stop": gr.Button("Stop", variant="stop", visible=False, elem_classes=["sb-stop"], elem_id="tune-stop"),
                "resume": gr.Button("Resume", variant="primary", visible=False, elem_id="tune-resume"),
                "use": gr.Button("Use this model", variant="primary", visible=False, elem_id="tune-use"),
                "compare": gr.Button("Compare models", visible=False, elem_id="tune-changes"),
                "save": download_button("Download zip", partial(write_run_zip, page), [panel["chosen"]], elem_id="tune-zip", visible=False),
            }
        push = PushPanel(page, "tune")
        panel.components |= {
            "push": push.whole,
            "curves": view("curves", elem_id="tune-curves"),
            # A State changed by an event outside the queue, such as the timer's, triggers no event; a textbox does.
            "ended": gr.Textbox("", visible="hidden", label="ended", elem_id="tune-ended"),
        }
    return push


def _connect_data(page: Page, panel: Panel) -> None:
    panel.on(first_sight("tune-preview").select, handlers.show_data, task="tune", progress_on="preview")
    panel.on(page.data.change, handlers.clear_data, quiet=True)
    panel.on(panel["preview"].select, handlers.use_selected_data, task="tune", progress_on="preview")
    opened = panel.on(page.training_table.change, handlers.open_tab, output="tabs", quiet=True)
    shown = panel.on(opened.then, handlers.open_training_table, task="tune", progress_on="preview")
    shown.success(None, js="() => SB.reveal('tune-preview')")
    panel.on(panel["draft"].change, handlers.check_draft, task="tune", progress_on="findings")
    choosers = [panel[name].input for name in ("kind", "columns", "target", "group")]
    numbers = [trigger for name in ("low", "high") for trigger in (panel[name].submit, panel[name].blur)]
    panel.on([*choosers, *numbers], handlers.change_columns, progress_on="preview")
    panel.on(panel["findings"].select, handlers.change_rows, progress_on="preview")
    panel.on(panel["dev"].change, handlers.change_dev_file, progress_on="preview")
    panel.on(panel["first"].change, handlers.change_first_file, progress_on="preview")
    panel.on(page.model.change, handlers.change_model, alone=True, quiet=True)


def _connect_form(page: Page, panel: Panel) -> None:
    panel.on(panel["settings"].input, handlers.change_settings, **_IN_TURN)
    stored = [panel["draft"].change, panel["name"].blur, panel["pins"].input]
    panel.on(stored, handlers.store_form, output="saved_form", **_IN_TURN)
    panel.on(panel["more_pairs"].click, handlers.show_another_pair, queue=False, quiet=True)
    panel.on(panel["questions"].select, handlers.answer_question, progress_on="questions")
    panel.on(panel["start"].click, handlers.start_training, progress_on="run")
    # One at a time: two estimates would slow each other down.
    panel.on(panel["estimate"].click, handlers.estimate_training, task=handlers.ESTIMATE, progress_on="estimate", concurrency_limit=1)


def _connect_run(page: Page, panel: Panel) -> None:
    panel.on(panel["chosen"].change, run_panel.show_chosen_run, quiet=True)
    panel.on(page.timer.tick, run_panel.update_run, queue=False, trigger_mode="once", quiet=True)
    panel.on(panel["ended"].change, next_runs_version, output="runs_version", quiet=True)
    page.on_load.append(lambda loaded: panel.on(loaded.then, run_panel.attach_run, quiet=True))
    panel.on(panel["stop"].click, run_panel.stop_run, queue=False, quiet=True)
    panel.on(panel["resume"].click, run_panel.resume_run)
    panel.on(panel["alarm"].select, run_panel.answer_alarm, progress_on="alarm")
    panel.on(panel["strength"].select, run_panel.set_strength, progress_on="strength")
    panel.on(panel["mistakes"].select, run_panel.compare_mistake, output=("pair_to_compare", "tabs"), each=True, quiet=True)
    panel.on(panel["labels"].select, label_panel.use_labels, task="tune", progress_on="labels")
    panel.on(panel["use"].click, use_model, quiet=True)
    panel.on(panel["compare"].click, compare_with_base, output="models_to_compare", quiet=True)
    listing = [page.runs_timer.tick, page.runs_version.change, panel["chosen"].change]
    panel.on(listing, run_panel.list_runs, queue=False, trigger_mode="always_last", quiet=True)
    clicked = panel.on(panel["runs"].select, run_panel.click_listed_run, each=True, quiet=True)
    clicked.then(None, js="() => SB.pressWanted()")
