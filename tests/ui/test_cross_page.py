"""Cross- and poly-encoders on the page: where they are offered, where not, and the form that follows the architecture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.models.cross_encoder import load_cross_encoder
from sbert_studio.services import TrainRequest
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.search.handlers import SearchInputs, search

from .tabs.evaluations import evaluate


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
