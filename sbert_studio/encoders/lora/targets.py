"""Where an adapter sits and what is trained in full beside it, found by the names that each architecture gives its layers."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from ...errors import StudioError

# The last part of a linear layer's name, in the architectures' own words, that attention and the feed-forward net use.
_ATTENTION = {
    *("query", "key", "value"),  # BERT, RoBERTa, ELECTRA, ALBERT
    *("q_proj", "k_proj", "v_proj"),  # Llama, Qwen, Mistral, Gemma, OPT, BART
    *("q_lin", "k_lin", "v_lin"),  # DistilBERT
    *("query_proj", "key_proj", "value_proj"),  # DeBERTa
    *("c_attn", "query_key_value", "qkv_proj", "Wqkv", "in_proj"),  # one matrix for all three: GPT-2, NeoX, Phi-3, ModernBERT, DeBERTa
}
_T5_ATTENTION = {"q", "k", "v"}
_FEED_FORWARD = {
    *("gate_proj", "up_proj", "down_proj", "gate_up_proj"),
    *("lin1", "lin2", "fc1", "fc2", "ffn", "ffn_output"),
    *("c_fc", "dense_h_to_4h", "dense_4h_to_h", "Wi", "wi", "wo", "wi_0", "wi_1"),
}
# BERT calls every layer "dense": these endings mark the two of the feed-forward net, and not the attention's output.
_DENSE = re.compile(r"(?:^|\.)(?:layer|layers)\.\d+\.(?:intermediate|output)\.dense$")
# XLNet keeps its attention as bare tensors, beside which no adapter fits; its feed-forward net is made of linear layers.
_XLNET_FEED_FORWARD = re.compile(r"\.ff\.layer_[12]$")
_MPNET_ATTENTION = re.compile(r"\.attn\.[qkv]$")


def find_targets(backbone: nn.Module) -> list[str]:
    """The full names of the linear layers that an adapter should sit beside.

    Raises:
        StudioError: the architecture has none that is known.
    """
    found = [name for name, module in backbone.named_modules() if _is_linear(module) and _is_target(name)]
    if not found:
        raise StudioError(
            "this model's attention layers have names that are not known here", "name them in the adapter's targets, or tune in full"
        )
    return found


def find_heads(model: Any) -> list[str]:
    """The full names of what a model for classification has besides its backbone, and of the backbone's pooler: its heads.

    ``classifier`` and ``bert.pooler`` of BERT, ``pre_classifier`` and ``classifier`` of DistilBERT, ``score`` of Llama; none of
    a bare backbone, whose pooler nothing reads.
    """
    backbone = model.base_model
    if backbone is model:
        return []
    heads = [name for name, child in model.named_children() if child is not backbone and _has_weights(child)]
    pooler = getattr(backbone, "pooler", None)
    if pooler is not None and _has_weights(pooler):
        heads.append(f"{model.base_model_prefix}.pooler")
    return heads


def has_transposed(model: nn.Module) -> bool:
    """Whether there are GPT-2's linear layers, whose matrix lies the other way round."""
    return any(type(module).__name__ == "Conv1D" for module in model.modules())


def _has_weights(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


def _is_linear(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _is_target(name: str) -> bool:
    last = name.rsplit(".", 1)[-1]
    known = last in _ATTENTION or last in _FEED_FORWARD or (last in _T5_ATTENTION and "Attention" in name)
    return known or any(pattern.search(name) for pattern in (_DENSE, _MPNET_ATTENTION, _XLNET_FEED_FORWARD))
