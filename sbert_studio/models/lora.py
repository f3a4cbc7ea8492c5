"""LoRA adapters (Hu et al. 2021, equation 3) with peft: target modules, saving and loading."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from ..errors import StudioError
from ..i18n import _
from ..workspace import write_json
from .io.backbone import require_finite, write_tensors
from .io.settings import EncoderConfig

# Last component of the names of attention and feed-forward layers, by architecture.
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
# BERT calls every layer "dense": these suffixes are those of the feed-forward net, without the attention's output.
_DENSE = re.compile(r"(?:^|\.)(?:layer|layers)\.\d+\.(?:intermediate|output)\.dense$")
# XLNet's attention weights are bare tensors, which peft cannot wrap; its feed-forward net has linear layers.
_XLNET_FEED_FORWARD = re.compile(r"\.ff\.layer_[12]$")
_MPNET_ATTENTION = re.compile(r"\.attn\.[qkv]$")
# These two files of an adapter's folder replace modules.json and the module folders of a full model.
ENCODER_FILE, PROJECTION_FILE = "encoder.json", "projection.safetensors"


def find_targets(backbone: nn.Module) -> list[str]:
    """Return the full names of the attention and feed-forward layers that an adapter wraps by default."""
    targets = [name for name, module in backbone.named_modules() if _is_linear(module) and _is_target(name)]
    if not targets:
        raise StudioError(
            "the attention layers of this architecture are not known", "specify them as the adapter's targets, or use the method full"
        )
    return targets


def find_heads(model: Any) -> list[str]:
    """Return the full names of a classification model's heads: all modules except its backbone, and the backbone's pooler.

    ``classifier`` and ``bert.pooler`` of BERT, ``pre_classifier`` and ``classifier`` of DistilBERT, ``score`` of Llama; none for a bare
    backbone, whose pooler is unused.
    """
    backbone = model.base_model
    if backbone is model:
        return []
    heads = [name for name, child in model.named_children() if child is not backbone and _has_weights(child)]
    pooler = getattr(backbone, "pooler", None)
    if pooler is not None and _has_weights(pooler):
        heads.append(f"{model.base_model_prefix}.pooler")
    return heads


def has_conv1d(model: nn.Module) -> bool:
    """Return True if the model has GPT-2's linear layers, whose weight matrix is transposed."""
    return any(type(module).__name__ == "Conv1D" for module in model.modules())


def _has_weights(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


def _is_linear(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _is_target(name: str) -> bool:
    last = name.rsplit(".", 1)[-1]
    known = last in _ATTENTION or last in _FEED_FORWARD or (last in _T5_ATTENTION and "Attention" in name)
    return known or any(pattern.search(name) for pattern in (_DENSE, _MPNET_ATTENTION, _XLNET_FEED_FORWARD))


@dataclass(frozen=True)
class LoraSettings:
    """Size and target layers of an adapter.

    Attributes:
        r: rank of the matrices.
        alpha: their product is scaled by alpha / r.
        dropout: dropout of their inputs.
        targets: full names or suffixes of linear layers; ``None`` for :func:`find_targets`.
    """

    r: int = 16
    alpha: int = 32
    dropout: float = 0.05
    targets: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.r < 1 or self.alpha <= 0 or not 0 <= self.dropout < 1:
            raise StudioError(
                _("invalid adapter: r {r}, alpha {alpha}, dropout {dropout}", r=self.r, alpha=self.alpha, dropout=self.dropout),
                "try 16, 32 and 0.05",
            )


def lora_config(model: Any, settings: LoraSettings, heads: Sequence[str] = ()) -> Any:
    """Return peft's configuration of an adapter on ``model``, whose ``heads`` are fully trained and saved with the adapter."""
    from peft import LoraConfig

    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets) if settings.targets else find_targets(model),
        modules_to_save=list(heads) or None,
        fan_in_fan_out=has_conv1d(model),
    )


def add_lora(model: Any, settings: LoraSettings, heads: Sequence[str] = ()) -> Any:
    """Add a new adapter to ``model`` and freeze everything except the adapter and ``heads``; see :func:`lora_config`."""
    from peft import get_peft_model

    if is_adapted(model):
        raise StudioError("this model already has an adapter", "merge it first")
    config = lora_config(model, settings, heads)
    names = [name for name, _ in model.named_modules()]
    absent = [head for head in heads if not any(name.endswith(head) for name in names)]
    if absent:
        raise StudioError(_("the model has no head {absent}", absent=repr(absent[0])), "omit the heads")
    training = model.training
    try:
        with _ignored_warnings():
            adapted = get_peft_model(model, config)
    except ValueError as error:
        listed = ", ".join(sorted(config.target_modules)[:5])
        raise StudioError(_("the adapter's targets {listed} do not exist in this model", listed=listed), "omit the targets") from error
    return adapted.train(training)  # new layers are created in training mode, with dropout


def is_adapted(model: Any) -> bool:
    """Return True if ``model`` has an unmerged adapter."""
    return hasattr(model, "peft_config")


def merged_copy(model: Any) -> Any:
    """Return ``model`` itself, or if it has an adapter, a copy with merged weights W + (alpha / r) B A."""
    return copy.deepcopy(model).merge_and_unload() if is_adapted(model) else model


def write_adapter(adapted: Any, folder: Path, base_id: str) -> None:
    """Write peft's two files of an unmerged adapter, including heads; ``base_id`` is the base model's portable id, never a local path."""
    from peft import get_peft_model_state_dict

    if Path(base_id).is_absolute() or "\\" in base_id:
        raise StudioError("an adapter needs the id of its base model, not a folder on this machine", "specify a hub id")
    settings = adapted.peft_config["default"].to_dict() | {"base_model_name_or_path": base_id, "inference_mode": True}
    write_json(folder / "adapter_config.json", {key: _to_json(value) for key, value in settings.items()})
    write_tensors(get_peft_model_state_dict(adapted), folder / "adapter_model.safetensors", {"format": "pt"})


def read_adapter(model: Any, folder: Path) -> Any:
    """Add the adapter in ``folder`` to ``model``, its base model, trainable.

    Raises:
        StudioError: ``folder`` contains no safetensors adapter, or one with integers or non-finite numbers.
        ValueError, RuntimeError, KeyError, TypeError, SafetensorError: the adapter does not fit.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors.torch import load_file

    path = folder / "adapter_model.safetensors"
    if not path.is_file():
        raise StudioError(_("the folder {name} contains no {name2}", name=repr(folder.name), name2=path.name), "choose an adapter's folder")
    tensors = load_file(path)
    require_finite(tensors, path)
    with _ignored_warnings():
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=True)
        expected = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    # peft ignores missing and unexpected tensors, which would leave the base model, or half an adapter.
    if expected - set(tensors) or any("lora_" in name for name in set(tensors) - expected):
        raise ValueError("the adapter's tensors are not those that its settings ask for")
    return adapted


@contextlib.contextmanager
def _ignored_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated", category=FutureWarning)
        warnings.filterwarnings(
            "ignore", message="Found missing adapter keys", category=UserWarning
        )  # read_adapter raises an error instead
        yield


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return getattr(value, "value", value)
    if isinstance(value, Iterable):
        return sorted(_to_json(item) for item in value)
    return str(value)


def write_encoder_settings(folder: Path, config: EncoderConfig, prompts: Mapping[str, str], projection: nn.Module | None) -> None:
    """Write the configuration, and the weights of a projection, to an adapter's folder.

    The projection is not part of the module that peft wraps, so it needs no ``modules_to_save``.
    """
    write_json(folder / ENCODER_FILE, {**dataclasses.asdict(config), "prompts": prompts})
    if projection is not None:
        write_tensors(projection.state_dict(), folder / PROJECTION_FILE)
