from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import sentences

from sbert_studio.errors import StudioError
from sbert_studio.ui import corpus_picker
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs import evaluate, search


def test_the_corpus_tells_its_rows_its_repeats_and_a_language_that_the_model_does_not_know(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "zh.txt"
    path.write_text("我的银行卡什么时候到\n\n今天天气很好\n今天天气很好\n", encoding="utf-8")
    key = corpus_picker.open_file(page, str(path))
    shown = corpus_picker.describe_corpus(page, key, "all-MiniLM-L6-v2").summary
    assert shown is not None
    assert shown["facts"][1:] == [["Rows read", "4"], ["Texts", "3"], ["Skipped", "1"]]
    notes = " ".join(shown["notes"])
    assert "(row 2)" in notes and "1 text repeats an earlier one" in notes and "look like Chinese" in notes
    assert not any("Chinese" in note for note in (corpus_picker.describe_corpus(page, key, "no such model").summary or {})["notes"])
    _, value, _ = search.find(page, key, "银行卡", 2, "semantic", "all-MiniLM-L6-v2")
    assert "look like Chinese" in value["note"]


def test_a_search_without_a_corpus_takes_the_sample(page: Page) -> None:
    key, value, _ = search.find(page, None, "refund", 3, "lexical", None)
    assert len(value["rows"]) == 3
    assert page.corpora.get(key).corpus.name == page.corpora.sample().corpus.name


def test_hits_carry_rows_of_the_spreadsheet_and_ids_of_the_corpus(page: Page, corpus_file: Path) -> None:
    key = corpus_picker.open_file(page, str(corpus_file))
    corpus = page.corpora.get(key).corpus
    _, value, _ = search.find(page, key, corpus.texts[7], 5, "semantic", None)
    assert value["rows"][0][0] == corpus.lines[value["ids"][0]]
    assert corpus.texts[value["ids"][0]] == corpus.texts[7] == value["rows"][0][1]
    more = search.more_like(page, key, value["ids"][0], 4, None)
    assert value["ids"][0] not in more["ids"]


@pytest.mark.parametrize("row", [-1, 40, "3", None, True, 2.5, [1]])
def test_a_row_that_is_none_is_refused(page: Page, corpus_file: Path, row: Any) -> None:
    key = corpus_picker.open_file(page, str(corpus_file))
    with pytest.raises(StudioError):
        search.more_like(page, key, row, 4, None)


def test_another_column_is_another_corpus_of_the_same_file(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("title,body\n" + "".join(f"moon star {n},cat dog mat park {n}\n" for n in range(5)), encoding="utf-8")
    key = corpus_picker.open_file(page, str(path))
    chosen = page.corpora.get(key)
    other = next(name for name in chosen.columns if name != chosen.column)
    assert page.corpora.get(corpus_picker.open_column(page, key, other)).column == other
    assert corpus_picker.open_column(page, key, chosen.column) == key


def test_models_are_judged_side_by_side(page: Page, model_folder: Path, tmp_path: Path) -> None:
    from tiny_studio import write_pairs

    pairs = write_pairs(tmp_path / "pairs.csv")
    scores, details = evaluate.judge(page.studio, [str(model_folder)], pairs, "auto", "pairs.csv")
    low, score, high = scores["rows"][0][2]
    assert low <= score <= high and score == scores["rows"][0][1]
    assert [row[1] for row in details["rows"]] == ["cosine", "dot", "euclidean", "manhattan"]
    for models in ([], [str(n) for n in range(7)]):
        with pytest.raises(StudioError):
            evaluate.judge(page.studio, models, pairs, "auto", "pairs.csv")


def test_a_difference_has_a_verdict_and_counts_are_counts(page: Page, model_folder: Path, static: str, tmp_path: Path) -> None:
    from tiny_studio import write_pairs

    models = [str(model_folder), static]
    scores, _ = evaluate.judge(page.studio, models, write_pairs(tmp_path / "pairs.csv", 200), "auto", "pairs.csv")
    assert scores["caption"].startswith("pairs.csv · ") and "200 rows read, 200 evaluated, 0 skipped" in scores["caption"]
    assert [one["name"] for one in scores["columns"]][-2:] == ["Difference", "Beyond chance?"]
    same, other = scores["rows"]
    assert same[-2:] == [None, ""] and other[-1].split(",")[0] in ("better", "worse", "within the noise")
    twins, _ = evaluate.judge(page.studio, [models[0], models[0]], tmp_path / "pairs.csv", "auto", "pairs.csv")
    assert len(twins["rows"]) == 1
    path = tmp_path / "classes.csv"
    path.write_text("text,topic\n" + "".join(f"{text},{'abc'[place % 3]}\n" for place, text in enumerate(sentences(60))), encoding="utf-8")
    for task in ("transfer", "clustering"):
        scores, details = evaluate.judge(page.studio, models[:1], path, task, "classes.csv")
        low, score, high = scores["rows"][0][2]
        assert low <= score <= high
        kinds = {one["name"].lower(): one["kind"] for one in details["columns"]}
        assert kinds.get("clusters") == (None if task == "transfer" else "count") and "classes" not in kinds
        assert kinds["accuracy" if task == "transfer" else "completeness"] == "number"


def test_a_verdict_needs_an_interval_beyond_zero() -> None:
    from sbert_studio.evaluation.report import Report

    def report(scores: Any) -> Report:
        return Report("sts", 9, {}, resampled=scores)

    draws = np.random.default_rng(0).normal(size=500)
    assert evaluate.verdict(report(draws), report(draws + 0.1)).startswith("better, +0.1000 to +0.1000")
    assert evaluate.verdict(report(draws), report(draws - 0.1)).startswith("worse")
    assert evaluate.verdict(report(draws), report(np.random.default_rng(1).normal(size=500))).startswith("within the noise")
    assert evaluate.verdict(report(None), report(draws)) == ""
    wide, narrow = (Report("geometry", 40, {"anisotropy": mean}, resampled=draws + mean) for mean in (0.1, 0.3))
    assert evaluate.verdict(wide, narrow).startswith("worse, +0.2000"), "less is better"


def test_a_rise_is_not_shown_as_a_gain_where_less_is_better(page: Page, static: str, tmp_path: Path) -> None:
    from tiny_studio import write_pairs

    models = [page.studio.settings.default_model, static]
    scores, _ = evaluate.judge(page.studio, models, write_pairs(tmp_path / "pairs.csv"), "geometry", "pairs.csv")
    kinds = {one["name"]: one["kind"] for one in scores["columns"]}
    assert kinds["Difference"] == "change"
    first, second = page.studio.judge.board.entries()
    assert first.score < second.score, "the best, which is the least, comes first"
