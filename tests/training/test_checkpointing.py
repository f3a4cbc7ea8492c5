"""Gradient checkpointing gives the gradients of a plain step, also to an adapter whose inputs are frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from models.tiny import TEXTS
from models.tiny import tiny_encoder as tiny_of

from sbert_studio.data.examples import Examples
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training.distributed import Processes
from sbert_studio.training.events import Step
from sbert_studio.training.packing import pack_batches
from sbert_studio.training.prepare import prepare
from sbert_studio.training.trainer import train

from .tiny import Told, never, scored_pairs, small_spec, tiny_encoder, weights

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


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_run_with_it_ends_as_one_without(tmp_path: Path, method: str) -> None:
    spec, examples = small_spec(method=method, epochs=2, learning_rate=5e-3), scored_pairs(40)
    dev: Examples = scored_pairs(20, 5)
    ends = []
    for name, checkpointing in (("plain", False), ("spared", True)):
        told = Told()
        chosen = spec.replace(gradient_checkpointing=checkpointing)
        train(chosen, examples, told, never, encoder=tiny_encoder(), folder=tmp_path / name, dev=dev)
        losses = [event.loss for event in told.of(Step)]
        assert losses[-1] < losses[0]
        ends.append(weights(tmp_path / name / "model"))
    for name, weight in ends[0].items():
        torch.testing.assert_close(ends[1][name], weight, rtol=0, atol=1e-6)
