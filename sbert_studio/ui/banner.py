"""Notes above all tabs: texts that the model does not support, a model selected for their language, and a Space without storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import gradio as gr

from ..data.language import LANGUAGE_NAMES, dominant_foreign_language
from ..errors import StudioError
from ..i18n import _
from ..services.languages import model_languages
from ..settings import MULTILINGUAL_HUB_ID
from .panel import Panel
from .state import Header, ModelChoice
from .views import Value, props, view

if TYPE_CHECKING:
    from .page import Page
    from .panel import Selection

_USE_HUB = _(
    "Type {multilingual_hub_id} above, a multilingual model of the Hugging Face Hub, if this machine can reach the Hub.",
    multilingual_hub_id=MULTILINGUAL_HUB_ID,
)
_TRAIN_STATIC = "Static embeddings trained on these texts cover their vocabulary; training takes a minute in the Models tab."


def banner_view(page: Page, header: Header, language: str = "en") -> Value | None:
    """Return the value of the ``banner`` view for a page in ``language``; ``None`` without notes."""
    selected, other = page.corpora.selected(header.corpus), header.other_texts
    note = None
    if not header.saved_model and header.model == page.studio.settings.multilingual:
        note = _model_selected(page, header, language)
    note = note or _unreadable_corpus(page, header) or _unreadable_texts(page, header)
    notes = [note for note in (_nothing_stored(page), note) if note is not None]
    names = [*page.corpora.user_names(selected), *([other.name] if other is not None and other.name else [])]
    return {"notes": notes, "theirs": names} if notes else None


def use_offered_model(page: Page, owner: object, selection: Selection) -> ModelChoice:
    choices, name = page.model_choices(owner), selection.item
    usual = (page.studio.settings.default_model, page.studio.languages.multilingual)
    if not isinstance(name, str) or name not in {*usual, *(known for _, known in choices)}:
        raise StudioError("this model no longer exists", "choose another one in the header")
    return ModelChoice(props(choices=choices, value=name), name)


def draw_banner() -> gr.HTML:
    return view("banner", elem_id="banner")


def connect_banner(page: Page, banner: gr.HTML, loaded: gr.events.Dependency) -> None:
    """Update the banner when the header changes, and once the visitor has an id (the event ``loaded``)."""
    panel = Panel(page, banner=banner)
    for trigger in ([page.corpus.change, page.model.change, page.other_texts.change], loaded.then):
        # In order: the note on the initial sample must not arrive after that on a file.
        panel.on(
            trigger, banner_view, output="banner", quiet=True, trigger_mode="always_last", concurrency_limit=1, concurrency_id="banner"
        )
    panel.on(banner.select, use_offered_model, each=True, quiet=True)


def _model_selected(page: Page, header: Header, language: str) -> Value | None:
    corpus, other = page.corpora.selected(header.corpus).corpus, header.other_texts
    code, name = dominant_foreign_language(corpus.languages), corpus.name
    if not code and other is not None:
        code, name = other.language, other.name
    if code in ("", language):
        return None
    titles = page.model_titles(header.owner)
    title = titles.get(str(header.model), header.model)
    text = (
        _(
            "Most texts of {name} look like {language_names}: {title} is selected.",
            name=name,
            language_names=LANGUAGE_NAMES[code],
            title=title,
        )
        if name
        else _("Your texts look like {language_names}: {title} is selected.", language_names=LANGUAGE_NAMES[code], title=title)
    )
    return {"text": text, "advice": [], "models": [_button(titles, page.studio.settings.default_model)], "quiet": True, "hide": True}


def _unreadable_texts(page: Page, header: Header) -> Value | None:
    multilingual, other = page.studio.languages.multilingual, header.other_texts
    try:
        known = model_languages(page.studio.catalog, header.model or page.studio.settings.default_model)
    except StudioError:
        return None  # the model does not exist; the handler that needs it reports it
    if other is None or not known or other.language in known:
        return None
    language = LANGUAGE_NAMES[other.language]
    text = (
        _(
            "Most texts of {name} look like {language}, which this model was not trained on: its scores are unreliable.",
            name=other.name,
            language=language,
        )
        if other.name
        else _("Your texts look like {language}, which this model was not trained on: its scores are unreliable.", language=language)
    )
    models = [_button(page.model_titles(header.owner), multilingual)] if multilingual else []
    return {"text": text, "advice": [] if multilingual else [_USE_HUB], "models": models}


def _unreadable_corpus(page: Page, header: Header) -> Value | None:
    titles, corpus = page.model_titles(header.owner), page.corpora.selected(header.corpus).corpus
    available = list(dict.fromkeys(name for name in (*titles, page.studio.languages.multilingual) if name))
    try:
        found = page.studio.languages.check_readability(corpus, available, header.model or None)
    except StudioError:
        return None  # the model does not exist; the handler that needs it reports it
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
        "text": "This Space has no persistent storage: files, runs and models are deleted when it sleeps or is rebuilt.",
        "advice": ["Download a fine-tuned model or push it to the Hub before you leave. In a Space of your own, mount a bucket at /data."],
        "models": [],
        "hide": True,
        "link": link if settings.duplicate_url else None,
    }


def _button(titles: Mapping[str, str], name: str) -> Value:
    return {"name": name, "title": titles.get(name, name)}
