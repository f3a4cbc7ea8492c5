"""A model's ``similarity_fn_name`` is obeyed as ``SentenceTransformer.similarity`` obeys it, and what goes by the cosine says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from models.tiny import TEXTS, tiny_encoder
from sentence_transformers.util import SimilarityFunction
from shards.shards import write_texts
from tiny_studio import peer, quick, sentences, studio_at, unpack_export, write_model, write_pairs

from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.evaluate import evaluate
from sbert_studio.evaluation.tasks import main_score
from sbert_studio.explore import paraphrase_mining as mining
from sbert_studio.explore import search as nearest
from sbert_studio.explore.search import SemanticIndex
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.similarity import SIMILARITIES, similarity
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.search import SearchOptions
from sbert_studio.services.shards import EncodingOptions, ShardingOptions
from sbert_studio.shards.executor import ExecutionOptions
from sbert_studio.training import artifacts
from sbert_studio.training.spec import TrainSpec
from sbert_studio.ui.tabs.search.handlers import hits_table
from sbert_studio.ui.tabs.similarity.handlers import matrix_view

OTHERS = [name for name in SIMILARITIES if name != "cosine"]
DISTINCT = [text for text in dict.fromkeys(TEXTS) if text.strip()]


def folder_of(folder: Path, name: str, normalize: bool = False, **said: Any) -> Path:
    tiny_encoder("bert", EncoderConfig("mean", normalize, max_length=30)).save(folder)
    settings = {
        "similarity_fn_name": name,
        "prompts": {"query": "how are you ", "document": "my card "},
        "default_prompt_name": None,
        **said,
    }
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(params=OTHERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    return folder_of(tmp_path / "model", name)


@pytest.fixture
def studio(home: Path, folder: Path) -> Iterator[Studio]:
    with studio_at(home, folder) as made:
        yield made


@pytest.mark.parametrize("each", SIMILARITIES)
def test_every_measure_is_that_of_the_peer(each: str) -> None:
    left, right = (np.random.default_rng(seed).normal(size=(6, 20)).astype(np.float32) for seed in (1, 2))
    expected = SimilarityFunction.to_similarity_fn(each)(left, right).numpy()
    np.testing.assert_allclose(similarity(left, right, each), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("each", "normalize", "cut", "expected"),
    [
        ("dot", True, None, "cosine"),
        ("dot", True, 8, "dot"),  # vectors that are cut are no longer of length one
        ("dot", False, None, "dot"),
        ("euclidean", True, None, "euclidean"),
        ("cosine", False, None, "cosine"),
    ],
)
def test_a_dot_product_is_the_cosine_where_vectors_are_of_length_one(
    each: str, normalize: bool, cut: int | None, expected: str, tmp_path: Path
) -> None:
    encoder = load_folder(folder_of(tmp_path / "model", each, normalize, truncate_dim=cut))
    assert (encoder.similarity_fn_name, encoder.similarity_name) == (each, expected)
    assert bool(encoder.note) == (expected != "cosine")


def test_search_ranks_and_scores_as_with_the_peer(studio: Studio, folder: Path, name: str) -> None:
    theirs = peer(folder)
    expected = theirs.similarity(theirs.encode_query(["lost card"]), theirs.encode_document(DISTINCT)).numpy()[0]
    corpus = studio.data.read_corpus(table_from_columns("made up", {"text": DISTINCT}))
    found = studio.search.search(corpus, "lost card", len(DISTINCT))
    assert [hit.row for hit in found.hits] == np.argsort(-expected, kind="stable").tolist()
    np.testing.assert_allclose([hit.score for hit in found.hits], np.sort(expected)[::-1], atol=1e-5)
    assert any("uses the" in note for note in found.notes)
    shown = hits_table(corpus, found, "semantic", "", "lost card")
    assert "Score" in json.dumps(shown) and "Cosine" not in json.dumps(shown)
    some = studio.search.search(corpus, "lost card", 2, options=SearchOptions(row_ids=[1, 3, 4]))
    assert [hit.row for hit in some.hits] == [row for row in np.argsort(-expected, kind="stable").tolist() if row in (1, 3, 4)][:2]
    near, plain = studio.search.find_neighbors(corpus, 0, 2), theirs.encode(DISTINCT)
    others = theirs.similarity(plain[:1], plain).numpy()[0, 1:]
    assert near.hits[0].score == pytest.approx(float(others.max()), abs=1e-5)


def test_mined_pairs_are_the_most_similar_by_the_models_measure(
    studio: Studio, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining, "_HEIGHT", 3)
    monkeypatch.setattr(mining, "_WIDTH", 4)
    texts = list(dict.fromkeys(sentences(20)))
    corpus = studio.data.read_corpus(table_from_columns("made up", {"text": texts}))
    theirs = peer(folder)
    vectors = theirs.encode(texts)
    expected = theirs.similarity(vectors, vectors).numpy()
    pairs = sorted(((float(expected[a, b]), a, b) for a in range(len(texts)) for b in range(a + 1, len(texts))), key=lambda one: -one[0])
    told: list[tuple[int, int]] = []
    found = studio.search.mine(corpus, 7, begin_phase=lambda phase, unit: lambda *one: told.append(one))
    np.testing.assert_allclose([pair.score for pair in found.pairs], [score for score, _, _ in pairs[:7]], atol=1e-5)
    assert told[-1] == (len(pairs), len(pairs)) and any("uses the" in note for note in found.notes)
    monkeypatch.setattr(mining, "MAX_ROWS_BY_SIMILARITY", 10)
    with pytest.raises(StudioError, match=r"the model uses the .*, and mining pairs of 2. texts with it would take too long"):
        studio.search.mine(corpus, 7)


def test_scores_are_those_of_the_peer_and_maps_use_the_cosine(studio: Studio, folder: Path, name: str) -> None:
    theirs = peer(folder)
    vectors = theirs.encode(DISTINCT)
    expected = theirs.similarity(vectors, vectors).numpy()
    found = studio.similarity.compare(DISTINCT[0], DISTINCT[1])
    assert found.score == pytest.approx(expected[0, 1], abs=1e-5)
    assert found.to_json()["similarity_fn_name"] == name and found.to_json()["score"] == found.score
    assert any("uses the" in note for note in found.notes)
    np.testing.assert_allclose(studio.similarity.compare_all(DISTINCT), expected, atol=1e-5)
    shown = matrix_view(studio, "\n".join(DISTINCT), None)
    assert (shown["low"], shown["high"]) == pytest.approx((expected.min(), expected.max()), abs=1e-4)
    assert "uses the" in shown["note"] and sorted(shown["order"]) == list(range(len(DISTINCT)))
    corpus = studio.data.read_corpus(table_from_columns("made up", {"text": list(dict.fromkeys(sentences(30)))}))
    for found in (studio.map.draw(corpus), studio.search.find_duplicates(corpus)):
        assert any("use cosine similarity" in note for note in found.notes)


@pytest.mark.parametrize("task", ["sts", "pairs", "triplets", "retrieval"])
def test_the_main_score_is_by_the_models_measure(folder: Path, name: str, task: str) -> None:
    texts = sentences(60)
    columns = {"anchor": texts[:20], "positive": texts[20:40], "negative": texts[40:]}
    if task in ("sts", "pairs"):
        random = np.random.default_rng(3)
        values = random.integers(0, 6, 20) if task == "sts" else random.integers(0, 2, 20)
        columns = {"sentence1": texts[:20], "sentence2": texts[20:40], "score" if task == "sts" else "label": list(map(str, values))}
    elif task == "retrieval":
        del columns["negative"]
    report = evaluate(load_folder(folder).freeze(), table_from_columns("made up", columns), task)
    metric, value = main_score(report)
    if task == "retrieval":
        theirs = peer(folder)
        scores = theirs.similarity(theirs.encode_query(texts[:20]), theirs.encode_document(texts[20:40])).numpy()
        ranks = 1 + (scores > np.diagonal(scores)[:, None] + 1e-6).sum(1)
        assert value == pytest.approx(np.where(ranks <= 10, 1 / ranks, 0).mean(), abs=0.02)
        return
    assert metric.startswith(f"{name}_") and report.scores["similarity_fn_name"] == name
    low, high = report.scores["interval"]
    assert low <= value <= high


def test_rows_are_searched_in_blocks_and_ties_go_by_row(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(nearest, "_BLOCK", 7)
    vectors = np.random.default_rng(5).normal(size=(50, 4)).astype(np.float32)
    vectors[31] = vectors[3]
    queries = vectors[[3, 10]] + 0.01
    found = SemanticIndex(vectors, by=name).search_many(queries, 12)
    for hits, scores in zip(found, similarity(queries, vectors, name), strict=True):
        assert [hit.row for hit in hits] == np.lexsort((np.arange(50), -scores))[:12].tolist()
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(scores)[::-1][:12], atol=1e-9)
    with pytest.raises(StudioError, match="k is 0"):
        SemanticIndex(vectors, by=name).search(queries[0], 0)


def test_shards_are_searched_and_judged_by_it_and_not_mined(studio: Studio, folder: Path, name: str, tmp_path: Path) -> None:
    out, texts = tmp_path / "out", write_texts(tmp_path / "texts", 2, 30)
    studio.shards.encode(texts, out, ExecutionOptions(), ShardingOptions(1, 16), EncodingOptions(id_column="key", role="document"))
    found = studio.shards.search(out, "lost card", 5)
    theirs = peer(folder)
    every = [text for path in sorted(texts.glob("*.parquet")) for text in pq.read_table(path)["text"].to_pylist() if text and text.strip()]
    expected = theirs.similarity(theirs.encode_query(["lost card"]), theirs.encode_document(every)).numpy()[0]
    np.testing.assert_allclose([hit.score for hit in found.hits], np.sort(expected)[::-1][:5], atol=1e-5)
    assert [hit.text for hit in found.hits] == [every[row] for row in np.argsort(-expected, kind="stable")[:5]]
    assert any("uses the" in note for note in found.notes)
    with pytest.raises(StudioError, match="was encoded by a model that uses"):
        studio.shards.mine(out, ExecutionOptions(), 3)
    csv = write_pairs(tmp_path / "pairs.csv", 30)
    studio.data.read_table(csv).to_parquet(tmp_path / "pairs.parquet")
    judged = studio.shards.evaluate(None, tmp_path / "pairs.parquet", ExecutionOptions(), ShardingOptions(1, 16))
    alone = studio.evaluation.evaluate(None, csv)
    assert main_score(judged) == pytest.approx(main_score(alone)) and main_score(alone)[0] == f"{name}_spearman"
    assert any("uses the" in note for note in alone.notes)


@pytest.mark.slow
def test_a_run_is_judged_by_it_and_the_folder_and_its_script_keep_it(
    home: Path, tmp_path: Path, name: str, verify_export: Callable[[Path], str]
) -> None:
    model = load_folder(write_model(tmp_path / "tiny"))
    model.similarity_fn_name, model.normalizes = name, False
    model.save(tmp_path / "model")
    data = write_pairs(tmp_path / "pairs.csv", 60)
    with studio_at(home, tmp_path / "model") as studio:
        request = TrainRequest(data, overrides=quick(dev_fraction=0.4), name="measured")
        assert any("The model uses" in reason for reason in studio.planner.plan(request).reasons)
        run = studio.fine_tune.train(request)
        assert run.before["metric"] == run.after["metric"] == f"{name}_spearman"
        exported = unpack_export(studio, run.id, tmp_path)
    assert "the same" in verify_export(exported)
    assert peer(exported / "model").similarity_fn_name == name


def test_the_card_names_the_measure_of_the_probe_of_everyday_pairs(folder: Path, name: str, tmp_path: Path) -> None:
    scores = {"metric": f"{name}_spearman", "score": 0.6, "rows": 9, "general": {"score": 0.5, "rows": 4}}
    artifacts.write_model(TrainSpec(), load_folder(folder), tmp_path / "run", "some/base", scores, scores, 3)
    card = (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
    assert "everyday pairs" in card and f"{name}_spearman" in card and "cosine_spearman" not in card
