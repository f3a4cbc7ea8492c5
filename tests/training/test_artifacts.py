"""The largest errors on held-out rows: found as a plain loop finds them, kept with the run, and pooled over folds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from sbert_studio.data.examples import Examples
from sbert_studio.models.base import Encoder
from sbert_studio.models.similarity import unit
from sbert_studio.training.artifacts import MAX_MISTAKES, MISTAKES, find_mistakes, merge_mistakes, read_mistakes
from sbert_studio.training.trainer import train
from sbert_studio.training.trials import run_trials

from .tiny import (
    Told,
    labelled_pairs,
    labelled_texts,
    load,
    never,
    positive_pairs,
    scored_pairs,
    sentences,
    small_spec,
    tiny_cross,
    tiny_encoder,
)


def vectors(model: Any, texts: Any) -> np.ndarray:
    return unit(cast(Encoder, model).encode(list(texts)))


def test_a_text_is_a_mistake_where_its_nearest_is_of_another_category() -> None:
    model, held, known = tiny_encoder(), labelled_texts(30, seed=3), labelled_texts(40)
    found = find_mistakes(model, held, known)
    new, old = vectors(model, held.texts[0]), vectors(model, known.texts[0])
    expected = {}
    for place, text in enumerate(held.texts[0]):
        mine, other = -1.0, (-1.0, 0)
        for beside, their in enumerate(known.texts[0]):
            cosine = float(new[place] @ old[beside])
            if their == text:
                continue
            if known.targets[beside] == held.targets[place]:
                mine = max(mine, cosine)
            elif cosine > other[0]:
                other = (cosine, beside)
        if other[0] > mine:
            expected[int(held.lines[place])] = (other[0] - mine, known.texts[0][other[1]])
    assert 0 < len(found["worst"]) == min(MAX_MISTAKES, len(expected))
    for one in found["worst"]:
        assert one["by"] == pytest.approx(expected[one["line"]][0], abs=1e-5) and one["beside"] == expected[one["line"]][1]
        assert one["gold"] != one["said"]
    assert [one["by"] for one in found["worst"]] == sorted((one["by"] for one in found["worst"]), reverse=True)


def test_a_pair_is_a_mistake_where_it_ranks_elsewhere_than_its_score() -> None:
    model, held = tiny_encoder(), scored_pairs(30)
    found = find_mistakes(model, held)
    left, right = (vectors(model, column) for column in held.texts)
    cosines = (left * right).sum(axis=1)
    order = np.argsort(np.argsort(cosines, kind="stable"), kind="stable")
    for one in found["worst"]:
        place = int(np.flatnonzero(held.lines == one["line"])[0])
        assert one["gold"] == pytest.approx(float(held.targets[place]))
        assert one["said"] == pytest.approx(float(np.sort(held.targets)[order[place]])), "the score that stands at the model's rank"
    assert len(found["worst"]) == MAX_MISTAKES


def test_labels_in_order_are_judged_by_rank_and_others_not_at_all() -> None:
    model, held = tiny_encoder(), labelled_pairs(40)
    assert all(one["gold"] in held.labels and one["gold"] != one["said"] for one in find_mistakes(model, held)["worst"])
    assert find_mistakes(model, replace(held, ordered=False))["worst"] == []
    assert find_mistakes(tiny_cross(labels=3), held)["worst"] == [], "a model of classes ranks nothing"
    assert find_mistakes(tiny_cross(), scored_pairs(30))["worst"]


def test_a_triplet_and_a_partner_are_mistakes_where_another_is_nearer() -> None:
    model, texts = tiny_encoder(), sentences(90, seed=4)
    triplets = Examples("triplets", (tuple(texts[:30]), tuple(texts[30:60]), tuple(texts[60:])), None, np.arange(30))
    a, p, n = (vectors(model, column) for column in triplets.texts)
    wrong = {place for place in range(30) if a[place] @ n[place] > a[place] @ p[place]}
    found = find_mistakes(model, triplets)["worst"]
    assert found and {one["line"] for one in found} <= wrong and all(one["beside"] == triplets.texts[2][one["line"]] for one in found)
    partners = positive_pairs(30)
    left, right = (vectors(model, column) for column in partners.texts[:2])
    for one in find_mistakes(model, partners)["worst"]:
        place = int(np.flatnonzero(partners.lines == one["line"])[0])
        misled = partners.texts[1].index(one["beside"])
        assert left[place] @ right[misled] > left[place] @ right[place]


@pytest.mark.slow
def test_a_run_keeps_those_of_the_model_that_it_leaves(tmp_path: Path) -> None:
    encoder, dev = tiny_encoder(), scored_pairs(20, seed=7)
    outcome = train(small_spec(epochs=1), scored_pairs(24), Told(), never, encoder=encoder, folder=tmp_path, dev=dev)
    found = read_mistakes(tmp_path / MISTAKES)
    assert found is not None and found["rows"] == 20 and found["strength"] == outcome.after["strength"]
    assert found["worst"] == find_mistakes(encoder, dev)["worst"]


@pytest.mark.slow
def test_in_folds_they_are_those_of_models_that_had_not_seen_the_row(tmp_path: Path) -> None:
    spec, examples = small_spec(evaluation="folds", epochs=0.5), scored_pairs(40)
    outcome = run_trials(spec, examples, Told(), never, load=load, folder=tmp_path)
    found = read_mistakes(tmp_path / MISTAKES)
    assert found is not None and found["rows"] == len(examples) and found["strength"] == outcome.after["strength"]
    assert len({one["line"] for one in found["worst"]}) == MAX_MISTAKES and {one["line"] for one in found["worst"]} <= set(
        examples.lines.tolist()
    )
    assert not (tmp_path / "parts").exists()


def test_what_is_damaged_or_not_whole_is_not_told(tmp_path: Path) -> None:
    good = find_mistakes(tiny_encoder(), scored_pairs(30))
    assert merge_mistakes([good, None]) is None and merge_mistakes([]) is None
    both = merge_mistakes([good, good])
    assert both is not None and both["rows"] == 60 and len(both["worst"]) == MAX_MISTAKES
    for damage in ({"kind": 3}, {"worst": [{}]}, {"worst": [{**good["worst"][0], "texts": [1]}]}, {"rows": "x"}):
        (tmp_path / MISTAKES).write_text(json.dumps({**good, **damage}), encoding="utf-8")
        assert read_mistakes(tmp_path / MISTAKES) is None
    assert read_mistakes(tmp_path / "none.json") is None
