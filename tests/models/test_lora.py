"""LoRA adapters: targets, heads, training, saving and loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.load import load_adapter, load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.lora import LoraSettings, add_lora, find_heads, find_targets, write_adapter
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.workspace import Workspace

from .tiny import TEXTS, backbone_of, tiny_encoder

_DECODER = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "down_proj")
EXPECTED = {
    "bert": ("query", "key", "value", "intermediate.dense", "output.dense"),
    "llama": _DECODER,
    "qwen2": _DECODER,
    "gpt2": ("c_attn", "c_fc"),
}


def trained(kind: str, config: EncoderConfig | None = None) -> TransformerEncoder:
    """An encoder whose adapter has moved: a fresh one's product is zero, and would merge to nothing."""
    encoder = tiny_encoder(kind, config)
    encoder.add_adapter(LoraSettings(r=4, alpha=8, dropout=0.1))
    torch.manual_seed(3)
    for name, weight in encoder.named_parameters():
        if "lora_" in name:
            weight.data.normal_(std=0.1)
    return encoder.eval()


@pytest.mark.parametrize("kind", EXPECTED)
def test_targets_are_the_attention_and_feed_forward_layers(kind: str) -> None:
    names = find_targets(tiny_encoder(kind).backbone)
    assert all(name.endswith(EXPECTED[kind]) and "attention.output" not in name and "pooler" not in name for name in names)
    assert all(sum(name.endswith(ending) for name in names) >= 2 for ending in EXPECTED[kind])


@pytest.mark.parametrize(
    ("base", "tuned"),
    [
        (EncoderConfig(), EncoderConfig()),
        (EncoderConfig(projection=8), EncoderConfig(projection=8)),
        (EncoderConfig(), EncoderConfig("max", False, 8, "tanh", max_length=20)),
        (EncoderConfig(projection=8, activation="tanh"), EncoderConfig(projection=8, activation="identity")),
    ],
)
def test_an_adapter_loaded_on_its_base_restores_pooling_projection_and_vectors(
    base: EncoderConfig, tuned: EncoderConfig, tmp_path: Path
) -> None:
    encoder = trained("bert", tuned)
    for weight in () if encoder.projection is None else encoder.projection.parameters():
        weight.data.add_(0.1)
    encoder.save_adapter(tmp_path / "adapter", "owner/base")
    other = tiny_encoder("bert", base)
    load_adapter(other, tmp_path / "adapter")
    assert other.config == encoder.config
    np.testing.assert_allclose(other.eval().encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)


def test_the_saved_adapter_is_portable_and_opens_in_peft(tmp_path: Path) -> None:
    from peft import PeftModel

    encoder = trained("bert", EncoderConfig("mean", False))
    encoder.save_adapter(tmp_path / "adapter", "owner/base")
    settings = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == "owner/base"
    assert str(tmp_path) not in json.dumps(settings)
    other = tiny_encoder("bert", EncoderConfig("mean", False))
    other.backbone = PeftModel.from_pretrained(other.backbone, str(tmp_path / "adapter"))
    np.testing.assert_allclose(other.eval().encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)


def test_wrong_settings_heads_and_second_adapters_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(StudioError):
        LoraSettings(r=0)
    with pytest.raises(StudioError, match="nowhere"):
        tiny_encoder().add_adapter(LoraSettings(targets=("nowhere",)))
    encoder = trained("bert")
    with pytest.raises(StudioError, match="already"):
        encoder.add_adapter(LoraSettings())
    with pytest.raises(StudioError, match="no adapter"):
        tiny_encoder().save_adapter(tmp_path / "adapter", "owner/base")
    encoder.save_adapter(tmp_path / "adapter", "owner/base")
    with pytest.raises(StudioError, match="does not fit"):
        load_adapter(tiny_encoder("llama"), tmp_path / "adapter")
    with pytest.raises(StudioError, match="no head 'nowhere'"):
        add_lora(classifier("bert"), LoraSettings(), ("nowhere",))
    adapted = add_lora(classifier("bert"), LoraSettings(), ("classifier",))
    with pytest.raises(StudioError, match="already"):
        add_lora(adapted, LoraSettings())
    with pytest.raises(StudioError, match="hub id"):
        write_adapter(adapted, tmp_path, "/home/someone/model")
    encoder = trained("bert")
    encoder.save_adapter(tmp_path / "adapter", "owner/base")
    encoder.save(tmp_path / "model")
    (tmp_path / "model" / "adapter_config.json").write_bytes((tmp_path / "adapter" / "adapter_config.json").read_bytes())
    with pytest.raises(StudioError, match="both an adapter and a full model"):
        load_folder(tmp_path / "model")


def test_an_adapters_folder_is_a_model_of_the_catalogue(catalog: Catalog, tmp_path: Path) -> None:
    encoder = catalog.load_trainable("all-MiniLM-L6-v2")
    encoder.add_adapter(LoraSettings(r=2, alpha=4))
    for name, weight in encoder.named_parameters():
        if "lora_B" in name:
            weight.data.normal_(std=0.05)
    texts = ["the machine swallowed my card", "hello"]
    expected = encoder.encode(texts)
    encoder.save_adapter(tmp_path / "adapter", "sentence-transformers/all-MiniLM-L6-v2")
    np.testing.assert_allclose(catalog.load(str(tmp_path / "adapter")).encode(texts), expected, atol=1e-5)
    assert catalog.load_trainable(str(tmp_path / "adapter")).base == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize("harm", ["renamed", "fewer", "none", "whole numbers", "endless"])
def test_an_adapter_that_would_leave_its_base_as_it_was_or_spoil_it_is_refused(tmp_path: Path, harm: str) -> None:
    trained("bert").save_adapter(tmp_path / "adapter", "owner/base")
    path = tmp_path / "adapter" / "adapter_model.safetensors"
    held = load_file(path)
    changed = {
        "renamed": {f"other.{name}": tensor for name, tensor in held.items()},
        "fewer": dict(list(held.items())[2:]),
        "none": {},
        "whole numbers": {name: (100 * tensor).to(torch.int8) for name, tensor in held.items()},
        "endless": {name: tensor / 0 for name, tensor in held.items()},
    }
    save_file(changed[harm], path)
    with pytest.raises(StudioError):
        load_adapter(tiny_encoder("bert"), tmp_path / "adapter")


@pytest.mark.parametrize(("name", "values"), [("adapter_config.json", {"target_modules": ["query"]}), ("encoder.json", {"max_length": -1})])
def test_settings_that_are_not_those_of_the_adapter_are_refused(tmp_path: Path, name: str, values: dict[str, object]) -> None:
    trained("bert").save_adapter(tmp_path / "adapter", "owner/base")
    path = tmp_path / "adapter" / name
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")
    with pytest.raises(StudioError, match="does not fit"):
        load_adapter(tiny_encoder("bert"), tmp_path / "adapter")


def test_an_adapter_finds_its_base_in_a_folder_here_and_says_what_is_missing_elsewhere(tmp_path: Path) -> None:
    encoder = trained("bert")
    encoder.save_adapter(tmp_path / "adapter", "owner/base")
    tiny_encoder("bert").save(tmp_path / "base")
    path = tmp_path / "adapter" / "adapter_config.json"
    catalog = Catalog(Workspace(tmp_path / "home"), device="cpu")

    def named(base: str) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": base}))

    named(str(tmp_path / "base"))
    np.testing.assert_allclose(catalog.load(str(tmp_path / "adapter")).encode(TEXTS), encoder.encode(TEXTS), atol=1e-5)
    named("/home/somebody/models/base")
    with pytest.raises(StudioError, match="is only an adapter") as refused:
        catalog.load_trainable(str(tmp_path / "adapter"))
    assert "base_model_name_or_path" in refused.value.hint


def test_an_adapter_on_an_adapter_is_refused_by_name(tmp_path: Path) -> None:
    catalog = Catalog(Workspace(tmp_path / "home"), device="cpu")
    bases = {"a": "b", "b": "a", "c": "c"}
    for name, base in bases.items():
        trained("bert").save_adapter(tmp_path / name, "owner/base")
        path = tmp_path / name / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": str(tmp_path / base)}))
    for name, base in bases.items():
        with pytest.raises(StudioError, match=f"is only an adapter, and so is its base model .*/{base}\\)") as refused:
            catalog.load(str(tmp_path / name))
        assert "base_model_name_or_path" in refused.value.hint


HEADS = {
    "bert": ["classifier", "bert.pooler"],
    "roberta": ["classifier"],
    "distilbert": ["pre_classifier", "classifier"],
    "modernbert": ["head", "classifier"],
    "llama": ["score"],
    "qwen2": ["score"],
    "gpt2": ["score"],
}


def classifier(kind: str) -> Any:
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(3)
    config = backbone_of(kind, 40).config
    config.num_labels, config.pad_token_id = 1, 1
    return AutoModelForSequenceClassification.from_config(config, dtype=torch.float32).eval()


@pytest.mark.parametrize("kind", HEADS)
def test_the_head_of_each_family_is_trained_in_full_and_is_no_target(kind: str) -> None:
    assert find_heads(backbone_of(kind, 40)) == []
    model = classifier(kind)
    heads = find_heads(model)
    assert heads == HEADS[kind]
    assert not any(name.startswith(tuple(heads)) for name in find_targets(model))
    adapted = add_lora(model, LoraSettings(r=4, alpha=8, dropout=0.0), heads)
    learning = [name for name, weight in adapted.named_parameters() if weight.requires_grad]
    assert all("lora_" in name or any(f"{head}.modules_to_save" in name for head in heads) for name in learning)
    assert {head for head in heads if any(f"{head}.modules_to_save" in name for name in learning)} == set(heads)
