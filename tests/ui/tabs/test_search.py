"""Handlers of the Search tab, and cross-encoders on the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shards.shards import encoded, write_texts
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.data.samples import sample_texts
from sbert_studio.errors import StudioError
from sbert_studio.models.cross_encoder import load_cross_encoder
from sbert_studio.services import TrainRequest
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.routing import Location
from sbert_studio.ui.state import RowSelection
from sbert_studio.ui.tabs.search import handlers
from sbert_studio.ui.tabs.search.handlers import HitsView, SearchedText, SearchInputs, filter_rows, search
from sbert_studio.ui.views import UNCHANGED

from .evaluations import evaluate

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def key(page: Page, corpus_file: Path) -> str:
    return str(corpora.open_file(page, str(corpus_file)))


def select(page: Page, key: str, searched: SearchedText | None, action: str, row: Any) -> HitsView:
    return handlers.select_hit(page, key, 4, None, searched, None, Selection(action, row))


def test_search_without_a_corpus_uses_the_sample(page: Page) -> None:
    found = search(page, SearchInputs(None, "refund", 3, "lexical"))
    assert len(found.hits["rows"]) == 3
    assert page.corpora.get(found.corpus).corpus.name == page.corpora.sample().corpus.name


def test_hits_have_rows_neighbors_and_thumbs(page: Page, key: str) -> None:
    corpus = page.corpora.get(key).corpus
    hits = search(page, SearchInputs(key, corpus.texts[7], 5)).hits
    row = hits["ids"][0]
    assert hits["rows"][0][0] == corpus.lines[row] and hits["rows"][0][1] == corpus.texts[row] == corpus.texts[7]
    more = select(page, key, None, "row", row)
    assert len(more.hits["ids"]) == 4 and row not in more.hits["ids"] and more.other_hits is None
    assert more.searched == SearchedText(key, corpus.texts[7]) and more.basket_version is UNCHANGED
    found = search(page, SearchInputs(key, "cat dog", 3))
    row, text = found.hits["ids"][0], found.hits["rows"][0][1]
    assert found.hits["pairs"][0] == ["cat dog", text]
    assert select(page, key, found.searched, "apart", row).hits is UNCHANGED
    (pair,) = page.baskets.of("local").pairs
    assert (pair.a, pair.b, pair.together, pair.source) == ("cat dog", text, False, "Search")
    with pytest.raises(StudioError, match="no hits yet"):
        select(page, key, None, "apart", row)


@pytest.mark.process
def test_hits_of_documents_say_where_they_are(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("# Note\n\n" + "The cat sat on the mat. " * 100 + "\n\n## Refunds\n\nA refund takes a week.\n")
    key = str(corpora.open_file(page, str(path)))
    corpus = page.corpora.get(key).corpus
    hits = search(page, SearchInputs(key, "refund", 5, "lexical")).hits
    (row,) = hits["ids"]
    place = corpus.places[row]
    assert hits["rows"][0][-1] == f"{place.start:,}–{place.end:,}" and hits["columns"][-1]["name"] == "Characters"
    assert "1 of " in hits["caption"] and "passages" in hits["caption"] and place.end - place.start == len("A refund takes a week.")


@pytest.mark.parametrize("action", ["row", "together"])
@pytest.mark.parametrize("row", [-1, 40, "3", None, True, 2.5, [1]])
def test_unknown_rows_are_refused(page: Page, key: str, action: str, row: Any) -> None:
    with pytest.raises(StudioError, match="not in the corpus"):
        select(page, key, SearchedText(key, "cat"), action, row)


def test_filter_applies_before_the_search(page: Page, key: str) -> None:
    controls = handlers.follow_corpus(page, key, None)
    assert controls.filter_column["choices"] == [("None", ""), ("topic", "topic")] and controls.filters["visible"]
    assert handlers.update_filter_values(page, key, "topic")["choices"] == [("a · 20", "a"), ("b · 20", "b")]
    corpus = page.corpora.get(key).corpus
    for mode in ("semantic", "lexical", "hybrid"):
        hits = search(page, SearchInputs(key, corpus.texts[7], 12, mode, filter_column="topic", filter_values=["a"])).hits
        assert {corpus.fields["topic"][row] for row in hits["ids"]} == {"a"}
        assert mode == "lexical" or len(hits["ids"]) == 12
        assert "of 20 texts · where topic is a" in hits["caption"]
    for name, values in (("", ["a"]), ("topic", []), ("no such column", ["a"]), (None, None)):
        assert filter_rows(corpus, name, values) is None
    assert filter_rows(corpus, "topic", ["no such value"]) == []


def test_rows_selected_on_the_map_restrict_the_search_of_their_corpus(page: Page, key: str) -> None:
    corpus = page.corpora.get(key).corpus
    rows = RowSelection(corpus.digest, (3, 8, 12), "3 texts")
    inputs = SearchInputs(key, "cat", rows_to_search=rows)
    assert sorted(search(page, inputs).hits["ids"]) == [3, 8, 12]
    assert set(search(page, replace(inputs, filter_column="topic", filter_values=["a"])).hits["ids"]) == {8, 12}
    everything = handlers.search_all_rows(page, inputs)
    assert len(everything.hits["ids"]) == 10 and everything.rows_to_search is None
    row, note, _ = handlers.describe_selected_rows(rows)
    assert row["visible"] and note == {"text": "Searching only 3 texts."}
    assert not handlers.describe_selected_rows(None)[0]["visible"]
    assert handlers.follow_corpus(page, key, rows).rows_to_search is UNCHANGED
    assert handlers.follow_corpus(page, None, rows).rows_to_search is None, "the sample is another corpus"


def test_two_models_are_compared_by_rank(page: Page, key: str) -> None:
    found = search(page, SearchInputs(key, "cat dog moon", 8, compare_model=MODEL))
    left, right = found.hits, found.other_hits
    assert isinstance(right, dict) and right["made"]["words"].startswith(f"{MODEL} · ")
    both = set(left["ids"]) & set(right["ids"])
    assert f"{len(both)} of 8 found by both" in left["caption"]
    for one, other in ((left, right), (right, left)):
        for row, cells in zip(one["ids"], one["rows"], strict=True):
            assert cells[3] == (other["ids"].index(row) + 1 if row in other["ids"] else None)
    assert search(page, SearchInputs(key, "cat", 3, model=MODEL, compare_model=MODEL)).other_hits is None


def test_link_fills_in_query_and_mode() -> None:
    linked = handlers.open_linked_search(Location(query="cat", mode="reranked"))
    assert linked is not None and linked[:2] == ("cat", "semantic")
    hybrid = handlers.open_linked_search(Location(query="cat", mode="hybrid"))
    assert hybrid is not None and hybrid[1] == "hybrid"
    assert handlers.open_linked_search(None) is None and handlers.open_linked_search(Location(mode="lexical")) is None


def test_unfamiliar_language_is_noted(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "zh.txt"
    path.write_text("我的银行卡什么时候到\n今天天气很好\n", encoding="utf-8")
    key = corpora.open_file(page, str(path))
    assert "look like Chinese" in search(page, SearchInputs(key, "银行卡", 2, model=MODEL)).hits["note"]


def test_shards_are_searched_for_the_owner_of_the_machine_alone(home: Path, tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, home / "model")
    encoded(home, write_texts(tmp_path / "texts", 1, 100), tmp_path / "out")
    with studio_at(home, home / "model") as studio:
        page = Page(studio)
        hits = handlers.search_shards(page, f" {tmp_path / 'out'} ", "cat dog", 4)
        assert len(hits["rows"]) == 4 and "4 of 98 texts" in hits["caption"]
        for folder in ("", str(tmp_path / "texts")):
            with pytest.raises(StudioError, match=r"no folder|no shards"):
                handlers.search_shards(page, folder, "cat dog", 4)
        studio.catalog.allow_folders = False
        with pytest.raises(StudioError, match="cannot access folders"):
            handlers.search_shards(page, str(tmp_path / "out"), "cat dog", 4)


def test_the_tab_opens_with_the_hits_of_the_example_and_for_other_data_with_neighbors(page: Page, corpus_file: Path) -> None:
    example = sample_texts("en").query
    first = handlers.show_first_hits(page, SearchInputs(None, example, 3))
    assert first is not None and isinstance(first.hits, dict) and len(first.hits["rows"]) == 3
    assert first.searched == SearchedText(page.corpora.current(None)[0], example)
    assert first.corpus is UNCHANGED, "the visitor may have chosen other data meanwhile"
    assert handlers.clear_other_example(page, None, example) is UNCHANGED
    key = str(corpora.open_file(page, str(corpus_file)))
    other = handlers.show_first_hits(page, SearchInputs(key, example, 3))
    text = page.corpora.get(key).corpus.texts[0]
    assert other is not None and other.searched == SearchedText(key, text)
    assert handlers.clear_other_example(page, key, example) == ""
    kept = page.corpora.keep(None, page.corpora.read(corpus_file))
    assert handlers.clear_sample_example(page, kept, f" {example} ") == "", "before the first hits, which may take a minute"
    assert handlers.clear_sample_example(page, kept, "my own words") is handlers.clear_sample_example(page, None, example) is UNCHANGED
    own = handlers.show_first_hits(page, SearchInputs(key, "my own words", 3))
    assert own is not None and own.searched == SearchedText(key, "my own words")
    assert handlers.clear_other_example(page, key, "typed while the first hits were computed") is UNCHANGED


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[tuple[Page, str, Path]]:
    """A page with the run of a cross-encoder, its id and its data."""
    folder = tmp_path_factory.mktemp("cross")
    with studio_at(folder / "home", model_folder) as studio:
        data = write_pairs(folder / "pairs.csv")
        yield Page(studio), studio.fine_tune.train(TrainRequest(data, overrides=quick(architecture="cross", loss="auto"))).id, data


def names(choices: list[tuple[str, str]]) -> list[str]:
    return [name for _, name in choices]


def test_a_cross_encoder_is_offered_where_pairs_are_read_re_ranks_and_is_evaluated(tuned: tuple[Page, str, Path]) -> None:
    page, run, data = tuned
    assert run not in names(page.model_choices(None))
    assert names(page.model_choices(None, "pairs")) == [run]
    assert run in names(page.model_choices(None, "texts", "pairs"))
    found = search(page, SearchInputs(None, "refund", 4, reranker=run))
    key, value = found.corpus, found.hits
    texts = page.corpora.get(key).corpus.texts
    scores = load_cross_encoder(page.studio.workspace.run(run) / "model").predict([("refund", texts[row]) for row in value["ids"]])
    assert [row[2] for row in value["rows"]] == pytest.approx(scores.tolist(), abs=1e-5)
    assert scores.tolist() == sorted(scores.tolist(), reverse=True) and value["columns"][2]["name"] == "Re-ranked"
    result = evaluate(page, [page.studio.settings.default_model, run], data)
    assert len(result.scores["rows"]) == 2 and "Pairs with scores" in result.scores["caption"]
    assert [row[1] for row in result.details["rows"]] == ["cosine", "dot", "euclidean", "manhattan", "pair"]


def test_a_list_of_models_leaves_alone_what_is_chosen_in_it(page: Page) -> None:
    from sbert_studio.ui.app import build_page

    events = build_page(page.studio, page).fns.values()
    offers = [event for event in events if getattr(event.fn, "__qualname__", "").endswith("refresh_model_choices.<locals>.update_choices")]
    assert offers
    for event in offers:
        default = page.studio.settings.default_model
        for chosen in [[], [default]] if event.outputs[0].multiselect else [None, default]:
            update = event.fn(None, chosen)
            assert "choices" in update and update.get("value", "left alone") != chosen
