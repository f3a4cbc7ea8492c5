"""The sentences that compare evaluated models."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sbert_studio.evaluation.bootstrap import bootstrap_mean
from sbert_studio.ui.tabs.evaluate.conclusion import MainScore, conclusion_view, verdict

DRAWS = np.random.default_rng(0).normal(0.5, 0.01, 500)


def score(title: str, value: float, draws: Any = None, rate: float = 0.0, metric: str = "cosine_spearman") -> MainScore:
    return MainScore(title, "x", "sts", metric, value, (value - 0.1, value + 0.1), draws, rate)


def conclude(*scores: MainScore) -> str:
    return str(conclusion_view(scores)["text"])


def test_sentence_names_the_better_model_the_gain_and_whether_it_exceeds_chance() -> None:
    apart = conclusion_view([score("A", 0.5, DRAWS, 10), score("B", 0.6, DRAWS + 0.1, 1), score("C", 0.59, DRAWS + 0.09, 100)])
    assert apart["text"].startswith("B is better than C by 0.0100") and "more than chance" in apart["text"]
    assert apart["more"][0].startswith("B is better than A by 0.1000 (between +0.1000")
    assert apart["more"][1] == "C encodes 100 times as many sentences per second."
    assert set(apart["theirs"]) == {"A", "B", "C"}
    once = conclusion_view([score("A", 0.5, DRAWS, 130), score("B", 0.6, DRAWS + 0.1, 100)])
    assert not any("per second" in sentence for sentence in once["more"]), "within the error of one timing"
    near = conclusion_view([score("A", 0.50, DRAWS), score("B", 0.505, np.random.default_rng(1).normal(0.505, 0.01, 500))])
    assert near["text"].startswith("B is ahead of A by 0.0050") and "could be chance" in near["text"] and near["more"] == []
    assert conclude(score("A", 0.5), score("B", 0.5)) == "A and B have the same score."
    assert "too few" in conclude(score("A", 0.5), score("B", 0.6))
    assert "another metric" in conclude(score("A", 0.5), score("B", 0.6, metric="accuracy"))
    lower = [replace(one, task="geometry") for one in (score("A", 0.5, DRAWS), score("B", 0.6, DRAWS + 0.1))]
    assert conclude(*lower).startswith("A is better than B by 0.1000 (between +0.1000")
    assert all(part in conclude(score("A", 0.5)) for part in ("A: Cosine Spearman 0.5000", "95% interval 0.4000 to 0.6000"))


def test_shares_are_counted_in_rows_and_warnings_come_first() -> None:
    draws = DRAWS + 0.3
    scores = [score("A", 0.8, draws, metric="accuracy"), score("B", 0.85, draws + 0.05, metric="accuracy")]
    view = conclusion_view(scores, "Counts.", ["But 3 rows."])
    assert view["text"].startswith("B is better than A: of 100 rows") and view["more"] == ["But 3 rows.", "Counts."]
    assert all(part in view["text"] for part in ("85 right instead of 80", "(between +5 and +5)", "more than chance"))
    wide = draws + np.linspace(-1, 1, 500)
    near = conclude(score("A", 0.8004, draws, metric="cosine_accuracy"), score("B", 0.8021, wide, metric="cosine_accuracy"))
    assert "of 1,000 rows it gets 802 right instead of 800" in near and "could be chance" in near


@pytest.mark.parametrize(("only_a", "only_b"), [(10, 2), (12, 4), (17, 7), (18, 7), (6, 4)])
def test_interval_has_enough_digits_to_show_on_which_side_of_zero_it_ends(only_a: int, only_b: int) -> None:
    right = np.ones((2, 200), dtype=bool)
    right[0, :only_b] = False
    right[1, only_b : only_a + only_b] = False
    right[:, 170:] = False
    text = conclude(
        *(score(name, float(rows.mean()), bootstrap_mean(rows), metric="accuracy") for name, rows in zip("AB", right, strict=True))
    )
    low, high = (float(end.replace("−", "-")) for end in re.findall(r"[+−][\d.]+", text))
    assert ("more than chance" in text) is (low > 0) and high > 0, text


def test_verdict_needs_an_interval_that_excludes_zero() -> None:
    def drawn(draws: Any, task: str = "sts") -> MainScore:
        return replace(score("A", 0.5, draws), task=task)

    draws = np.random.default_rng(0).normal(size=500)
    assert verdict(drawn(draws), drawn(draws + 0.1)).startswith("better, +0.1000 to +0.1000")
    assert verdict(drawn(draws), drawn(draws - 0.1)).startswith("worse")
    assert verdict(drawn(draws), drawn(np.random.default_rng(1).normal(size=500))).startswith("not significant")
    assert verdict(drawn(None), drawn(draws)) == ""
    wide, narrow = (drawn(draws + mean, "geometry") for mean in (0.1, 0.3))
    assert verdict(wide, narrow).startswith("worse, +0.2000"), "lower is better"
