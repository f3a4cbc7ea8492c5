"""Keep the visitor's work in a private data set of their Hugging Face account, and restore it when they sign in again."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from ....i18n import _, ngettext
from ...components import caption, hub_token
from ...page import Page
from ...panel import Panel
from ...views import UNCHANGED, Unchanged, Value, view

_TASK = "keep-work"
_HELP = (
    "Saves your finished runs, models, files and labelled pairs in a private data set of your Hugging Face account; "
    "they come back when you sign in again, here or in another Space of this program."
)


@dataclass(frozen=True)
class RestoredWork:
    kept: Value | Unchanged = UNCHANGED
    runs_version: int | Unchanged = UNCHANGED


def keep_work(page: Page, owner: object, token: gr.OAuthToken | None = None) -> Value:
    done = page.studio.kept_work.keep(page.visitor(owner), hub_token(page, token.token if token is not None else None))
    if not done.units:
        return {"text": "Everything is kept already:", "link": done.url}
    return {"text": ngettext("{n} run, model or file kept:", "{n} runs, models and files kept:", done.units), "link": done.url}


def restore_work(page: Page, owner: object, runs_version: int, token: gr.OAuthToken | None = None) -> RestoredWork:
    """Restore what a visitor who has signed in has kept and does not have here, once for each sign-in."""
    found = page.studio.kept_work.restore_once(page.visitor(owner), token.token) if token is not None else None
    if found is None or not found.units:
        return RestoredWork()
    text = ngettext("{n} run, model or file restored from", "{n} runs, models and files restored from", found.units)
    return RestoredWork({"text": text, "link": found.url}, runs_version + 1)


def build(page: Page) -> None:
    """Build the button, where visitors can sign in."""
    if not page.studio.settings.sign_in:
        return
    with gr.Row(elem_classes=["sb-buttons"]):
        gr.LoginButton(size="sm", scale=0, min_width=220, elem_id="models-keep-sign-in")
        button = gr.Button("Keep my work", size="sm", scale=0, min_width=160, elem_id="models-keep")
    caption(_(_HELP))
    panel = Panel(page, kept=view("note", elem_id="models-kept"))
    panel.on(button.click, keep_work, output="kept", task=_TASK, progress_on="kept")
    page.on_load.append(lambda loaded: panel.on(loaded.then, restore_work, alone=True))
