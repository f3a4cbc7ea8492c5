"""Components that several tabs draw: uploads, sample sets, Cancel, downloads and choosers of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ..data.loading.formats import SUFFIXES
from .handlers import handle_errors
from .sessions.tasks import TASKS, session_id
from .views import Update, to_json, view

if TYPE_CHECKING:
    from ..data.samples import Sample
    from .page import Page

FILE_TYPES = list(SUFFIXES)


def upload(label: str, elem_id: str) -> gr.File:
    """Draw a drop zone for one file, with its label above it."""
    with gr.Column(elem_classes=["sb-tight"]):
        caption(label)
        return gr.File(label=label, show_label=False, file_types=FILE_TYPES, height=96, elem_id=elem_id, elem_classes=["sb-upload"])


def caption(text: str) -> None:
    """Draw a label above a component that has none."""
    gr.HTML(f'<span class="sb-label">{text}</span>', padding=False)


def samples_of(*kinds: str) -> list[Sample]:
    """Return the sample sets of some kinds."""
    from ..data.samples import list_samples

    return [item for item in list_samples() if item.kind in kinds]


def sample_picker(samples: Sequence[Sample], elem_id: str, label: str = "Or try one of ours") -> gr.HTML:
    """Draw a row of small buttons, one for each sample. A click is a ``select`` event whose item is the sample's id.

    On a page in another language, the samples in this language come first.
    """
    with gr.Column(elem_classes=["sb-tight"]):
        caption(label)
        shown = [{"id": item.id, "title": item.title, "language": item.language} for item in samples]
        return view("samples", to_json({"samples": shown, "prefix": elem_id}), elem_id=f"{elem_id}-samples")


def sample_buttons(chosen: list[Sample], elem_id: str, label: str = "Or try one of ours") -> list[gr.Button]:
    """Draw one Gradio button for each sample (for tabs that do not use :func:`sample_picker` yet)."""
    with gr.Column(elem_classes=["sb-tight"]):
        caption(label)
        with gr.Row(elem_classes=["sb-samples"]):
            return [
                gr.Button(item.title, size="sm", elem_id=f"{elem_id}-{item.id}", elem_classes=[f"sb-in-{item.language}"]) for item in chosen
            ]


def cancel_button(task: str) -> gr.Button:
    """Draw a button that stops the page's ``task``; it appears once the task has run for a second."""
    button = gr.Button("Cancel", elem_id=f"{task}-cancel", elem_classes=["sb-cancel"], size="sm")

    def cancel() -> None:
        TASKS.stop(session_id(), task)

    idle = f"() => SB.idle('{task}-cancel')"
    button.click(cancel, None, None, js=idle, queue=False, api_visibility="private", show_progress="hidden")
    return button


def download_button(
    label: str, write: Callable[..., Path | None], inputs: list[gr.components.Component], *, elem_id: str, visible: bool = True
) -> gr.Button:
    """Draw a button that writes a file and hands it to the browser in the same click; ``write`` returns the file's path."""
    button = gr.Button(label, elem_id=elem_id, visible=visible)
    # Gradio shows a "hidden" component once the row around it is shown a second time; the class keeps it away.
    link = gr.DownloadButton(visible="hidden", elem_id=f"{elem_id}-file", elem_classes=["sb-file"])
    written = button.click(handle_errors(write, stop=True), inputs, link, api_visibility="private")
    written.success(None, js=f"() => setTimeout(() => document.querySelector('#{elem_id}-file').click(), 250)")
    return button


def start_task(
    listen: Callable[..., gr.events.Dependency],
    work: str,
    handler: Callable[..., object],
    inputs: object,
    outputs: object,
    *,
    stop: bool = False,
    newest: bool = False,
    **more: object,
) -> gr.events.Dependency:
    """Connect a handler that :func:`cancel_button` of the same ``work`` stops (for tabs that do not use :class:`.panel.Panel` yet)."""
    more |= {"trigger_mode": "multiple"} if newest else {}
    return listen(handle_errors(handler, stop=stop, work=work, newest=newest), inputs, outputs, api_visibility="private", **more)


def drop_unchanged_values(updates: Sequence[Update], values: Sequence[object]) -> list[Update]:
    """Remove from updates the values that the controls already had.

    The user may have changed a control after the event was sent; sending its earlier value back would undo that.

    Args:
        values: what the browser sent, in the order of ``updates``.
    """
    return [
        _without_value(update) if update.get("value", _MISSING) == value else update for update, value in zip(updates, values, strict=True)
    ]


_MISSING = object()


def _without_value(update: Mapping[str, object]) -> Update:
    return {name: item for name, item in update.items() if name != "value"}


def refresh_model_choices(page: Page, chooser: gr.Dropdown, choices: Callable[..., Update]) -> None:
    """Update the choices of a model chooser when a run is added or deleted, when it is opened, and once the visitor has an id.

    Args:
        choices: returns the chooser's update for the page, the visitor and the current choice.
    """

    def update_choices(owner: object, chosen: object) -> Update:
        return drop_unchanged_values([choices(page, owner, chosen)], [chosen])[0]

    def connect(trigger: gr.events.Trigger) -> None:
        trigger(handle_errors(update_choices), [page.owner, chooser], chooser, api_visibility="private", show_progress="hidden")

    connect(page.runs_version.change)
    connect(chooser.focus)
    page.on_load.append(lambda loaded: connect(loaded.then))
