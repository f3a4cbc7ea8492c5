"""LoRA: a few trainable matrices beside frozen ones (Hu et al. 2021, equation 3), through peft."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..errors import StudioError
from ..workspace import atomic_folder, write_json
from .backbone import read_json
from .transformer import EncoderConfig, TransformerEncoder

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
# What a full model's folder says in its modules stands in an adapter's folder in these two files of ours.
_HEAD, _PROJECTION = "encoder.json", "projection.safetensors"
_MPNET_ATTENTION = re.compile(r"\.attn\.[qkv]$")


@dataclass(frozen=True)
class LoraSettings:
    """How large the adapter is, and where it sits.

    Attributes:
        r: the rank of each pair of matrices.
        alpha: their product is scaled by alpha / r.
        dropout: on what enters them.
        targets: full names or name endings of linear layers; None: the queries, keys, values and feed-forward layers.
    """

    r: int = 16
    alpha: int = 32
    dropout: float = 0.05
    targets: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.r < 1 or self.alpha <= 0 or not 0 <= self.dropout < 1:
            raise StudioError(
                f"an adapter with r {self.r}, alpha {self.alpha} and dropout {self.dropout} is not possible", "try 16, 32 and 0.05"
            )


def find_targets(backbone: nn.Module) -> list[str]:
    """The full names of the linear layers that an adapter should sit beside, found by the names the architecture gives them.

    Raises:
        StudioError: the architecture has none that is known.
    """
    found = [name for name, module in backbone.named_modules() if _is_linear(module) and _is_target(name)]
    if not found:
        raise StudioError(
            "this model's attention layers have names that are not known here", "name them in the adapter's targets, or tune in full"
        )
    return found


def _is_linear(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"  # GPT-2's transposed linear layer


def _is_target(name: str) -> bool:
    last = name.rsplit(".", 1)[-1]
    known = last in _ATTENTION or last in _FEED_FORWARD or (last in _T5_ATTENTION and "Attention" in name)
    return known or bool(_DENSE.search(name)) or bool(_MPNET_ATTENTION.search(name))


def apply_lora(encoder: TransformerEncoder, settings: LoraSettings) -> None:
    """Freeze the backbone and put an adapter beside its target layers; a projection stays trainable in full.

    Raises:
        StudioError: no target layer is there, or an adapter already is.
    """
    from peft import LoraConfig, get_peft_model

    if is_adapted(encoder):
        raise StudioError("this model already has an adapter", "merge it first")
    targets = list(settings.targets) if settings.targets else find_targets(encoder.backbone)
    config = LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=targets,
        fan_in_fan_out=any(type(module).__name__ == "Conv1D" for module in encoder.backbone.modules()),
    )
    try:
        encoder.backbone = get_peft_model(encoder.backbone, config)
    except ValueError as error:
        raise StudioError(f"the adapter's targets {', '.join(targets[:5])} are not in this model", "leave the targets out") from error
    if encoder.projection is not None:
        encoder.projection.requires_grad_(True)
    encoder.train(encoder.training)  # peft's new layers come in training mode, whose dropout an encoding must not see


def is_adapted(encoder: TransformerEncoder) -> bool:
    """Whether an adapter sits in ``encoder`` unmerged."""
    return hasattr(encoder.backbone, "peft_config")


def merge_lora(encoder: TransformerEncoder) -> None:
    """Add the adapter's product to the weights beside it, and leave the plain backbone: W + (alpha / r) B A."""
    if is_adapted(encoder):
        encoder.backbone = encoder.backbone.merge_and_unload()


def merged_backbone(encoder: TransformerEncoder) -> Any:
    """The plain backbone: the encoder's own, or with an adapter a merged copy, so that a training may go on."""
    return copy.deepcopy(encoder.backbone).merge_and_unload() if is_adapted(encoder) else encoder.backbone


def save_adapter(encoder: TransformerEncoder, folder: Path, base_id: str) -> None:
    """Write ``adapter_config.json`` and ``adapter_model.safetensors`` (and a projection beside them), whole or not at all.

    Args:
        encoder: with its adapter unmerged.
        folder: its old content is replaced.
        base_id: the id of the base model that another machine can resolve; never a path of this one.

    Raises:
        StudioError: there is no adapter, or ``base_id`` is an absolute path.
    """
    from safetensors.torch import save_file

    if not is_adapted(encoder):
        raise StudioError("this model has no adapter to save", "tune it with the method lora")
    if Path(base_id).is_absolute() or "\\" in base_id:
        raise StudioError("an adapter needs the id of its base model, not a folder of this machine", "give a hub id")
    config = encoder.backbone.peft_config["default"]
    with atomic_folder(folder) as part:
        settings = config.to_dict() | {"base_model_name_or_path": base_id, "inference_mode": True}
        write_json(part / "adapter_config.json", {key: _plain(value) for key, value in settings.items()})
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in _adapter_state(encoder).items()}
        save_file(tensors, part / "adapter_model.safetensors", metadata={"format": "pt"})
        write_json(part / _HEAD, dataclasses.asdict(encoder.config))
        if encoder.projection is not None:
            weights = {key: tensor.cpu().contiguous() for key, tensor in encoder.projection.state_dict().items()}
            save_file(weights, part / _PROJECTION)


def load_adapter(encoder: TransformerEncoder, folder: Path) -> None:
    """Put the adapter of ``folder`` into ``encoder``, which must be its base, unmerged, with the pooling and projection it had.

    Raises:
        StudioError: it is no safetensors adapter, or does not fit.
    """
    from peft import PeftModel
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not (folder / "adapter_model.safetensors").is_file():
        raise StudioError(f"the folder {folder.name!r} holds no adapter_model.safetensors", "choose an adapter's folder")
    try:
        encoder.backbone = PeftModel.from_pretrained(encoder.backbone, str(folder), is_trainable=True)
        encoder.train(encoder.training)
        head = read_json(folder / _HEAD, dict, {})
        if head:
            _restore_head(encoder, head)
        if (folder / _PROJECTION).is_file() and encoder.projection is not None:
            encoder.projection.load_state_dict(load_file(folder / _PROJECTION))
    except (ValueError, RuntimeError, KeyError, TypeError, SafetensorError) as error:
        raise StudioError(f"the adapter in {folder.name!r} does not fit this model", "load it on the base model it names") from error


def _restore_head(encoder: TransformerEncoder, head: dict[str, Any]) -> None:
    config = EncoderConfig(**head)
    encoder.projection = None if config.projection is None else encoder.projection
    encoder.repool(config.pooling)
    if config.projection is not None and (encoder.projection is None or encoder.dim != config.projection):
        encoder.project(config.projection, config.activation)
    encoder.normalizes = config.normalize
    encoder.limit(config.max_length)


def _adapter_state(encoder: TransformerEncoder) -> dict[str, torch.Tensor]:
    from peft import get_peft_model_state_dict

    state: dict[str, torch.Tensor] = get_peft_model_state_dict(encoder.backbone)
    return state


def _plain(value: Any) -> Any:
    """``value`` as JSON can hold it: peft's own settings hold sets and enumerations."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return getattr(value, "value", value)
    if isinstance(value, Iterable):
        return sorted(_plain(item) for item in value)
    return str(value)
