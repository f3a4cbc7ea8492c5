"""An address and what it leads to, without a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.data.samples import list_samples
from sbert_studio.errors import StudioError
from sbert_studio.ui import corpora, data_dialog, routing
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.routing import Location
from sbert_studio.ui.state import Header
from sbert_studio.ui.tabs.evaluate import model_diff
from sbert_studio.ui.views import UNCHANGED

TABS = {"search": "Search", "map": "Map"}


def go(page: Page, sent: Any, corpus: str | None = None, model: Any = None, owner: Any = None) -> routing.LocationView:
    return routing.open_location(page, TABS, Selection("go", sent), Header(corpus, model, owner=owner))


@pytest.mark.parametrize("sent", [None, [], "tab", {"tab": 3, "evil": "x", "q": None}, {"whole": "0"}])
def test_what_is_no_address_is_an_empty_place(sent: Any) -> None:
    assert Location.read(sent) == Location()


def test_an_address_is_read_word_by_word() -> None:
    place = Location.read({"tab": "map", "corpus": "sample:questions", "q": "x" * 5000, "drawn": "1", "colour": "topic", "visit": "3"})
    assert (place.tab, place.corpus, place.drawn, place.colour, place.visit) == ("map", "sample:questions", True, "topic", "3")
    assert len(place.query) == 2000
    part = Location.read({"view": "changed", "from": "a", "to": "b", "ask": "cats", "alike": "0.975"})
    assert (part.view, part.before, part.after, part.ask, part.alike) == (
        "changed", "a", "b", "cats", "0.975",
    )  # fmt: skip


def test_a_link_brings_back_what_is_here_and_names_what_is_not(page: Page, corpus_file: Path, toasts: list[str]) -> None:
    key = corpora.open_file(page, str(corpus_file))
    corpus = page.corpora.get(key)
    assert corpus.id.startswith("file:") and corpus.path != corpus_file
    corpus_file.unlink()
    found = go(page, {"tab": "search", "corpus": corpus.id, "visit": "1"})
    chooser: Any = found.corpus_name
    assert isinstance(found.corpus, str) and page.corpora.get(found.corpus).corpus.texts == corpus.corpus.texts
    assert found.tabs.selected == "Search" and chooser["value"] == corpus.id and (corpus.corpus.name, corpus.id) in chooser["choices"]
    assert found.address["corpus"] == corpus.corpus.digest and found.address["visit"] == "1"
    assert found.location.tab == "search" and not toasts
    sent = {"tab": "map", "corpus": "file:0123456789ab", "model": "run-0000000000"}
    found = go(page, sent, model=page.studio.settings.default_model)
    assert found.tabs.selected == "Map" and found.model is UNCHANGED and found.corpus is UNCHANGED
    assert "run-0000000000" in toasts[0] and len(toasts) == 1 and "is gone" in found.address["gone"]
    assert found.address["address"] == {"model": "", "corpus": ""}


def test_the_chooser_and_the_address_name_the_corpus(page: Page, corpus_file: Path, toasts: list[str]) -> None:
    key = corpora.open_file(page, str(corpus_file))
    for whole, name in (("1", page.corpora.sample().corpus.name), ("", "corpus.csv")):
        found = go(page, {"tab": "search", "whole": whole}, key)
        assert found.address["corpus_name"] == name and isinstance(found.corpus, str) == (whole == "1")
    chosen = page.corpora.get(corpora.open_file(page, str(corpus_file)))
    part = page.corpora.put(replace(chosen, corpus=chosen.corpus.subset(range(5), "some", "for a test"), id=""))
    shown = routing.update_corpus_chooser(page, None, part)
    assert shown["value"] == "" and shown["choices"][0] == ("some", "")
    assert routing.current_location(page, part, None)["address"]["corpus"] == ""
    key = corpora.open_file(page, str(corpus_file))
    offered = [name for _, name in routing.update_corpus_chooser(page, None, key)["choices"]]
    assert offered == [page.corpora.get(key).id, *(f"sample:{sample.id}" for sample in list_samples())]
    assert routing.choose_corpus(page, page.corpora.sample().id, Header(key)).corpus not in (key, UNCHANGED)


def test_strangers_do_not_open_each_others_files(studio: Any, corpus_file: Path, toasts: list[str]) -> None:
    shared = Page(studio, shared=True)
    mine, theirs = ({"owner": f"visitor-{number:016x}", "job": ""} for number in (1, 2))
    corpus = shared.corpora.get(corpora.open_file(shared, str(corpus_file), mine))
    assert corpus.id in dict(map(reversed, shared.corpora.choices(mine)))  # type: ignore[arg-type]
    assert corpus.id not in dict(map(reversed, shared.corpora.choices(theirs)))  # type: ignore[arg-type]
    assert "another user" in go(shared, {"corpus": corpus.id}, owner=theirs).address["gone"] and not toasts


def test_a_file_is_deleted_when_its_owner_asks_and_nobody_finds_it_again(page: Page, corpus_file: Path, toasts: list[str]) -> None:
    key = corpora.open_file(page, str(corpus_file))
    chosen = page.corpora.get(key)
    assert data_dialog.open_dialog(page, Header(key)).remove["visible"] and not data_dialog.open_dialog(page, Header()).remove["visible"]
    again = corpora.delete_file(page, key, None)
    assert page.corpora.get(again) is page.corpora.sample() and not chosen.path.exists()
    assert toasts == ["Your file was deleted here."]
    with pytest.raises(StudioError, match="was removed, as you asked"):
        page.corpora.get(key)
    found = go(page, {"corpus": chosen.id, "named": "Café <b>.csv"})
    assert found.address["gone"].startswith("The data “Café <b>.csv” is gone") and len(toasts) == 1
    assert found.corpus is UNCHANGED and found.address["address"]["corpus"] == ""


def test_models_of_a_link_are_found_or_named_once(page: Page, toasts: list[str]) -> None:
    sent = {"tab": "map", "view": "changed", "from": "__proto__", "to": "constructor", "model": "run-0000000000"}
    assert model_diff.open_location(page, go(page, sent).location, None) is None
    (message,) = toasts
    assert "'run-0000000000', '__proto__', 'constructor' do not exist" in message
    toasts.clear()
    go(page, sent | {"to": "__proto__", "model": ""})
    assert toasts == ["The model '__proto__' does not exist here."]
    tiny = page.model_choices(None)[0][1]
    found = model_diff.open_location(page, Location(before=tiny, after="glove-6B-50d", ask="cats\ndogs"), None)
    assert found is not None and (found.requested.before, found.requested.after, found.queries) == (tiny, "glove-6B-50d", "cats\ndogs")
    assert model_diff.open_location(page, Location(before=tiny), None) is None
    assert model_diff.open_location(page, Location(before=tiny, after="run-0000000000"), None) is None
