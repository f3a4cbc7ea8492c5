"""LoRA on a model for classification: its head learns in full, and travels with the adapter."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.models.lora import LoraSettings, add_lora, find_heads, find_targets, lora_config, write_adapter

from .tiny import backbone_of

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


IDS = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 5, 6]])


def test_a_bare_backbone_has_no_head() -> None:
    assert find_heads(backbone_of("bert", 40)) == find_heads(backbone_of("llama", 40)) == []


@pytest.mark.parametrize("kind", HEADS)
def test_the_head_learns_in_full_and_is_saved_merged_and_loaded(kind: str, tmp_path: Path) -> None:
    from peft import PeftModel

    model = classifier(kind)
    untuned = copy.deepcopy(model)
    heads = find_heads(model)
    assert heads == HEADS[kind]
    assert lora_config(model, LoraSettings(), heads).modules_to_save == heads
    assert not any(name.startswith(tuple(heads)) for name in find_targets(model))
    adapted = add_lora(model, LoraSettings(r=4, alpha=8, dropout=0.0), heads)
    assert not adapted.training
    learning = {name: weight for name, weight in adapted.named_parameters() if weight.requires_grad}
    assert all("lora_" in name or any(f"{head}.modules_to_save" in name for head in heads) for name in learning)
    assert {head for head in heads if any(f"{head}.modules_to_save" in name for name in learning)} == set(heads)
    before = {name: weight.detach().clone() for name, weight in learning.items()}
    optimiser = torch.optim.Adam(learning.values(), lr=1e-2)
    for _ in range(4):
        optimiser.zero_grad()
        (adapted(input_ids=IDS).logits[:, 0] - torch.tensor([0.0, 1.0, 2.0])).square().mean().backward()
        optimiser.step()
    assert not [name for name, weight in learning.items() if torch.equal(weight, before[name])]
    tuned = adapted(input_ids=IDS).logits.detach()
    write_adapter(adapted, tmp_path, "owner/base")
    assert json.loads((tmp_path / "adapter_config.json").read_text())["base_model_name_or_path"] == "owner/base"
    again = PeftModel.from_pretrained(untuned, str(tmp_path)).eval()
    torch.testing.assert_close(again(input_ids=IDS).logits, tuned, atol=1e-6, rtol=0)
    merged = adapted.merge_and_unload()
    assert type(merged) is type(classifier(kind))
    assert set(merged.state_dict()) == set(classifier(kind).state_dict())
    torch.testing.assert_close(merged(input_ids=IDS).logits, tuned, atol=1e-5, rtol=0)


def test_wrong_heads_and_a_second_adapter_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no head 'nowhere'"):
        add_lora(classifier("bert"), LoraSettings(), ("nowhere",))
    adapted = add_lora(classifier("bert"), LoraSettings(), ("classifier",))
    with pytest.raises(StudioError, match="already"):
        add_lora(adapted, LoraSettings())
    with pytest.raises(StudioError, match="hub id"):
        write_adapter(adapted, tmp_path, "/home/someone/model")
