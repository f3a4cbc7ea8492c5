"""Above every tab: what a visitor should know before anything else, and what to do about it."""

from __future__ import annotations

from functools import partial
from typing import Any

import gradio as gr

from ..errors import StudioError
from .page import Page
from .pieces.handlers import guarded
from .pieces.views import Value, view

_ELSEWHERE = "Type the hub id of a model for it above, such as paraphrase-multilingual-MiniLM-L12-v2, where the machine can reach the hub."
_OWN = "Word vectors made from these texts themselves know their words: a minute in the Models tab."


def said(page: Page, owner: Any, key: str | None, model: str | None) -> Value | None:
    """The value of the ``banner`` view; ``None`` where there is nothing to say."""
    notes = [note for note in (_forgotten(page), _hardly_read(page, owner, key, model)) if note is not None]
    return {"notes": notes} if notes else None


def _forgotten(page: Page) -> Value | None:
    """That nothing stays here."""
    settings = page.studio.settings
    if not settings.ephemeral:
        return None
    way = {"words": "Duplicate this Space", "href": settings.duplicate_url}
    return {
        "text": "This Space keeps nothing: files, runs and models are gone once it sleeps or is built anew.",
        "advice": ["Download a tuned model or push it to the Hub before you leave. A Space of your own can have persistent storage."],
        "models": [],
        "hide": True,
        "link": way if settings.duplicate_url else None,
    }


def _hardly_read(page: Page, owner: Any, key: str | None, model: str | None) -> Value | None:
    """That most of the chosen corpus is in a language or script that the chosen model hardly reads."""
    chosen = page.corpora.get(key) if key is not None and key in page.corpora else page.sample_corpus()
    choices = page.model_choices(owner)
    try:
        found = page.studio.explore.hardly_reads(chosen.corpus, [name for _, name in choices], model or None)
    except StudioError:
        return None  # The model that is typed there is none; the verb that needs it says so.
    if found is None:
        return None
    titles = {name: title for title, name in choices}
    return {
        "text": found.words,
        "advice": [*([] if found.readers else [_ELSEWHERE]), *([_OWN] if found.spaced else [])],
        "models": [{"name": name, "title": titles[name]} for name in found.readers],
        "tab": found.spaced,
    }


def build(page: Page) -> Any:
    """Draw it; hidden while there is nothing to say."""
    return view("banner", elem_id="banner")


def listen(page: Page, shown: Any, named: Any) -> None:
    """Have it follow the choosers in the header.

    Args:
        shown: what :func:`build` drew.
        named: the event after which the visitor has a name.
    """
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}

    def on_use(owner: Any, event: gr.SelectData) -> Any:
        choices = page.model_choices(owner)
        if event.index not in {name for _, name in choices}:
            raise StudioError("this model is no longer there", "choose another one in the header")
        return gr.update(choices=choices, value=event.index), event.index

    for event in (page.corpus.change, page.model.change, named.then):
        # One after the other: what is said of the first sample, as the page opens, must not come after what is said of a file.
        in_turn = {"trigger_mode": "always_last", "concurrency_limit": 1, "concurrency_id": "banner"}
        event(guarded(partial(said, page)), [page.owner, page.corpus, page.model], shown, **in_turn, **quiet)
    shown.select(guarded(on_use), page.owner, [page.model, page.kept_model], trigger_mode="multiple", **quiet)
