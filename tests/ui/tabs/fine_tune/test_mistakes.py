"""The largest errors as the page shows them, and the way to the Similarity tab."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.training.artifacts import MISTAKES
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.fine_tune.run_panel import mistake_pair, mistakes_view
from sbert_studio.ui.tabs.similarity.handlers import fill_texts


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Page]:
    with studio_at(tmp_path_factory.mktemp("worst"), model_folder) as studio:
        yield Page(studio)


@pytest.fixture(scope="module")
def run_id(page: Page, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A finished run. Read only, but for its list of mistakes in the last test."""
    pairs = write_pairs(tmp_path_factory.mktemp("data") / "pairs.csv")
    run = page.studio.fine_tune.submit(TrainRequest(pairs, overrides=quick(evaluation="split")))
    assert page.studio.runner.wait(run.id, 120)
    return run.id


def selected(page: Page, pair: Any, model: Any, others: list[Any]) -> list[str]:
    filled = fill_texts(page, pair, None, model, others)
    assert filled is not None and isinstance(filled[2], dict)
    found: list[str] = filled[2]["value"]
    return found


def test_mistakes_are_listed_and_compared_by_their_model(page: Page, run_id: str) -> None:
    run = page.studio.fine_tune.get_run(run_id).run
    value, kept = mistakes_view(page.studio, run), page.studio.fine_tune.get_mistakes(run_id)
    assert value is not None and kept is not None
    assert value["title"].endswith("held-out rows") and f"{kept['rows']:,}" in value["title"]
    assert [row["line"] for row in value["rows"]] == [one["line"] for one in kept["worst"]]
    assert all(row["gold"] and row["said"] for row in value["rows"])
    first = kept["worst"][0]
    pair = mistake_pair(page.studio, run_id, 0)
    assert [pair.first, pair.second] == first["texts"] and pair.nonce != mistake_pair(page.studio, run_id, 0).nonce
    pair, default = mistake_pair(page.studio, run_id, 0), page.studio.settings.default_model
    assert pair.by == run_id
    assert selected(page, pair, default, [default]) == [run_id, default]
    assert selected(page, pair, default, [run_id]) == [run_id]


@pytest.mark.parametrize("place", [-1, 99, None, "0", True, 0.0])
def test_a_mistake_that_a_browser_makes_up_is_refused(page: Page, run_id: str, place: Any) -> None:
    with pytest.raises(StudioError, match="no longer in the list"):
        mistake_pair(page.studio, run_id, place)


def test_after_another_strength_was_set_they_are_said_to_be_of_the_one_before(page: Page, run_id: str) -> None:
    path = page.studio.workspace.run(run_id) / MISTAKES
    found = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**found, "strength": 0.3}), encoding="utf-8")
    value = mistakes_view(page.studio, page.studio.fine_tune.get_run(run_id).run)
    assert value is not None and "from the end of the training, at strength 0.3" in value["note"]
    path.write_text(json.dumps({**found, "worst": []}), encoding="utf-8")
    value = mistakes_view(page.studio, page.studio.fine_tune.get_run(run_id).run)
    assert value is not None and value["title"].startswith("No mistake on")
    path.unlink()
    assert mistakes_view(page.studio, page.studio.fine_tune.get_run(run_id).run) is None
