"""Packed, fused and int8 layers give the results of plain ones, or are not used."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from sbert_studio.models.catalog import Catalog
from sbert_studio.models.inference.packing import (
    ActivationRange,
    FusedLayer,
    Int8Layer,
    Int8Linear,
    PackedLinear,
    pack_layers,
    packed_bytes,
    supports_int8,
    supports_packing,
)
from sbert_studio.models.inference.speed import MachineSpeed, measure_machine
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.models.word_encoder import WordEncoder
from sbert_studio.workspace import Workspace

from .families import FAMILIES, PARTNERS, Family, answers
from .tiny import TEXTS, tiny_encoder

pytestmark = pytest.mark.skipif(not supports_packing(torch.float32), reason="this build of PyTorch has no packed products")
RATES = (math.nan, math.inf, 0.0, -1.0)


def _kinds(model: torch.nn.Module) -> set[type]:
    return {type(module) for module in model.modules()}


FUSED = {"bert", "roberta", "xlm-roberta", "electra"}


@pytest.mark.parametrize("family", [family for family in FAMILIES if "W" not in family.name], ids=str)
def test_a_packed_model_of_each_family_gives_the_answers_of_the_plain_one(family: Family) -> None:
    plain, packed = family.make(), family.make()
    described, fingerprint = packed.describe(), packed.fingerprint
    packed.freeze(packed=True)
    np.testing.assert_allclose(answers(packed, TEXTS, PARTNERS), answers(plain, TEXTS, PARTNERS), atol=2e-5)
    assert (packed.describe(), packed.fingerprint) == (described, fingerprint)
    if isinstance(getattr(packed, "encoder", packed), WordEncoder):
        return
    assert (PackedLinear in _kinds(packed)) == (packed.backbone.config.model_type != "gpt2"), "its linear layers are of another class"
    assert (FusedLayer in _kinds(packed)) == (packed.backbone.config.model_type in FUSED)


def _of(encoder: SentenceEncoder, kind: type[nn.Module]) -> list[nn.Module]:
    return [module for module in encoder.modules() if isinstance(module, kind)]


@pytest.mark.skipif(not supports_packing(torch.bfloat16), reason="this processor has no products of bfloat16")
@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_in_bfloat16_too(kind: str) -> None:
    plain, packed = tiny_encoder(kind).freeze("bfloat16"), tiny_encoder(kind).freeze("bfloat16", packed=True)
    left, right = packed.encode(TEXTS), plain.encode(TEXTS)
    assert _of(packed, PackedLinear)
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert cosines.min() > 0.999


def test_what_follows_a_product_is_what_pytorch_computes() -> None:
    generator = torch.Generator().manual_seed(1)
    x, weight, bias, residual = (torch.randn(size, generator=generator) for size in ((3, 5, 24), (40, 24), (40,), (3, 5, 40)))
    layer, plain = PackedLinear(weight, bias), functional.linear(x, weight, bias)
    torch.testing.assert_close(layer(x), plain)
    torch.testing.assert_close(layer.forward_gelu(x), functional.gelu(plain))
    torch.testing.assert_close(layer.forward_add(x, residual), plain + residual)
    torch.testing.assert_close(PackedLinear(weight, None)(x), functional.linear(x, weight))
    assert layer.weight.shape == weight.shape
    assert layer.weight.dtype == weight.dtype


class _Peeks(nn.Module):
    """Reads the numbers of its layer's weight, which a packed one does not show."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.inner.weight) + self.inner(x)


def test_a_network_that_reads_its_weights_otherwise_is_left_and_packed_weights_count() -> None:
    network = _Peeks().requires_grad_(False)
    x = torch.ones(2, 4)
    before = network(x)
    assert not pack_layers(network, lambda: network(x))
    assert type(network.inner) is nn.Linear
    assert torch.equal(network(x), before)
    encoder = tiny_encoder("bert").freeze(packed=True)
    weights = sum(layer.packed_bytes for layer in encoder.modules() if isinstance(layer, PackedLinear))
    assert packed_bytes(encoder) == weights > 0
    assert encoder.memory > weights


OTHER = '{"processor": "another", "plain": {"float32": 1}, "packed": {}}'


@pytest.mark.parametrize("written", ["", "[]", '{"processor": 3}', OTHER, *RATES])
def test_the_machine_is_measured_once_and_again_if_the_file_is_damaged_or_of_another(tmp_path: Path, written: str | float) -> None:
    found, path = measure_machine(tmp_path), tmp_path / "machine.json"
    assert found.plain["float32"] > 0
    stored = json.loads(path.read_text())
    if isinstance(written, float):
        stored["plain"]["float32"] = written
        written = json.dumps(stored)
    path.write_text(written)
    assert measure_machine(tmp_path) == measure_machine(None) == found
    assert json.loads(path.read_text())["processor"] == found.processor
    stored["plain"] = {"float32": 7.0}
    path.write_text(json.dumps(stored))
    assert measure_machine(tmp_path).plain == {"float32": 7.0}


def test_auto_says_what_it_chose_and_the_catalogue_packs_where_that_is_quicker(tmp_path: Path) -> None:
    quick = MachineSpeed("one", {"float32": 100.0, "bfloat16": 400.0}, {"float32": 200.0, "bfloat16": 500.0})
    chosen, why = quick.auto_precision()
    assert chosen == "bfloat16" and "2.5 times as fast as float32" in why and "int8" in why
    assert quick.prefers_packed("float32") and quick.prefers_packed("bfloat16") and not quick.prefers_packed("int8")
    slow = MachineSpeed("two", {"float32": 100.0, "bfloat16": 50.0}, {"float32": 100.0})
    assert slow.auto_precision()[0] == "float32"
    assert not slow.prefers_packed("float32")
    assert MachineSpeed("three", {"float32": 100.0}, {}).auto_precision() == ("float32", "this CPU does not support fast bfloat16")
    catalog = Catalog(Workspace(tmp_path), device="cpu")
    encoder = catalog.load("all-MiniLM-L6-v2")
    assert isinstance(encoder, SentenceEncoder)
    assert bool(_of(encoder, PackedLinear)) == catalog.machine.prefers_packed("float32")
    fresh = catalog.load_trainable("all-MiniLM-L6-v2")
    assert not _of(fresh, PackedLinear)
    texts = ["A man is playing a guitar.", "How do I activate my card?", "It rains."]
    np.testing.assert_allclose((encoder.encode(texts) * fresh.encode(texts)).sum(1), 1, atol=1e-5)


rounds = pytest.mark.skipif(not supports_int8(), reason="this processor has no products of eight-bit numbers")


@rounds
def test_a_product_of_eight_bits_is_the_product_of_the_rounded_numbers() -> None:
    generator = torch.Generator().manual_seed(2)
    x, weight, bias, residual = (torch.randn(size, generator=generator) for size in ((7, 32), (48, 32), (48,), (7, 48)))
    x[:, 3] *= 40  # a component far larger than the others
    seen = ActivationRange()
    seen.update(x)
    layer = Int8Linear(weight, bias, seen, smooth=True)
    rounded = layer.quantize(x)
    assert rounded.dtype == torch.uint8
    exact = functional.linear(x, weight, bias)
    assert (layer(rounded) - exact).abs().max() < 0.02 * exact.abs().max()
    torch.testing.assert_close(layer.forward_add(rounded, residual), layer(rounded) + residual)
    then = ActivationRange()
    then.update(functional.gelu(exact))
    after = Int8Linear(torch.eye(48), torch.zeros(48), then, smooth=False)
    read = (layer.forward_gelu(rounded, after).float() - after.zero) * after.scale
    assert (read - functional.gelu(layer(rounded))).abs().max() <= after.scale
    beyond = layer.quantize(100 * x)
    assert int(beyond.min()) == 0
    assert int(beyond.max()) == 255


@rounds
def test_without_divisors_a_large_component_costs_the_others_their_digits() -> None:
    generator = torch.Generator().manual_seed(3)
    x, weight = torch.randn(64, 32, generator=generator), torch.randn(16, 32, generator=generator)
    x[:, 5] *= 100
    seen = ActivationRange()
    seen.update(x)
    exact = functional.linear(x, weight)

    def lost(smooth: bool) -> float:
        layer = Int8Linear(weight, torch.zeros(16), seen, smooth=smooth)
        return float((layer(layer.quantize(x)) - exact).abs().mean())

    assert lost(True) < 0.6 * lost(False)


@rounds
def test_a_model_in_eight_bits_keeps_the_order_of_its_cosines_and_a_vector_does_not_depend_on_its_batch(tmp_path: Path) -> None:
    catalog = Catalog(Workspace(tmp_path), device="cpu")
    whole, rounded = (catalog.load("all-MiniLM-L6-v2", precision) for precision in ("float32", "int8"))
    assert isinstance(rounded, SentenceEncoder)
    assert _of(rounded, Int8Layer)
    assert rounded.fingerprint != whole.fingerprint
    texts = [
        *("A man is playing a guitar.", "Someone plays an instrument.", "How do I activate my card?", "My card does not work yet."),
        *("It rains.", "The weather is wet today.", "Stocks fell sharply on Monday.", "A cat sleeps on the windowsill in the sun."),
    ]
    left, right = whole.encode(texts), rounded.encode(texts)
    assert (left * right).sum(1).min() > 0.98
    assert np.abs(left @ left.T - right @ right.T).max() < 0.05
    alone = np.stack([rounded.encode([text])[0] for text in texts])
    np.testing.assert_allclose(alone, right, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "llama"])
def test_every_family_can_be_asked_for_in_eight_bits(kind: str) -> None:
    encoder = tiny_encoder(kind).freeze("int8", packed=False)
    assert np.isfinite(encoder.encode(TEXTS)).all()
    if supports_int8():
        assert bool(_of(encoder, Int8Layer)) == (kind != "llama")
