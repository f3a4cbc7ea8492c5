"""Pushing a model to the Hugging Face Hub, with the visitor's sign-in on a Space or the machine's token elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from ..errors import StudioError
from .components import cancel_button
from .panel import Panel
from .views import Value, view

if TYPE_CHECKING:
    from .page import Page


def hub_token(page: Page, signed_in: str | None) -> str:
    """Return the token to push with: the visitor's, or on the user's own machine that of ``hf auth login``.

    Raises:
        StudioError: nobody is signed in.
    """
    if signed_in:
        return signed_in
    if page.shared and not page.studio.settings.sign_in:
        raise StudioError("nobody can sign in with Hugging Face here", "download the zip, and upload its content yourself")
    if page.shared:
        raise StudioError("you are not signed in", "sign in with Hugging Face first, by the button beside this one")
    from huggingface_hub import get_token

    token = get_token()
    if not token:
        raise StudioError("this machine is not signed in to the Hugging Face Hub", "run hf auth login in a terminal, with a write token")
    return token


def push_model(
    page: Page,
    owner: object,
    pushed_model: str,
    repository: str,
    private: bool,
    token: gr.OAuthToken | None = None,
    progress: gr.Progress | None = None,
) -> Value:
    """Push one of the visitor's own models and return a note with its link.

    Raises:
        StudioError: the model is not the visitor's, or nobody is signed in.
    """
    visitor = page.visitor(owner)
    own = {run.id for run in page.studio.fine_tune.list_runs(visitor)} | {
        model.id for model in page.studio.static_embeddings.list_models(visitor)
    }
    if pushed_model not in own:
        raise StudioError("this model is not yours, or is no longer here", "choose one of yours")

    def begin(phase: str) -> None:
        if progress is not None:
            progress(None, desc=phase[:1].upper() + phase[1:])

    signed_in = hub_token(page, token.token if token is not None else None)
    done = page.studio.models.push_to_hub(pushed_model, repository, signed_in, private=private, begin_phase=begin)
    return {"text": f"Pushed, {done.bytes / 1e6:,.1f} MB:", "link": done.url}


class PushPanel:
    """Repository, visibility and button; hidden until a model is chosen that can be pushed.

    Args:
        prefix: of the ids, since the page has several of these panels.
    """

    def __init__(self, page: Page, prefix: str) -> None:
        self.page, self._task = page, f"{prefix}-push"
        with gr.Accordion("Push to the Hugging Face Hub", open=False, visible=False, elem_id=f"{prefix}-push") as self.whole:
            self.repository = gr.Textbox(
                label="Repository", placeholder="my-name/my-model", info="Created if it does not exist.", elem_id=f"{prefix}-repository"
            )
            self.private = gr.Checkbox(True, label="Private: only you see it", elem_id=f"{prefix}-private")
            with gr.Row(elem_classes=["sb-buttons"]):
                if page.studio.settings.sign_in:
                    gr.LoginButton(size="sm", elem_id=f"{prefix}-sign-in")
                self.button = gr.Button("Push", elem_id=f"{prefix}-push-go")
            cancel_button(self._task)
            self.note = view("note", elem_id=f"{prefix}-pushed")

    def listen(self, pushed_model: gr.State) -> None:
        """Connect the events.

        Args:
            pushed_model: state with the model's name.
        """
        panel = Panel(self.page, pushed_model=pushed_model, repository=self.repository, private=self.private, note=self.note)
        panel.on(self.button.click, push_model, output="note", task=self._task, progress_on="note")
        pushed_model.change(lambda: None, None, self.note, api_visibility="private", show_progress="hidden")
