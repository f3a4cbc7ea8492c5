"""Buttons that more than one tab has: Cancel beside long work, and downloads in one click."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..visitors.visits import VISITS, session
from .handlers import guarded

if TYPE_CHECKING:
    from ..page import Page


def cancel_button(work: str) -> Any:
    """A button that ends the ``work`` of this page; it shows where :func:`long_work` has gone on for a second."""
    button = gr.Button("Cancel", elem_id=f"{work}-cancel", elem_classes=["sb-cancel"], size="sm")
    quiet = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}

    def on_cancel() -> None:
        VISITS.stop(session(), work)

    button.click(on_cancel, None, None, js=f"() => SB.idle('{work}-cancel')", **quiet)
    return button


def long_work(
    listen: Callable[..., Any],
    work: str,
    handler: Callable[..., Any],
    inputs: Any,
    outputs: Any,
    *,
    stop: bool = False,
    newest: bool = False,
    **more: Any,
) -> Any:
    """Have ``listen`` (a listener such as ``button.click``) call ``handler``, guarded, until :func:`cancel_button` of the same ``work``.

    Args:
        newest: it can be asked for again before it has ended, and what was asked for last counts; see :func:`guarded`.

    Returns:
        the event, for what follows it.
    """
    more |= {"trigger_mode": "multiple"} if newest else {}
    return listen(guarded(handler, stop=stop, work=work, newest=newest), inputs, outputs, api_visibility="private", **more)


def download_button(label: str, make: Callable[..., Path | None], inputs: list[Any], *, elem_id: str, visible: bool = True) -> Any:
    """A button that makes a file and hands it to the browser in the same click; ``make`` returns its path.

    Returns:
        the button that is seen.
    """
    shown = gr.Button(label, elem_id=elem_id, visible=visible)
    # Gradio shows what is "hidden" once the row around it is shown a second time: the class keeps it away.
    hidden = gr.DownloadButton(visible="hidden", elem_id=f"{elem_id}-file", elem_classes=["sb-file"])
    made = shown.click(guarded(make, stop=True), inputs, hidden, api_visibility="private")
    made.success(None, js=f"() => setTimeout(() => document.querySelector('#{elem_id}-file').click(), 250)")
    return shown


def drop_unchanged_values(updates: Sequence[Any], raw: Sequence[Any]) -> list[Any]:
    """Return Gradio updates of several controls without the values that the controls already had.

    The user may have changed a control after the event was sent, and sending its earlier value back would undo that.

    Args:
        updates: one for each control.
        raw: the values that the browser sent, in the same order.
    """
    return [
        {key: item for key, item in update.items() if key != "value"} if "value" in update and update["value"] == value else update
        for update, value in zip(updates, raw, strict=True)
    ]


def offer_models(page: Page, chooser: Any, choices: Callable[[Page, Any, Any], Any]) -> None:
    """Have a chooser of models offer what is at hand: when a run is added or deleted, when it is opened, and once the visitor has a name.

    Args:
        choices: the chooser's update, for the page, the visitor and what is chosen now.
    """

    def update_choices(owner: Any, chosen: Any) -> Any:
        return drop_unchanged_values([choices(page, owner, chosen)], [chosen])[0]

    def follow(event: Any) -> None:
        event(guarded(update_choices), [page.owner, chooser], chooser, api_visibility="private", show_progress="hidden")

    follow(page.runs_changed.change)
    follow(chooser.focus)
    page.on_load.append(lambda named: follow(named.then))
