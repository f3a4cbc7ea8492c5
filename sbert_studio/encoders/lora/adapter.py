"""LoRA: a few trainable matrices beside frozen ones (Hu et al. 2021, equation 3), through peft."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...errors import StudioError
from ...workspace import write_json
from ..storage.backbone import require_finite
from .targets import find_targets, has_transposed


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
            :func:`~sbert_studio.encoders.lora.targets.find_heads` finds in a model for classification.

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
