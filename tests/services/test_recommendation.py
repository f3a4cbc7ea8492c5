"""Recommendation of a model to start from: which one is chosen, what is compared, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import sentences, studio_at, write_model, write_pairs

from sbert_studio.cli.main import run
from sbert_studio.data.retrieval import build_set
from sbert_studio.models.external import EXTERNAL_ENCODERS
from sbert_studio.services import Studio
from sbert_studio.services.recommendation import RatedModel, choose_model, explain_choice, starting_models


@pytest.fixture
def studio(tmp_path: Path, static: str) -> Iterator[Studio]:
    with studio_at(tmp_path / "home", static) as studio:
        yield studio


def rated(name: str, score: float, seconds: float, *, spread: float = 0.01, inflated: bool = False) -> RatedModel:
    drawn = score + spread * np.random.default_rng(sum(name.encode())).normal(size=500)
    times = 0.9 * seconds, 1.1 * seconds
    return RatedModel(name, score, (score - 2 * spread, score + 2 * spread), seconds, times, inflated, score, drawn)


def test_the_fastest_of_the_models_that_are_no_worse_beyond_chance_is_chosen() -> None:
    best, fast, bad = rated("large", 0.80, 9.0), rated("small", 0.79, 2.0), rated("tiny one", 0.5, 0.1)
    assert choose_model([best, fast, bad]) is fast
    words = explain_choice([best, fast, bad], "ndcg@10", {"small": "My model"})
    assert "Start from My model" in words and "4.5 times as fast" in words and "0.79" in words and "large" in words
    assert choose_model([best, replace(fast, seconds=8.0), bad]) is best, "hardly faster"
    assert choose_model([best, replace(fast, spread=(1.0, 8.5)), bad]) is best, "the measurements overlap: the machine was busy"
    assert "not beyond chance" in explain_choice([best, replace(fast, seconds=8.0)], "ndcg@10")
    assert choose_model([best, bad]) is best and "better beyond chance" in explain_choice([best, bad], "ndcg@10")
    assert choose_model([replace(best, inflated=True), fast]) is fast, "its score is of rows that it was trained on"
    assert "no other model" in explain_choice([best], "ndcg@10")
    for drawn in (np.full(500, np.nan), None):
        few = [replace(one, interval=None, resampled=drawn) for one in (best, bad)]
        assert choose_model(few).name == "large" and "too few rows" in explain_choice(few, "ndcg@10")


def test_models_at_hand_are_compared_and_others_only_listed(studio: Studio, static: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = starting_models()[1].name
    monkeypatch.setattr(studio.catalog._hub, "is_downloaded", lambda name, identity: name == here)
    assert here in studio.recommendation.models_at_hand() and set(studio.catalog.bundled()) <= set(studio.recommendation.models_at_hand())
    assert not set(EXTERNAL_ENCODERS) & set(studio.recommendation.models_at_hand())
    english = [one.name for one in studio.recommendation.models_to_download(["The cat is on the mat and the dog is not."] * 5)]
    chinese = [one.name for one in studio.recommendation.models_to_download(["猫坐在垫子上，狗不在那里。"] * 5)]
    assert "BAAI/bge-small-en-v1.5" in english and here not in english and "BAAI/bge-small-zh-v1.5" not in english
    assert "BAAI/bge-small-zh-v1.5" in chinese and "intfloat/multilingual-e5-base" in chinese and "BAAI/bge-small-en-v1.5" not in chinese
    assert all(one.megabytes > 10 and one.license and one.languages for one in starting_models())


def test_any_task_recommends_a_model_with_its_time(
    studio: Studio, static: str, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studio.recommendation, "models_at_hand", lambda owner=None: [static, str(tiny_model)])
    pairs = studio.recommendation.recommend(write_pairs(tmp_path / "pairs.csv", 80))
    assert pairs.metric == "cosine_spearman" and {one.name for one in pairs.models} == {static, str(tiny_model)}
    assert pairs.recommended in pairs.why and all(0 < one.spread[0] <= one.seconds <= one.spread[1] for one in pairs.models)
    assert [one.score for one in pairs.models] == sorted((one.score for one in pairs.models), reverse=True)
    texts = list(dict.fromkeys(sentences(60)))
    words = {text: " ".join(reversed(text.split())) for text in texts}
    data = build_set("reversed", words, dict(zip(texts, texts, strict=True)), [(text, text, 1.0) for text in texts])
    found = studio.recommendation.recommend(data)
    answer = json.loads(json.dumps(found.to_json()))
    assert answer["metric"] == "ndcg@10" and answer["evaluation"]["baselines"][0]["name"] == "BM25"
    assert {one["name"] for one in answer["models"]} == {static, str(tiny_model)} and answer["models"][0]["interval"]


def test_the_command_recommends(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = str(write_model(tmp_path / "model"))
    monkeypatch.setattr("sbert_studio.services.recommendation.RecommendationService.models_at_hand", lambda self, owner=None: [])
    pairs = write_pairs(tmp_path / "pairs.csv", 80)
    assert run(["evaluate", model, "--recommend", "--data", str(pairs), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["recommended"] == model and answer["not_downloaded"]
    assert run(["evaluate", model, "--recommend", str(pairs)]) == 0
    assert "MB" in (words := capsys.readouterr().out) and words.startswith(f"Start from {model}")
    assert run(["evaluate", "--recommend", "--json"]) == 2
    assert run(["evaluate", "--recommend", str(pairs), "--suite", "stsb", "--json"]) == 2
