"""Putting a model of one's own on the Hugging Face Hub: with the visitor's sign-in on a Space, with this machine's at home."""

from __future__ import annotations

from typing import Any

import gradio as gr

from ...errors import StudioError
from ..page import Page
from ..pieces.controls import cancel_button, long_work
from ..pieces.handlers import PROGRESS
from ..pieces.views import Value, view


def token_of(page: Page, signed_in: str | None) -> str:
    """The token to push with: the visitor's own; on a machine of one's own that of ``hf auth login``.

    Raises:
        StudioError: nobody is signed in.
    """
    if signed_in:
        return signed_in
    if page.shared and not page.studio.settings.sign_in:
        raise StudioError("nobody can sign in with Hugging Face here", "download the zip, and upload what is in it yourself")
    if page.shared:
        raise StudioError("you are not signed in", "sign in with Hugging Face first, by the button beside this one")
    from huggingface_hub import get_token

    found = get_token()
    if not found:
        raise StudioError(
            "this machine is not signed in to the Hugging Face Hub", "run hf auth login in a terminal, with a token that may write"
        )
    return found


def push(page: Page, owner: Any, model: str, repository: str, private: bool, signed_in: str | None, progress: Any = None) -> Value:
    """Push a model of this visitor's; what is told of it."""
    visitor = page.visitor(owner)
    own = {run.id for run in page.studio.tune.runs(visitor)} | {one.id for one in page.studio.words.fitted(visitor)}
    if model not in own:
        raise StudioError("this model is not yours, or is no longer here", "choose one of yours")
    begin = (lambda phase: progress(None, desc=phase[:1].upper() + phase[1:])) if progress is not None else (lambda phase: None)
    done = page.studio.hub.push(model, repository, token_of(page, signed_in), private=private, begin=begin)
    return {"text": f"Pushed, {done.bytes / 1e6:,.1f} MB:", "link": done.url}


class PushPanel:
    """A name, whether it is private, and the button; hidden until a model is chosen that can be pushed.

    Args:
        place: of a page that has several, the tab's; the ids of its parts begin with it.
    """

    def __init__(self, page: Page, place: str) -> None:
        self.page, self._work = page, f"{place}-push"
        with gr.Accordion("Push to the Hugging Face Hub", open=False, visible=False, elem_id=f"{place}-push") as self.whole:
            self.repository = gr.Textbox(
                label="Repository", placeholder="my-name/my-model", info="Made where there is none.", elem_id=f"{place}-repository"
            )
            self.private = gr.Checkbox(True, label="Private: only you see it", elem_id=f"{place}-private")
            with gr.Row(elem_classes=["sb-buttons"]):
                if page.studio.settings.sign_in:
                    gr.LoginButton(size="sm", elem_id=f"{place}-sign-in")
                self.button = gr.Button("Push", elem_id=f"{place}-push-go")
            cancel_button(self._work)
            self.told = view("note", elem_id=f"{place}-pushed")

    def listen(self, chosen: Any) -> None:
        """Bind the events; ``chosen`` is the state with the model's name."""
        page = self.page

        def on_push(
            owner: Any, model: str, repository: str, private: bool, progress: Any = PROGRESS, token: gr.OAuthToken | None = None
        ) -> Value:
            return push(page, owner, model, repository, private, token.token if token is not None else None, progress)

        inputs = [page.owner, chosen, self.repository, self.private]
        long_work(self.button.click, self._work, on_push, inputs, self.told, show_progress_on=self.told)
        chosen.change(lambda: None, None, self.told, api_visibility="private", show_progress="hidden")
