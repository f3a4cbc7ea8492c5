"""URL of the page, which stores what is shown, so that reload, links, Back and Forward restore it; and the corpus selector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ..errors import StudioError
from ..i18n import ENGLISH, _, join, to_sentence
from .corpora import FILE
from .panel import Panel
from .sessions.language import notify_warning
from .state import Header, OpenedCorpus
from .views import UNCHANGED, Unchanged, Update, Value, props, view

if TYPE_CHECKING:
    from .page import Page
    from .panel import Selection

_MAX_LENGTH = 2_000
_FLAGS = ("drawn", "whole", "seen")
# URL parameters → fields of Location.
_FIELDS = {name: name for name in ("tab", "corpus", "model", "mode", "colour", "view", "ask", "alike", "chosen", "named", "visit", *_FLAGS)}
_FIELDS |= {"q": "query", "from": "before", "to": "after"}


@dataclass(frozen=True)
class Location:
    """Content of a URL, which is untrusted."""

    tab: str = ""  # title in lower case
    corpus: str = ""  # id
    named: str = ""  # name of that data when the browser last saw it
    model: str = ""  # name
    query: str = ""  # query of a search
    mode: str = ""
    drawn: bool = False  # whether the map is drawn
    colour: str = ""  # column that colors the points
    view: str = ""  # id of a sub-tab
    before: str = ""  # two models to compare, and queries
    after: str = ""
    ask: str = ""
    alike: str = ""  # threshold for near-duplicates
    chosen: str = ""  # model or run whose details are shown
    whole: bool = False  # whether everything else has its default; otherwise it stays
    seen: bool = False  # whether the browser already shows the tab
    visit: str = ""  # different each time, so that the same URL counts as a change

    @classmethod
    def read(cls, sent: object) -> Location:
        """Parse the parameters of a URL; unknown ones and values that are not text are ignored."""
        parameters = sent if isinstance(sent, Mapping) else {}
        known = {name: value[:_MAX_LENGTH] for name, value in parameters.items() if name in _FIELDS and isinstance(value, str)}
        values = {_FIELDS[name]: value == "1" if name in _FLAGS else value for name, value in known.items()}
        return cls(**values)  # type: ignore[arg-type]


@dataclass(frozen=True)
class LocationView:
    location: Location
    address: Value
    tabs: gr.Tabs | Unchanged = UNCHANGED
    model: Update | Unchanged = UNCHANGED
    corpus: str | Unchanged = UNCHANGED
    corpus_name: Update | Unchanged = UNCHANGED


def open_location(page: Page, titles: Mapping[str, str], selection: Selection, header: Header, language: str = ENGLISH) -> LocationView:
    """Open a URL (see :class:`Location`). Missing items are reported, and the rest is opened."""
    location, owner, model = Location.read(selection.item), header.owner, header.model
    missing: list[str] = []
    gone = ""
    corpus_key: str | None = None
    corpus_name: Update | Unchanged = UNCHANGED
    corpus_id = location.corpus or (page.corpora.sample().id if location.whole else "")
    if corpus_id:
        try:
            corpus_key = page.corpora.open(owner, corpus_id)
            corpus_name = props(choices=page.corpora.choices(owner), value=corpus_id)
        except StudioError as error:
            if corpus_id.startswith(FILE) and not page.corpora.is_stored(owner, corpus_id):
                gone = _describe_gone(location.named)
            else:
                missing.append(to_sentence(error.message))
    key = header.corpus if corpus_key is None else corpus_key
    wanted = location.model or _default_model(page, key, header, location.whole)
    named = [name for name in dict.fromkeys((location.model, location.before, location.after)) if name]
    update: Update | Unchanged = UNCHANGED
    if named or wanted:
        choices = page.model_choices(owner)
        unknown = [name for name in named if name not in {known for _, known in choices}]
        if wanted and wanted not in unknown:
            update, model = props(choices=choices, value=wanted), wanted
        if len(unknown) == 1:
            missing.append(_("The model {unknown} does not exist here.", unknown=repr(unknown[0][:80])))
        elif unknown:
            names = ", ".join(repr(name[:80]) for name in unknown)
            missing.append(_("The models {names} do not exist here.", names=names))
    if missing:
        notify_warning(join(" ", missing), duration=10, title="Parts of this link no longer exist")
    return LocationView(
        location=location,
        address=current_location(page, key, model, header.saved_model, language) | {"visit": location.visit, "gone": gone},
        tabs=gr.Tabs(selected=titles[location.tab]) if location.tab in titles and not location.seen else UNCHANGED,
        model=update,
        corpus=UNCHANGED if corpus_key is None else corpus_key,
        corpus_name=corpus_name,
    )


def _describe_gone(name: str) -> str:
    if not name:
        return "The data that was selected here is gone: its file was deleted, or belongs to another user."
    return _("The data “{=name}” is gone: its file was deleted, or belongs to another user.", name=name[:80])


def _default_model(page: Page, corpus: str | None, header: Header, whole: bool) -> str:
    default = page.studio.settings.default_model
    if header.saved_model:
        return default if whole else ""
    fitting = page.usual_model(page.corpora.selected(corpus).corpus, header.other_texts)
    return fitting if whole or (header.model in (default, page.studio.settings.multilingual) and header.model != fitting) else ""


def current_location(page: Page, corpus: str | None, model: str | None, saved_model: object = "", language: str = ENGLISH) -> Value:
    """Return the selections in the header, for marking outdated results, and for the URL, which omits defaults.

    A page in another language opens with another sample, so its URL names the English one as well.
    """
    selected = page.corpora.selected(corpus)
    usual = page.studio.settings.default_model if saved_model else page.usual_model(selected.corpus)
    return {
        "model": model or "",
        "corpus": selected.corpus.digest,
        "corpus_name": selected.corpus.name,
        "address": {
            "model": "" if model == usual else model or "",
            "corpus": "" if selected.id == page.corpora.sample().id and language == ENGLISH else selected.id,
        },
    }


def link_subtabs(page: Page, tab: str, tabs: gr.Tabs, views: Mapping[str, gr.Tab]) -> None:
    """Store the selected sub-tab of a tab in the URL, which omits the first one."""
    first = next(iter(views))

    def open_subtab(location: Location | None) -> gr.Tabs | Unchanged:
        if location is None or not (location.view in views or (location.whole and location.tab == tab)):
            return UNCHANGED
        return gr.Tabs(selected=location.view if location.view in views else first)

    Panel(page, subtabs=tabs).on(page.location.change, open_subtab, output="subtabs", quiet=True)
    for name, subtab in views.items():
        subtab.select(None, js=f"() => SB.place({{ tab: '{tab}', view: '{'' if name == first else name}' }})")


def choose_corpus(page: Page, corpus_name: str, header: Header) -> OpenedCorpus:
    """Open the data selected in the header."""
    return page.fit_corpus(page.corpora.open(header.owner, corpus_name), header)


def update_corpus_chooser(page: Page, owner: object, corpus: str | None) -> Update:
    choices = page.corpora.choices(owner)
    if corpus is None:  # nothing was selected yet, or a link is being opened
        return props(choices=choices)
    selected = page.corpora.selected(corpus)
    if not selected.id:  # part of a file, or too large to store
        choices = [(selected.corpus.name, ""), *choices]
    return props(choices=choices, value=selected.id)


def draw_corpus_chooser(page: Page) -> gr.Dropdown:
    return gr.Dropdown(
        choices=page.corpora.choices(None),
        value=page.corpora.sample().id,
        label="Data",
        elem_id="corpus",
        elem_classes=["sb-model", "sb-data"],
        scale=0,
        min_width=200,
    )


def connect_address(page: Page, titles: Mapping[str, str], loaded: gr.events.Dependency) -> None:
    """Synchronize the URL with the selectors in the header. ``titles``: titles of the tabs by their name in the URL."""
    panel = Panel(page, address=view("place", elem_id="place"))
    panel.on(panel["address"].select, partial(open_location, titles=titles), each=True, quiet=True)
    panel.on(page.corpus_name.input, choose_corpus, quiet=True)
    for trigger in (page.corpus.change, [page.model.change, page.language.change], loaded.then):
        panel.on(trigger, current_location, output="address", quiet=True)
    for trigger in (page.corpus.change, loaded.then):
        panel.on(trigger, update_corpus_chooser, output="corpus_name", quiet=True)
