"""Models on tables of words are tuned as every other: recurrent networks, tables that learn, two stages, no trainable weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.training.events import Evaluated, Part, Step
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import TrainingOutcome, train
from sbert_studio.training.trials import run_trials

from .tiny import Told, labelled_pairs, never, scored_pairs, small_spec, tiny_encoder, tiny_words

RECURRENT = {"recurrent": "gru", "hidden": 12, "learning_rate": 0.01, "epochs": 3}


def run(
    spec: TrainSpec, folder: Path, told: Told | None = None, *, should_stop: Callable[[], bool] = never, resume: bool = False
) -> TrainingOutcome:
    tell = Told() if told is None else told
    return train(spec, scored_pairs(40), tell, should_stop, encoder=tiny_words(), folder=folder, resume=resume)


@pytest.mark.slow
@pytest.mark.parametrize(("network", "bidirectional"), [("rnn", False), ("lstm", True), ("gru", False)])
def test_a_recurrent_network_learns(network: str, bidirectional: bool, tmp_path: Path) -> None:
    told = Told()
    outcome = run(small_spec(**RECURRENT | {"recurrent": network, "bidirectional": bidirectional}), tmp_path, told)
    losses = [event.loss for event in told.of(Step)]
    assert outcome.status == "finished" and losses[-1] < losses[0]
    model = load_folder(outcome.model)
    assert model.describe()["backbone"] == ("bi" if bidirectional else "") + network
    assert (model.dim, model.pooling.mode) == ((24, "max") if bidirectional else (12, "last"))
    before = tiny_words().backbone.embeddings.emb_layer.weight
    assert (model.backbone.embeddings.emb_layer.weight == before).all()


@pytest.mark.slow
def test_a_table_that_learns_moves_the_words_it_reads_and_never_the_padding(tmp_path: Path) -> None:
    outcome = run(small_spec(learn_words=True, learning_rate=0.05, weight_decay=0.0, blend=False), tmp_path)
    table, before = (model.backbone.embeddings.emb_layer.weight for model in (load_folder(outcome.model), tiny_words()))
    moved = (table != before).any(dim=1)
    assert not moved[0] and moved[1:].all()


def test_there_must_be_something_to_learn(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no trainable weights"):
        run(small_spec(), tmp_path)
    with pytest.raises(StudioError, match="no layers for an adapter"):
        run(small_spec(method="lora"), tmp_path)


@pytest.mark.parametrize("values", [{"recurrent": "gru"}, {"learn_words": True}])
def test_a_transformer_has_no_table_of_words(values: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no word vectors"):
        train(small_spec(**values), scored_pairs(), Told(), never, encoder=tiny_encoder(), folder=tmp_path)


# InferSent (Conneau et al. 2017): a BiLSTM with max pooling and a softmax over (u, v, |u - v|, u * v) on labels; then scores.
INFERSENT = RECURRENT | {"recurrent": "lstm", "bidirectional": True, "pooling": "max", "epochs": 1}
ON_LABELS = {"loss": "softmax", "loss_params": {"concatenation": "u,v,|u-v|,u*v"}}


def load(spec: TrainSpec, examples: Examples, source: Path | None) -> SentenceEncoder:
    return tiny_words() if source is None else load_folder(source)


def two_stages(spec: TrainSpec, folder: Path, told: Told | None = None, should_stop: Callable[[], bool] = never) -> TrainingOutcome:
    tell = Told() if told is None else told
    dev, first = scored_pairs(30, seed=7), labelled_pairs(40, seed=30)
    return run_trials(spec, scored_pairs(40), tell, should_stop, load=load, folder=folder, dev=dev, first=first)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [INFERSENT, INFERSENT | {"projection": 6, "activation": "identity"}, {}], ids=["network", "layer", "none"]
)
def test_the_second_stage_goes_on_with_what_the_first_has_put_on(shape: dict[str, Any], tmp_path: Path) -> None:
    first = small_spec(**INFERSENT | ON_LABELS | shape)
    told = Told()
    outcome = two_stages(small_spec(**shape | {"learning_rate": 0.0, "first": first.to_json()}), tmp_path, told)
    second = told[next(place for place, event in enumerate(told) if isinstance(event, Part) and event.number == 2) :]
    begun, *_, ended = [event.score for event in second if isinstance(event, Evaluated)]
    assert ended == pytest.approx(begun, abs=1e-6), "a rate of 0 leaves the first stage's weights"
    assert abs(ended - outcome.before["score"]) > 1e-4, "and it is not put on anew"
    model = load_folder(outcome.model)
    assert (model.describe()["backbone"], model.pooling.mode, model.dim) == ("bilstm", "max", shape.get("projection", 24))
