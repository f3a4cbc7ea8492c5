"""The endpoints put on the page: the verbs with every argument explicit and no hidden state.

Files come through ``gr.File``, whose check keeps a caller from naming a path of this machine.
"""

from __future__ import annotations

import gradio as gr

from ..page import FILE_TYPES, Page
from .endpoints import answering
from .exploring import draw, mine, search, similarity
from .judging import evaluate
from .training import check, resume, run, stop, train


def build(page: Page) -> None:
    """Add the endpoints to the page, behind components that nobody sees."""
    with gr.Column(visible=False):
        # Gradio's page has words of its own under the key "file".
        file, dev, first, known = (gr.File(file_types=FILE_TYPES, label=label) for label in ("table", "dev", "first", "known"))
        model, column, query, a, b, name, run_id, token = (
            gr.Textbox("", label=label) for label in ("model", "column", "query", "a", "b", "name", "run_id", "token")
        )
        k, top, after = (gr.Number(value, precision=0, label=label) for label, value in (("k", 10), ("top", 10), ("after", 0)))
        dimensions = gr.Number(2, precision=0, label="dimensions")
        mode = gr.Radio(["semantic", "lexical", "hybrid"], value="semantic", label="mode")
        clusters, objective, method, task = (gr.Textbox("auto", label=label) for label in ("clusters", "objective", "method", "task"))
        settings = gr.Textbox("", label="settings")
        parts = [
            gr.Textbox("", label=label)
            for label in ("kind", "columns", "target", "group", "scale", "order", "encoding", "delimiter", "header")
        ]
        files = gr.File(file_count="multiple", file_types=FILE_TYPES, label="files")
        models, suite = (gr.Textbox("", label=label) for label in ("models", "suite"))
        as_read = gr.Checkbox(False, label="as_read")
        found = gr.JSON()
        for verb, endpoint, inputs in (
            (similarity, "similarity", [a, b, model]),
            (search, "search", [file, query, k, mode, model, column]),
            (mine, "mine", [file, top, model, column]),
            (draw, "map", [file, clusters, dimensions, model, column]),
            (check, "check", [file, model, *parts]),
            (train, "train", [file, objective, method, settings, model, name, dev, first, *parts, as_read]),
            (run, "run", [run_id, after]),
            (stop, "stop", [run_id, token]),
            (resume, "resume", [run_id, token]),
            (evaluate, "evaluate", [file, model, task, *parts, as_read, files, models, suite, known]),
        ):
            gr.Button().click(
                answering(verb, endpoint, page if verb is train else page.studio), inputs, found, api_name=endpoint, show_progress="hidden"
            )
