"""Evaluate: one or several models judged on the same rows, side by side; what models have got so far; and what changed from one
to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from .. import routing
from ..page import Page
from ..panels.changing.panel import SUBTAB, ChangesPanel
from ..panels.judging.board import BoardPanel
from ..panels.judging.conclusion import verdict
from ..panels.judging.panel import TASKS, JudgingPanel
from ..panels.judging.work import Judged, judge, judge_or_ask
from ..views import view

if TYPE_CHECKING:
    from ...services import Studio

__all__ = ["Judged", "build", "judge", "judge_or_ask", "verdict"]

TITLE = "Evaluate"
ORDER = 5
_TASKS = TASKS


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    text = "Judge models on sentences that people have judged: which is better, by how much, and could that be chance?"
    view("intro", {"title": "How good is it?", "text": text})
    with gr.Tabs(elem_classes=["sb-subtabs"]) as parts:
        with gr.Tab("Which is better", id="judge", elem_id="view-first-judge") as first:
            judging = JudgingPanel(page)
            board = BoardPanel(page)
        with gr.Tab("What changed", id=SUBTAB, elem_id=f"view-{SUBTAB}") as second:
            changes = ChangesPanel(page, parts)
    routing.link_subtabs(page, TITLE.lower(), parts, {"judge": first, SUBTAB: second})
    page.on_load.append(judging.listen)
    page.on_load.append(lambda loaded: board.listen(loaded, judging.ended))
    page.on_load.append(changes.listen)
