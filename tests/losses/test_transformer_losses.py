"""Losses that need a transformer: TSDAE's decoder and adaptive layers, against sentence-transformers in value and gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as theirs
from tiny_studio import peer, sentences
from torch import Tensor

from sbert_studio.errors import StudioError
from sbert_studio.losses import build_loss
from sbert_studio.losses.tsdae import IGNORED, TSDAELoss, delete_tokens
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training.prepare import prepare
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.steps import Processes
from tests.training.tiny import bare_sentences, scored_pairs, tiny_encoder

TEXTS = sentences(6)


def loaded(folder: Path) -> TransformerEncoder:
    encoder = load_folder(folder)
    assert isinstance(encoder, TransformerEncoder)
    return encoder


def gradients(module: torch.nn.Module) -> dict[str, Tensor]:
    return {name: parameter.grad for name, parameter in module.named_parameters() if parameter.grad is not None}


def assert_equal_gradients(ours: torch.nn.Module, other: torch.nn.Module) -> None:
    mine, reference = gradients(ours), gradients(other)
    assert mine.keys() == reference.keys() and len(mine) > 10
    for name, gradient in mine.items():
        assert (gradient - reference[name]).abs().max() < 1e-5 * max(1.0, float(reference[name].abs().max())), name


def features(encoder: TransformerEncoder, texts: list[str]) -> dict[str, Tensor]:
    return encoder.collate(encoder.tokenize(texts))


def test_tsdae_equals_sentence_transformers(tiny_model: Path) -> None:
    reference = theirs.DenoisingAutoEncoderLoss(peer(tiny_model), tie_encoder_decoder=True).eval()
    encoder, loss = loaded(tiny_model), build_loss("tsdae", {}, dim=32)
    loss.share_weights(encoder)
    loss.eval().decoder.load_state_dict(reference.decoder.state_dict())  # type: ignore[union-attr, operator]
    noisy, whole = features(encoder, [" ".join(text.split()[::2]) for text in TEXTS]), features(encoder, TEXTS)
    other = reference([dict(noisy), dict(whole)], None)
    value = loss([encoder(noisy)], whole["input_ids"].masked_fill(whole["attention_mask"] == 0, IGNORED))
    value.backward()
    other.backward()
    assert value.item() == pytest.approx(other.item(), abs=1e-5)
    assert_equal_gradients(encoder.backbone, reference.encoder[0].auto_model)
    assert_equal_gradients(loss.decoder, reference.decoder)  # type: ignore[arg-type]


def test_the_decoder_shares_its_weights_with_the_encoder_and_only_adds_cross_attention() -> None:
    encoder, spec = tiny_encoder(), TrainSpec(loss="tsdae", model="tiny")
    loss = prepare(spec, encoder, bare_sentences(8), Processes(torch.device("cpu")))
    own = {id(parameter) for parameter in encoder.parameters()}
    new = {name for name, parameter in loss.named_parameters() if id(parameter) not in own}
    assert new and all("crossattention" in name or ".cls." in name for name in new)
    assert not any(module.sparse for module in encoder.modules() if isinstance(module, torch.nn.Embedding))


def test_deletion_keeps_special_tokens_and_the_order_and_at_least_one_word() -> None:
    encoder = tiny_encoder()
    inputs = features(encoder, [*TEXTS, "cat"])
    special = torch.tensor(encoder.tokenizer.all_special_ids)
    torch.manual_seed(1)
    lost, words = 0, 0
    for _ in range(40):
        found = delete_tokens(inputs, 0.6, special, encoder.tokenizer.pad_token_id)
        for before, after, mask in zip(inputs["input_ids"].tolist(), found["input_ids"].tolist(), found["attention_mask"], strict=True):
            left = after[: int(mask.sum())]
            rest = iter(before)
            assert all(token in rest for token in left), "in the same order"
            assert left[0] == before[0] and left[-1] == encoder.tokenizer.sep_token_id and len(left) > 2
            assert set(after[int(mask.sum()) :]) <= {encoder.tokenizer.pad_token_id}
            whole = len([token for token in before if token]) - 2
            words, lost = words + whole, lost + whole - (len(left) - 2)
    assert 0.45 < lost / words < 0.62
    kept = delete_tokens({**inputs, "skip": torch.full((len(TEXTS) + 1,), 3)}, 0.9, special, 0)["input_ids"]
    assert torch.equal(kept[:, :3], inputs["input_ids"][:, :3]), "a prompt is kept"


@pytest.mark.parametrize("widths", ["", "8,16"])
def test_adaptive_layers_equal_sentence_transformers(tiny_model: Path, widths: str) -> None:
    examples = scored_pairs(6)
    model, targets = peer(tiny_model), torch.from_numpy(examples.targets)
    inner = theirs.CoSENTLoss(model)
    options: dict[str, Any] = {"n_layers_per_step": -1}
    if widths:
        reference: Any = theirs.Matryoshka2dLoss(model, inner, [32, 16, 8], n_dims_per_step=-1, **options)
    else:
        reference = theirs.AdaptiveLayerLoss(model, inner, **options)
    encoder = loaded(tiny_model)
    spec = TrainSpec(loss="cosent", model="tiny", adaptive_layers=True, matryoshka=widths, dropout=0)
    loss = prepare(spec, encoder, examples, Processes(torch.device("cpu")))
    columns = [features(encoder, list(texts)) for texts in examples.texts]
    other = reference.eval()([dict(column) for column in columns], targets)
    layers = [encoder(column).split(6) for column in columns]
    value = loss([vectors for layer in zip(*layers, strict=True) for vectors in layer], targets)
    value.backward()
    other.backward()
    assert value.item() == pytest.approx(other.item(), abs=1e-5)
    for module in encoder.modules():
        if isinstance(module, torch.nn.Embedding) and module.weight.grad is not None:
            module.weight.grad = module.weight.grad.to_dense()
    assert_equal_gradients(encoder.backbone, model[0].auto_model)


def test_a_model_is_cut_to_its_first_layers(tmp_path: Path) -> None:
    whole, encoder = tiny_encoder(), tiny_encoder()
    encoder.keep_layers(1)
    encoder.save(tmp_path / "cut")
    with torch.inference_mode():
        batch = features(encoder, TEXTS)
        states = whole._run(batch, output_hidden_states=True).hidden_states
        expected = whole.postprocess(whole.pooling(states[1], batch["attention_mask"]))
        assert torch.allclose(encoder(batch), expected, atol=1e-6)
        assert torch.allclose(loaded(tmp_path / "cut")(batch), expected, atol=1e-6)
    with pytest.raises(StudioError, match="has 1 layers, not 2"):
        encoder.keep_layers(2)


@pytest.mark.parametrize("wrong", [{"method": "lora"}, {"projection": 8}, {"matryoshka": "8"}, {"adaptive_layers": True}])
def test_tsdae_refuses_what_its_decoder_cannot_share(wrong: dict[str, Any]) -> None:
    with pytest.raises(StudioError, match=TSDAELoss.title.split(" (")[0]):
        prepare(TrainSpec(loss="tsdae", model="tiny", **wrong), tiny_encoder(), bare_sentences(8), Processes(torch.device("cpu")))
