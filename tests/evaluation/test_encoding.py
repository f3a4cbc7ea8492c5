from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from models.tiny import tiny_encoder
from scipy.spatial import distance
from sentence_transformers import SentenceTransformer
from tiny_studio import peer
from training.tiny import positive_pairs, scored_pairs
from training.tiny import tiny_encoder as trainable

from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.evaluation import encoding
from sbert_studio.evaluation.encoding import MEASURES, EncodedColumns, pair_similarities, pairwise_measures
from sbert_studio.evaluation.evaluate import EvaluationSet, evaluate, evaluate_sets
from sbert_studio.evaluation.tasks import get_task
from sbert_studio.evaluation.tasks.retrieval import evaluate_retrieval
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.similarity import unit
from sbert_studio.workspace import Workspace


def test_measures_equal_scipy_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_BLOCK", 7)
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 30, 5)).astype(np.float32)
    found = encoding.pairwise_measures(left, right)
    assert np.allclose(found["cosine"], [1 - distance.cosine(u, v) for u, v in zip(left, right, strict=True)], atol=1e-6)
    assert np.allclose(found["dot"], [u @ v for u, v in zip(left, right, strict=True)], atol=1e-5)
    assert np.allclose(found["euclidean"], [distance.euclidean(u, v) for u, v in zip(left, right, strict=True)], atol=1e-6)
    assert np.allclose(found["manhattan"], [distance.cityblock(u, v) for u, v in zip(left, right, strict=True)], atol=1e-6)


def test_vectors_of_zeros_and_of_one_text_have_exact_cosines() -> None:
    zero, one = np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32)
    assert encoding.pairwise_measures(zero, one)["cosine"].tolist() == [0.0]
    assert unit(zero).tolist() == [[0.0, 0.0, 0.0]]
    assert np.linalg.norm(unit(one)) == pytest.approx(1)
    vectors = np.random.default_rng(0).normal(size=(500, 33)).astype(np.float32)
    assert set(pairwise_measures(vectors, vectors)["cosine"]) == {1.0}
    assert pairwise_measures(np.zeros((1, 3)), np.zeros((1, 3)))["cosine"] == 0.0


def test_columns_are_encoded_in_one_call_and_must_be_finite(encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = encoding.encode_columns(encoder, [["a b", "c"], ["c", "d"]])
    assert len(encoder.calls) == 1
    assert left.shape == right.shape == (2, 64)
    assert np.array_equal(left[1], right[0])
    monkeypatch.setattr(encoder, "encode", lambda texts, progress=None: np.full((len(texts), 2), np.nan, np.float32))
    with pytest.raises(StudioError, match="finite"):
        encoding.encode_columns(encoder, [["a"]])


def test_all_four_similarities_equal_those_of_the_peer_on_real_pairs(real_data: Path, tmp_path: Path) -> None:
    from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

    catalog = Catalog(Workspace(tmp_path), device="cpu")
    peer = SentenceTransformer(str(catalog.resolve("all-MiniLM-L6-v2").path), device="cpu")
    tables = [read_table(real_data / name).select(np.arange(45)) for name in ("stsb/test.csv", "sts13/headlines.csv")]
    rows = list(dict.fromkeys(row for table in tables for row in zip(*map(table.column, table.columns), strict=True)))
    # A pair that stands there twice is as alike both times; the peer encodes it twice, and rounding puts one before the other.
    table = table_from_columns("both", {name: [row[place] for row in rows] for place, name in enumerate(tables[0].columns)})
    ours = evaluate(catalog.load("all-MiniLM-L6-v2"), table, "sts").scores
    gold = [float(score) for score in table.column("score")]
    texts = (table.column("sentence1"), table.column("sentence2"))
    theirs = EmbeddingSimilarityEvaluator(*texts, gold, similarity_fn_names=list(MEASURES), write_csv=False)(peer)
    for name in MEASURES:
        for kind in ("spearman", "pearson"):
            assert ours[name][kind] == pytest.approx(theirs[f"{kind}_{name}"], abs=1e-6), (name, kind)


PROMPTS = {"query": "how are you ", "document": "my card ", "STS": "hello world "}


QUERIES = ["the cat sat", "a dog ran", "lost card", "red mat", "blue park"]


DOCUMENTS = ["the cat sat on the mat", "a dog ran in the park", "my card was lost", "red red mat", "the park is blue"]


def saved(folder: Path) -> Path:
    encoder = tiny_encoder("bert", EncoderConfig("mean", True, max_length=30))
    encoder.prompts = PROMPTS
    encoder.save(folder)
    return folder


def test_pairs_and_triplets_are_read_as_queries_and_documents(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    table = table_from_columns("questions", {"question": QUERIES, "answer": DOCUMENTS})
    report = evaluate(load_folder(folder).freeze(), table, "retrieval")
    theirs = peer(folder)
    expected = evaluate_retrieval(theirs.encode_query(QUERIES), theirs.encode_document(DOCUMENTS), QUERIES, DOCUMENTS).scores
    plain = evaluate_retrieval(theirs.encode(QUERIES), theirs.encode(DOCUMENTS), QUERIES, DOCUMENTS).scores
    assert report.scores["ndcg_at_10"] == pytest.approx(expected["ndcg_at_10"], abs=1e-6) != plain["ndcg_at_10"]
    assert report.scores["mrr_at_10"] == pytest.approx(expected["mrr_at_10"], abs=1e-6)
    folder = saved(tmp_path / "model")
    negatives = DOCUMENTS[2:] + DOCUMENTS[:2]
    table = table_from_columns("triplets", {"anchor": QUERIES, "positive": DOCUMENTS, "negative": negatives})
    report = evaluate(load_folder(folder).freeze(), table, "triplets")
    theirs = peer(folder)
    vectors = [theirs.encode_query(QUERIES), theirs.encode_document(DOCUMENTS), theirs.encode_document(negatives)]
    near, far = ((vectors[0] * other).sum(1) for other in vectors[1:])
    assert report.scores["cosine"]["accuracy"] == pytest.approx((near > far).mean())


def test_sets_of_several_kinds_share_no_vector_of_another_role() -> None:
    encoder = trainable()
    encoder.prompts = {"query": "red blue ", "document": "fast slow "}
    questions, scored = positive_pairs(20), scored_pairs(20)
    sets = [EvaluationSet(questions, get_task("retrieval")), EvaluationSet(scored, get_task("sts"))]
    done: list[tuple[int, int]] = []
    together = evaluate_sets(encoder, sets, lambda *told: done.append(told))
    alone = [evaluate_sets(encoder, [one])[0] for one in sets]
    assert [one.scores for one in together] == [one.scores for one in alone]
    assert [now for now, _ in done] == sorted(now for now, _ in done) and done[-1][0] == done[-1][1]
    assert len({total for _, total in done}) == 1


def test_the_vectors_of_a_column_are_those_of_its_role() -> None:
    encoder = trainable()
    encoder.prompts = {"query": "red blue ", "document": "fast slow "}
    texts = ["cat dog", "moon star", "cat dog"]
    encoded = EncodedColumns(encoder, [texts, texts, texts], roles=["query", "document", "symmetric"])
    for role in ("query", "document", "symmetric"):
        np.testing.assert_allclose(encoded.of(texts, role), encoder.for_role(role).encode(texts), atol=1e-6)
    asked = pair_similarities(encoder, texts, texts, ("query", "document"))
    assert (asked < 1 - 1e-4).all() and (pair_similarities(encoder, texts, texts) == 1).all()
