"""The retrieval probe of a run: measured before and after, in the alarm, and never worse in the kept blend."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_studio import quick, sentences, studio_at, write_pairs
from torch import nn

from sbert_studio.data.retrieval import RetrievalSet, build_set
from sbert_studio.evaluation.ranking import RetrievalProbe
from sbert_studio.evaluation.report import describe_kept_model, describe_run
from sbert_studio.runs.files import RunFiles
from sbert_studio.services import TrainRequest
from sbert_studio.training import alarms
from sbert_studio.training.blend import WeightBlend, best_mark, choose_blend
from sbert_studio.training.checkpoints import TrainingState
from sbert_studio.training.evaluator import Candidates
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import Assignment


def questions() -> RetrievalSet:
    texts = list(dict.fromkeys(sentences(40, seed=5)))
    words = {f"q{row}": " ".join(reversed(text.split())) + " moon" for row, text in enumerate(texts)}
    documents = {f"d{row}": text for row, text in enumerate(texts)}
    return build_set("reversed", words, documents, [(f"q{row}", f"d{row}", 1.0) for row in range(len(texts))])


def test_a_set_is_stored_and_sampled_with_its_relevant_documents() -> None:
    data = questions()
    stored = RetrievalSet.from_json(json.loads(json.dumps(data.to_json())))
    assert (stored.digest, stored.name, stored.document_ids) == (data.digest, data.name, data.document_ids)
    small = data.sample(5, 12)
    assert (len(small), len(small.documents)) == (5, 12) and data.sample(1_000, 1_000).digest == data.digest
    for query, grades in zip(small.queries, small.grades, strict=True):
        (row,) = grades
        assert small.documents[row] == data.documents[data.queries.index(query)]


@pytest.mark.parametrize("evaluation", ["split", "folds"])
def test_a_run_reports_retrieval_before_and_after(evaluation: str, tiny_model: Path, tmp_path: Path) -> None:
    data, pairs = questions(), write_pairs(tmp_path / "pairs.csv", 60)
    judged = tmp_path / "judged.csv"
    rows = [(query, data.documents[next(iter(grades))]) for query, grades in zip(data.queries, data.grades, strict=True)]
    rows.append((sentences(1)[0], rows[0][1]))  # a training text
    judged.write_text("query,document,grade\n" + "".join(f"{query},{document},1\n" for query, document in rows))
    folds: dict[str, Any] = {"evaluation": evaluation, "folds": 0}
    with studio_at(tmp_path / "home", tiny_model) as studio:
        run = studio.fine_tune.train(TrainRequest(pairs, overrides=quick(**folds), retrieval=judged))
        files = RunFiles(studio.workspace.run(run.id))
        notices = [event.get("message", "") for _, event in studio.store.events(run.id) if event.get("type") == "notice"]
        card = (studio.workspace.run(run.id) / "model" / "README.md").read_text()
    assert files.retrieval() is not None
    then, now = (side["general"]["retrieval"] for side in (run.before, run.after))
    assert (then["metric"], then["rows"]) == ("ndcg@10", len(data)) and 0 < then["score"] <= 1
    assert len(now["change_interval"]) == 2 and now["change_interval"][1] >= 0, "a model that retrieves worse is not kept"
    assert any("1 query of the retrieval set" in notice for notice in notices)
    assert any(sentence.startswith("retrieval: nDCG@10") for sentence in describe_run(run.before, run.after))
    assert "retrieval probe" in card
    assert all("retrieval" in mark for mark in run.after["strengths"] if mark["strength"])


@pytest.mark.parametrize(("blends", "folds"), [(True, 0), (False, 0), (True, 3)])
def test_without_held_out_rows_no_model_is_kept_that_retrieves_worse(blends: bool, folds: int, tiny_model: Path, tmp_path: Path) -> None:
    data, judged, texts = questions(), tmp_path / "judged.csv", tmp_path / "texts.csv"
    rows = [(query, data.documents[next(iter(grades))]) for query, grades in zip(data.queries, data.grades, strict=True)]
    judged.write_text("query,document,grade\n" + "".join(f"{query},{document},1\n" for query, document in rows))
    texts.write_text("text\n" + "\n".join(sentences(64)))
    settings = quick(loss="simcse", learning_rate=0.5, epochs=2, blend=blends, folds=folds)
    with studio_at(tmp_path / "home", tiny_model) as studio:
        run = studio.fine_tune.train(TrainRequest(texts, overrides=settings, retrieval=judged))
        notices = [event.get("message", "") for _, event in studio.store.events(run.id) if event.get("type") == "notice"]
        assert run.status == "finished" and "score" not in run.before and run.model_path is not None
        base, kept = [RetrievalProbe(data, studio.catalog.load(str(path))).untuned["score"] for path in (tiny_model, run.model_path)]
    change = next(notice for notice in notices if notice.startswith("retrieval: nDCG@10"))
    assert f"{base:.3f}" in change and f"{kept:.3f}" in change
    if blends:
        assert kept > base - 0.1 and any("finds fewer of the right documents" in notice for notice in notices)
    else:
        assert kept < base - 0.2 and any("but is kept: the blend was disabled" in notice for notice in notices)


def test_a_better_score_that_retrieves_worse_is_named_as_the_reason() -> None:
    marks = [{"strength": strength, "score": score} for strength, score in ((0.0, 0.7), (0.5, 0.8), (1.0, 0.9))]
    for strength, words in ((0.0, "the base model is kept: the fine-tuned model finds fewer"), (0.5, "stronger ones find fewer")):
        assert words in describe_kept_model({"strength": strength, "strengths": marks, "limited_by": "retrieval"})
    assert "set manually" in describe_kept_model({"strength": 0.5, "strengths": marks, "chosen": {}})


@pytest.mark.parametrize(("interval", "strength"), [([-0.3, -0.1], 0.0), ([-0.1, 0.1], 1.0)])
def test_a_stopped_run_keeps_no_model_that_was_measured_to_retrieve_worse(interval: list[float], strength: float) -> None:
    parts: Any = SimpleNamespace(evaluator=SimpleNamespace(untuned=lambda: None), general=object(), spec=TrainSpec())
    general = {"score": 0.8, "retrieval": {"score": 0.5, "change_interval": interval}}
    before, after = {"score": 0.7, "general": general}, {"score": 0.9, "general": general}
    weight = nn.Parameter(torch.zeros(1))
    blend = WeightBlend({"weight": weight})
    with torch.no_grad():
        weight.fill_(1.0)
    blend.set_tuned()
    state = TrainingState("run", step=4, best=4, before=before, after=after)
    found = choose_blend(parts, state, blend, Assignment(), "stopped", Candidates())
    assert found.after["strength"] == float(weight) == strength
    assert ("limited_by" in found.after) is (strength == 0)


def test_a_blend_that_retrieves_worse_is_not_kept_and_a_collapse_is_an_alarm() -> None:
    def mark(strength: float, score: float, interval: list[float]) -> dict[str, Any]:
        return {"strength": strength, "score": score, "general": {"score": 0.8, "retrieval": {"score": 0.5, "change_interval": interval}}}

    untuned = {"strength": 0.0, "score": 0.5}
    worse, unsure, few = mark(1.0, 0.9, [-0.3, -0.1]), mark(0.5, 0.7, [-0.1, 0.1]), mark(0.25, 0.6, [])
    assert best_mark([untuned, few, unsure, worse]) is unsure
    assert best_mark([untuned, few, worse]) is few and best_mark([untuned, worse]) is untuned
    before = {"score": 0.5, "general": {"score": 0.8, "retrieval": {"score": 0.8}}}
    question = alarms.check_forgetting(TrainSpec(), before, {**worse, "general": {**worse["general"], "change_interval": [0, 0]}})
    assert question is not None and "nDCG@10 falls from 0.80 to 0.50" in question.why
    assert alarms.check_forgetting(TrainSpec(), before, {**few, "general": {**few["general"], "change_interval": [0, 0]}}) is None
