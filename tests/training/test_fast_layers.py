"""Linear layers by oneDNN give the values and the gradients of the plain ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from transformers import RobertaConfig, RobertaModel

from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.lora import LoraSettings
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training import fast_layers
from sbert_studio.training.fast_layers import (
    BatchPacking,
    FastDropout,
    OneDNNLinear,
    _length_groups,
    pack_batches,
    restore_linear,
    speed_up_backbone,
    use_onednn_linear,
)
from sbert_studio.training.optim import Optimizer
from sbert_studio.training.trainer import train

from .tiny import Told, never, scored_pairs, sentences, small_spec, tiny_cross, tiny_encoder

needs_onednn = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this build of PyTorch has no oneDNN")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_layers, "onednn_is_faster", lambda: True)


def gradients_of(layer: nn.Linear, rows: torch.Tensor) -> list[torch.Tensor | None]:
    rows = rows.clone().requires_grad_()
    layer.zero_grad()
    found = layer(rows)
    (found * torch.arange(found.numel()).view(found.shape).sin()).sum().backward()
    return [found.detach(), rows.grad, layer.weight.grad, None if layer.bias is None else layer.bias.grad]


@needs_onednn
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("shape", [(1, 48), (37, 48), (3, 11, 48)])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_the_plain_layer(shape: tuple[int, ...], bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer, rows, calls = nn.Linear(48, 80, bias=bias), torch.randn(shape), []
    plain = gradients_of(layer, rows)
    product = fast_layers._product
    monkeypatch.setattr(fast_layers, "_product", lambda *arguments: calls.append(1) or product(*arguments))
    use_onednn_linear(layer)
    for ours, theirs in zip(gradients_of(layer, rows), plain, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    assert len(calls) == 3  # forward, and two backward


@needs_onednn
@pytest.mark.usefixtures("quick")
def test_frozen_weights_get_no_gradient_and_pass_it_on() -> None:
    torch.manual_seed(0)
    layer, rows = nn.Linear(16, 24).requires_grad_(False), torch.randn(5, 16, requires_grad=True)
    use_onednn_linear(layer)
    layer(rows).square().sum().backward()
    assert layer.weight.grad is None and layer.bias.grad is None and rows.grad is not None
    torch.testing.assert_close(rows.grad, 2 * (rows @ layer.weight.T + layer.bias).detach() @ layer.weight, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("quick")
def test_half_precision_and_nothing_at_all_take_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, rows = nn.Linear(16, 24), torch.randn(5, 16)
    use_onednn_linear(layer)
    monkeypatch.setattr(fast_layers, "_product", lambda *_: pytest.fail("the plain way was not taken"))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(rows).dtype == torch.bfloat16
    assert layer(rows[:0]).shape == (0, 24)
    assert layer.double()(rows.double()).dtype == torch.float64


@pytest.mark.usefixtures("quick")
def test_only_plain_layers_become_quick_and_each_becomes_plain_again() -> None:
    class Own(nn.Linear):
        pass

    network = nn.Sequential(nn.Linear(3, 3), Own(3, 3))
    names = list(network.state_dict())
    use_onednn_linear(network)
    assert [type(layer) for layer in network] == [OneDNNLinear, Own]
    restore_linear(network)
    assert [type(layer) for layer in network] == [nn.Linear, Own]
    assert list(network.state_dict()) == names


@pytest.mark.slow
@needs_onednn
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_training_uses_them_and_leaves_plain_ones(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, calls, product = tiny_encoder(), [], fast_layers._product
    monkeypatch.setattr(fast_layers, "_product", lambda *arguments: calls.append(1) or product(*arguments))
    train(small_spec(epochs=1, method=method, lora_r=4), scored_pairs(24), Told(), never, encoder=encoder, folder=tmp_path)
    assert calls
    assert not any(isinstance(module, OneDNNLinear) for module in encoder.modules())


def test_dropout_scales_what_it_keeps_and_follows_torchs_random_state() -> None:
    layer = FastDropout(0.1).train()
    torch.manual_seed(0)
    out = layer(torch.ones(1000, 1001))
    assert (out == 0).float().mean() == pytest.approx(0.1, abs=2e-3)
    assert torch.unique(out).tolist() == [0.0, pytest.approx(1 / 0.9)]
    assert out.mean() == pytest.approx(1.0, abs=3e-3)
    layer, x = FastDropout(0.5).train(), torch.ones(7, 13)
    torch.manual_seed(3)
    first, second = layer(x), layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, second)
    assert torch.equal(layer.eval()(x), x)
    x = torch.randn(50, 3, requires_grad=True)
    out = FastDropout(0.3).train()(x)
    out.sum().backward()
    torch.testing.assert_close(x.grad, (out != 0).float() / 0.7)


def test_a_row_gradient_takes_the_steps_of_a_dense_one() -> None:
    def tune(sparse: bool) -> tuple[dict[str, torch.Tensor], list[float]]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(50, 4, sparse=sparse), nn.Linear(4, 3))
        optimiser = Optimizer(dict(model.named_parameters()), small_spec(max_grad_norm=0.5, learning_rate=0.1), 10)
        norms = []
        for step in range(10):
            words = torch.randint(0, 50, (6,), generator=torch.Generator().manual_seed(step)).repeat(2)
            loss = model(words).square().sum()
            loss.backward()
            norms.append(float(optimiser.step(step, loss.detach())))
        return dict(model.named_parameters()), norms

    dense, sparse = tune(False), tune(True)
    assert dense[1] == pytest.approx(sparse[1], rel=1e-5)
    for name, value in dense[0].items():
        torch.testing.assert_close(sparse[0][name], value, atol=1e-6, rtol=1e-5)


def test_quicken_changes_no_vector_and_no_state() -> None:
    encoder = tiny_encoder()
    before, names = encoder.encode(["cat dog", "red"]), list(encoder.state_dict())
    speed_up_backbone(encoder.backbone)
    assert (encoder.encode(["cat dog", "red"]) == before).all()
    assert list(encoder.state_dict()) == names
    assert any(isinstance(module, FastDropout) for module in encoder.modules())


def roberta() -> TransformerEncoder:
    plain = tiny_encoder()
    config = RobertaConfig(
        vocab_size=plain.backbone.config.vocab_size, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=80, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    return TransformerEncoder(RobertaModel(config, add_pooling_layer=False), plain.tokenizer, EncoderConfig(max_length=64))


def without_dropout(encoder: TransformerEncoder) -> TransformerEncoder:
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return encoder.train()


LONG = " ".join(sentences(12)).split()
LENGTHS = [40, 2, 3, 18, 2, 5, 33, 3, 17, 2, 4, 16, 3, 15, 30, 2, 29, 3] * 2
MIXED = [" ".join(LONG[start : start + length]) for start, length in enumerate(LENGTHS)]


@pytest.mark.parametrize(("make", "texts"), [(tiny_encoder, sentences(9)), (roberta, sentences(9)), (tiny_encoder, MIXED)])
def test_packed_vectors_and_gradients_are_those_of_the_padded_batch(make: Callable[[], TransformerEncoder], texts: list[str]) -> None:
    def run(packed: bool) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        encoder = without_dropout(make())
        if packed:
            pack_batches(encoder.backbone)
        batch = encoder.collate(encoder.tokenize(texts))
        assert (batch["attention_mask"] == 0).any()
        assert len(BatchPacking.from_mask(batch["attention_mask"]).groups) > 1 or texts is not MIXED
        vectors = encoder(batch)
        (vectors * torch.arange(float(len(texts)))[:, None].sin()).sum().backward()
        return vectors.detach(), {name: item.grad for name, item in encoder.named_parameters() if item.grad is not None}

    padded, packed = run(False), run(True)
    torch.testing.assert_close(packed[0], padded[0], atol=1e-6, rtol=1e-5)
    assert packed[1].keys() == padded[1].keys()
    for name, gradient in padded[1].items():
        torch.testing.assert_close(packed[1][name], gradient, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("lengths", [[5], [9] * 40, sorted([3, 60, 7, 12] * 20), [*range(1, 129)], [1] * 7 + [50], [1] * 8 + [50] * 8])
def test_groups_hold_every_row_once_and_are_not_tiny(lengths: list[int]) -> None:
    groups = _length_groups(lengths)
    assert [row for low, high in groups for row in range(low, high)] == [*range(len(lengths))]
    assert all(high - low >= min(8, len(lengths)) for low, high in groups)
    assert sum((high - low) * lengths[high - 1] ** 2 for low, high in groups) <= len(lengths) * lengths[-1] ** 2
    if len({*lengths}) == 1:
        assert len(groups) == 1


def test_rows_without_a_token_are_left_out_however_many() -> None:
    encoder = without_dropout(tiny_encoder())
    mask = torch.tensor([[0] * 5] * 9 + [[1] * 5] * 9)
    ids = torch.where(mask == 1, 7, 0)
    expected = encoder.backbone(input_ids=ids[9:]).last_hidden_state
    pack_batches(encoder.backbone)
    states = encoder.backbone(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(states[9:], expected, atol=1e-6, rtol=1e-5)
    assert not states[:9].any()
    states.square().sum().backward()
    assert all(torch.isfinite(item.grad).all() for item in encoder.parameters() if item.grad is not None)


def test_a_model_with_an_adapter_is_packed_too() -> None:
    encoder = tiny_encoder()
    encoder.add_adapter(LoraSettings(r=4, alpha=8, dropout=0.0))
    batch = encoder.collate(encoder.tokenize(sentences(9)))
    padded, seen = without_dropout(encoder)(batch), []
    pack_batches(encoder.backbone)
    encoder.backbone.base_model.model.encoder.layer[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].shape[0]))
    torch.testing.assert_close(encoder(batch), padded, atol=1e-6, rtol=1e-5)
    assert seen == [1]


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("lora", [False, True])
def test_a_cross_encoder_is_packed_with_its_segments_and_its_pooler(kind: str, lora: bool) -> None:
    def run(packed: bool) -> tuple[torch.Tensor, dict[str, torch.Tensor], list[int]]:
        encoder, seen = tiny_cross(kind, head="mlp", dropout=0.0), []
        if lora:
            encoder.add_adapter(LoraSettings(r=4, alpha=8, dropout=0.0))
        encoder.train()
        if packed:
            pack_batches(encoder.backbone)
        encoder.backbone.encoder.layer[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].shape[0]))
        batch = encoder.collate(encoder.tokenize(list(zip(sentences(9), sentences(9, 1), strict=True))))
        assert (batch["attention_mask"] == 0).any() and (kind == "roberta" or (batch["token_type_ids"] == 1).any())
        logits = encoder(batch)
        (logits * torch.arange(9.0)[:, None].sin()).sum().backward()
        return logits.detach(), {name: item.grad for name, item in encoder.named_parameters() if item.grad is not None}, seen

    padded, packed = run(False), run(True)
    assert (padded[2], packed[2]) == ([9], [1])
    torch.testing.assert_close(packed[0], padded[0], atol=1e-6, rtol=1e-5)
    assert packed[1].keys() == padded[1].keys()
    for name, gradient in padded[1].items():
        torch.testing.assert_close(packed[1][name], gradient, atol=1e-5, rtol=1e-4)


def test_encoding_is_not_packed_training_drops_and_undoing_leaves_nothing() -> None:
    encoder, texts = tiny_encoder(), sentences(9)
    before = encoder.encode(texts)
    undo = pack_batches(encoder.backbone)
    np.testing.assert_array_equal(encoder.encode(texts), before)
    undo()
    assert encoder.backbone.config._attn_implementation == "sdpa"
    assert not encoder.backbone._forward_hooks
    assert not encoder.backbone._forward_pre_hooks
    encoder = tiny_encoder().train()
    pack_batches(encoder.backbone)
    batch = encoder.collate(encoder.tokenize(sentences(9)))
    assert not torch.allclose(encoder(batch), encoder(batch))


def test_spreading_and_packing_undo_each_other() -> None:
    packing = BatchPacking.from_mask(torch.tensor([[1, 1, 0], [1, 1, 1]]))
    tokens = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.equal(packing.pack(packing.unpack(tokens)), tokens)
    assert packing.unpack(tokens)[0, 2].tolist() == [0.0] * 4
    torch.autograd.gradcheck(packing.unpack, (tokens,))
    torch.autograd.gradcheck(packing.pack, (torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True),))
