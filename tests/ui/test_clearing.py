"""The workbench of near-duplicates, without a browser."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import sentences

from sbert_studio.errors import StudioError
from sbert_studio.explore.duplicates import build_duplicate_tree
from sbert_studio.ui import corpus_picker
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.clearing import panel
from sbert_studio.ui.panels.clearing.choices import Choices, alike_value

LINES = ["text,topic", "cat dog moon,a", "cat dog moon,b", "red blue sky,c", "cat dog moon sky,a", "red blue sky,c"]

OTHERS = [text for text in dict.fromkeys(sentences(40)) if not text.startswith(("cat dog moon", "red blue sky"))][:12]


@pytest.fixture
def found(page: Page, tmp_path: Path) -> tuple[str, str, Choices]:
    """The corpus' key, that of its duplicates, and the choices at the lowest threshold."""
    path = tmp_path / "topics.csv"
    path.write_text("\n".join([*LINES, *(f"{text},t{place % 3}" for place, text in enumerate(OTHERS))]) + "\n", encoding="utf-8")
    key, made, choices, value, _ = panel.look(page, corpus_picker.open_file(page, str(path)), None, "first")
    assert value["steps"][0][0] == 0.8 and value["steps"][-1][0] == 1.0
    return key, made, choices


def groups(page: Page, made: str, choices: Choices) -> dict[int, Any]:
    return {group["members"][0]["line"]: group for group in alike_value(page.duplicates.get(made), choices)["groups"]}


def test_copies_are_groups_whose_different_categories_stand_first(page: Page, found: tuple[str, str, Choices]) -> None:
    _, made, choices = found
    choices, value = panel.change(page, made, choices, threshold=1.0)
    assert choices.column == "topic" and page.duplicates.get(made).corpus.category_columns() == ["topic"]
    assert [[one["line"] for one in group["members"]] for group in value["groups"]] == [[2, 3], [4, 6]]
    assert [group["contradicts"] for group in value["groups"]] == [True, False]
    assert (value["goes"], value["stays"], value["differing"]) == (2, 15, 1)
    assert value["steps"][-1] == [1.0, 2] and value["found"] == 2, "what the slider tells is what is drawn"
    assert value["closest"] == 1.0
    assert "topics.csv" in value["made"]["words"], "what it was made with is told after a change, too"
    _, plain = panel.change(page, made, choices, column=None)
    assert plain["differing"] == 0 and plain["groups"][0]["members"][0]["value"] == ""


def test_a_click_chooses_the_one_that_stays_or_lets_all_stay(page: Page, found: tuple[str, str, Choices]) -> None:
    _, made, choices = found
    choices, _ = panel.change(page, made, choices, threshold=1.0)
    choices, value = panel.click(page, made, choices, "keep", 1)
    assert [(one["line"], one["kept"]) for one in value["groups"][0]["members"]] == [(3, True), (2, False)]
    again, value = panel.click(page, made, choices, "apart", 1)
    assert value["groups"][0]["all"] and value["goes"] == 1
    _, value = panel.click(page, made, again, "apart", 0)
    assert value["goes"] == 2 and value["groups"][0]["members"][0]["line"] == 3, "the choice from before"
    _, value = panel.click(page, made, again, "keep", 0)
    assert not value["groups"][0]["all"] and value["groups"][0]["members"][0]["line"] == 2


@pytest.mark.parametrize(
    ("kind", "index"), [("keep", 999), ("keep", "1"), ("keep", None), ("apart", True), ("threshold", 0.2), ("threshold", "x"), (None, [])]
)
def test_what_the_browser_makes_up_changes_nothing(page: Page, found: tuple[str, str, Choices], kind: Any, index: Any) -> None:
    _, made, choices = found
    assert panel.click(page, made, choices, kind, index)[0] == choices


def test_the_longest_stays_where_that_is_asked(page: Page, found: tuple[str, str, Choices]) -> None:
    _, made, choices = found
    lowest, _ = panel.change(page, made, choices, threshold=0.8, keep="longest")
    texts = page.duplicates.get(made).corpus.texts
    for group in lowest.groups(page.duplicates.get(made)):
        assert len(texts[group.kept or 0]) == max(len(texts[row]) for row in group.rows)


def test_both_files_together_are_the_whole_and_hold_no_formula(page: Page, found: tuple[str, str, Choices]) -> None:
    _, made, choices = found
    choices, _ = panel.change(page, made, choices, threshold=1.0)
    clean, gone = (panel.save(page, made, choices, gone=which) for which in (False, True))
    kept, removed = (list(csv.DictReader(path.open(encoding="utf-8-sig", newline=""))) for path in (clean, gone))
    assert [clean.name, gone.name] == ["topics clean.csv", "topics removed.csv"]
    assert len(kept) == 15 and kept[0] == {"text": "cat dog moon", "topic": "a"}
    assert [(one["row"], one["kept_row"], one["topic"], float(one["cosine"])) for one in removed] == [
        ("3", "2", "b", 1),
        ("6", "4", "c", 1),
    ]


def test_rows_without_a_text_stand_with_what_was_removed_and_columns_keep_their_order_and_names(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    rows = [f"{place},n{place},{text}" for place, text in enumerate([*OTHERS, OTHERS[0], ""])]
    path.write_text("\n".join(["row_,row,text", *rows]) + "\n", encoding="utf-8")
    _, made, choices, _, _ = panel.look(page, corpus_picker.open_file(page, str(path)), None, "first")
    choices, _ = panel.change(page, made, choices, threshold=1.0)
    clean, gone = (panel.save(page, made, choices, gone=which) for which in (False, True))
    kept, removed = (list(csv.DictReader(one.open(encoding="utf-8-sig", newline=""))) for one in (clean, gone))
    assert list(kept[0]) == ["row_", "row", "text"] and len(kept) + len(removed) == len(rows)
    copy, silent = removed
    assert (copy["row_"], copy["row__"]) == (str(len(OTHERS)), f"n{len(OTHERS)}"), "both columns, whatever they are called"
    assert (silent["row"], silent["why"], silent["cosine"]) == (str(len(rows) + 1), "no text", "")


def test_the_page_goes_on_with_what_stays_and_the_account_says_what_went(page: Page, found: tuple[str, str, Choices]) -> None:
    key, made, choices = found
    choices, _ = panel.change(page, made, choices, threshold=1.0)
    corpus = page.corpora.get(panel.take(page, key, made, choices)).corpus
    assert len(corpus) == 15 and corpus.account.skipped == 2
    assert corpus.account.reasons[-1].rows == (3, 6)
    with pytest.raises(StudioError, match="another file"):
        panel.take(page, corpus_picker.open_sample(page, "support_requests"), made, choices)


def test_scores_are_those_with_the_text_that_stays(page: Page, found: tuple[str, str, Choices]) -> None:
    _, made, choices = found
    duplicates = page.duplicates.get(made)
    for group in panel.change(page, made, choices, threshold=0.8)[0].groups(duplicates):
        rows = duplicates.vectors[list(group.rows)].astype(np.float64)
        kept = duplicates.vectors[group.kept].astype(np.float64)
        np.testing.assert_allclose(group.scores, rows @ kept / np.linalg.norm(rows, axis=1) / np.linalg.norm(kept), atol=1e-6)


def test_no_text_goes_that_is_less_like_the_one_that_stays_than_was_asked(page: Page, found: tuple[str, str, Choices]) -> None:
    _, made, choices = found
    duplicates, steps = page.duplicates.get(made), {}
    for keep in ("first", "longest"):
        for threshold in (0.8, 0.9, 0.97):
            now, value = panel.change(page, made, choices, threshold=threshold, keep=keep)
            assert all(score >= threshold - 1e-9 for group in now.groups(duplicates) for score in group.scores)
            rows = [row for group in now.groups(duplicates) for row in group.rows]
            assert len(rows) == len(set(rows)), "a text is in one group"
            steps = dict(value["steps"])
            assert value["goes"] <= steps[threshold], "no more go than the slider says can"


def test_what_is_kept_together_stays_together_while_another_is_chosen(page: Page, found: tuple[str, str, Choices]) -> None:
    duplicates = page.duplicates.get(found[1])
    angles = np.arange(len(duplicates.corpus)) * np.arccos(0.97)
    chain = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    texts = tuple(f"step {place}" for place in range(len(chain)))
    of = replace(duplicates.corpus, texts=texts, fields={})
    chained = replace(duplicates, corpus=of, vectors=chain, linkage=build_duplicate_tree(chain))
    together = chained.groups(0.95)[0].rows
    assert together == (0, 1) and len(chained.linkage.groups(0.95)) == 1, "one chain, many groups"
    groups = {group.rows: group.kept for group in chained.groups(0.95, apart=[together], chosen=[4])}
    assert groups[0, 1] is None and groups[3, 4, 5] == 4 and (2, 3) not in groups


def test_what_a_person_keeps_stays_at_every_threshold(page: Page, found: tuple[str, str, Choices]) -> None:
    _, made, lowest = found
    lowest, _ = panel.change(page, made, lowest, threshold=0.8)
    duplicates = page.duplicates.get(made)
    group = next(one for one in lowest.groups(duplicates) if 0 in one.rows)
    assert {0, 1} < set(group.rows), "larger here than among copies"
    said, _ = panel.click(page, made, lowest, "apart", 0)
    highest, _ = panel.change(page, made, said, threshold=1.0)
    smaller = next(one for one in highest.groups(duplicates) if 0 in one.rows)
    assert set(smaller.rows) < set(group.rows) and smaller.kept is None
    for threshold in (0.8, 0.85, 0.9, 0.95, 0.975, 1.0):
        now, _ = panel.change(page, made, highest, threshold=threshold)
        assert not {row for one in now.groups(duplicates) for row in one.gone} & set(group.rows)
    # Of the smaller group one goes after all; the rest of the larger one stays as it was said.
    again = lowest.restored(json.loads(json.dumps(highest.saved(duplicates))), duplicates, "1.000")
    assert again == highest, "and after a reload"
    assert hash(again) == hash(highest), "Gradio tells by it whether they changed"
    for nonsense in (None, [], {"corpus": "another", "apart": [[0, 1]]}, {**highest.saved(duplicates), "apart": [[0, 10**9], 3, "x"]}):
        assert lowest.restored(nonsense, duplicates, "x") == lowest
    undone, _ = panel.click(page, made, highest, "apart", 1)
    assert next(one for one in undone.groups(duplicates) if 0 in one.rows).gone == (1,)
    chosen, _ = panel.click(page, made, highest, "keep", 1)
    assert next(one for one in chosen.groups(duplicates) if 0 in one.rows).gone == (0,)
