"""Near-duplicates in the Search tab, without a browser."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import load_workbook
from tiny_studio import sentences

from sbert_studio.errors import StudioError
from sbert_studio.services.results import Duplicates
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.routing import Location
from sbert_studio.ui.tabs.search import duplicates as handlers
from sbert_studio.ui.tabs.search.duplicates import Decisions, DuplicatesView, GroupsView, groups_value
from sbert_studio.ui.views import UNCHANGED

ROWS = ["text,topic", "cat dog moon,a", "cat dog moon,b", "red blue sky,c", "cat dog moon sky,a", "red blue sky,c"]
OTHERS = [text for text in dict.fromkeys(sentences(40)) if not text.startswith(("cat dog moon", "red blue sky"))][:12]


def find(page: Page, path: Path, text: str) -> DuplicatesView:
    path.write_text(text, encoding="utf-8")
    return handlers.find_duplicates(page, corpora.open_file(page, str(path)), None, "first")


@pytest.fixture
def view(page: Page, tmp_path: Path) -> DuplicatesView:
    return find(page, tmp_path / "topics.csv", "\n".join([*ROWS, *(f"{text},t{n % 3}" for n, text in enumerate(OTHERS))]) + "\n")


@pytest.fixture
def found(page: Page, view: DuplicatesView) -> Duplicates:
    return page.duplicates.get(view.result_key)


@pytest.fixture
def copies(view: DuplicatesView) -> Decisions:
    """Decisions at the highest threshold."""
    return replace(view.view.decisions, threshold=1.0)


def click(page: Page, view: DuplicatesView, decisions: Any, action: Any, item: Any) -> GroupsView:
    return handlers.click_group(page, view.result_key, decisions, None, Selection(action, item))


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(encoding="utf-8-sig", newline="")))


def written(page: Page, view: DuplicatesView, decisions: Decisions) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The remaining and the removed texts."""
    clean, removed = (handlers.write_texts(page, view.result_key, decisions, removed=removed) for removed in (False, True))
    assert [clean.name.endswith(" clean.csv"), removed.name.endswith(" removed.csv")] == [True, True]
    for removes, rows in ((False, read_csv(clean)), (True, read_csv(removed))):
        names, *cells = (
            load_workbook(handlers.write_texts(page, view.result_key, decisions, removed=removes, suffix=".xlsx")).worksheets[0].values
        )
        assert not rows or list(names) == list(rows[0])
        assert [row[names.index("text")] for row in cells] == [row["text"] or None for row in rows]
    return read_csv(clean), read_csv(removed)


def test_groups_with_different_categories_come_first(page: Page, view: DuplicatesView, found: Duplicates, copies: Decisions) -> None:
    value = groups_value(found, copies)
    assert value["steps"][0][0] == 0.8 and value["steps"][-1] == [1.0, 2]
    assert copies.column == "topic" and view.category["choices"] == [("No category", ""), ("topic", "topic")]
    assert [[one["line"] for one in group["members"]] for group in value["groups"]] == [[2, 3], [4, 6]]
    assert [group["contradicts"] for group in value["groups"]] == [True, False]
    assert (value["goes"], value["stays"], value["differing"], value["found"], value["closest"]) == (2, 15, 1, 2, 1.0)
    assert "topics.csv" in value["made"]["words"]
    plain = handlers.change_rules(page, view.result_key, copies, "first", "").groups
    assert plain["differing"] == 0 and plain["groups"][0]["members"][0]["value"] == ""
    assert plain["made"] == value["made"]


@pytest.mark.parametrize(
    ("action", "item"),
    [("keep", 999), ("keep", "1"), ("keep", None), ("apart", True), ("threshold", 0.2), ("threshold", "x"), (None, []), ("say x", 1)],
)
def test_invalid_clicks_change_nothing(page: Page, view: DuplicatesView, copies: Decisions, action: Any, item: Any) -> None:
    assert click(page, view, copies, action, item).decisions == copies


def test_clicks_and_rules_choose_which_texts_to_keep(page: Page, view: DuplicatesView, copies: Decisions, found: Duplicates) -> None:
    kept = click(page, view, copies, "keep", 1)
    assert [(one["line"], one["kept"]) for one in kept.groups["groups"][0]["members"]] == [(3, True), (2, False)]
    both = click(page, view, kept.decisions, "apart", 1)
    assert both.groups["groups"][0]["all"] and both.groups["goes"] == 1
    value = click(page, view, both.decisions, "apart", 0).groups
    assert value["goes"] == 2 and value["groups"][0]["members"][0]["line"] == 3, "the earlier choice"
    value = click(page, view, both.decisions, "keep", 0).groups
    assert not value["groups"][0]["all"] and value["groups"][0]["members"][0]["line"] == 2
    changed = handlers.change_rules(page, view.result_key, replace(copies, threshold=0.8), "longest", "").decisions
    for group in changed.groups(found):
        assert len(found.corpus.texts[group.kept]) == max(len(found.corpus.texts[row]) for row in group.rows)


def test_thumb_puts_a_text_and_the_kept_one_into_the_basket(page: Page, view: DuplicatesView, copies: Decisions) -> None:
    lowest = replace(copies, threshold=0.8)
    assert click(page, view, lowest, "say apart", 3).groups is UNCHANGED
    (pair,) = page.baskets.of("local").pairs
    assert (pair.a, pair.b, pair.together, pair.source) == ("cat dog moon", "cat dog moon sky", False, "Near-duplicates")
    for row in (999, "0", True, None):
        with pytest.raises(StudioError, match="not in a group"):
            click(page, view, lowest, "say apart", row)


def test_files_have_every_text_and_keep_column_names(page: Page, view: DuplicatesView, copies: Decisions, tmp_path: Path) -> None:
    kept, removed = written(page, view, copies)
    assert len(kept) == 15 and kept[0] == {"text": "cat dog moon", "topic": "a"}
    expected = [("3", "2", "b", 1), ("6", "4", "c", 1)]
    assert [(one["row"], one["kept_row"], one["topic"], float(one["cosine"])) for one in removed] == expected
    rows = [f"{n},n{n},{text}" for n, text in enumerate([*OTHERS, OTHERS[0], ""])]
    view = find(page, tmp_path / "mine.csv", "\n".join(["row_,row,text", *rows]) + "\n")
    kept, removed = written(page, view, Decisions(threshold=1.0))
    assert list(kept[0]) == ["row_", "row", "text"] and len(kept) + len(removed) == len(rows)
    copy, blank = removed
    assert (copy["row_"], copy["row__"]) == (str(len(OTHERS)), f"n{len(OTHERS)}"), "columns of the same names as ours"
    assert (blank["row"], blank["why"], blank["cosine"]) == (str(len(rows) + 1), "no text", "")
    view = find(page, tmp_path / "messages.csv", "\n".join(["message", *OTHERS, OTHERS[0]]) + "\n")
    (copy,) = read_csv(handlers.write_texts(page, view.result_key, Decisions(threshold=1.0), removed=True))
    assert copy["message"] == OTHERS[0] and "text" not in copy


def test_remaining_texts_become_the_corpus_and_another_corpus_clears_the_groups(
    page: Page, view: DuplicatesView, copies: Decisions, toasts: list[str]
) -> None:
    corpus = page.corpora.get(handlers.use_remaining_texts(page, view.corpus, view.result_key, copies)).corpus
    assert len(corpus) == 15 and corpus.account.skipped == 2 and corpus.account.reasons[-1].rows == (3, 6)
    with pytest.raises(StudioError, match="another corpus"):
        handlers.use_remaining_texts(page, page.corpora.open(None, "sample:support_requests"), view.result_key, copies)
    assert handlers.clear_groups(page, view.result_key, view.corpus) is None and handlers.clear_groups(page, None, None) is None
    cleared = handlers.clear_groups(page, view.result_key, page.corpora.open(None, "sample:support_requests"))
    assert cleared is not None and cleared[3] is None and not cleared[1]["visible"]
    before = handlers.change_rules(page, None, None, "longest", None)
    assert isinstance(before.decisions, Decisions) and before.decisions.keep == "longest" and "empty" in before.groups


@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize("threshold", [0.8, 0.9, 0.97])
def test_removed_texts_are_similar_to_the_kept_one(found: Duplicates, copies: Decisions, keep: Any, threshold: float) -> None:
    decisions = replace(copies, threshold=threshold, keep=keep)
    groups, value = decisions.groups(found), groups_value(found, decisions)
    for group in groups:
        rows, kept = found.vectors[list(group.rows)].astype(np.float64), found.vectors[group.kept].astype(np.float64)
        np.testing.assert_allclose(group.scores, rows @ kept / np.linalg.norm(rows, axis=1) / np.linalg.norm(kept), atol=1e-6)
        assert min(group.scores) >= threshold - 1e-9
    rows = [row for group in groups for row in group.rows]
    assert len(rows) == len(set(rows)), "each text is in one group"
    assert value["goes"] <= dict(value["steps"])[threshold], "the slider shows an upper bound"


def test_decisions_hold_at_every_threshold_and_after_reload(page: Page, view: DuplicatesView, found: Duplicates, copies: Decisions) -> None:
    lowest = replace(copies, threshold=0.8)

    def group_of(decisions: Decisions) -> Any:
        return next(group for group in decisions.groups(found) if 0 in group.rows)

    large = group_of(lowest)
    assert {0, 1} < set(large.rows), "larger than the group of copies"
    highest = lowest.update("apart", 0, found).update("threshold", 1.0, found)
    assert set(group_of(highest).rows) < set(large.rows) and group_of(highest).kept is None
    for threshold in (0.8, 0.85, 0.9, 0.95, 0.975, 1.0):
        decisions = replace(highest, threshold=threshold)
        assert not {row for group in decisions.groups(found) for row in group.removed} & set(large.rows)
    # One text of the smaller group is removed after all; the rest of the larger one stays.
    stored = json.loads(json.dumps(highest.to_storage(found)))
    assert lowest.restore(stored, found, "1.000") == highest
    assert hash(lowest.restore(stored, found, "1.000")) == hash(highest), "Gradio compares states by hash"
    for invalid in (None, [], {"corpus": "another", "apart": [[0, 1]]}, {**stored, "apart": [[0, 10**9], 3, "x"]}):
        assert lowest.restore(invalid, found, "x") == lowest
    assert group_of(highest.update("apart", 1, found)).removed == (1,)
    assert group_of(highest.update("keep", 1, found)).removed == (0,)
    location = Location(view=handlers.SUBTAB, alike="1.000")
    assert handlers.open_linked_duplicates(location) is location
    for other in (None, Location(view=handlers.SUBTAB), Location(alike="1.000")):
        assert handlers.open_linked_duplicates(other) is UNCHANGED
    reloaded = handlers.find_linked_duplicates(page, location, stored, view.corpus, None, "longest")
    assert reloaded is not None and reloaded.view.decisions == highest and reloaded.keep == "first"
    assert handlers.find_linked_duplicates(page, None, stored, view.corpus, None, "first") is None


def test_sub_tab_opens_with_the_groups_of_a_small_corpus(page: Page, view: DuplicatesView, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = click(page, view, view.view.decisions, "keep", 3)
    opened = handlers.find_first_duplicates(page, kept.saved_duplicates, view.corpus, None, "first")
    assert opened is not None and opened.corpus is UNCHANGED and opened.view.groups["groups"]
    assert opened.view.decisions == kept.decisions and opened.view.saved_duplicates == kept.saved_duplicates
    monkeypatch.setattr(handlers, "DEFAULT_THRESHOLD", 1.1)  # which no pair reaches
    lower = handlers.find_first_duplicates(page, None, view.corpus, None, "first")
    assert lower is not None and lower.view.decisions.threshold == 1.0 and lower.view.groups["groups"]
    monkeypatch.setattr(handlers, "MAX_FIRST_TEXTS", 3)
    assert handlers.find_first_duplicates(page, kept.saved_duplicates, view.corpus, None, "first") is None
