"""The STS evaluator equals that of sentence-transformers, each with its own encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.tables import read_table, table_from_columns
from sbert_studio.evaluation.encoding import MEASURES, pairwise_measures
from sbert_studio.evaluation.evaluate import evaluate
from sbert_studio.models.catalog import Catalog
from sbert_studio.workspace import Workspace


def test_all_four_similarities_equal_those_of_the_peer_on_real_pairs(real_data: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
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


def test_pairs_of_one_text_share_a_rank() -> None:
    vectors = np.random.default_rng(0).normal(size=(500, 33)).astype(np.float32)
    assert set(pairwise_measures(vectors, vectors)["cosine"]) == {1.0}
    assert pairwise_measures(np.zeros((1, 3)), np.zeros((1, 3)))["cosine"] == 0.0
