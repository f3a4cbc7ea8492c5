"""Rankings of documents: metrics against trec_eval, scikit-learn and sentence-transformers, ties, and rankings by vectors."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import WordSums, peer, sentences

from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.data.retrieval import RetrievalSet, build_set
from sbert_studio.evaluation import bootstrap
from sbert_studio.evaluation.encoding import encode_columns
from sbert_studio.evaluation.evaluate import evaluate
from sbert_studio.evaluation.ranking import (
    METRICS,
    Ranking,
    RetrievalProbe,
    rank_candidates_by_vectors,
    rank_vectors,
    score_ranking,
    score_rankings,
)
from sbert_studio.evaluation.tasks import mining
from sbert_studio.models.similarity import similarity, unit

TREC = ("ndcg_cut_10", "recall_10", "recall_100", "recip_rank", "map_cut_100")


def questions(texts: int = 60, queries: int = 20, seed: int = 0) -> RetrievalSet:
    """Queries of few words, each with up to three graded documents."""
    rng = np.random.default_rng(seed)
    documents = {f"d{place}": text for place, text in enumerate(sentences(texts, seed))}
    asked = {f"q{place}": text for place, text in enumerate(sentences(queries, seed + 1))}
    judged = [(query, f"d{row}", float(rng.integers(0, 4))) for query in asked for row in rng.permutation(texts)[:4]]
    return build_set("made up", asked, documents, [(query, row, max(grade, row == "d1")) for query, row, grade in judged])


@pytest.mark.parametrize("seed", range(3))
def test_random_runs_score_as_in_trec_eval(seed: int) -> None:
    trec = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    rng = np.random.default_rng(seed)
    judged: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, float]] = {}
    found = {}
    for query in map(str, range(30)):
        count = int(rng.integers(2, 400))
        grades = {str(row): int(rng.integers(-1, 4)) for row in range(count) if rng.random() < 0.4} | {"0": 2}
        rows, scores = rng.permutation(count)[: rng.integers(1, count + 1)], rng.permutation(10_000).astype(float)
        judged[query], runs[query] = grades, {str(row): score for row, score in zip(rows, scores, strict=False)}
        ranking = Ranking.sort(rows, scores[: len(rows)], None)
        gains = np.array([grades.get(str(row), 0) for row in ranking.rows])
        found[query] = score_ranking(ranking.scores, gains, list(grades.values()))
    reference = trec.RelevanceEvaluator(judged, set(TREC)).evaluate(runs)
    for query, scores in found.items():
        wanted = [reference[query][name] for name in TREC]
        wanted[3] = wanted[3] if wanted[3] >= 0.1 else 0.0  # trec_eval has no cut for the reciprocal rank
        np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-9)


def test_equal_scores_count_with_the_mean_over_their_orders() -> None:
    scores, gains, grades = np.array([3, 2, 2, 2, 1, 1.0]), np.array([0, 1, 0, 2, 0, 1.0]), [1, 2, 1, 1]
    orders = [order for order in map(list, itertools.permutations(range(6))) if (np.diff(scores[order]) <= 0).all()]
    wanted = np.mean([score_ranking(np.arange(6, 0, -1.0), gains[order], grades) for order in orders], axis=0)
    np.testing.assert_allclose(score_ranking(scores, gains, grades), wanted)
    collapsed = score_ranking(np.ones(50), np.eye(50)[0], [1])
    np.testing.assert_allclose(collapsed[[1, 2]], [0.2, 1])
    assert not score_ranking(np.empty(0), np.empty(0), [1]).any()


def test_of_many_ties_a_random_sample_is_ranked() -> None:
    scores = np.concatenate([[2.0], np.ones(5_000)])
    ranking = Ranking.sort(np.arange(5_001), scores, 100)
    assert len(ranking.rows) == 1_000 and ranking.rows[0] == 0 and len(set(ranking.rows.tolist())) == 1_000
    assert abs(ranking.rows[1:].mean() - 2_500) < 200 and (Ranking.sort(np.arange(5_001), scores, 100).rows == ranking.rows).all()
    assert (ranking.end(1), ranking.end(50), ranking.end(200), ranking.end(None)) == (1, 50, 1_000, 1_000)


@pytest.mark.parametrize("by", ["cosine", "dot", "euclidean"])
def test_the_nearest_documents_are_those_of_a_loop_with_the_best_passage_of_each(by: str) -> None:
    rng = np.random.default_rng(1)
    queries, passages = rng.normal(size=(7, 8)).astype(np.float32), rng.normal(size=(400, 8)).astype(np.float32)
    passages[1::5] = passages[::5]  # equal vectors have equal scores, wherever they stand
    owners = np.sort(rng.integers(0, 180, 400))
    ignored = {2: [int(owners[5])]}
    for query, ranking in enumerate(rank_vectors(queries, passages, owners, by, ignored=ignored)):
        scores = similarity(queries[[query]].astype(np.float64), passages.astype(np.float64), by)[0]
        best = {int(owner): float(scores[owners == owner].max()) for owner in np.unique(owners) if owner not in ignored.get(query, ())}
        wanted = sorted(best.values(), reverse=True)
        wanted = [score for score in wanted if score >= wanted[99] - 1e-9]  # with those that tie with the hundredth
        np.testing.assert_allclose(ranking.scores, wanted, atol=1e-6)
        np.testing.assert_allclose([best[row] for row in ranking.rows.tolist()], wanted, atol=1e-6)
    whole = list(rank_vectors(queries, passages, np.arange(400), by))
    for ranking in whole:
        places = dict(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True))
        assert all(places[row] == places[row + 1] for row in places if row % 5 == 0 and row + 1 in places)


def test_copies_of_long_vectors_have_equal_dot_products() -> None:
    rng = np.random.default_rng(0)
    for rows in (55, 87):
        documents = rng.standard_normal((rows, 768)).astype(np.float32)
        documents[1:27] = documents[0]
        for query in rng.standard_normal((50, 768)).astype(np.float32):
            (ranking,) = rank_vectors(query[None], documents, np.arange(rows), "dot")
            assert len({score for row, score in zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True) if row < 27}) == 1


@pytest.mark.parametrize("prompts", [{}, {"query": "cat dog: ", "document": "slow red: "}])
def test_rankings_score_as_in_sentence_transformers(prompts: dict[str, str], tiny_model: Path, tmp_path: Path) -> None:
    evaluation = pytest.importorskip("sentence_transformers.sentence_transformer.evaluation")
    from sbert_studio.models.io.load import load_folder

    folder = Path(shutil.copytree(tiny_model, tmp_path / "prompted"))
    settings = json.loads((folder / "config_sentence_transformers.json").read_text())
    (folder / "config_sentence_transformers.json").write_text(json.dumps({**settings, "prompts": prompts}))
    data = questions(40)
    relevant = {
        key: {data.document_ids[row] for row, grade in grades.items() if grade > 0}
        for key, grades in zip(data.query_ids, data.grades, strict=True)
    }
    texts = dict(zip(data.query_ids, data.queries, strict=True)), dict(zip(data.document_ids, data.documents, strict=True))
    cuts = {"mrr_at_k": [10], "ndcg_at_k": [10], "map_at_k": [100], "precision_recall_at_k": [10, 100], "accuracy_at_k": [10]}
    reference = evaluation.InformationRetrievalEvaluator(*texts, relevant, write_csv=False, **cuts)(peer(folder))
    binary = build_set("binary", *texts, [(query, row, 1.0) for query, rows in relevant.items() for row in rows])
    vectors = encode_columns(load_folder(folder), [binary.queries, binary.documents], roles=["query", "document"])
    scores = score_rankings(list(rank_vectors(*vectors, np.arange(40))), binary)
    names = [f"cosine_{name}" for name in ("ndcg@10", "recall@10", "recall@100", "mrr@10", "map@100")]
    np.testing.assert_allclose(list(scores.means.values()), [reference[name] for name in names], atol=1e-4)
    assert list(scores.means) == list(METRICS)


def test_given_candidates_score_as_in_scikit_learn() -> None:
    from sklearn.metrics import average_precision_score, ndcg_score

    data, encoder = questions(), WordSums()
    vectors = encode_columns(encoder, [data.queries, data.documents])
    for query, ranking in enumerate(rank_candidates_by_vectors(*vectors, data)):
        grades = data.grades[query]
        assert set(ranking.rows.tolist()) == set(grades)
        gains = np.array([grades[row] for row in ranking.rows.tolist()])
        found = score_ranking(ranking.scores, gains, list(grades.values()))
        np.testing.assert_allclose(found[0], ndcg_score([gains], [ranking.scores], k=10))
        if len(set(ranking.scores)) == len(ranking.scores):
            np.testing.assert_allclose(found[4], average_precision_score(gains > 0, ranking.scores))


def test_intervals_hold_the_mean_and_a_probe_reports_the_change_of_a_model() -> None:
    class Collapsed(WordSums):
        def encode(self, texts: list[str], **options: object) -> np.ndarray:  # type: ignore[override]
            return np.ones((len(texts), self.dim), np.float32)

    texts = dict.fromkeys(sentences(60))
    words = {text: " ".join(reversed(text.split())) for text in texts}
    probe = RetrievalProbe(
        build_set("reversed", words, dict(zip(texts, texts, strict=True)), [(text, text, 1.0) for text in texts]), WordSums()
    )
    low, high = probe.untuned["interval"]
    assert low <= probe.untuned["score"] <= high
    low, high = probe(WordSums())["change_interval"]
    assert low == -high < 0, "equal models may differ on other queries"
    assert probe(Collapsed())["change_interval"][1] < 0


def test_a_smaller_gain_can_be_shown_with_queries_of_more_documents_but_not_with_more_queries_of_the_same() -> None:
    def detectable(queries: int, owners: int) -> float | None:
        names = {f"q{place}": f"query {place}" for place in range(queries)}
        documents = {f"d{place}": f"text {place}" for place in range(queries)}
        data = build_set("set", names, documents, [(f"q{place}", f"d{place}", 1.0) for place in range(queries)])
        if owners:
            data = replace(data, owners=tuple(f"{place % owners}.md" for place in range(queries)))
        # The queries of every second document are found.
        found = [
            Ranking(np.array([place if place % (owners or queries) % 2 else -1, queries]), np.array([1.0, 0.5])) for place in range(queries)
        ]
        assert RetrievalSet.from_json(data.to_json()).owners == data.owners
        return score_rankings(found, data).detectable

    few, many, same = detectable(40, 40), detectable(160, 160), detectable(160, 40)
    assert few is not None and many is not None and same is not None
    assert 0.03 < many < few < 0.2 and many == pytest.approx(few / 2, rel=0.2) and same == pytest.approx(few, rel=0.2)
    assert detectable(160, 0) == pytest.approx(many, rel=0.2) and detectable(12, 3) is None


def test_mined_pairs_score_as_in_sentence_transformers(tiny_model: Path) -> None:
    evaluation = pytest.importorskip("sentence_transformers.sentence_transformer.evaluation")
    from sbert_studio.models.io.load import load_folder

    texts = list(dict.fromkeys(sentences(60, 3)))
    wanted = [(texts[row], " ".join(reversed(texts[row].split()))) for row in range(0, 40, 2)]
    wanted = [(one, other) for one, other in wanted if one != other]
    corpus = dict.fromkeys([*texts, *(other for _, other in wanted)])
    model = peer(tiny_model)
    reference = evaluation.ParaphraseMiningEvaluator({text: text for text in corpus}, wanted, write_csv=False)(model)
    rest = [text for text in corpus if text not in {text for pair in wanted for text in pair}]
    labelled = [(*pair, "1") for pair in wanted] + [(rest[row], rest[row + 1], "0") for row in range(len(rest) - 1)]
    columns = dict(zip(("sentence1", "sentence2", "label"), map(list, zip(*labelled, strict=True)), strict=True))
    report = evaluate(load_folder(tiny_model), table_from_columns("pairs", columns), "mining")
    assert report.scores["texts"] == len(corpus)
    for name in ("average_precision", "f1", "precision", "recall", "threshold"):
        assert report.scores[name] == pytest.approx(reference[name], abs=1e-4), name
    low, high = report.scores["interval"]
    assert low <= report.scores["average_precision"] <= high


@pytest.mark.parametrize("count", [5, 40, 10_000])
def test_the_most_similar_pairs_are_those_of_a_full_sort(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "_BLOCK", 200)
    vectors = np.random.default_rng(2).normal(size=(50, 6)).astype(np.float32)
    a, b, scores = mining.find_top_pairs(vectors, count)
    every = similarity(vectors, vectors)[np.triu_indices(50, 1)]
    np.testing.assert_allclose(scores, np.sort(every)[::-1][:count], atol=1e-6)
    assert (a < b).all()
    np.testing.assert_allclose(scores, np.einsum("nd,nd->n", unit(vectors)[a], unit(vectors)[b]), atol=1e-6)


def test_mined_pairs_with_equal_scores_count_together_and_a_resample_repeats_pairs() -> None:
    scores, correct = np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, False, True, False])
    found = mining.evaluate_mined_pairs(scores, correct, 4)
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 4)
    assert (found["f1"], found["recall"]) == (pytest.approx(4 / 7), 0.5)
    assert mining.evaluate_mined_pairs(scores, np.zeros(4, bool), 4)["average_precision"] == 0
    rng = np.random.default_rng(4)
    scores, correct = np.sort(rng.integers(0, 30, 60) / 30)[::-1], rng.random(60) < 0.3
    names, total = rng.permutation(int(correct.sum()) + 5)[: correct.sum()], int(correct.sum()) + 5
    drawn = np.concatenate(list(bootstrap.resample_weights(total)))
    times = np.ones((len(drawn), 60), int)
    times[:, correct] = drawn[:, names]
    wanted = [
        mining.evaluate_mined_pairs(np.repeat(scores, one), np.repeat(correct, one), total)["average_precision"] for one in times[:50]
    ]
    np.testing.assert_allclose(mining.bootstrap_mined_pairs(scores, correct, names, total)[:50], wanted)
