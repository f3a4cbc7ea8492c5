"""Notes above every tab: texts that the model does not read, a model selected for their language, and a Space that stores nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gradio as gr

from ..data.language import LANGUAGE_NAMES, dominant_foreign_language
from ..errors import StudioError
from ..services.languages import model_languages
from ..settings import MULTILINGUAL_HUB_ID
from .panel import Panel
from .views import Update, Value, props, view

if TYPE_CHECKING:
    from .page import Page
    from .panel import Selection
    from .state import OtherTexts, SelectedCorpus

_USE_HUB = f"Type {MULTILINGUAL_HUB_ID} above, a model of the Hugging Face Hub for many languages, where the machine can reach the Hub."
_TRAIN_STATIC = "Word vectors made from these texts themselves know their words: a minute in the Models tab."


@dataclass(frozen=True)
class ModelChoice:
    """A model chosen by the visitor, in the header and for the next visit."""

    model: Update
    saved_model: str


def banner_view(
    page: Page,
    owner: object,
    corpus: str | None,
    model: str | None,
    saved_model: object = "",
    other_texts: OtherTexts | None = None,
    language: str = "en",
) -> Value | None:
    """Return the value of the ``banner`` view; ``None`` without notes.

    Args:
        language: of the page.
    """
    selected = page.corpora.get(corpus) if corpus is not None and corpus in page.corpora else page.corpora.sample()
    note = None
    if not saved_model and model == page.studio.settings.multilingual:
        note = _model_selected(page, owner, selected, model, other_texts, language)
    note = note or _unreadable_corpus(page, owner, selected, model) or _unreadable_texts(page, owner, other_texts, model)
    notes = [note for note in (_nothing_stored(page), note) if note is not None]
    names = [*page.corpora.user_names(selected), *([other_texts.name] if other_texts is not None and other_texts.name else [])]
    return {"notes": notes, "theirs": names} if notes else None


def use_model(page: Page, owner: object, selection: Selection) -> ModelChoice:
    """Select the model that a note offers.

    Raises:
        StudioError: it was deleted meanwhile.
    """
    choices, name = page.model_choices(owner), selection.item
    usual = (page.studio.settings.default_model, page.studio.languages.multilingual)
    if not isinstance(name, str) or name not in {*usual, *(known for _, known in choices)}:
        raise StudioError("this model is no longer there", "choose another one in the header")
    return ModelChoice(props(choices=choices, value=name), name)


def draw_banner() -> gr.HTML:
    """Draw the banner, hidden without notes."""
    return view("banner", elem_id="banner")


def connect_banner(page: Page, banner: gr.HTML, loaded: gr.events.Dependency) -> None:
    """Update the banner with the header's choices.

    Args:
        loaded: event after which the visitor has an id.
    """
    panel = Panel(page, banner=banner)
    for trigger in (page.corpus.change, page.model.change, page.other_texts.change, loaded.then):
        # In turn: the note on the first sample, as the page opens, must not come after that on a file.
        panel.on(
            trigger, banner_view, output="banner", quiet=True, trigger_mode="always_last", concurrency_limit=1, concurrency_id="banner"
        )
    panel.on(banner.select, use_model, each=True, quiet=True)


def _model_selected(
    page: Page, owner: object, selected: SelectedCorpus, model: str | None, other_texts: OtherTexts | None, language: str
) -> Value | None:
    """Return a note that a model was selected for the texts' language, unless it is the page's."""
    code, name = dominant_foreign_language(selected.corpus.languages), selected.corpus.name
    if not code and other_texts is not None:
        code, name = other_texts.language, other_texts.name
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


def _unreadable_texts(page: Page, owner: object, other_texts: OtherTexts | None, model: str | None) -> Value | None:
    """Return a note that the model was not trained on the language of the other texts."""
    name, multilingual = model or page.studio.settings.default_model, page.studio.languages.multilingual
    try:
        known = model_languages(page.studio.catalog, name)
    except StudioError:
        return None  # no such model; the handler that needs it says so
    if other_texts is None or not known or other_texts.language in known:
        return None
    language = LANGUAGE_NAMES[other_texts.language]
    text = (
        f"Most texts of {other_texts.name} look like {language}, which this model was not trained on: its scores are unreliable."
        if other_texts.name
        else f"Your texts look like {language}, which this model was not trained on: its scores are unreliable."
    )
    models = [_button(_titles(page, owner), multilingual)] if multilingual else []
    return {"text": text, "advice": [] if multilingual else [_USE_HUB], "models": models}


def _unreadable_corpus(page: Page, owner: object, selected: SelectedCorpus, model: str | None) -> Value | None:
    """Return a note that most of the corpus is in a language or script that the model hardly reads."""
    titles = _titles(page, owner)
    available = list(dict.fromkeys(name for name in (*titles, page.studio.languages.multilingual) if name))
    try:
        found = page.studio.languages.check_readability(selected.corpus, available, model or None)
    except StudioError:
        return None  # no such model; the handler that needs it says so
    if found is None:
        return None
    return {
        "text": found.message,
        "advice": [*([] if found.alternatives else [_USE_HUB]), *([_TRAIN_STATIC] if found.is_spaced else [])],
        "models": [_button(titles, name) for name in found.alternatives],
        "tab": found.is_spaced,
    }


def _nothing_stored(page: Page) -> Value | None:
    settings = page.studio.settings
    if not settings.ephemeral:
        return None
    link = {"words": "Duplicate this Space", "href": settings.duplicate_url}
    return {
        "text": "This Space stores nothing: files, runs and models are deleted when it sleeps or is rebuilt.",
        "advice": ["Download a fine-tuned model or push it to the Hub before you leave. A Space of your own can have persistent storage."],
        "models": [],
        "hide": True,
        "link": link if settings.duplicate_url else None,
    }


def _button(titles: Mapping[str, str], name: str) -> Value:
    return {"name": name, "title": titles.get(name, name)}


def _titles(page: Page, owner: object) -> dict[str, str]:
    return {name: title for title, name in page.model_choices(owner)}
