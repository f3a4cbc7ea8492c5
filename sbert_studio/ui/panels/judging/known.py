"""Rows whose answers are known, beside those that are judged: a file that is asked for where the chosen task has a use for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from ....evaluation.tasks import TASKS, get_task
from ...components import upload


class KnownRows:
    """The drop zone, and beneath it what the task does with such rows; hidden for a task that has no use for them."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_classes=["sb-tight"]) as self.place:
            self.file = upload("Rows whose answers are known: optional", "evaluate-known")
            self.use = gr.HTML("", padding=False, elem_id="evaluate-known-use")

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`look` updates."""
        return [self.place, self.use]

    def look(self, task: str) -> list[Any]:
        """Updates of :attr:`outputs` to the chosen task."""
        used = reference_help(task)
        return [gr.update(visible=bool(used)), f'<p class="sb-note">{used}</p>']


def reference_help(task: str) -> str:
    """What a task does with rows whose answers are known; empty where that is nothing, or nothing is known of the task yet."""
    return get_task(task).reference_help if task in TASKS else ""


def known_rows(task: str, path: str | None) -> Path | None:
    """The file of such rows, if the task has a use for it: one that was given while another task was chosen is not shown, and not used."""
    return Path(path) if path and reference_help(task) else None
