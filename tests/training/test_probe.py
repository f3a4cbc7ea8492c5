"""A softmax head that is fitted to the untuned vectors before the encoder learns."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sbert_studio.data.dev_file import build_dev_examples
from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.losses import build_loss
from sbert_studio.training.distributed import Processes
from sbert_studio.training.events import Evaluated
from sbert_studio.training.prepare import fit_head
from sbert_studio.training.trainer import train

from .tiny import Told, labelled_pairs, never, scored_pairs, small_spec, tiny_encoder

CPU = torch.device("cpu")


def test_a_fitted_head_is_a_minimum_on_the_untuned_vectors() -> None:
    encoder, examples, spec = tiny_encoder(), labelled_pairs(), small_spec(objective="softmax")
    before = {name: weight.clone() for name, weight in encoder.state_dict().items()}
    objective = build_loss("softmax", {}, dim=encoder.dim, labels=3)
    columns = [torch.from_numpy(encoder.encode(column)) for column in examples.texts]
    targets = torch.from_numpy(examples.targets)
    untouched = objective.compute(columns, targets, None).item()
    assert fit_head(spec, objective, encoder, examples, Processes(CPU))
    loss = objective.compute(columns, targets, None)
    assert loss.item() < 0.8 * untouched
    loss.backward()
    weight = objective.head.weight  # type: ignore[union-attr]
    assert torch.allclose(weight.grad, -2e-4 * weight, atol=1e-3), "the gradient is that of the decay alone"
    assert all(torch.equal(weight, before[name]) for name, weight in encoder.state_dict().items()), "the encoder is as it was"


def test_without_the_probe_and_without_a_head_nothing_is_fitted() -> None:
    encoder, examples = tiny_encoder(), labelled_pairs()
    plain = build_loss("softmax", {"probe": "no"}, dim=encoder.dim, labels=3)
    head = plain.head.weight.clone()  # type: ignore[union-attr]
    assert not fit_head(small_spec(objective="softmax"), plain, encoder, examples, Processes(CPU))
    assert torch.equal(plain.head.weight, head)  # type: ignore[union-attr]
    assert not fit_head(small_spec(), build_loss("cosine", {}, dim=encoder.dim), encoder, examples, Processes(CPU))


@pytest.mark.slow
def test_a_probe_spares_what_the_encoder_knew(tmp_path: Path) -> None:
    """The cosines of an encoder that learns random labels: they stay nearer to what they were with a fitted head."""
    moved = {}
    pairs = scored_pairs(60, seed=7)
    known = [torch.from_numpy(tiny_encoder().encode(column)) for column in pairs.texts]
    for probe in ("yes", "no"):
        encoder = tiny_encoder()
        spec = small_spec(objective="softmax", objective_params={"probe": probe}, epochs=1, dropout=0.0, dev_fraction=0)
        train(spec, labelled_pairs(120), Told(), never, encoder=encoder, folder=tmp_path / probe)
        now = [torch.from_numpy(encoder.encode(column)) for column in pairs.texts]
        moved[probe] = sum(float((a - b).norm()) for a, b in zip(now, known, strict=True))
    assert moved["yes"] < moved["no"]


@pytest.mark.slow
def test_labels_may_be_judged_by_scores(tmp_path: Path) -> None:
    """A held-out file of another kind picks the best moment by its own measure."""
    pairs = scored_pairs(60, seed=7)
    table = table_from_columns(
        "scores.csv",
        {"sentence1": pairs.texts[0], "sentence2": pairs.texts[1], "score": [f"{5 * score:.2f}" for score in pairs.targets]},
        pairs.lines,
    )
    words = [labelled_pairs().labels[index] for index in labelled_pairs().targets]
    labels = table_from_columns(
        "labels.csv",
        {"premise": labelled_pairs().texts[0], "hypothesis": labelled_pairs().texts[1], "label": words},
        labelled_pairs().lines,
    )
    roles = infer_roles(labels)
    examples, dev = build_examples(labels, roles)[0], build_dev_examples(table, roles)[0]
    assert (examples.kind, dev.kind) == ("labelled_pairs", "scored_pairs")
    told = Told()
    outcome = train(small_spec(objective="softmax", epochs=0.5), examples, told, never, encoder=tiny_encoder(), folder=tmp_path, dev=dev)
    assert outcome.before["metric"] == "cosine_spearman"
    assert told.of(Evaluated)[0].scores["task"] == "sts"
