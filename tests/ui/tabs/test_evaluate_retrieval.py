"""Evaluation of retrieval in the Evaluate tab: data that calls for it, results, files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from openpyxl import load_workbook
from tiny_studio import sentences, write_pairs

from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.ranking import METRICS
from sbert_studio.services.data_overview import describe_uses
from sbert_studio.services.retrieval_files import write_retrieval
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.evaluate import conclusion, handlers, request, retrieval
from sbert_studio.ui.tabs.evaluate.first_scores import first_scores
from sbert_studio.ui.tabs.evaluate.recommendation import RECOMMEND, start_recommendation
from sbert_studio.ui.tabs.evaluate.request import EvaluationForm
from sbert_studio.ui.tabs.evaluate.retrieval import RETRIEVAL
from sbert_studio.ui.tabs.evaluate.view_model import evaluation_view
from sbert_studio.ui.views import props

from .evaluations import ended, evaluate


def pairs() -> list[tuple[str, str]]:
    """Return queries, each the first half of the document that is relevant."""
    texts = list(dict.fromkeys(sentences(60)))[:30]
    return [(" ".join(text.split()[: 1 + len(text.split()) // 2]), text) for text in texts]


def write_judged(path: Path, rows: Sequence[tuple[str, str]]) -> Path:
    path.write_text("query,document,grade\n" + "".join(f"{query},{text},2\n" for query, text in rows), encoding="utf-8")
    return path


def write_archive(path: Path) -> Path:
    rows = list(enumerate(pairs()))
    with zipfile.ZipFile(path, "w") as archive:
        for name, side in (("queries", 0), ("corpus", 1)):
            archive.writestr(f"set/{name}.jsonl", "".join(json.dumps({"_id": f"{row}", "text": both[side]}) + "\n" for row, both in rows))
        archive.writestr("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\n" + "".join(f"{row}\t{row}\t1\n" for row, _ in rows))
    return path


def write_documents(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for number, (query, text) in enumerate(pairs()):
            archive.writestr(f"{number}.md", f"# {query} {number}\n\n{text}. And more of it.\n")
    return path


@pytest.mark.parametrize(
    ("write", "known_item"),
    [
        (lambda path: write_judged(path / "judged.csv", pairs()), False),
        (lambda path: write_archive(path / "set.zip"), False),
        pytest.param(lambda path: write_documents(path / "docs.zip"), True, marks=pytest.mark.process),
    ],
)
def test_models_search_documents_beside_bm25_and_hybrid_search(page: Page, tmp_path: Path, static: str, write, known_item: bool) -> None:  # type: ignore[no-untyped-def]
    path, tiny = write(tmp_path), page.studio.settings.default_model
    table = page.corpora.table(path)
    use = describe_uses(table, table.columns[:1], path)[-1]
    assert use.is_possible and ("without labels" in use.text) == known_item
    assert handlers.choose_task(page, "auto", str(path)).search_group == props(visible=True)
    found = evaluate(page, [tiny, static], path)
    names = [row[0] for row in found.scores["rows"]]
    assert names == [tiny, static, "BM25", f"{tiny} + BM25", f"{static} + BM25"]
    columns = [column["name"] for column in found.scores["columns"]]
    assert columns[1:5] == ["nDCG@10", "95% interval", "Difference", "Verdict"]
    assert columns[5:9] == ["Recall@10", "Recall@100", "MRR@10", "MAP@100"]
    assert [column["name"] for column in found.details["columns"]][1:] == columns[1:2] + columns[5:9]
    for row, ends in zip(found.scores["rows"], found.details["rows"], strict=True):
        assert row[2] == ends[1] and row[2][0] <= row[1] == row[2][1] <= row[2][2]
    assert found.scores["rows"][0][3:5] == [None, ""] and found.scores["rows"][1][4]
    assert ("known-item check" in found.scores["caption"]) == known_item
    assert any("not questions of people" in line for line in found.conclusion["more"]) == known_item
    entries = page.studio.leaderboard.entries()
    assert [entry.metric for entry in entries] == ([] if known_item else ["ndcg@10"] * 2), "a known-item check is on no leaderboard"
    assert evaluation_view(ended(page)).files == props(visible=True)


def test_missed_documents_have_reasons_and_the_workbook_lists_everything(page: Page, tmp_path: Path, static: str) -> None:
    rows = pairs()
    strange = [(query, rows[row - 3][1]) for row, (query, _) in enumerate(rows)]
    found = evaluate(page, [static], write_judged(tmp_path / "judged.csv", strange))
    assert found.differences and found.retrieval is not None
    missed = found.retrieval.models[0].missed
    assert len(found.differences["rows"]) == min(len(missed), 50) > 0
    assert all(row[0] in {query for query, _ in rows} and row[-1] for row in found.differences["rows"])
    assert found.differences["caption"].startswith(f"{len(missed)} relevant document")
    book = load_workbook(retrieval.write_result(page, None))
    assert book.sheetnames == ["Scores", "Comparisons", "Queries", "Missed", "Notes"]
    assert (book["Scores"].max_row, book["Queries"].max_row, book["Missed"].max_row) == (4, len(rows) + 1, len(missed) + 1)
    scores = read_table(write_retrieval(found.retrieval, tmp_path / "scores.csv"))
    assert scores.column("system") == [static, "BM25", f"{static} + BM25"]
    assert [float(scores.column(metric)[0]) for metric in METRICS] == [found.retrieval.models[0].metric(metric) for metric in METRICS]
    path = tmp_path / "pairs.csv"
    write_pairs(path)
    evaluate(page, [static], path)
    with pytest.raises(StudioError, match="no longer stored"):
        retrieval.write_result(page, None)


def test_few_queries_have_no_intervals_and_retrieval_is_not_computed_unasked(page: Page, tmp_path: Path, static: str) -> None:
    path = write_judged(tmp_path / "judged.csv", pairs()[:2])
    found = evaluate(page, [static], path)
    assert found.details is None and found.scores["rows"][0][2] is None
    assert first_scores(page, page.corpora.get(page.corpora.open_file(None, path)), "en") is None


def test_the_task_and_its_options_are_chosen_and_restored(page: Page, tmp_path: Path, static: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("query,document,score\n" + "".join(f"{query},{text},{row % 2}\n" for row, (query, text) in enumerate(pairs())))
    form = EvaluationForm([static], request.FILE, str(path), passages=True)
    assert not retrieval.searches_documents(page, path, "auto"), "these are pairs with a score, unless they are to be searched"
    chosen = EvaluationForm([static], request.FILE, str(path), task=RETRIEVAL, passages=True)
    assert chosen.key != form.key
    handlers.start_form(page, None, static, "", None, chosen)
    job = ended(page)
    assert job.result is not None and job.result.retrieval.queries == 15  # type: ignore[attr-defined]
    assert [one.kind for one in job.result.retrieval.baselines][1] == "passages"  # type: ignore[attr-defined]
    restored = handlers.restore_form(page, None)
    assert restored is not None and (restored.task, restored.passages, restored.reranker) == (RETRIEVAL, True, "")
    assert restored.used.search_group == props(visible=True)


def test_one_click_recommends_a_model_and_lists_what_could_be_downloaded(
    page: Page, tmp_path: Path, static: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = page.studio.settings.default_model
    monkeypatch.setattr(page.studio.recommendation, "models_at_hand", lambda owner=None: [tiny, static])
    monkeypatch.setattr(conclusion, "_compare_speed", lambda best, others: "Speeds differ.")
    for path in (write_judged(tmp_path / "judged.csv", pairs()), write_pairs(tmp_path / "pairs.csv")):
        started = start_recommendation(page, None, tiny, None, EvaluationForm([tiny], request.SUITE, str(path)))
        assert started.job is not None
        view = evaluation_view(ended(page))
        assert view.conclusion and view.conclusion["text"].startswith("Start from ") and view.conclusion["made"]["again"] == RECOMMEND
        assert "Speeds differ." not in view.conclusion["more"], "the recommendation has its own figures on speed"
        assert {tiny, static} <= {row[0] for row in view.scores["rows"]}
        assert view.offers and view.offers["rows"] and all("MB" in row[1] for row in view.offers["rows"])
