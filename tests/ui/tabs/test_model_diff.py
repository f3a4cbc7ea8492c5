"""What changed from one model to another, on the page and as a file, without a browser."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gradio.utils import deep_hash
from tiny_studio import quick, sentences, studio_at, write_model, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.services import TrainRequest
from sbert_studio.services.results import CategoryChange
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.state import base_model, compare_with_base
from sbert_studio.ui.tabs.evaluate import model_diff
from sbert_studio.ui.tabs.evaluate.model_diff import Comparison, ModelDiffView, describe_categories, diff_value
from sbert_studio.ui.views import UNCHANGED, server_function

HOSTILE = "cat </script><script>alert(1)</script> dog ${alert(2)}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("changing")
    with studio_at(folder / "home", write_model(folder / "tiny")) as studio:
        yield Page(studio)


@pytest.fixture(scope="module")
def run(page: Page, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.csv", 80)
    run = page.studio.fine_tune.train(TrainRequest(path, overrides=quick(epochs=2)))
    return page.studio.fine_tune.set_strength(run.id, 1.0).id  # whether or not that is better


@pytest.fixture(scope="module")
def seen(page: Page, run: str, tmp_path_factory: pytest.TempPathFactory) -> ModelDiffView:
    path = tmp_path_factory.mktemp("corpus") / "requests.csv"
    rows = [f"{text},{'ab'[number % 2]}" for number, text in enumerate(sentences(40, seed=9))]
    path.write_text("text,topic\n" + "\n".join([*rows, f'"{HOSTILE}",a']) + "\n", encoding="utf-8")
    base = str(page.studio.settings.default_model)
    return model_diff.compare(page, corpora.open_file(page, str(path)), base, run, "cat dog\n\nred moon\n", "topic")


def test_the_view_holds_what_was_found_and_says_what_it_was_made_with(page: Page, run: str, seen: ModelDiffView) -> None:
    key, value = seen.corpus, seen.diff
    found = page.model_diffs.get(seen.comparison.key)
    moved = np.frombuffer(base64.b64decode(value["moved"]), "<f4")
    np.testing.assert_array_equal(moved, found.moved)
    assert [len(base64.b64decode(one)) for one in (*value["points"], *value["near"], *value["changed"])] == [328, 328, 1640, 1640, 410, 410]
    assert [one["text"] for one in value["queries"]] == ["cat dog", "red moon"] and value["typed"]
    assert value["most"][0] == int(np.argmax(found.moved))
    assert f"keeps {10 * (1 - float(moved.mean())):.1f} of its 10 nearest" in value["said"]
    assert value["outcome"]["before"] == page.studio.store.get(run).before["score"], "the run's own scores, with their verdict"
    rows = page.studio.store.get(run).dev_rows
    assert value["outcome"]["of"].startswith(f"Evaluated on {rows:,} held-out rows of its training file pairs.csv, ") and rows, (
        "and of which rows they are"
    )
    assert "out of" not in json.dumps(value) and HOSTILE not in value["said"]
    base = str(page.studio.settings.default_model)
    assert value["made"]["corpus"] == page.corpora.get(key).corpus.digest and value["made"]["again"] == "changed-go"
    assert value["made"]["key"] == model_diff.form_value(base, run, "cat dog\nred moon", "topic")["key"]
    assert value["made"]["key"] != model_diff.form_value(base, run, "cat dog", "topic")["key"]


def test_the_saved_file_needs_nothing_and_holds_no_markup_of_a_visitor(page: Page, seen: ModelDiffView) -> None:
    path = model_diff.write_file(page, seen.comparison)
    text = path.read_text(encoding="utf-8")
    assert path.suffix == ".html" and "<script>alert(1)" not in text
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", text), "nothing is fetched"
    data = json.loads(text.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    assert data["value"]["texts"][40] == HOSTILE and len(data["value"]["texts"]) == 41
    assert "requests.csv · 41 texts" in data["made"]
    with pytest.raises(StudioError, match="nothing has been compared"):
        model_diff.write_file(page, None)


def test_texts_are_sent_to_who_knows_the_key(page: Page, seen: ModelDiffView) -> None:
    key = seen.comparison.key
    assert model_diff.get_texts(page, {"key": key, "start": 39, "count": 10}) == [page.model_diffs.get(key).corpus.texts[39], HOSTILE]
    assert model_diff.get_texts(page, {"key": key, "start": -5, "count": "all"}) == []
    answer = server_function(page, "changed_texts", model_diff.get_texts)
    assert "no longer in memory" in answer({"key": "gone", "start": 0, "count": 5})["error"]  # type: ignore[index]
    for made_up in ({}, {"key": "guess", "start": 0, "count": 1}):
        with pytest.raises(StudioError, match="no longer in memory"):
            model_diff.get_texts(page, made_up)


def test_a_run_is_proposed_and_compared_with_its_base(page: Page, run: str) -> None:
    base = str(page.studio.settings.default_model)
    assert base_model(page, run) == base and base_model(page, "run-0000000000") == base
    one, two = compare_with_base(page, run), compare_with_base(page, run)
    assert (one.before, one.after) == (base, run) and one != two, "asked again, it is shown again"
    with pytest.raises(StudioError, match="no model to compare"):
        compare_with_base(page, "")
    with pytest.raises(StudioError, match="second model"):
        model_diff.compare(page, None, base, None, "", "")
    assert model_diff.run_scores(page, "other", run) is None and model_diff.run_scores(page, run, base) is None
    base, multilingual = str(page.studio.settings.default_model), page.studio.languages.multilingual
    assert model_diff._bundled_pair(page, [base, "other", multilingual]) == (base, multilingual)
    assert model_diff._bundled_pair(page, [base]) == (base, None)
    for proposed in ((None, None), (base, multilingual), ("deleted", "deleted")):
        assert [one["value"] for one in model_diff.update_models(page, None, *proposed)] == [base, run]
    chosen = model_diff.update_models(page, None, run, multilingual)
    assert [one["value"] for one in chosen] == [run, multilingual], "what the visitor chose stays"


def test_sub_tab_opens_with_a_comparison_on_a_small_corpus(
    page: Page, run: str, seen: ModelDiffView, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = str(page.studio.settings.default_model)
    opened = model_diff.compare_first(page, seen.corpus, base, run, "", "topic")
    assert opened is not None and opened.corpus is UNCHANGED and opened.diff["moved"] == seen.diff["moved"]
    assert opened.diff["made"]["key"] == model_diff.form_value(base, run, "", "topic")["key"]
    assert model_diff.compare_first(page, seen.corpus, base, base, "", "") is None
    assert model_diff.compare_first(page, seen.corpus, base, None, "", "") is None
    monkeypatch.setattr(model_diff, "_MAX_FIRST_TEXTS", 40)
    assert model_diff.compare_first(page, seen.corpus, base, run, "", "topic") is None


def test_the_chooser_of_categories_follows_the_corpus(page: Page, seen: ModelDiffView, tmp_path: Path) -> None:
    assert model_diff.update_categories(page, seen.corpus, "gone")["value"] == "topic"
    plain = tmp_path / "plain.txt"
    plain.write_text("\n".join(sentences(20)), encoding="utf-8")
    found = model_diff.update_categories(page, corpora.open_file(page, str(plain)), "topic")
    assert found["value"] == "" and not found["visible"]


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((0.01, 0.09), ": better ("),
        ((-0.01, 0.09), "no difference beyond chance (95% interval of the gain: −0.010 to"),
        (None, "too few to distinguish a gain from chance"),
    ],
)
def test_the_sentence_on_categories_has_its_verdict(interval: tuple[float, float] | None, words: str) -> None:
    sentence = describe_categories(CategoryChange("topic", 400, 0.8, 0.85, interval, ()))
    assert words in sentence and "80 → 85" in sentence


def test_the_sentence_on_categories_counts_trained_and_few_texts() -> None:
    sentence = describe_categories(CategoryChange("topic", 20, 0.8, 0.9, (0.01, 0.2), (), 6))
    assert "20 texts" in sentence and "6 of which were used to fine-tune" in sentence
    assert "Of 1,000 texts, 801 → 803" in describe_categories(CategoryChange("topic", 4000, 0.801, 0.803, (-0.01, 0.02), ()))
    assert "Of 4,000 texts, 3,204 → 3,205" in describe_categories(CategoryChange("topic", 4000, 0.801, 0.80125, (-0.01, 0.02), ()))
    same = describe_categories(CategoryChange("topic", 24, 0.875, 0.875, (-0.1, 0.1), ()))
    assert "Of 24 texts, 21 → 21" in same and "no difference" in same


def test_views_are_hashable_and_show_unchanged_neighbors_and_changed_categories(seen: ModelDiffView, page: Page) -> None:
    assert seen.comparison.scores, "the part that is a dictionary"
    assert deep_hash(seen.comparison) == deep_hash(seen.comparison) != deep_hash(replace(seen.comparison, key="another"))
    found = page.model_diffs.get(seen.comparison.key)
    still = replace(found, movement=replace(found.movement, lost=np.zeros_like(found.movement.lost)))
    assert not still.moved.any()
    value = diff_value(still, ("one", "two"), Comparison("key", False, None))
    assert value["said"].startswith("No neighbor changed from one to two") and value["points"][0] == value["points"][1]
    found = page.model_diffs.get(seen.comparison.key)
    rows = diff_value(found, ("a", "b"), Comparison("key", False, None))["categories"]["rows"]
    assert all(row["before"] != row["after"] and "such as" in row["example"] for row in rows)
