"""LoRA adapters (Hu et al. 2021, equation 3) through peft: target modules, saving and loading."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..errors import StudioError, is_of_machine
from ..workspace import write_json
from .io.backbone import read_json, require_finite
from .io.settings import EncoderConfig

if TYPE_CHECKING:
    from .sentence_encoder import SentenceEncoder


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


def lora_config(model: Any, settings: LoraSettings, heads: Sequence[str] = ()) -> Any:
    """peft's own settings for an adapter on ``model``: a bare backbone, or a model for classification.

    Args:
        model: a ``PreTrainedModel``; it is only looked at.
        heads: names of modules that learn in full and are kept with the adapter, peft's ``modules_to_save``: what
            :func:`~sbert_studio.models.lora.find_heads` finds in a model for classification.

    Raises:
        StudioError: no target layer is known in this architecture.
    """
    from peft import LoraConfig

    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets) if settings.targets else find_targets(model),
        modules_to_save=list(heads) or None,
        fan_in_fan_out=has_transposed(model),
    )


def add_lora(model: Any, settings: LoraSettings, heads: Sequence[str] = ()) -> Any:
    """``model`` as peft wraps it: frozen but for a new adapter and its ``heads``; see :func:`lora_config`.

    Raises:
        StudioError: an adapter already is there, or a target or head that was asked for is not.
    """
    from peft import get_peft_model

    if is_adapted(model):
        raise StudioError("this model already has an adapter", "merge it first")
    config = lora_config(model, settings, heads)
    names = [name for name, _ in model.named_modules()]
    absent = [head for head in heads if not any(name.endswith(head) for name in names)]
    if absent:
        raise StudioError(f"the model has no head {absent[0]!r}", "leave the heads out")
    training = model.training
    try:
        with _unwarned():
            adapted = get_peft_model(model, config)
    except ValueError as error:
        listed = ", ".join(sorted(config.target_modules)[:5])
        raise StudioError(f"the adapter's targets {listed} are not in this model", "leave the targets out") from error
    return adapted.train(training)  # new layers come in training mode, whose dropout an encoding must not see


def is_adapted(model: Any) -> bool:
    """Whether an adapter sits in ``model`` unmerged."""
    return hasattr(model, "peft_config")


def merged(model: Any) -> Any:
    """``model`` without an adapter: itself, or with an adapter a merged copy, W + (alpha / r) B A, so that a training may go on."""
    return copy.deepcopy(model).merge_and_unload() if is_adapted(model) else model


def write_adapter(adapted: Any, folder: Path, base_id: str) -> None:
    """Write peft's two files of an adapter, its heads among the tensors, into ``folder``.

    Args:
        adapted: what :func:`add_lora` returned, unmerged.
        base_id: the id of the base model that another machine can resolve; never a path of this one.

    Raises:
        StudioError: ``base_id`` is an absolute path.
    """
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    if Path(base_id).is_absolute() or "\\" in base_id:
        raise StudioError("an adapter needs the id of its base model, not a folder of this machine", "give a hub id")
    settings = adapted.peft_config["default"].to_dict() | {"base_model_name_or_path": base_id, "inference_mode": True}
    write_json(folder / "adapter_config.json", {key: _plain(value) for key, value in settings.items()})
    state: dict[str, torch.Tensor] = get_peft_model_state_dict(adapted)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def read_adapter(model: Any, folder: Path) -> Any:
    """``model``, which must be the adapter's base, as peft wraps it with the adapter of ``folder``, which can go on learning.

    Raises:
        StudioError: ``folder`` holds no safetensors adapter, or one with numbers that are not finite or of floating point.
        ValueError, RuntimeError, KeyError, TypeError, SafetensorError: as peft has it, the adapter does not fit.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors.torch import load_file

    path = folder / "adapter_model.safetensors"
    if not path.is_file():
        raise StudioError(f"the folder {folder.name!r} holds no {path.name}", "choose an adapter's folder")
    held = load_file(path)
    require_finite(held, path)
    with _unwarned():
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=True)
        wanted = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    # What the file lacks, and what no layer takes, is passed over by peft: the model would be its own base, or half of it.
    if wanted - set(held) or any("lora_" in name for name in set(held) - wanted):
        raise ValueError("the adapter's tensors are not those that its settings ask for")
    return adapted


@contextlib.contextmanager
def _unwarned() -> Iterator[None]:
    """Without peft's use of a name that transformers will drop: it is no concern of the person who trains."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated", category=FutureWarning)
        warnings.filterwarnings("ignore", message="Found missing adapter keys", category=UserWarning)  # it is refused by name
        yield


def _plain(value: Any) -> Any:
    """``value`` as JSON can hold it: peft's own settings hold sets and enumerations."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return getattr(value, "value", value)
    if isinstance(value, Iterable):
        return sorted(_plain(item) for item in value)
    return str(value)


# What a full model's folder says in its modules stands in an adapter's folder in these two files of ours.
_HEAD, _PROJECTION = "encoder.json", "projection.safetensors"
_PROMPTS = "prompts"


def write_head(encoder: SentenceEncoder, folder: Path) -> None:
    """Write the configuration, and the weights of a projection, into an adapter's folder.

    The projection stands behind the backbone, where peft does not see it: it needs no ``modules_to_save``.
    """
    from safetensors.torch import save_file

    write_json(folder / _HEAD, {**dataclasses.asdict(encoder.config), _PROMPTS: encoder.prompts})
    if encoder.projection is not None:
        weights = {key: tensor.cpu().contiguous() for key, tensor in encoder.projection.state_dict().items()}
        save_file(weights, folder / _PROJECTION)


def load_adapter(encoder: SentenceEncoder, folder: Path) -> None:
    """Put the adapter of ``folder`` into ``encoder``, its base, unmerged, with the pooling and projection that it was tuned with.

    Raises:
        StudioError: it is no safetensors adapter, or does not fit.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        encoder.backbone = read_adapter(encoder.backbone, folder)
        encoder.train(encoder.training)
        head = read_json(folder / _HEAD, dict, {})
        if head:
            _restore_head(encoder, head)
        if (folder / _PROJECTION).is_file() and encoder.projection is not None:
            encoder.projection.load_state_dict(load_file(folder / _PROJECTION))
    except (ValueError, RuntimeError, KeyError, TypeError, SafetensorError) as error:
        if is_of_machine(error):
            raise
        raise StudioError(f"the adapter in {folder.name!r} does not fit this model", "load it on the base model it names") from error


def _restore_head(encoder: SentenceEncoder, head: dict[str, Any]) -> None:
    prompts = head.pop(_PROMPTS, None)  # older folders have the base's
    config = EncoderConfig(**head)
    if config.max_length is not None and (type(config.max_length) is not int or config.max_length < 1):
        raise ValueError(f"max_length is {config.max_length}")
    encoder.projection = None if config.projection is None else encoder.projection
    encoder.repool(config.pooling)
    if config.projection is not None and (encoder.config.projection, encoder.config.activation) != (config.projection, config.activation):
        encoder.project(config.projection, config.activation)
    encoder.normalizes = config.normalize
    encoder.limit(config.max_length)
    if prompts is not None:
        encoder.prompts = {str(name): str(text) for name, text in prompts.items()}
        encoder.set_prompt(config.prompt)
