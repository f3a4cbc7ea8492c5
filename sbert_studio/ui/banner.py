"""Above every tab: what a visitor should know before anything else, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr

from ..data.language import LANGUAGE_NAMES, dominant_foreign_language
from ..errors import StudioError
from ..services.languages import languages_of
from ..settings import MULTILINGUAL_HUB_ID
from .page import Brought, Page
from .pieces.handlers import guarded
from .pieces.views import Value, view
from .visitors.session import Chosen

_ELSEWHERE = f"Type {MULTILINGUAL_HUB_ID} above, a model of the Hugging Face Hub for many languages, where the machine can reach the Hub."
_OWN = "Word vectors made from these texts themselves know their words: a minute in the Models tab."


def said(
    page: Page, owner: Any, key: str | None, model: str | None, kept: Any = "", brought: Brought | None = None, language: str = "en"
) -> Value | None:
    """The value of the ``banner`` view; ``None`` where there is nothing to say.

    Args:
        key: of the corpus; model: that in the header; kept: the one that the visitor chose, if any.
        brought: texts outside the corpus; language: of the page.
    """
    chosen = page.corpora.get(key) if key is not None and key in page.corpora else page.sample_corpus()
    about = _selected(page, owner, chosen, model, brought, language) if not kept and model == page.studio.settings.multilingual else None
    if about is None:
        about = _hardly_read(page, owner, chosen, model) or _brought(page, owner, brought, model)
    notes = [note for note in (_forgotten(page), about) if note is not None]
    theirs = [*page.corpus_names(chosen), *([brought.name] if brought is not None and brought.name else [])]
    return {"notes": notes, "theirs": theirs} if notes else None


def _selected(page: Page, owner: Any, chosen: Chosen, model: str | None, brought: Brought | None, language: str) -> Value | None:
    """That the model was selected because of the language of the texts, and the way back; nothing where the page speaks it as well."""
    code, name = dominant_foreign_language(chosen.corpus.languages), chosen.corpus.name
    if not code and brought is not None:
        code, name = brought.language, brought.name
    if code in ("", language):
        return None
    titles, default = _titles(page, owner), page.studio.settings.default_model
    title = titles.get(str(model), model)
    text = (
        f"Most texts of {name} look like {LANGUAGE_NAMES[code]}: {title} is selected."
        if name
        else f"Your texts look like {LANGUAGE_NAMES[code]}: {title} is selected."
    )
    return {"text": text, "advice": [], "models": [_button(titles, default)], "quiet": True, "hide": True}


def _brought(page: Page, owner: Any, brought: Brought | None, model: str | None) -> Value | None:
    """That the model was not trained on the language of texts outside the corpus."""
    name, other = model or page.studio.settings.default_model, page.studio.read.multilingual
    try:
        known = languages_of(page.studio.catalog, name)
    except StudioError:
        return None  # The model that is typed there is none; the verb that needs it says so.
    if brought is None or not known or brought.language in known:
        return None
    language = LANGUAGE_NAMES[brought.language]
    text = (
        f"Most texts of {brought.name} look like {language}, which this model was not trained on: its scores say little about them."
        if brought.name
        else f"Your texts look like {language}, which this model was not trained on: its scores say little about them."
    )
    return {"text": text, "advice": [] if other else [_ELSEWHERE], "models": [_button(_titles(page, owner), other)] if other else []}


def _button(titles: Mapping[str, str], name: str) -> Value:
    return {"name": name, "title": titles.get(name, name)}


def _titles(page: Page, owner: Any) -> dict[str, str]:
    return {name: title for title, name in page.model_choices(owner)}


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


def _hardly_read(page: Page, owner: Any, chosen: Chosen, model: str | None) -> Value | None:
    """That most of the chosen corpus is in a language or script that the chosen model hardly reads."""
    titles = _titles(page, owner)
    at_hand = list(dict.fromkeys(name for name in (*titles, page.studio.read.multilingual) if name))
    try:
        found = page.studio.explore.hardly_reads(chosen.corpus, at_hand, model or None)
    except StudioError:
        return None  # The model that is typed there is none; the verb that needs it says so.
    if found is None:
        return None
    return {
        "text": found.words,
        "advice": [*([] if found.readers else [_ELSEWHERE]), *([_OWN] if found.spaced else [])],
        "models": [_button(titles, name) for name in found.readers],
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
        usual = (page.studio.settings.default_model, page.studio.read.multilingual)
        if event.index not in {*usual, *(name for _, name in choices)}:
            raise StudioError("this model is no longer there", "choose another one in the header")
        return gr.update(choices=choices, value=event.index), event.index

    inputs = [page.owner, page.corpus, page.model, page.kept_model, page.brought, page.language]
    for event in (page.corpus.change, page.model.change, page.brought.change, named.then):
        # One after the other: what is said of the first sample, as the page opens, must not come after what is said of a file.
        in_turn = {"trigger_mode": "always_last", "concurrency_limit": 1, "concurrency_id": "banner"}
        event(guarded(partial(said, page)), inputs, shown, **in_turn, **quiet)
    shown.select(guarded(on_use), page.owner, [page.model, page.kept_model], trigger_mode="multiple", **quiet)
