"""A model is judged with the prompts that it is used with: queries and documents in retrieval, texts to be compared elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.tiny import tiny_encoder
from sentence_transformers import SentenceTransformer
from training.tiny import positive_pairs, scored_pairs
from training.tiny import tiny_encoder as trainable

from sbert_studio.data.tables import table_from_columns
from sbert_studio.evaluation.encoding import EncodedColumns, pair_similarities
from sbert_studio.evaluation.evaluate import EvaluationSet, evaluate, evaluate_sets
from sbert_studio.evaluation.tasks import get_task
from sbert_studio.evaluation.tasks.retrieval import evaluate_retrieval
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig

PROMPTS = {"query": "how are you ", "document": "my card ", "STS": "hello world "}
QUERIES = ["the cat sat", "a dog ran", "lost card", "red mat", "blue park"]
DOCUMENTS = ["the cat sat on the mat", "a dog ran in the park", "my card was lost", "red red mat", "the park is blue"]


def saved(folder: Path) -> Path:
    encoder = tiny_encoder("bert", EncoderConfig("mean", True, max_length=30))
    encoder.prompts = PROMPTS
    encoder.save(folder)
    return folder


def peer(folder: Path) -> Any:
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def test_retrieval_reads_the_first_texts_as_queries_and_the_second_ones_as_documents(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    table = table_from_columns("questions", {"question": QUERIES, "answer": DOCUMENTS})
    report = evaluate(load_folder(folder).freeze(), table, "retrieval")
    theirs = peer(folder)
    expected = evaluate_retrieval(theirs.encode_query(QUERIES), theirs.encode_document(DOCUMENTS), QUERIES, DOCUMENTS).scores
    plain = evaluate_retrieval(theirs.encode(QUERIES), theirs.encode(DOCUMENTS), QUERIES, DOCUMENTS).scores
    assert report.scores["ndcg_at_10"] == pytest.approx(expected["ndcg_at_10"], abs=1e-6) != plain["ndcg_at_10"]
    assert report.scores["mrr_at_10"] == pytest.approx(expected["mrr_at_10"], abs=1e-6)


def test_triplets_are_a_query_and_two_documents(tmp_path: Path) -> None:
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
