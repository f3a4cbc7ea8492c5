"""An address and what it leads to, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from tiny_studio import write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.ui import places
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.changing import panel as changing
from sbert_studio.ui.panels.comparing import pairs_file
from sbert_studio.ui.pieces import picker
from sbert_studio.ui.places import Place
from sbert_studio.ui.visitors import given

TABS = {"search": "Search", "map": "Map"}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    words: list[str] = []
    monkeypatch.setattr(gr, "Warning", lambda text, **_: words.append(text))
    return words


@pytest.mark.parametrize("sent", [None, [], "tab", {"tab": 3, "evil": "x", "q": None}, {"whole": "0"}])
def test_what_is_no_address_is_an_empty_place(sent: Any) -> None:
    assert Place.read(sent) == Place()


def test_an_address_is_read_word_by_word() -> None:
    place = Place.read({"tab": "map", "corpus": "sample:questions", "q": "x" * 5000, "drawn": "1", "colour": "topic", "visit": "3"})
    assert (place.tab, place.corpus, place.drawn, place.colour, place.visit) == ("map", "sample:questions", True, "topic", "3")
    assert len(place.query) == 2000
    part = Place.read({"view": "changed", "from": "a", "to": "b", "ask": "cats", "file": "0123456789ab", "alike": "0.975"})
    assert (part.view, part.before, part.after, part.ask, part.file, part.alike) == (
        "changed", "a", "b", "cats", "0123456789ab", "0.975",
    )  # fmt: skip


def test_a_link_brings_the_visitors_own_file_back(page: Page, corpus_file: Path, said: list[str]) -> None:
    key = picker.take_file(page, str(corpus_file))
    corpus = page.corpora.get(key)
    assert corpus.id.startswith("file:") and corpus.path != corpus_file
    corpus_file.unlink()
    tab, _, again, chooser, here, place = places.go(page, TABS, None, (None, None), {"tab": "search", "corpus": corpus.id, "visit": "1"})
    assert tab.selected == "Search" and page.corpora.get(again).corpus.texts == corpus.corpus.texts
    assert chooser["value"] == corpus.id and (corpus.corpus.name, corpus.id) in chooser["choices"]
    assert here["corpus"] == corpus.corpus.digest and here["visit"] == "1" and place.tab == "search" and not said


def test_what_a_link_names_and_is_not_here_is_told_and_the_rest_is_gone_to(page: Page, said: list[str]) -> None:
    sent = {"tab": "map", "corpus": "file:0123456789ab", "model": "run-0000000000"}
    tab, model, key, _, here, _ = places.go(page, TABS, None, (None, page.studio.settings.default_model), sent)
    assert tab.selected == "Map" and "value" not in model and not isinstance(key, str)
    assert "run-0000000000" in said[0] and "no longer kept here" in said[0]
    assert here["address"] == {"model": "", "corpus": ""}


def test_back_to_an_address_without_a_corpus_is_back_to_the_first_one(page: Page, corpus_file: Path, said: list[str]) -> None:
    key = picker.take_file(page, str(corpus_file))
    for whole, name in (("1", page.sample_corpus().corpus.name), ("", "corpus.csv")):
        _, _, again, _, here, _ = places.go(page, TABS, None, (key, None), {"tab": "search", "whole": whole})
        assert here["corpus_name"] == name and isinstance(again, str) == (whole == "1")


def test_a_corpus_that_no_link_leads_to_is_named_all_the_same(page: Page, corpus_file: Path) -> None:
    from dataclasses import replace

    chosen = page.corpora.get(picker.take_file(page, str(corpus_file)))
    part = page.corpora.put(replace(chosen, corpus=chosen.corpus.subset(range(5), "some", "for a test"), id=""))
    shown = places.chooser(page, None, part)
    assert shown["value"] == "" and shown["choices"][0] == ("some", "")
    assert places.here(page, part, None)["address"]["corpus"] == ""


def test_the_chooser_offers_a_file_of_ones_own_and_goes_back_to_what_is_chosen(page: Page, corpus_file: Path) -> None:
    key = picker.take_file(page, str(corpus_file))
    _, back = places.choose(page, None, places.OWN, key)
    assert back["value"] == page.corpora.get(key).id and back["choices"][-1] == ("A file of your own…", places.OWN)
    assert places.choose(page, None, page.sample_corpus().id, key)[0] != key


def test_strangers_do_not_open_each_others_files(studio: Any, corpus_file: Path, said: list[str]) -> None:
    shared = Page(studio, shared=True)
    mine, theirs = ({"owner": f"visitor-{number:016x}", "job": ""} for number in (1, 2))
    corpus = shared.corpora.get(picker.take_file(shared, str(corpus_file), mine))
    assert corpus.id in dict(map(reversed, shared.corpus_choices(mine)))  # type: ignore[arg-type]
    assert corpus.id not in dict(map(reversed, shared.corpus_choices(theirs)))  # type: ignore[arg-type]
    places.go(shared, TABS, theirs, (None, None), {"corpus": corpus.id})
    assert "somebody else" in said[0]


def test_a_file_is_deleted_when_its_owner_asks_and_nobody_finds_it_again(
    page: Page, corpus_file: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(gr, "Info", lambda text, **_: told.append(text))
    key = picker.take_file(page, str(corpus_file))
    chosen = page.corpora.get(key)
    assert picker.is_kept(page, key)["visible"] and not picker.is_kept(page, page.corpora.put(page.sample_corpus()))["visible"]
    again = picker.forget(page, key, None)
    assert page.corpora.get(again) is page.sample_corpus() and not chosen.path.exists() and told
    with pytest.raises(StudioError, match="was removed, as you asked"):
        page.corpora.get(key)
    places.go(page, TABS, None, (None, None), {"corpus": chosen.id})
    assert "no longer kept here" in said[0]


def test_a_file_of_pairs_comes_back_and_what_is_gone_says_so(page: Page, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "mine.csv")
    kept, first = given.keep(page, None, path, pairs_file.VIEW), path.read_bytes()
    path.unlink()
    update, sample = pairs_file.arrived(page, None, Place(view="pairs", file=kept))
    assert sample is None and Path(update).read_bytes() == first and Path(update).name == "mine.csv"
    assert pairs_file.arrived(page, None, Place(view="pairs", file="sample:scored_pairs"))[1].id == "scored_pairs"  # type: ignore[union-attr]
    assert pairs_file.arrived(page, None, Place(view="pairs")) == pairs_file.arrived(page, None, Place(file=kept))
    for gone in ("0123456789ab", "../../etc", "sample:none"):
        with pytest.raises(StudioError, match="no longer kept"):
            pairs_file.arrived(page, None, Place(view="pairs", file=gone))
    with pytest.raises(StudioError, match="no longer kept"):
        pairs_file.arrived(Page(page.studio, shared=True), {"owner": "visitor-fedcba9876543210"}, Place(view="pairs", file=kept))


def test_the_two_models_of_what_changed_come_back_where_both_are_here(page: Page) -> None:
    tiny = page.model_choices(None)[0][1]
    found = changing.asked_for(page, None, Place(before=tiny, after="glove-6B-50d", ask="cats\ndogs"))
    assert found is not None and found[1:] == (tiny, "glove-6B-50d", "cats\ndogs")
    assert changing.asked_for(page, None, Place(before=tiny)) is None
    assert changing.asked_for(page, None, Place(before=tiny, after="run-0000000000")) is None


def test_all_models_of_a_link_that_are_not_here_are_named_once(page: Page, said: list[str]) -> None:
    sent = {"tab": "map", "view": "changed", "from": "__proto__", "to": "constructor", "model": "run-0000000000"}
    *_, place = places.go(page, TABS, None, (None, None), sent)
    assert changing.asked_for(page, None, place) is None
    (message,) = said
    assert "'run-0000000000', '__proto__', 'constructor' are" in message
    said.clear()
    places.go(page, TABS, None, (None, None), sent | {"to": "__proto__", "model": ""})
    assert said == ["The model '__proto__' is not at hand here."]
