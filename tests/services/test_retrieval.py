"""Retrieval on queries, documents and grades: scores beside baselines, reasons for misses, the leaderboard, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import WORDS, sentences, studio_at

from sbert_studio.cli.main import run
from sbert_studio.data.retrieval import build_set
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.ranking import METRICS, Ranking, score_rankings
from sbert_studio.models.cross_encoder import create_cross_encoder
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.services import Studio
from sbert_studio.services.retrieval import RetrievalOptions, find_misses
from sbert_studio.workspace import write_json_lines


@pytest.fixture
def studio(tmp_path: Path, static: str) -> Iterator[Studio]:
    with studio_at(tmp_path / "home", static) as studio:
        yield studio


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A table in which half of the words of a query are those of its relevant document; every second row is not relevant."""
    texts = list(dict.fromkeys(sentences(60)))
    rows = [(" ".join(text.split()[: 1 + len(text.split()) // 2]), text, 2) for text in texts[:25]]
    rows += [(query, texts[place + 25], 0) for place, (query, _, _) in enumerate(rows)]
    path = tmp_path / "judged.csv"
    path.write_text("query,document,grade\n" + "\n".join(f"{query},{text},{grade}" for query, text, grade in rows) + "\n")
    return path


def test_models_stand_beside_bm25_and_hybrid_search_and_are_compared_with_them(studio: Studio, static: str, judged: Path) -> None:
    found = studio.retrieval.evaluate([static], judged)
    data = studio.retrieval.read(judged)
    assert [one.kind for one in (*found.models, *found.baselines)] == ["semantic", "lexical", "hybrid"]
    assert [one.models[0] for one in found.comparisons] == ["BM25", static]
    for compared in found.comparisons:  # p of the test agrees with the interval, which contains 0 unless p is at most 0.05
        assert compared.interval is not None and compared.chance is not None
        assert compared.chance <= 0.05 or compared.interval[0] <= 0 <= compared.interval[1]
    for one in (*found.models, *found.baselines):
        assert 0 < one.ndcg_at_10 <= 1
        assert one.intervals["ndcg@10"][0] <= one.ndcg_at_10 <= one.intervals["ndcg@10"][1]
    answer = found.to_json()
    assert [answer[name] for name in METRICS] == [found.models[0].metric(name) for name in METRICS]
    assert {"intervals", "baselines", "comparisons", "models"} <= set(answer)
    vectors = [studio.catalog.load(static).encode(texts) for texts in (data.queries, data.documents)]
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in vectors]
    rows = np.argsort(-(units[0] @ units[1].T).round(12), axis=1, kind="stable")[:, :100]
    ranked = [Ranking(row, np.arange(len(row), 0, -1.0)) for row in rows]
    assert found.ndcg_at_10 == pytest.approx(score_rankings(ranked, data).means["ndcg@10"], abs=0.02)
    (entry,) = studio.leaderboard.entries()
    assert (entry.metric, entry.score, entry.data, entry.rows) == ("ndcg@10", found.ndcg_at_10, "judged.csv", len(data))
    with stoppable(lambda: True), pytest.raises(StoppedError):
        studio.retrieval.evaluate([static], judged)


def test_a_reranker_sorts_the_results_and_given_candidates(
    studio: Studio, static: str, tiny_model: Path, judged: Path, tmp_path: Path
) -> None:
    create_cross_encoder(tiny_model).save(tmp_path / "cross")
    cross = str(tmp_path / "cross")
    found = studio.retrieval.evaluate([static], judged, RetrievalOptions(reranker=cross, rerank_depth=5))
    reranked = found.combined(found.models[0])[1]
    assert (reranked.kind, reranked.model) == ("reranked", cross)
    assert reranked.recall_at_100 == found.recall_at_100
    with pytest.raises(StudioError, match="cannot search"):
        studio.retrieval.evaluate([cross], judged)
    lists = studio.retrieval.evaluate([cross, static], judged, RetrievalOptions(candidates="judged"))
    scorer, data = studio.catalog.load_scorer(cross), studio.retrieval.read(judged)
    right = []
    for query, grades in zip(data.queries, data.grades, strict=True):
        scores = {row: scorer.predict([(query, data.documents[row])])[0] for row in grades}
        right.append(max(scores, key=lambda row: float(scores[row])) in {row for row, grade in grades.items() if grade > 0})
    assert lists.mrr_at_10 == pytest.approx(np.mean([1 if one else 0.5 for one in right]), abs=1e-6)
    assert {one.data for one in studio.leaderboard.entries()} == {"judged.csv", "judged.csv, judged candidates"}


@pytest.mark.parametrize("is_reversed", [False, True], ids=["judged first", "judged last"])
def test_the_order_of_the_documents_decides_no_ties(studio: Studio, static: str, tmp_path: Path, is_reversed: bool) -> None:
    """Each word is in 201 documents that BM25 cannot tell apart, of which one is relevant."""
    asked = WORDS[:5]
    documents = {f"d{place}": f"{asked[place % 5]} zz{place}" for place in range(1005)}
    rows = list(documents.items())[:: -1 if is_reversed else 1]
    (tmp_path / "qrels").mkdir()
    write_json_lines(tmp_path / "corpus.jsonl", ({"_id": key, "text": text} for key, text in rows))
    write_json_lines(tmp_path / "queries.jsonl", ({"_id": word, "text": word} for word in asked))
    judged = "".join(f"{word}\td{place}\t1\n" for place, word in enumerate(asked))
    (tmp_path / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    found = studio.retrieval.evaluate([static], tmp_path)
    lexical, hybrid = found.baselines
    assert lexical.metric("recall@100") == pytest.approx(100 / 201) and lexical.metric("recall@10") == pytest.approx(10 / 201)
    assert 0 < hybrid.ndcg_at_10 < 0.1 and found.models[0].ndcg_at_10 < 0.1


def test_a_reason_is_given_for_each_missed_document() -> None:
    documents = {
        "near": "cat dog mat park red blue fast slow hello", "copy": "cat dog mat park red blue fast slow world",
        "german": "der Hund und die Katze sind nicht auf der Matte", "apart": "stone bread milk", "long": "cat milk bread stone moon",
        "plain": "cat moon star", **{f"first{place}": "cat cat" for place in range(9)},
    }  # fmt: skip
    asked = "the cat is on the mat and it was not there"
    data = build_set("made up", {"q": asked}, documents, [("q", key, 1.0) for key in ("near", "german", "apart", "long", "plain")])
    rows = {key: row for row, key in enumerate(documents)}
    ranking = [rows["copy"], *(rows[f"first{place}"] for place in range(9)), rows["near"]]
    is_long = np.arange(len(documents)) == rows["long"]
    found = {one.document_id: one for one in find_misses(data, [Ranking(np.array(ranking), np.arange(11, 0, -1.0))], is_long)}
    assert {key: one.reasons for key, one in found.items()} == {
        "near": ("near-duplicate above",), "german": ("other language", "no shared words"), "apart": ("no shared words",),
        "long": ("longer than the limit",), "plain": ("other texts are closer",),
    }  # fmt: skip
    assert (found["near"].rank, found["near"].above, found["plain"].rank) == (11, documents["copy"], None)
    queries = {"words": "to be or not to be", "han": "東京大学"}
    documents = {"said": "To be or not to be is what he said.", "kana": "これは日本の東京大学です。そこで学びます。"}
    data = build_set("no false reasons", queries, documents, [("words", "said", 1.0), ("han", "kana", 1.0)])
    nothing = [Ranking(np.empty(0, np.int64), np.empty(0))] * 2
    assert {one.reasons for one in find_misses(data, nothing, None)} == {("other texts are closer",)}


def cli(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any, str]:
    code = run([*map(str, arguments), "--json"])
    told = capsys.readouterr()
    return code, json.loads(told.out), told.err


def test_the_command_answers_as_the_contract_has_it(
    static: str, tiny_model: Path, judged: Path, home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, answer, _ = cli(capsys, "evaluate", static, "--retrieval", judged)
    assert (code, answer["set"], answer["queries"], answer["documents"]) == (0, "judged.csv", 25, 50)
    assert set(METRICS) == set(answer["intervals"]) == set(METRICS) & set(answer)
    assert {"query", "document", "rank", "reasons"} <= set(answer["models"][0]["missed"][0])
    assert run(["evaluate", static, "--retrieval", str(judged), "--out", str(tmp_path / "scores.csv")]) == 0
    assert (tmp_path / "scores.csv").read_text(encoding="utf-8-sig").splitlines()[2].startswith("judged.csv,BM25,lexical,")
    words = capsys.readouterr().out
    before = judged.read_bytes()
    for out, more in ((judged, []), (tmp_path / "scores.txt", []), (tmp_path / "r.xlsx", ["--recommend"])):
        assert run(["evaluate", "no-model", "--retrieval", str(judged), "--out", str(out), *more]) == 2
    told = capsys.readouterr().err
    assert judged.read_bytes() == before and all(part in told for part in ("is the input file", "cannot be written to", "writes no file"))
    assert all(word in words for word in ("nDCG@10", "Recall@100", "BM25", "missed document"))
    texts = list(dict.fromkeys(sentences(12)))
    rows = [{"_id": f"d{place}", "title": text, "text": texts[place - 1]} for place, text in enumerate(texts)]
    (tmp_path / "set" / "qrels").mkdir(parents=True)
    (tmp_path / "set" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "set" / "queries.jsonl").write_text("\n".join(json.dumps({"_id": row["_id"], "text": row["title"]}) for row in rows))
    (tmp_path / "set" / "qrels" / "dev.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"d{row}\td{row}\t1\n" for row in range(12))
    )
    folder = ["evaluate", tiny_model, "--retrieval", tmp_path / "set", "--qrels", "dev"]
    titled, bare = (cli(capsys, *folder, *more)[1] for more in ([], ["--no-titles", "--passages"]))
    assert titled["split"] == "dev"
    assert titled["ndcg@10"] > bare["ndcg@10"]
    assert [one["kind"] for one in bare["baselines"]] == ["lexical", "passages", "hybrid"]
    before, own = judged.read_bytes(), ["--retrieval", judged, "--out", tmp_path / "scores.csv"]
    for arguments in (
        ["--retrieval", judged, "--task", "sts"],
        ["--data", judged, "--judged-only"],
        ["--retrieval", tmp_path / "missing"],
        ["--retrieval", judged, "--out", judged],
        [*own, "--recommend"],
    ):
        assert cli(capsys, "evaluate", static, *arguments)[0] == 2
    assert judged.read_bytes() == before, "the queries are not overwritten"


def test_documents_without_labels_are_checked_by_known_items_that_never_reach_the_leaderboard(
    studio: Studio, static: str, tmp_path: Path
) -> None:
    rows = [{"_id": f"d{place}", "title": text, "text": f"{text} {text}"} for place, text in enumerate(dict.fromkeys(sentences(20)))]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "docs.csv").write_text("title,text\n" + "\n".join(f"{row['title']},{row['text']}" for row in rows))
    for source in (tmp_path / "docs", tmp_path / "docs.csv"):
        found = studio.retrieval.evaluate([static], source)
        assert "Known-item check without labels" in found.known_item
        assert (found.queries, found.documents) == (len(rows), len(rows))
        assert found.mrr_at_10 > 0.5
    assert not studio.leaderboard.entries()


def test_a_long_document_is_found_by_its_best_passage(studio: Studio, tiny_model: Path) -> None:
    encoder = studio.catalog.load(str(tiny_model))
    filler = " ".join(["cat dog mat park."] * encoder.max_length)
    wanted = "river stone bread milk."
    documents = {"long": " ".join([filler, *[wanted] * encoder.max_length]), "short": "moon star moon.", "empty": ""}
    data = build_set("long", {"q": wanted}, documents, [("q", "long", 1.0)])
    found = studio.retrieval.evaluate([str(tiny_model)], data, RetrievalOptions(passages=True), owner="")
    (model,) = found.models
    assert (model.truncated, len(model.length_notes())) == (1, 1)
    passages = found.combined(model)[0]
    assert (passages.kind, passages.mrr_at_10) == ("passages", 1.0)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("corpus.jsonl", "queries.jsonl"), r"has no qrels/test\.tsv\. hint: a BEIR folder contains"),
        (("queries.jsonl", "qrels/test.tsv"), r"has no corpus\.jsonl\. hint: a BEIR folder contains"),
    ],
)
def test_a_beir_folder_without_one_of_its_files_is_no_folder_of_documents(
    studio: Studio, tmp_path: Path, files: tuple[str, ...], words: str
) -> None:
    (tmp_path / "set" / "qrels").mkdir(parents=True)
    for file in files:
        text = "query-id\tcorpus-id\tscore\nq\td\t1\n" if file.startswith("qrels") else '{"_id": "q", "text": "A title. A text."}\n'
        (tmp_path / "set" / file).write_text(text)
    with pytest.raises(StudioError, match=words):
        studio.retrieval.read(tmp_path / "set")


def test_a_table_without_columns_of_queries_and_documents_is_told_its_columns(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    rows = "which animal sleeps,cats sleep,1\nwhat barks,dogs bark,1\nwhat flies,birds fly,0\n"
    path.write_text(f"q1,foo,bar\n{rows}")
    with pytest.raises(StudioError, match=r"no columns of queries and documents: its columns are 'q1', 'foo', 'bar'\. hint: rename"):
        studio.retrieval.read(path)
    path.write_text(f"title,text,bar\n{rows}")
    assert studio.retrieval.read(path).known_item, "documents of a table need no judgments"
