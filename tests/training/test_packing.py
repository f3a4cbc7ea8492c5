from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import BertModel, RobertaConfig, RobertaModel

from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.lora import LoraSettings
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training.packing import BatchPacking, _length_groups, pack_batches

from .tiny import sentences, tiny_encoder
from .tiny_cross import tiny_cross


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


@pytest.mark.parametrize("make", [tiny_encoder, roberta])
def test_packed_vectors_and_gradients_are_those_of_the_padded_batch(make: type[BertModel]) -> None:
    def run(packed: bool) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        encoder = without_dropout(make())
        if packed:
            pack_batches(encoder.backbone)
        batch = encoder.collate(encoder.tokenize(sentences(9)))
        assert (batch["attention_mask"] == 0).any()
        vectors = encoder(batch)
        (vectors * torch.arange(9.0)[:, None].sin()).sum().backward()
        return vectors.detach(), {name: item.grad for name, item in encoder.named_parameters() if item.grad is not None}

    padded, packed = run(False), run(True)
    torch.testing.assert_close(packed[0], padded[0], atol=1e-6, rtol=1e-5)
    assert packed[1].keys() == padded[1].keys()
    for name, gradient in padded[1].items():
        torch.testing.assert_close(packed[1][name], gradient, atol=1e-5, rtol=1e-4)


def test_texts_of_all_lengths_are_attended_to_in_groups_and_equal_the_padded_batch() -> None:
    words = " ".join(sentences(12)).split()
    texts = [
        " ".join(words[start : start + length])
        for start, length in enumerate([40, 2, 3, 18, 2, 5, 33, 3, 17, 2, 4, 16, 3, 15, 30, 2, 29, 3] * 2)
    ]

    def run(packed: bool) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        encoder = without_dropout(tiny_encoder())
        batch = encoder.collate(encoder.tokenize(texts))
        if packed:
            pack_batches(encoder.backbone)
            assert len(BatchPacking.from_mask(batch["attention_mask"]).groups) > 1
        vectors = encoder(batch)
        (vectors * torch.arange(float(len(texts)))[:, None].sin()).sum().backward()
        return vectors.detach(), {name: item.grad for name, item in encoder.named_parameters() if item.grad is not None}

    padded, packed = run(False), run(True)
    torch.testing.assert_close(packed[0], padded[0], atol=1e-6, rtol=1e-5)
    for name, gradient in padded[1].items():
        torch.testing.assert_close(packed[1][name], gradient, atol=2e-5, rtol=1e-4)


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


def test_no_padded_token_reaches_the_layers() -> None:
    encoder, seen = without_dropout(tiny_encoder()), []
    pack_batches(encoder.backbone)
    encoder.backbone.encoder.layer[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].shape))
    rows = encoder.tokenize(sentences(9))
    encoder(encoder.collate(rows))
    assert seen == [(1, sum(map(len, rows)), 32)]


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


def test_dropout_falls_on_packed_batches_too() -> None:
    encoder = tiny_encoder().train()
    pack_batches(encoder.backbone)
    batch = encoder.collate(encoder.tokenize(sentences(9)))
    assert not torch.allclose(encoder(batch), encoder(batch))


def test_encoding_is_not_packed_and_undoing_leaves_nothing() -> None:
    encoder, texts = tiny_encoder(), sentences(9)
    before = encoder.encode(texts)
    undo = pack_batches(encoder.backbone)
    np.testing.assert_array_equal(encoder.encode(texts), before)
    undo()
    assert encoder.backbone.config._attn_implementation == "sdpa"
    assert not encoder.backbone._forward_hooks
    assert not encoder.backbone._forward_pre_hooks


def test_spreading_and_packing_undo_each_other() -> None:
    packing = BatchPacking.from_mask(torch.tensor([[1, 1, 0], [1, 1, 1]]))
    tokens = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.equal(packing.pack(packing.unpack(tokens)), tokens)
    assert packing.unpack(tokens)[0, 2].tolist() == [0.0] * 4
    torch.autograd.gradcheck(packing.unpack, (tokens,))
    torch.autograd.gradcheck(packing.pack, (torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True),))
