"""The basket of pairs, its file, and what Fine-tune is handed, without a browser."""

from __future__ import annotations

import csv
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from tiny_studio import sentences

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio
from sbert_studio.ui import basket as baskets
from sbert_studio.ui import corpora
from sbert_studio.ui.basket import Basket, LabelledPair
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.tabs.fine_tune.draft import open_draft

ONE, OTHER = LabelledPair("cat dog", "moon star", True, "Search"), LabelledPair("red blue", "bread milk", False, "Map")
NOBODY = {"owner": "visitor-0123456789abcdef", "job": ""}


def test_steps_are_undone_and_a_basket_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [Basket().add([ONE, OTHER])]
    steps += [steps[-1].flip(ONE.id)]
    steps += [steps[-1].edit(OTHER.id, "red blue sky", "bread")]
    steps += [steps[-1].remove(ONE.id)]
    steps += [steps[-1].clear()]
    assert [len(one) for one in steps] == [2, 2, 2, 1, 0]
    assert steps[2].pairs[1] == LabelledPair("red blue sky", "bread", False, "Map") and not steps[2].pairs[0].together
    for before, after in pairwise(steps):
        assert after.undo() == before
    assert steps[0].undo().undo() == Basket()
    assert steps[0].flip("no such").edit("none", "a", "b").remove(None) is steps[0]
    monkeypatch.setattr(baskets, "MAX_PAIRS", 3)
    full = Basket().add([LabelledPair(f"cat {n}", "x" * 9_000, True) for n in range(3)])
    assert len(full.pairs[0].b) == 4_000
    with pytest.raises(StudioError, match="the maximum is 3"):
        full.add([ONE])
    assert len(full.add([LabelledPair("cat 1", "x" * 4_000, False)])) == 3
    for _ in range(100):
        full = full.flip(full.pairs[0].id)
    assert len(full.past) == 30


def test_a_reload_and_a_restart_find_the_basket_and_a_damaged_file_is_an_empty_one(page: Page, studio: Studio) -> None:
    assert baskets.add_pairs(page, None, [ONE, OTHER]) != baskets.add_pairs(page, None, [ONE])
    assert [pair.a for pair in Page(studio).baskets.of("local").pairs] == ["cat dog", "red blue"]
    page.memory.remove("basket of local")
    assert len(page.baskets.of("local")) == 2
    (file,) = studio.workspace.baskets.glob("*.json")
    file.write_text('[["only one"]]', encoding="utf-8")
    anew = Page(studio)
    value = baskets.show_basket(anew, None).listed
    assert value["count"] == 0 and "can no longer be read" in value["trouble"]
    assert file.with_suffix(".damaged").read_text(encoding="utf-8") == '[["only one"]]', "it is set aside, not written over"
    baskets.add_pairs(anew, None, [ONE])
    assert baskets.show_basket(anew, None).listed["trouble"] == "" and len(Page(studio).baskets.of("local")) == 1


def test_pairs_that_the_disk_does_not_take_are_said_to_last_as_long_as_the_app(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(baskets, "write_json", full)
        baskets.add_pairs(page, None, [ONE])
        assert "The disk is full" in baskets.show_basket(page, None).listed["trouble"]
    baskets.add_pairs(page, None, [OTHER])
    assert baskets.show_basket(page, None).listed["trouble"] == ""


def test_visitors_have_baskets_of_their_own_and_names_that_are_none_get_an_empty_one(studio: Studio) -> None:
    page = Page(studio, shared=True)
    baskets.add_pairs(page, NOBODY, [ONE])
    assert baskets.show_basket(page, NOBODY).button == {"count": 1}
    for other in (None, {"owner": "visitor-ffffffffffffffff"}, {"owner": "../local"}, {"owner": "local"}, []):
        assert baskets.show_basket(page, other).button == {"count": 0}


def test_old_files_go(studio: Studio) -> None:
    page = Page(studio)
    baskets.add_pairs(page, None, [ONE])
    page.baskets._days = 2
    (file,) = studio.workspace.baskets.glob("*.json")
    page.sweep()
    assert file.exists()
    os.utime(file, (1, 1))
    page.sweep()
    assert not file.exists()


@pytest.mark.parametrize(
    ("kind", "index"),
    [(None, None), ("edit", "x"), ("edit", {"id": ONE.id, "a": 3, "b": []}), ("flip", {}), ("remove", 0), ("drop table", ONE.id)],
)
def test_what_the_browser_makes_up_changes_nothing(page: Page, kind: Any, index: Any) -> None:
    baskets.add_pairs(page, None, [ONE])
    before = page.baskets.of("local")
    baskets.change_basket(page, None, Selection(kind, index))
    assert page.baskets.of("local") == before


def test_the_file_to_download_holds_no_formula_and_that_to_train_on_every_cell(page: Page) -> None:
    baskets.add_pairs(page, None, [LabelledPair("=1+1", "cat dog", True), OTHER])
    saved, taught = baskets.write_basket(page, None), baskets.train_on_basket(page, None)
    shown, exact = (list(csv.reader(path.open(encoding="utf-8-sig", newline=""))) for path in (saved, taught.path))
    assert shown == [["text_a", "text_b", "label"], ["'=1+1", "cat dog", "1"], ["red blue", "bread milk", "0"]]
    assert exact[1] == ["=1+1", "cat dog", "1"]
    sheet = load_workbook(baskets.write_basket(page, None, ".xlsx")).worksheets[0]
    assert list(sheet.values) == [("text_a", "text_b", "label"), ("=1+1", "cat dog", 1), ("red blue", "bread milk", 0)]
    assert sheet["A2"].data_type == "s", "a text, not a formula"


def test_an_empty_basket_and_one_of_strangers_teach_nothing(page: Page) -> None:
    for act in (baskets.write_basket, baskets.train_on_basket):
        with pytest.raises(StudioError, match="empty"):
            act(page, None)
    baskets.add_pairs(page, None, [OTHER])
    with pytest.raises(StudioError, match="the basket contains no similar pairs"):
        baskets.train_on_basket(page, None)
    with pytest.raises(StudioError, match="no pair of two different texts"):
        baskets.add_pairs(page, None, baskets.chain_pairs(["cat", "cat"], "Map"))


@pytest.mark.parametrize(("labels", "kind"), [((True, False), "labelled_pairs"), ((True,), "positive_pairs")])
def test_fine_tune_reads_the_basket_as_what_it_is(page: Page, labels: tuple[bool, ...], kind: str) -> None:
    texts = list(dict.fromkeys(sentences(60)))
    made = [
        LabelledPair(a, b, labels[place % len(labels)], "Search") for place, (a, b) in enumerate(zip(texts[::2], texts[1::2], strict=False))
    ]
    baskets.add_pairs(page, None, made)
    lesson = baskets.train_on_basket(page, None)
    draft = open_draft(page.studio, lesson.path, None, name=lesson.name)
    assert draft.diagnosis is not None and draft.diagnosis.roles.kind == kind, draft.problem
    assert draft.name == "my pairs.csv" and len(draft.table) == len(made)


def test_pairs_are_added_toggled_edited_and_chained() -> None:
    basket = Basket().add(
        [ONE, OTHER, LabelledPair(" MOON  star", "Cat dog", False), LabelledPair("a", " A ", True), LabelledPair("", "b", True)]
    )
    assert [(pair.a, pair.together) for pair in basket.pairs] == [("MOON  star", False), ("red blue", False)]
    once = Basket().toggle(ONE)
    assert len(once) == 1 and len(once.toggle(ONE)) == 0
    assert once.toggle(LabelledPair(ONE.b, ONE.a, False)).pairs[0].together is False
    with pytest.raises(StudioError, match="the same"):
        once.toggle(LabelledPair("cat", "CAT", True))
    basket = Basket().add([ONE, OTHER])
    assert [pair.id for pair in basket.edit(OTHER.id, ONE.b, ONE.a).pairs] == [ONE.id]
    for a, b in (("", "x"), ("x", " X")):
        with pytest.raises(StudioError):
            basket.edit(ONE.id, a, b)
    found = baskets.chain_pairs(["a", "b", "a", "c"], "Map")
    assert [(pair.a, pair.b, pair.together, pair.source) for pair in found] == [("a", "b", True, "Map"), ("b", "c", True, "Map")]


def test_what_is_worth_labelling_comes_from_the_corpus_and_is_not_asked_twice(page: Page, corpus_file: Path) -> None:
    key = corpora.open_file(page, str(corpus_file))
    texts = set(page.corpora.get(key).corpus.texts)
    shown = baskets.suggest_pairs(page, key, None, "", None)
    found, value = shown.suggestions, shown.suggested
    assert found.line is not None and f"{found.line:.2f}" in value["note"] and 0 < len(found.pairs) <= 12
    assert all({a, b} <= texts and a != b for a, b, _ in found.pairs)
    for place, said in ((0, "together"), (1, "apart")):
        baskets.label_suggestion(page, found, None, Selection(said, place))
    assert [(pair.together, pair.source) for pair in page.baskets.of("local").pairs] == [(True, "Suggested"), (False, "Suggested")]
    again = baskets.suggest_pairs(page, key, None, "", None).suggestions
    asked = {frozenset((a, b)) for a, b, _ in found.pairs[:2]}
    assert not asked & {frozenset((a, b)) for a, b, _ in again.pairs}
    both = baskets.suggest_pairs(page, key, None, "all-MiniLM-L6-v2", None)
    assert both.suggestions.line is None and "all-MiniLM-L6-v2 disagree" in both.suggested["note"]
    before = page.baskets.of("local")
    for place, said in ((99, "apart"), ("0", "apart"), (True, "apart"), (0, "drop"), (None, None)):
        baskets.label_suggestion(page, found, None, Selection(said, place))
    assert page.baskets.of("local") is before
    for place in range(len(again.pairs)):
        baskets.label_suggestion(page, again, None, Selection("together" if place % 2 else "apart", place))
    assert page.studio.similarity.suggest_pairs(
        page.corpora.get(key).corpus, labelled=[(pair.a, pair.b, pair.together) for pair in page.baskets.of("local").pairs]
    ).pairs
