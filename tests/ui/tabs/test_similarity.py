"""Handlers of the Similarity tab, without a browser."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from openpyxl import load_workbook
from scipy.stats import rankdata, spearmanr
from tiny_studio import write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.explore.duplicates import similarity_order
from sbert_studio.explore.explain import ScoreDistribution
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.state import TextPair
from sbert_studio.ui.tabs.similarity import handlers
from sbert_studio.ui.tabs.similarity.handlers import PairsView, TextsView, describe_cosine
from sbert_studio.ui.views import UNCHANGED, props

MODEL = "all-MiniLM-L6-v2"


def compare(page: Page, first: str, second: str, *others: str, model: str | None = None, corpus: str | None = None) -> TextsView:
    return handlers.compare_texts(page, first, second, model, "", list(others), corpus)


def score(page: Page, path: Path) -> PairsView:
    return handlers.score_data(page, page.corpora.put(page.corpora.read(path)), page.studio.settings.default_model, "")


WORDS = {1.0: "Identical for this model", 0.9995: "Very close", 0.991: "Close in meaning", 0.9: "Related", 0.75: "Loosely related"}
WORDS |= {0.3: "No closer than chance"}


@pytest.mark.parametrize(("cosine", "words"), WORDS.items())
def test_cosine_is_described_relative_to_random_pairs(cosine: float, words: str) -> None:
    usual = ScoreDistribution(np.linspace(0, 0.9999, 10_000).astype(np.float32), "some texts")
    found, explanation = describe_cosine(cosine, usual)
    assert found == words
    assert all(part in explanation for part in (str(usual.odds(cosine)), "some texts", "0.25 and 0.75"))


def test_same_cosine_means_less_where_all_texts_are_similar() -> None:
    random = np.random.default_rng(0)
    diverse, uniform = (
        ScoreDistribution(np.sort(random.normal(mean, 0.1, 5_000).clip(-1, 1).astype(np.float32)), "x") for mean in (0.1, 0.8)
    )
    assert describe_cosine(0.7, diverse)[0] == "Very close"
    assert describe_cosine(0.7, uniform)[0] == "No closer than chance"


def test_word_alignment_keeps_the_texts_whole(page: Page) -> None:
    texts = " Where is my parcel, please?", "The package (blue) never came!"
    words = compare(page, *texts, model=MODEL).words
    for text, cut in zip(texts, words["texts"], strict=True):
        assert "".join(before + word for before, word in cut["words"]) + cut["tail"] == text
    first, second = ([word for _, word in cut["words"]] for cut in words["texts"])
    assert second[words["partners"][0][first.index("parcel")]] == "package"
    assert words["sums"] and "is a sum" in words["facts"][0]


def test_model_without_word_vectors_says_why_there_is_no_alignment(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.studio.catalog.load(page.studio.settings.default_model).tokens, "_fast", None)
    assert "has no word vectors" in compare(page, "cat dog", "moon").words["empty"]


def test_texts_are_compared_on_the_scale_of_random_pairs_by_each_model(page: Page, corpus_file: Path) -> None:
    found = compare(page, "cat dog", "cat dog")
    assert found.gauge["cosine"] == pytest.approx(1, abs=1e-5) and found.gauge["place"] == pytest.approx(1, abs=1e-5)
    assert "everyday sentences" in found.gauge["explain"] and found.model_table is None
    positions = [position for position, _ in found.gauge["marks"]]
    assert positions == sorted(positions) and max(found.gauge["bins"]) == 1
    assert found.words["partners"] == [[0, 1], [0, 1]]
    corpus = corpora.open_file(page, str(corpus_file))
    assert "random pairs from corpus.csv" in compare(page, "cat dog", "moon", corpus=corpus).gauge["explain"]
    table = compare(page, "cat dog", "cat moon", MODEL, MODEL).model_table
    assert table is not None and len(table["rows"]) == 2
    for row, name in zip(table["rows"], (None, MODEL), strict=True):
        assert row[1] == pytest.approx(page.studio.similarity.compare("cat dog", "cat moon", name).cosine)
        assert row[3] == page.studio.similarity.baseline(None, name).odds(row[1])


def test_scores_of_an_unknown_language_are_called_unreliable(page: Page) -> None:
    texts = ("我的银行卡什么时候到", "今天天气很好")
    found = handlers.compare_texts(page, *texts, MODEL, MODEL, [str(page.studio.settings.default_model)], None)
    assert found.gauge["words"] == "Unreliable" and "look like Chinese" in found.gauge["explain"]
    assert found.model_table is not None and found.model_table["rows"][0][4] == "Unreliable"
    assert "look like Chinese" in handlers.compare_lines(page, "\n".join(texts), MODEL, MODEL).matrix["note"]
    assert handlers.compare_lines(page, "cat dog\nred blue", MODEL, MODEL).matrix["note"] == ""


def test_pairs_go_into_the_basket_and_come_from_other_tabs(page: Page) -> None:
    assert handlers.label_texts(page, None, None, Selection("together", 0)) is UNCHANGED
    compared = compare(page, " cat dog ", "moon").compared
    assert handlers.label_texts(page, compared, None, Selection("row", 0)) is UNCHANGED
    handlers.label_texts(page, compared, None, Selection("together", 0))
    assert [(pair.a, pair.b, pair.source) for pair in page.baskets.of("local").pairs] == [("cat dog", "moon", "Similarity")]
    default = page.studio.settings.default_model
    assert handlers.fill_texts(page, None, None, default, []) is None
    filled = handlers.fill_texts(page, TextPair("a", "b", MODEL), None, str(default), ["x", MODEL])
    assert filled is not None and filled[:2] == ("a", "b") and isinstance(filled[2], dict) and filled[2]["value"] == [MODEL, "x"]
    unknown = handlers.fill_texts(page, TextPair("a", "b", "run-unknown"), None, str(default), [])
    assert unknown is not None and unknown[2] is UNCHANGED


def test_matrix_is_symmetric_and_takes_2_to_200_lines(page: Page) -> None:
    matrix = handlers.compare_lines(page, "cat dog\n\n red blue \nmoon", None, "").matrix
    values = np.array(matrix["values"])
    assert values.shape == (3, 3) and sorted(matrix["order"]) == [0, 1, 2] and matrix["labels"][1] == "red blue"
    np.testing.assert_allclose(values, values.T, atol=1e-3)
    assert len(handlers.compare_lines(page, "\n".join(f"cat {n}" for n in range(200)), None, "").matrix["order"]) == 200
    for lines in ("", "one", "\n".join(["cat"] * 201)):
        with pytest.raises(StudioError):
            handlers.compare_lines(page, lines, None, "")


def test_similar_texts_are_next_to_each_other_in_the_matrix() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 5)
    mixed = random.permutation(20)
    vectors = np.eye(4)[group] + 0.1 * random.normal(size=(20, 4))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True))[mixed]
    order = similarity_order(vectors @ vectors.T)
    assert sorted(order) == list(range(20))
    assert np.count_nonzero(np.diff(group[mixed][order])) == 3
    assert similarity_order(np.eye(2)) == [0, 1]


def test_file_of_pairs_reports_correlation_and_worst_rows(page: Page, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv", 60)
    found = score(page, path)
    scores = page.pair_scores.get(found.scores)
    agreement = scores.agreement
    assert agreement is not None and agreement.spearman is not None and len(agreement.worst) == 20
    low, high = agreement.spearman_interval
    assert low < agreement.spearman < high
    cosines = np.array([row.similarity.cosine for row in scores.rows])
    gold = np.array([float(line.rsplit(",", 1)[1]) for line in path.read_text(encoding="utf-8").splitlines()[1:]])
    gaps = (rankdata(cosines) - rankdata(gold)) / 59
    assert abs(agreement.worst[0].gap) == pytest.approx(np.abs(gaps).max())
    assert [gap.gap for gap in agreement.worst] == pytest.approx([gaps[gap.place] for gap in agreement.worst])
    assert agreement.spearman == pytest.approx(spearmanr(cosines, gold).statistic)

    worst = found.worst
    assert worst is not None and "(between " in worst["caption"] and "The 20 rows that disagree most" in worst["caption"]
    assert worst["rows"][0][0] == scores.rows[agreement.worst[0].place].row and worst["pairs"][0] == list(worst["rows"][0][1:3])
    assert [row[3] for row in worst["rows"]] == pytest.approx([gold[gap.place] for gap in agreement.worst], abs=1e-4)
    assert agreement.scale == (0, 5) and "0 is least similar, 5 most" in worst["note"]
    assert agreement.describe() in worst["caption"] and agreement.describe() not in found.table["note"]

    with handlers.write_scores(page, found.scores).open(encoding="utf-8-sig", newline="") as source:
        rows = list(csv.DictReader(source))
    assert [float(row["score"]) for row in rows] == pytest.approx(gold.tolist())
    assert [float(row["ranks_apart"]) for row in rows] == pytest.approx(gaps.tolist(), abs=1e-4)
    names, *cells = load_workbook(handlers.write_scores(page, found.scores, ".xlsx")).worksheets[0].values
    assert list(names) == list(rows[0]) and [row[names.index("score")] for row in cells] == pytest.approx(gold.tolist())

    handlers.label_row(page, found.scores, None, Selection("apart", agreement.worst[0].place))
    assert [[pair.a, pair.b] for pair in page.baskets.of("local").pairs] == [worst["rows"][0][1:3]]
    for row in (-1, 60, "0", None):
        assert handlers.label_row(page, found.scores, None, Selection("apart", row)) is UNCHANGED


def test_worst_rows_are_listed_for_scores_and_labels(page: Page, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv", 60)
    path.write_text(path.read_text(encoding="utf-8") + "cat,,3\ncat dog,dog,\n", encoding="utf-8")
    found = score(page, path)
    assert found.worst is not None and "62 rows read, 61 compared, 1 skipped: " in found.worst["caption"]
    assert "row 62); 1 of the compared rows" in found.worst["caption"] and "over 60 rows" in found.worst["caption"]
    assert "left out: " not in found.table["note"]
    assert found.table["caption"] == "62 rows read, 61 compared, 1 skipped"
    assert found.worst["made"] == found.table["made"] and found.worst["made"]["words"].endswith(" · pairs.csv")
    similar = [f"cat {word},cat {word} moon,same" for word in ["dog", "park", "red", "blue"]]
    different = [f"cat {word},fast river {word},other" for word in ["hello", "world", "bank", "card"]]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["a,b,label", *similar * 4, *different * 4, "cat dog mat,cat dog mat,other"]), encoding="utf-8")
    worst = score(page, path).worst
    assert worst is not None and worst["rows"][0][1:4] == ["cat dog mat", "cat dog mat", "other"]
    assert worst["rows"][0][5].startswith("similar according to the model")


def test_pairs_of_the_selected_data_are_scored_or_those_of_a_sample(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    pairs = page.corpora.put(page.corpora.read(write_pairs(tmp_path / "pairs.csv", 20)))
    found, first = handlers.score_data(page, pairs, model, ""), handlers.score_first_data(page, pairs, model, "", "en")
    assert first is not None and first.table["rows"] == found.table["rows"] and "pairs.csv" in found.table["made"]["words"]
    texts = tmp_path / "texts.txt"
    texts.write_text("cat dog mat\nmoon star sky\nred park bench\n", encoding="utf-8")
    plain = page.corpora.put(page.corpora.read(texts))
    with pytest.raises(StudioError):
        handlers.score_data(page, plain, model, "")
    assert first.missing is None and first.button == props(interactive=True)
    sample = handlers.score_first_data(page, plain, model, "", "en")
    assert sample is not None and sample.missing is not None and "texts.txt has only one text column" in sample.missing["text"]
    assert (
        len(page.pair_scores.get(sample.scores).rows) == 400
        and len(sample.table["rows"]) == 20
        and "Scored pairs" in sample.table["made"]["words"]
    )
    assert sample.button == props(interactive=False) and sample.header.model is UNCHANGED
    chinese = handlers.score_first_data(page, plain, model, "", "zh")
    assert chinese is not None and "Chinese scored pairs" in chinese.table["made"]["words"]
    assert handlers.clear_pairs().scores is None


def test_files_rename_columns_and_have_no_live_formulas(tmp_path: Path, page: Page) -> None:
    from sbert_studio.data.row_report import RowReport
    from sbert_studio.services.results import PairScore, PairScores, Similarity

    rows = (PairScore(2, "cat", "dog", Similarity(0.5, 1, 2, 3)),)
    PairScores(rows, ("row", "row"), RowReport(1, 1)).write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as source:
        (found,) = csv.DictReader(source)
    assert (found["row"], found["row_"], found["row__"], found["cosine"]) == ("2", "cat", "dog", "0.5")
    path = tmp_path / "pairs.csv"
    path.write_text("text1,text2\n\"=cmd|' /C calc'!A1\",cat dog\n@sum,-0.5 moon\n", encoding="utf-8")
    found = score(page, path)
    with handlers.write_scores(page, found.scores).open(encoding="utf-8-sig", newline="") as source:
        rows = list(csv.DictReader(source))
    assert [row["text1"][0] for row in rows] == ["'", "'"]
    assert [row["row"] for row in rows] == ["2", "3"]
    assert float(rows[0]["cosine"]) == pytest.approx(page.pair_scores.get(found.scores).rows[0].similarity.cosine, abs=1e-4)
