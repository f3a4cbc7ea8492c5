"""Where a visitor is, as the address says it: so that a reload, a link, Back and Forward lead to what was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from ..errors import StudioError
from .page import Page
from .pieces.handlers import guarded
from .pieces.views import Value, view

_LONGEST = 2_000
OWN = "own"
"""What the corpus chooser holds, for a moment, where a file is to be brought."""
_OWN = ("A file of your own…", OWN)
_QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


@dataclass(frozen=True)
class Place:
    """What an address holds, none of it to be trusted.

    Attributes:
        tab: in lower case. corpus: its id. model: its name.
        query, mode: what is searched, and how.
        drawn: whether the map is; colour: by what.
        view: the part of the tab. before, after, ask: the two models of What changed, and the queries.
        file: the file of pairs; alike: the threshold of the near-duplicates.
        whole: whether what the address does not name stands at what is there by itself; else it is left as it is.
        seen: whether the browser shows the tab already.
        visit: a number of the browser's, different each time, so that the same place can be gone to twice.
    """

    tab: str = ""
    corpus: str = ""
    model: str = ""
    query: str = ""
    mode: str = ""
    drawn: bool = False
    colour: str = ""
    view: str = ""
    before: str = ""
    after: str = ""
    ask: str = ""
    file: str = ""
    alike: str = ""
    whole: bool = False
    seen: bool = False
    visit: str = ""

    @classmethod
    def read(cls, sent: Any) -> Place:
        """From the names and values of an address; unknown names and values that are no text are passed over."""
        given = sent if isinstance(sent, Mapping) else {}
        known = {name: value[:_LONGEST] for name, value in given.items() if name in _NAMES and isinstance(value, str)}
        return cls(**{_NAMES[name]: value if name not in _FLAGS else value == "1" for name, value in known.items()})  # type: ignore[arg-type]


# The words of an address, and what they stand for.
_NAMES = {
    name: name for name in ("tab", "corpus", "model", "mode", "drawn", "colour", "view", "ask", "file", "alike", "whole", "seen", "visit")
}
_NAMES |= {"q": "query", "from": "before", "to": "after"}
_FLAGS = ("drawn", "whole", "seen")
_NAMES = {name: name for name in ("tab", "corpus", "model", "mode", "colour", "view", "ask", "file", "alike", "visit", *_FLAGS)}
_NAMES |= {"q": "query", "from": "before", "to": "after"}


def go(
    page: Page, titles: Mapping[str, str], owner: Any, now: tuple[str | None, str | None], sent: Any, kept: Any = "", brought: Any = None
) -> tuple[Any, Any, Any, Any, Value, Place]:
    """Updates of the tabs, the model, the corpus and its chooser, what is here then, and the place, for an address.

    Args:
        titles: of the tabs, by the word of an address.
        now: the key of the corpus and the model as they are.
        sent: what the browser says that the address holds.
        kept: the model that the visitor chose, if any; brought: texts of theirs outside the corpus.

    What a link names and is not at hand (any more) is told, and the rest is gone to all the same.
    """
    place = Place.read(sent)
    tab = gr.Tabs(selected=titles[place.tab]) if place.tab in titles and not place.seen else gr.skip()
    missing: list[str] = []
    model, named = gr.skip(), gr.skip()
    found, corpus_key = False, None
    corpus = place.corpus or (page.sample_corpus().id if place.whole else "")
    if corpus:
        try:
            corpus_key = page.open_corpus(owner, corpus)
            named = gr.update(choices=[*page.corpus_choices(owner), _OWN], value=corpus)
        except StudioError as error:
            missing.append(f"{error.message[:1].upper()}{error.message[1:]}.")
    wanted = place.model or _usual(page, now[0] if corpus_key is None else corpus_key, now[1], kept, brought, place.whole)
    named_models = [name for name in dict.fromkeys((place.model, place.before, place.after)) if name]
    if named_models or wanted:
        choices = page.model_choices(owner)
        gone = [name for name in named_models if name not in {known for _, known in choices}]
        if wanted and wanted not in gone:
            model, found = gr.update(choices=choices, value=wanted), True
        if len(gone) == 1:
            missing.append(f"The model {gone[0][:80]!r} is not at hand here.")
        elif gone:
            names = ", ".join(repr(name[:80]) for name in gone)
            missing.append(f"The models {names} are not at hand here.")
    if missing:
        gr.Warning(" ".join(missing), duration=10, title="Not all of this address is here")
    arrived = here(page, now[0] if corpus_key is None else corpus_key, wanted if found else now[1], kept) | {"visit": place.visit}
    return tab, model, gr.skip() if corpus_key is None else corpus_key, named, arrived, place


def _usual(page: Page, key: str | None, model: str | None, kept: Any, brought: Any, whole: bool) -> str:
    """Return the model of an address that names none; empty where it leaves the model as it is.

    Args:
        key: of the corpus that it leads to.
        whole: see :class:`Place`.
    """
    default = page.studio.settings.default_model
    if kept:
        return default if whole else ""
    chosen = page.sample_corpus() if key is None or key not in page.corpora else page.corpora.get(key)
    fitting = page.usual_model(chosen.corpus, brought)
    return fitting if whole or (model in (default, page.studio.settings.multilingual) and model != fitting) else ""


def here(page: Page, key: str | None, model: str | None, kept: Any = "") -> Value:
    """What the header's choosers stand at, for the address and for results that were made with others.

    Args:
        kept: the model that the visitor chose, if any. The address names a model only if it is not the one that is there by itself.
    """
    chosen = page.sample_corpus() if key is None or key not in page.corpora else page.corpora.get(key)
    first = page.sample_corpus().id
    usual = page.studio.settings.default_model if kept else page.usual_model(chosen.corpus)
    return {
        "model": model or "",
        "corpus": chosen.corpus.digest,
        "corpus_name": chosen.corpus.name,
        "address": {
            "model": "" if model == usual else model or "",
            "corpus": "" if chosen.id == first else chosen.id,
        },
    }


def parts(page: Page, tab: str, tabs: Any, views: Mapping[str, Any]) -> None:
    """Have the address hold which part of a tab is seen, and lead to it again.

    Args:
        tab: the word of an address for the tab.
        tabs: the ``gr.Tabs`` of its parts; views: each by its id, the first one first.
    """
    first = next(iter(views))

    def on_arrive(place: Place | None) -> Any:
        if place is None or not (place.view in views or (place.whole and place.tab == tab)):
            return gr.skip()
        return gr.Tabs(selected=place.view if place.view in views else first)

    page.arrived.change(guarded(on_arrive), page.arrived, tabs, **_QUIET)
    for name, part in views.items():
        part.select(None, js=f"() => SB.place({{ tab: '{tab}', view: '{'' if name == first else name}' }})")


def arriving(page: Page, decide: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> Callable[..., Any]:
    """Have ``decide`` fill in what the address names in a panel, and say whether that leads to work, such as a search.

    Each event costs the browser some 50 ms, and most of what an address can lead to it does not name: only the work that is to be done
    becomes an event.

    Args:
        decide: called with the values of ``inputs``; returns those of ``outputs`` and, last, the place where there is work, otherwise
            ``gr.skip()``.

    Returns:
        what :func:`~.pieces.controls.long_work` listens with, as if it were a button's ``click``.
    """
    asked = gr.State(None)
    page.arrived.change(guarded(decide), list(inputs), [*outputs, asked], **_QUIET)
    return asked.change  # type: ignore[no-any-return]


def choose(page: Page, owner: Any, corpus_id: str, key: str | None = None) -> tuple[Any, Any]:
    """The key of the corpus that was chosen in the header, and the chooser's update where the page is to ask for a file instead."""
    if corpus_id == OWN:
        return gr.skip(), chooser(page, owner, page.corpus_of(key)[0])
    return page.open_corpus(owner, corpus_id), gr.skip()


def chooser(page: Page, owner: Any, key: str | None) -> Any:
    """An update of the corpus chooser: what there is to choose, and what is chosen."""
    choices = [*page.corpus_choices(owner), _OWN]
    if key is None:  # nothing was chosen yet, or a link is on its way
        return gr.update(choices=choices)
    chosen = page.corpora.get(key) if key in page.corpora else page.sample_corpus()
    if not chosen.id:  # part of a file, or too large to keep
        choices = [(chosen.corpus.name, ""), *choices]
    return gr.update(choices=choices, value=chosen.id)


def corpus_chooser(page: Page) -> Any:
    """The chooser in the header."""
    return gr.Dropdown(
        choices=[*page.corpus_choices(None), _OWN],
        value=page.sample_corpus().id,
        label="Corpus",
        elem_id="corpus",
        elem_classes=["sb-model", "sb-data"],
        scale=0,
        min_width=200,
    )


def listen(page: Page, titles: Mapping[str, str], named: Any) -> None:
    """Have the address follow the choosers, and the choosers the address.

    Args:
        titles: of the tabs, by the word of an address.
        named: the event after which the visitor has a name.
    """
    address = view("place", elem_id="place")
    models = [page.model, page.kept_model, page.brought]

    def on_go(owner: Any, key: str | None, model: str, kept: Any, brought: Any, event: gr.SelectData) -> Any:
        return go(page, titles, owner, (key, model), event.index, kept, brought)

    def on_choose(owner: Any, corpus_id: str, key: str | None, *models: Any) -> Any:
        chosen, shown = choose(page, owner, corpus_id, key)
        return *(page.bring(chosen, *models) if isinstance(chosen, str) else (chosen, gr.skip())), shown

    arrive = {"outputs": [page.tabs, page.model, page.corpus, page.corpus_name, address, page.arrived], **_QUIET}
    address.select(guarded(on_go), [page.owner, page.corpus, *models], trigger_mode="multiple", **arrive)
    page.corpus_name.input(None, page.corpus_name, js=f"(name) => {{ if (name === '{OWN}') SB.bring(); }}")
    there = [page.owner, page.corpus_name, page.corpus, *models]
    page.corpus_name.input(guarded(on_choose), there, [page.corpus, page.model, page.corpus_name], **_QUIET)
    for event in (page.corpus.change, page.model.change, named.then):
        event(guarded(partial(here, page)), [page.corpus, page.model, page.kept_model], address, **_QUIET)
    for event in (page.corpus.change, named.then):
        event(guarded(partial(chooser, page)), [page.owner, page.corpus], page.corpus_name, **_QUIET)
