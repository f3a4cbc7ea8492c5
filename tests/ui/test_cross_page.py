"""Cross- and poly-encoders on the page: where they are offered, where not, and the form that follows the architecture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.models.cross_encoder import load_cross_encoder
from sbert_studio.services import TrainRequest
from sbert_studio.training.spec import TrainSpec
from sbert_studio.ui.components import drop_unchanged_values
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.tuning import run_panel, settings_form
from sbert_studio.ui.panels.tuning.follow import Follow
from sbert_studio.ui.tabs import evaluate, models, search, tune

from .test_forms import shown_raw
from .test_tuning_tabs import draft_of, raw


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[tuple[Page, str, Path]]:
    """A page with the run of a cross-encoder, its id and its data."""
    folder = tmp_path_factory.mktemp("cross")
    with studio_at(folder / "home", model_folder) as studio:
        data = write_pairs(folder / "pairs.csv")
        yield Page(studio), studio.tune.train(TrainRequest(data, overrides=quick(architecture="cross", objective="auto"))).id, data


def names(choices: list[tuple[str, str]]) -> list[str]:
    return [name for _, name in choices]


def test_it_is_offered_only_where_pairs_are_read(tuned: tuple[Page, str, Path]) -> None:
    page, run, _ = tuned
    assert run not in names(page.model_choices(None))
    assert names(page.model_choices(None, "pairs")) == [run]
    assert run in names(page.model_choices(None, "texts", "pairs"))
    update = search.rerankers(page, None, "run-0123456789")
    assert names(update["choices"]) == ["", run] and update["value"] == ""
    assert search.rerankers(page, None, run)["value"] == run
    assert search.rerankers(page, None, "owner/reranker")["value"] == "owner/reranker"


def test_it_cannot_be_chosen_for_every_tab(tuned: tuple[Page, str, Path]) -> None:
    page, run, _ = tuned
    with pytest.raises(StudioError, match="reads pairs"):
        run_panel.use(page, Follow(run), None)
    _, value, _ = models.details(page, None, run)
    assert value is not None and value["status"] == "finished"


def test_hits_are_ranked_again(tuned: tuple[Page, str, Path]) -> None:
    page, run, _ = tuned
    key, value, _ = search.find(page, None, "refund", 4, "semantic", None, run)
    texts = page.corpora.get(key).corpus.texts
    scores = load_cross_encoder(page.studio.workspace.run(run) / "model").predict([("refund", texts[row]) for row in value["ids"]])
    assert [row[2] for row in value["rows"]] == pytest.approx(scores.tolist(), abs=1e-5)
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    assert value["columns"][2]["name"] == "Ranked again"


def test_it_is_judged_beside_an_encoder(tuned: tuple[Page, str, Path]) -> None:
    page, run, data = tuned
    scores, details = evaluate.judge(page.studio, [page.studio.settings.default_model, run], data, "auto", "pairs")
    assert len(scores["rows"]) == 2 and "Similarity with scores" in scores["caption"]
    kinds = [row[1] for row in details["rows"]]
    assert kinds == ["cosine", "dot", "euclidean", "manhattan", "pair"]


def test_the_objectives_follow_the_architecture() -> None:
    offered = names(settings_form.objective_choices("labelled_pairs", "cross"))
    assert offered == ["auto", "mse", "binary_cross_entropy", "cross_entropy"]
    shown = settings_form.shown_of(TrainSpec(architecture="cross", objective="mse"), {})
    updates = settings_form.updates("scored_pairs", shown)
    assert names(updates[1]["choices"]) == ["auto", "mse", "binary_cross_entropy"]
    assert updates[1]["choices"][0][0].endswith("Squared error")


def test_an_answer_sends_back_no_value_that_a_control_already_had() -> None:
    shown = settings_form.shown_of(TrainSpec(architecture="cross", objective="mse"), {})
    updates = settings_form.updates("scored_pairs", shown)
    raw = [update.get("value") for update in updates]
    same = drop_unchanged_values(updates, raw)
    assert not any("value" in update for update in same) and same[1]["choices"] == updates[1]["choices"]
    raw[1] = "binary_cross_entropy"
    assert drop_unchanged_values(updates, raw) == [same[0], updates[1], *same[2:]]


def test_a_choice_of_the_other_architecture_is_meant_no_more() -> None:
    shown = settings_form.shown_of(TrainSpec(objective="contrastive", pooling="cls"), {"objective": "contrastive"})
    kept = {"objective": "contrastive", "margin": 0.7, "pooling": "cls", "seed": 3}
    values = shown_raw(shown)
    values[2 + [item.name for item in settings_form.spec_fields()].index("architecture")] = "cross"
    assert settings_form.overrides(values, shown, kept) == {"architecture": "cross", "seed": 3}
    shown = settings_form.shown_of(TrainSpec(architecture="cross", objective="mse", head="mlp"), {})
    values = shown_raw(shown)
    values[2 + [item.name for item in settings_form.spec_fields()].index("architecture")] = "siamese"
    kept = {"architecture": "cross", "head": "mlp", "sigmoid": "no", "seed": 3}
    assert settings_form.overrides(values, shown, kept) == {"architecture": "siamese", "seed": 3}


def test_a_poly_encoder_is_offered_with_its_objectives_and_keeps_what_it_knows_of() -> None:
    assert names(settings_form.objective_choices("labelled_pairs", "poly")) == ["auto", "in_batch", "cosine", "cosent", "cosine+cosent"]
    shown = settings_form.shown_of(TrainSpec(objective="cosent", pooling="cls"), {"objective": "cosent"})
    kept = {"objective": "cosent", "scale": 30.0, "pooling": "cls", "matryoshka": "16,8", "seed": 3}
    values = shown_raw(shown)
    values[2 + [item.name for item in settings_form.spec_fields()].index("architecture")] = "poly"
    assert settings_form.overrides(values, shown, kept) == {
        "architecture": "poly", "objective": "cosent", "scale": 30.0, "pooling": "cls", "seed": 3
    }  # fmt: skip


def test_every_architecture_has_a_word_on_the_page() -> None:
    (field,) = [item for item in settings_form.spec_fields() if item.name == "architecture"]
    assert names(settings_form._CHOICES["architecture"]) == list(field.choices)


def test_a_poly_encoder_is_offered_and_ranks_again(tuned: tuple[Page, str, Path]) -> None:
    page, cross, data = tuned
    run = page.studio.tune.train(TrainRequest(data, overrides=quick(architecture="poly", objective="auto", codes=4))).id
    assert run not in names(page.model_choices(None)) and set(names(page.model_choices(None, "pairs"))) == {cross, run}
    _, value, _ = search.find(page, None, "refund", 4, "semantic", None, run)
    scores = [row[2] for row in value["rows"]]
    assert len(scores) == 4 and scores == sorted(scores, reverse=True) and max(scores) <= 1
    _, details = evaluate.judge(page.studio, [page.studio.settings.default_model, run], data, "auto", "pairs")
    assert [row[1] for row in details["rows"]][-1] == "pair"
    page.studio.tune.delete_run(run)


def test_the_form_shows_what_the_architecture_needs() -> None:
    assert [update["visible"] for update in settings_form.seen("lora", "cross")] == [True, True, False, False]
    assert [update["visible"] for update in settings_form.seen("full", "poly")] == [False, False, True, True]
    assert [update["visible"] for update in settings_form.seen("full", "siamese")] == [False, False, False, True]
    values = shown_raw(settings_form.shown_of(TrainSpec(architecture="cross"), {}))
    assert settings_form.architecture_in(values) == "cross"


def test_the_settings_are_planned_anew_when_the_architecture_changes(page: Page, tmp_path: Path) -> None:
    key = draft_of(page, write_pairs(tmp_path / "pairs.csv"))
    draft = tune.replan(page, key, raw(page.drafts.get(key), architecture="cross"), None)
    assert draft is not None and draft.plan is not None
    assert (draft.plan.spec.objective, draft.plan.spec.batch_size) == ("mse", 16)
    assert any("both texts are read at once" in reason for reason in draft.plan.reasons)


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
