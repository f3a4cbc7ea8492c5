"""Buttons that more than one tab has: Cancel beside long work, and downloads in one click."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from .handlers import guarded
from .visitors.visits import VISITS, session

_NUMBERS = itertools.count()


def cancel_button(work: str) -> Any:
    """A button that ends the ``work`` of this page; it shows where :func:`long_work` has gone on for a second."""
    button = gr.Button("Cancel", elem_id=f"{work}-cancel", elem_classes=["sb-cancel"], size="sm")
    quiet = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}

    def on_cancel() -> None:
        VISITS.stop(session(), work)

    button.click(on_cancel, None, None, js=f"() => SB.idle('{work}-cancel')", **quiet)
    return button


def long_work(
    listen: Callable[..., Any], work: str, handler: Callable[..., Any], inputs: Any, outputs: Any, *, stop: bool = False, **more: Any
) -> Any:
    """Have ``listen`` (a listener such as ``button.click``) call ``handler``, guarded, until :func:`cancel_button` of the same ``work``.

    Returns:
        the event, for what follows it.
    """
    number = next(_NUMBERS)
    listen(None, js=f"() => SB.busy('{work}-cancel', {number}, true)")
    event = listen(guarded(handler, stop=stop, work=work), inputs, outputs, api_visibility="private", **more)
    for end in (event.then, event.failure):
        end(None, js=f"() => SB.busy('{work}-cancel', {number}, false)")
    return event


def download_button(label: str, make: Callable[..., Path | None], inputs: list[Any], *, elem_id: str, visible: bool = True) -> Any:
    """A button that makes a file and hands it to the browser in the same click; ``make`` returns its path.

    Returns:
        the button that is seen.
    """
    shown = gr.Button(label, elem_id=elem_id, visible=visible)
    hidden = gr.DownloadButton(visible="hidden", elem_id=f"{elem_id}-file")
    made = shown.click(guarded(make, stop=True), inputs, hidden, api_visibility="private")
    made.success(None, js=f"() => setTimeout(() => document.querySelector('#{elem_id}-file').click(), 250)")
    return shown
