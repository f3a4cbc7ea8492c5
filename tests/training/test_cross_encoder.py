"""A cross-encoder goes through the same trainer: loss, checkpoints, memory, LoRA, export, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.models.cross_encoder import CrossEncoder, load_cross_encoder
from sbert_studio.training.events import Finished, Started, Step
from sbert_studio.training.prepare import create_model
from sbert_studio.training.trainer import TrainingOutcome, train

from .tiny import Told, cross_spec, labelled_pairs, never, positive_pairs, scored_pairs, tiny_cross, weights, yes_or_no


def run(folder: Path, encoder: CrossEncoder, examples: Any, told: Told | None = None, *, dev: Any = None, **values: Any) -> TrainingOutcome:
    events = Told() if told is None else told
    return train(cross_spec(**values), examples, events, never, encoder=encoder, folder=folder, dev=dev)


@pytest.mark.slow
@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_the_loss_goes_down_and_the_held_out_score_up(tmp_path: Path, head: str) -> None:
    told, dev = Told(), scored_pairs(60, seed=7)
    encoder, values = tiny_cross(head=head, sigmoid=head == "mlp"), {"head": head, "epochs": 6, "learning_rate": 3e-3, "dropout": 0.0}
    outcome = run(tmp_path, encoder, scored_pairs(160), told, dev=dev, **values)
    losses = [event.loss for event in told.of(Step)]
    assert isinstance(told[0], Started) and told[0].loss == "mse"
    assert isinstance(told[-1], Finished)
    assert losses[-1] < losses[0]
    assert outcome.before["metric"] == outcome.after["metric"] == "spearman"
    assert outcome.after["score"] > outcome.before["score"] + 0.2
    assert outcome.after["pair"]["mse"] < outcome.before["pair"]["mse"]
    low, high = outcome.after["interval"]
    assert low < outcome.after["score"] < high


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "head"), [("bert", "linear"), ("albert", "linear"), ("roberta", "mlp"), ("llama", "mlp")])
def test_every_weight_of_each_architecture_learns_and_the_saved_model_is_the_tuned_one(tmp_path: Path, kind: str, head: str) -> None:
    encoder = tiny_cross(kind, head=head)
    before = {name: value.clone() for name, value in encoder.named_parameters()}
    dev = scored_pairs(20, seed=7)
    outcome = run(tmp_path, encoder, scored_pairs(16), dev=dev, head=head, weight_decay=0.0, epochs=1)
    still = [name for name, value in encoder.named_parameters() if torch.equal(value, before[name])]
    assert not [name for name in still if "token_type" not in name], "RoBERTa has a single token type"
    loaded = load_cross_encoder(outcome.model)
    assert loaded.head == head and loaded.sigmoid == (head == "mlp")
    pairs = list(zip(*dev.texts, strict=True))
    np.testing.assert_allclose(loaded.predict(pairs), encoder.predict(pairs), atol=1e-6)
    np.testing.assert_allclose(np.mean((loaded.predict(pairs) - dev.targets) ** 2), outcome.after["pair"]["mse"], atol=1e-6)


@pytest.mark.slow
def test_two_labels_become_a_score_and_three_become_classes(tmp_path: Path) -> None:
    told = Told()
    outcome = run(tmp_path / "two", tiny_cross(), yes_or_no(40), told, dev=yes_or_no(40, 5), epochs=1)
    assert told[0].loss == "binary_cross_entropy"
    assert outcome.after["metric"] == "average_precision"
    assert load_cross_encoder(outcome.model).sigmoid
    told = Told()
    outcome = run(tmp_path / "three", tiny_cross(labels=3), labelled_pairs(40), told, dev=labelled_pairs(40, 5), epochs=1)
    assert told[0].loss == "cross_entropy"
    assert outcome.after["metric"] == "accuracy" and 0 <= outcome.after["macro_f1"] <= 1
    assert load_cross_encoder(outcome.model).class_names == ("contradiction", "neutral", "entailment")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "head"), [("bert", "linear"), ("roberta", "mlp")])
def test_lora_trains_the_head_in_full_and_keeps_it_with_the_adapter(tmp_path: Path, kind: str, head: str) -> None:
    from peft import PeftModel

    encoder, plain = tiny_cross(kind, head=head), tiny_cross(kind, head=head)
    before = {name: value.clone() for name, value in plain.model.named_parameters()}
    dev = scored_pairs(20, 5)
    outcome = run(tmp_path, encoder, scored_pairs(24), dev=dev, model="tiny/tiny", head=head, method="lora", learning_rate=1e-2, lora_r=4)
    tuned = weights(outcome.model)
    changed = {name for name, value in before.items() if not torch.equal(tuned[name], value)}
    assert {name for name in before if "classifier" in name} <= changed
    assert all("embeddings" not in name and "LayerNorm" not in name for name in changed)
    assert json.loads((outcome.adapter / "cross_encoder.json").read_text()) == {"head": head, "labels": 1, "sigmoid": head == "mlp"}
    assert json.loads((outcome.adapter / "adapter_config.json").read_text())["modules_to_save"]
    plain.model = PeftModel.from_pretrained(plain.model, str(outcome.adapter))
    plain.sigmoid = head == "mlp"
    pairs = list(zip(*dev.texts, strict=True))
    np.testing.assert_allclose(plain.eval().predict(pairs), load_cross_encoder(outcome.model).predict(pairs), atol=1e-5)


def test_what_a_cross_encoder_cannot_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="not on positive pairs"):
        run(tmp_path, tiny_cross(), positive_pairs())
    with pytest.raises(StudioError, match="cross_entropy cannot be trained on scored pairs"):
        run(tmp_path, tiny_cross(labels=2), scored_pairs(), loss="cross_entropy")
    with pytest.raises(StudioError, match="no cross-encoder loss 'cosine'"):
        run(tmp_path, tiny_cross(), scored_pairs(), loss="cosine")
    for values in ({"pooling": "cls"}, {"projection": 8}, {"matryoshka": "16,8"}):
        with pytest.raises(StudioError, match="no vectors"):
            run(tmp_path, tiny_cross(), scored_pairs(), **values)
    with pytest.raises(StudioError, match="3 scores"):
        run(tmp_path, tiny_cross(labels=3), scored_pairs())


def test_the_catalogue_makes_what_the_objective_needs_and_a_later_stage_goes_on(tmp_path: Path) -> None:
    from sbert_studio.models.catalog import Catalog
    from sbert_studio.workspace import Workspace

    from .tiny import tiny_encoder

    tiny_encoder().save(tmp_path / "base")
    catalog = Catalog(Workspace(tmp_path / "home"), device="cpu")
    spec = cross_spec(model=str(tmp_path / "base"), head="mlp")
    first = create_model(catalog, spec, labelled_pairs())
    assert isinstance(first, CrossEncoder)
    assert (first.labels, first.head, first.class_names) == (3, "mlp", ("contradiction", "neutral", "entailment"))
    first.save(tmp_path / "nli")
    second = create_model(catalog, spec, scored_pairs(), tmp_path / "nli")
    assert isinstance(second, CrossEncoder) and (second.labels, second.sigmoid) == (1, True)
    same, other = (create_model(catalog, spec.replace(seed=seed), labelled_pairs(), tmp_path / "nli") for seed in (1, 2))
    for one in (same, other):  # a head that fits is kept, whatever the seed
        assert torch.equal(one.model.classifier[0].weight, first.model.classifier[0].weight)  # type: ignore[union-attr]
    assert torch.equal(second.backbone.embeddings.word_embeddings.weight, first.backbone.embeddings.word_embeddings.weight)
    assert second.model.classifier[2].weight.shape == (1, 512)
    with pytest.raises(StudioError, match="is a cross-encoder"):
        catalog.load(str(tmp_path / "nli"))
    assert catalog.is_cross_encoder(str(tmp_path / "nli")) and not catalog.is_cross_encoder(str(tmp_path / "base"))
    assert catalog.load_any(str(tmp_path / "base")).describe()["dim"] == 32
