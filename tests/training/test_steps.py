"""Gradient checkpointing gives the gradients of a plain step, also to an adapter whose inputs are frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from models.tiny import TEXTS
from models.tiny import tiny_encoder as tiny_of

from sbert_studio.data.examples import Examples
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training.estimate import estimate_run
from sbert_studio.training.fast_layers import pack_batches
from sbert_studio.training.optim import Optimizer
from sbert_studio.training.prepare import prepare
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.steps import GradientSteps, Processes, TrainingParts

from .tiny import Told, bare_sentences, cross_spec, poly_spec, positive_pairs, scored_pairs, small_spec, tiny_cross, tiny_encoder, tiny_poly

CPU = torch.device("cpu")


def test_columns_and_views_are_read_in_one_forward() -> None:
    encoder, examples = tiny_encoder(), scored_pairs(20)
    rows = encoder.training_rows(examples)
    batch = np.asarray([3, 5, 11])
    with torch.no_grad():
        merged = encoder.eval()(rows.inputs(batch, 1, CPU)).split(3)
    for column, vectors in zip(examples.texts, merged, strict=True):
        np.testing.assert_allclose(vectors.numpy(), encoder.encode([column[row] for row in batch]), atol=1e-6)
    encoder, examples = tiny_encoder(), bare_sentences(10)
    rows = encoder.training_rows(examples)
    inputs = rows.inputs(np.arange(4), 2, CPU)
    with torch.no_grad():
        first, second = encoder.train()(inputs).split(4)
        assert not torch.allclose(first, second)
        first, second = encoder.eval()(inputs).split(4)
    assert torch.allclose(first, second, atol=1e-6)
    encoder = tiny_encoder()
    pairs = Examples("positive_pairs", (("red blue", "Red  Blue", "cat"), ("dog", "cat", "DOG")), None, np.arange(3))
    ids = encoder.training_rows(pairs).ids
    assert ids[0, 0] == ids[0, 1] and ids[0, 2] == ids[1, 1] and ids[1, 0] == ids[1, 2]
    assert len(set(ids.ravel().tolist())) == 3


CASES: dict[str, tuple[Any, TrainSpec, Examples]] = {
    "cosine": (tiny_encoder, small_spec(loss="cosine"), scored_pairs(20)),
    "cosent": (tiny_encoder, small_spec(loss="cosent"), scored_pairs(20)),
    "cross": (tiny_cross, cross_spec(loss="mse"), scored_pairs(20)),
    "cross, lora": (tiny_cross, cross_spec(loss="mse", method="lora", lora_dropout=0.0), scored_pairs(20)),
    "poly": (tiny_poly, poly_spec(loss="in_batch"), positive_pairs(20)),
    "poly, cosine": (tiny_poly, poly_spec(loss="cosine"), scored_pairs(20)),
    "poly, cosine+cosent": (tiny_poly, poly_spec(loss="cosine+cosent"), scored_pairs(20)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_depends_neither_on_the_rows_at_a_time_nor_on_kept_activations(case: str) -> None:
    make, plain, examples = CASES[case]

    def gradients(size: int, checkpointing: bool = False, precision: str = "float32") -> list[torch.Tensor]:
        encoder, processes, spec = make(dropout=0.0), Processes(CPU), plain.replace(gradient_checkpointing=checkpointing)
        objective = prepare(spec, encoder, examples, processes)
        parts = TrainingParts(spec, encoder, objective, encoder.training_rows(examples), None, processes, Path(), Told())
        loss, _ = GradientSteps(parts, precision, size).backward(np.arange(11), 0)
        return [loss, *(item.grad.to_dense() for item in encoder.parameters() if item.grad is not None)]

    whole = gradients(11)
    torch.testing.assert_close(gradients(11, precision="bfloat16")[0], whole[0], atol=0.05, rtol=0.05)
    for size, checkpointing in ((1, False), (3, case.startswith("cross")), (5, False)):
        split = gradients(size, checkpointing)
        assert len(whole) == len(split) > 5
        for one, other in zip(whole, split, strict=True):
            torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-3)


def test_the_rate_rises_falls_is_never_zero_and_begins_anew_in_each_round() -> None:
    optimiser = Optimizer(dict(tiny_encoder().named_parameters()), small_spec(learning_rate=1.0, warmup_ratio=0.1), 100)
    rates = [optimiser.rate(step) for step in range(100)]
    assert max(rates) == rates[10] == 1.0
    assert rates[:11] == pytest.approx([(step + 1) / 11 for step in range(11)])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert min(rates) > 0
    named = dict(tiny_encoder().named_parameters())
    one, three = (Optimizer(named, small_spec(learning_rate=1.0), ends) for ends in (40, (40, 80, 120)))
    assert [three.rate(step) for step in range(120)] == 3 * [one.rate(step) for step in range(40)]


def test_biases_and_normalisations_do_not_decay() -> None:
    encoder = tiny_encoder()
    optimiser = Optimizer(dict(encoder.named_parameters()), small_spec(weight_decay=0.5, learning_rate=0.1, warmup_ratio=0.0), 10)
    before = {name: value.detach().clone() for name, value in encoder.named_parameters()}
    for parameter in encoder.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step(0, torch.tensor(0.0))
    for name, value in encoder.named_parameters():
        factor = 0.95 if value.ndim > 1 else 1.0
        torch.testing.assert_close(value.detach(), before[name] * factor)


def test_a_rehearsal_reckons_time_and_memory() -> None:
    estimate = estimate_run(small_spec(epochs=3, evaluation="split"), scored_pairs(100), encoder=tiny_encoder())
    assert estimate.steps in range(33, 37)
    assert estimate.seconds > 0
    assert estimate.peak_bytes > 10_000_000


@pytest.mark.parametrize(("objective", "mixed"), [("cosine", False), ("cosent", True)])
def test_a_rehearsal_takes_batches_as_the_run_makes_them(objective: str, mixed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    examples, encoder, tried = scored_pairs(200), tiny_encoder(), []
    backward = GradientSteps.backward

    def noted(steps: GradientSteps, batch: np.ndarray, step: int) -> tuple[torch.Tensor, str]:
        tried.append(np.ptp(steps._rows.lengths[batch]))
        return backward(steps, batch, step)

    monkeypatch.setattr(GradientSteps, "backward", noted)
    estimate_run(small_spec(loss=objective, evaluation="split"), examples, encoder=encoder)
    assert (np.mean(tried[1:]) > 2) == mixed


LAYERS = ("BertLayer", "LlamaDecoderLayer", "Qwen2DecoderLayer")


def gradients(kind: str, method: str, checkpointing: bool) -> tuple[dict[str, torch.Tensor], int]:
    """Of one step with dropout, as a run prepares it; and how often the first layer's first linear layer was computed."""
    encoder: TransformerEncoder = tiny_of(kind)
    spec = small_spec(method=method, gradient_checkpointing=checkpointing, lora_dropout=0.1, projection=8)
    prepare(spec, encoder, scored_pairs(8), Processes(encoder.device))
    pack_batches(encoder.backbone)
    torch.manual_seed(1)
    for name, weight in encoder.named_parameters():
        if "lora_B" in name:  # zero at first, which would leave the other half without a gradient
            weight.data.normal_(std=0.1)
    layer = next(module for module in encoder.backbone.modules() if type(module).__name__ in LAYERS)
    computed: list[Any] = []
    next(module for module in layer.modules() if isinstance(module, torch.nn.Linear)).register_forward_pre_hook(
        lambda *given: computed.append(given)
    )
    torch.manual_seed(2)
    vectors = encoder(encoder.collate(encoder.tokenize(TEXTS)))
    vectors.square().mul(torch.arange(8)).sum().backward()
    found = {name: weight.grad for name, weight in encoder.named_parameters() if weight.requires_grad and weight.grad is not None}
    assert found.keys() == {name for name, weight in encoder.named_parameters() if weight.requires_grad}
    return {name: gradient.to_dense() for name, gradient in found.items()}, len(computed)


@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("kind", ["bert", "llama", "qwen2"])
def test_the_gradients_are_those_of_a_plain_step(kind: str, method: str) -> None:
    plain, once = gradients(kind, method, checkpointing=False)
    spared, twice = gradients(kind, method, checkpointing=True)
    assert (once, twice) == (1, 2)
    for name, gradient in plain.items():
        assert gradient.any(), name
        torch.testing.assert_close(spared[name], gradient, rtol=0, atol=1e-6)
    assert any("lora_A" in name for name in plain) == (method == "lora")
    assert any("embed" in name for name in plain) == (method == "full")
