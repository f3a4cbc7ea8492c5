"""Two texts, their words, several models, and the matrix, without a browser."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.explore.duplicates import similarity_order
from sbert_studio.explore.explain import ScoreDistribution
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.basket import gather
from sbert_studio.ui.panels.comparing import verdict
from sbert_studio.ui.panels.comparing.matrix import matrix
from sbert_studio.ui.pieces import picker
from sbert_studio.ui.tabs import similarity

MODEL = "all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("cosine", "words"),
    [
        (1.0, "The same to this model"),
        (0.9995, "Very close"),
        (0.991, "Close"),
        (0.9, "Related"),
        (0.75, "Loosely related"),
        (0.3, "No closer than chance"),
    ],
)
def test_a_score_is_told_beside_what_is_usual(cosine: float, words: str) -> None:
    usual = ScoreDistribution(np.linspace(0, 0.9999, 10_000).astype(np.float32), "some texts")
    found, told = verdict.in_words(cosine, usual)
    assert found == words
    assert all(part in told for part in (str(usual.odds(cosine)), "some texts", "0.25 and 0.75"))


def test_the_same_cosine_means_less_where_all_texts_are_alike() -> None:
    apart, crowded = (
        ScoreDistribution(np.random.default_rng(0).normal(mean, 0.1, 5_000).clip(-1, 1).astype(np.float32), "x") for mean in (0.1, 0.8)
    )
    apart, crowded = (ScoreDistribution(np.sort(usual.cosines), "x") for usual in (apart, crowded))
    assert verdict.in_words(0.7, apart)[0] == "Very close" and verdict.in_words(0.7, crowded)[0] == "No closer than chance"


def test_two_texts_become_a_gauge_on_the_scale_of_random_pairs(page: Page, corpus_file: Path) -> None:
    value, words, beside = similarity.two(page, "cat dog", "cat dog", None, [], None)
    assert value["cosine"] == pytest.approx(1, abs=1e-5) and value["place"] == pytest.approx(1, abs=1e-5)
    assert "everyday sentences" in value["explain"] and beside is None
    places = [place for place, _ in value["marks"]]
    assert places == sorted(places) and max(value["bins"]) == 1
    assert words["partners"] == [[0, 1], [0, 1]]
    key = picker.take_file(page, str(corpus_file))
    assert "taken at random from corpus.csv" in similarity.two(page, "cat dog", "moon", None, [], key)[0]["explain"]


def test_words_are_cut_so_that_the_texts_stay_whole(page: Page) -> None:
    a, b = " Where is my parcel, please?", "The package (blue) never came!"
    _, words, _ = similarity.two(page, a, b, MODEL, [], None)
    for text, cut in zip((a, b), words["texts"], strict=True):
        assert "".join(before + word for before, word in cut["words"]) + cut["tail"] == text
    first, second = ([word for _, word in cut["words"]] for cut in words["texts"])
    assert second[words["partners"][0][first.index("parcel")]] == "package"
    assert words["sums"] and "is a sum" in words["facts"][0]


def test_a_model_without_words_says_why_there_are_none(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.studio.catalog.load(page.studio.settings.default_model).tokens, "_fast", None)
    _, words, _ = similarity.two(page, "cat dog", "moon", None, [], None)
    assert "gives no vectors of single words" in words["empty"]


def test_several_models_stand_side_by_side_each_by_its_own_measure(page: Page) -> None:
    _, _, beside = similarity.two(page, "cat dog", "cat moon", None, [MODEL, MODEL], None)
    assert beside is not None and len(beside["rows"]) == 2
    for row, name in zip(beside["rows"], (None, MODEL), strict=True):
        assert row[1] == pytest.approx(page.studio.explore.similarity("cat dog", "cat moon", name).cosine)
        assert row[3] == page.studio.explore.usual(None, name).odds(row[1])


def test_no_words_praise_the_score_of_texts_that_the_model_does_not_read(page: Page) -> None:
    texts = ("我的银行卡什么时候到", "今天天气很好")
    value, _, beside = similarity.two(page, *texts, MODEL, [str(page.studio.settings.default_model)], None)
    assert value["words"] == "Not to be relied on" and "look like Chinese" in value["explain"]
    assert beside is not None and beside["rows"][0][4] == "Not to be relied on"
    assert "look like Chinese" in matrix(page.studio, "\n".join(texts), MODEL)["note"]
    assert matrix(page.studio, "cat dog\nred blue", MODEL)["note"] == ""


def test_a_thumb_puts_both_texts_into_the_basket(page: Page) -> None:
    value, _, _ = similarity.two(page, " cat dog ", "moon", None, [], None)
    gather.mark(page, None, gather.Pair(*value["pair"], gather.SAID["together"], similarity.TITLE))
    assert [(pair.a, pair.b, pair.source) for pair in page.baskets.of("local").pairs] == [("cat dog", "moon", "Similarity")]


def test_the_matrix_is_symmetric_ordered_and_takes_two_to_two_hundred_lines(page: Page) -> None:
    value = matrix(page.studio, "cat dog\n\n red blue \nmoon", None)
    values = np.array(value["values"])
    assert values.shape == (3, 3) and sorted(value["order"]) == [0, 1, 2] and value["labels"][1] == "red blue"
    np.testing.assert_allclose(values, values.T, atol=1e-3)
    assert len(matrix(page.studio, "\n".join(f"cat {n}" for n in range(200)), None)["order"]) == 200
    for lines in ("", "one", "\n".join(["cat"] * 201)):
        with pytest.raises(StudioError):
            matrix(page.studio, lines, None)


def test_alike_ones_stand_side_by_side() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 5)
    mixed = random.permutation(20)
    vectors = np.eye(4)[group] + 0.1 * random.normal(size=(20, 4))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True))[mixed]
    order = similarity_order(vectors @ vectors.T)
    assert sorted(order) == list(range(20))
    changes = np.count_nonzero(np.diff(group[mixed][order]))
    assert changes == 3, "each group stands together"
    assert similarity_order(np.eye(2)) == [0, 1]


def test_a_file_of_pairs_tells_its_correlation_with_an_interval_and_the_worst_rows(page: Page, tmp_path: Path) -> None:
    from scipy.stats import rankdata, spearmanr
    from tiny_studio import write_pairs

    from sbert_studio.ui.panels.comparing import pairs_file

    scores = pairs_file.pairs(page.studio, write_pairs(tmp_path / "pairs.csv", 60), None)
    found = scores.agreement
    assert found is not None and found.spearman is not None and len(found.worst) == 20
    low, high = found.spearman_interval
    assert low < found.spearman < high
    cosines = np.array([row.similarity.cosine for row in scores.rows])
    said = np.array([float(line.rsplit(",", 1)[1]) for line in (tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()[1:]])
    gaps = (rankdata(cosines) - rankdata(said)) / 59
    assert abs(found.worst[0].gap) == pytest.approx(np.abs(gaps).max())
    assert [gap.gap for gap in found.worst] == pytest.approx([gaps[gap.place] for gap in found.worst])
    assert found.spearman == pytest.approx(spearmanr(cosines, said).statistic)
    value = pairs_file.worst_table(scores)
    assert value is not None and "(between " in value["caption"] and "The 20 rows that disagree most" in value["caption"]
    assert value["rows"][0][0] == scores.rows[found.worst[0].place].row and value["pairs"][0] == list(value["rows"][0][1:3])
    # The file's own scores, told once, and in the file to download as well.
    assert [row[3] for row in value["rows"]] == pytest.approx([said[gap.place] for gap in found.worst], abs=1e-4)
    assert found.scale == (0, 5) and "0 is least alike, 5 most" in value["note"]
    assert found.in_words() in value["caption"] and found.in_words() not in pairs_file.pairs_table(scores)["note"]
    scores.to_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as source:
        rows = list(csv.DictReader(source))
    assert [float(row["score"]) for row in rows] == pytest.approx(said.tolist())
    assert [float(row["ranks_apart"]) for row in rows] == pytest.approx(gaps.tolist(), abs=1e-4)


def test_the_headline_of_a_file_of_pairs_says_what_it_was_made_with_and_which_rows_were_left_out(page: Page, tmp_path: Path) -> None:
    from tiny_studio import write_pairs

    from sbert_studio.ui.panels.comparing import pairs_file

    path = write_pairs(tmp_path / "pairs.csv", 60)
    path.write_text(path.read_text(encoding="utf-8") + "cat,,3\ncat dog,dog,\n", encoding="utf-8")
    scores = pairs_file.pairs(page.studio, path, None)
    value = pairs_file.worst_table(scores)
    assert value is not None and "62 rows read, 61 compared, 1 skipped: " in value["caption"]
    assert "row 62); 1 of those compared" in value["caption"] and "over 60 rows" in value["caption"]
    assert "skipped: " not in pairs_file.pairs_table(scores)["note"], "once"
    _, table, _, worst = pairs_file.scores_of(page, path, page.studio.settings.default_model)
    assert worst is not None and worst["made"] == table["made"] and worst["made"]["words"].endswith(" · pairs.csv")


def test_rows_with_labels_disagree_by_the_order_of_their_labels(page: Page, tmp_path: Path) -> None:
    from sbert_studio.ui.panels.comparing import pairs_file

    alike = [f"cat {word},cat {word} moon,same" for word in ["dog", "park", "red", "blue"]]
    apart = [f"cat {word},fast river {word},other" for word in ["hello", "world", "bank", "card"]]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["a,b,label", *alike * 4, *apart * 4, "cat dog mat,cat dog mat,other"]), encoding="utf-8")
    scores = pairs_file.pairs(page.studio, path, None)
    value = pairs_file.worst_table(scores)
    assert value is not None and value["rows"][0][1:4] == ["cat dog mat", "cat dog mat", "other"]
    assert value["rows"][0][5].startswith("alike to the model")
