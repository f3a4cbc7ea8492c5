"""A cross-encoder read from its folder, or begun on the backbone of any model's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from ...errors import StudioError
from ..quantized import is_quantized, load_quantized, without_vocabulary
from ..storage.backbone import load_tokenizer, read_json, reading, require_fitting, require_safetensors, require_sound
from ..storage.reading import transformer_folder
from .cross import OURS, CrossEncoder, Head
from .cross_saving import SIGMOID, THEIRS

_MLP_WIDTH = 512


def is_cross_folder(folder: Path) -> bool:
    """Whether a folder holds a model with a head on pairs (or texts) instead of a sentence encoder, by its settings alone."""
    path = folder / "config.json"
    if not path.is_file() or _holds_pooling(folder):
        return False
    config = read_json(path, dict)
    named = config.get("architectures") or []
    return OURS in config or any(str(name).endswith("ForSequenceClassification") for name in named)


def _holds_pooling(folder: Path) -> bool:
    modules = read_json(folder / "modules.json", list, [])
    return any(str(module.get("type", "")).endswith(".Pooling") for module in modules if isinstance(module, dict))


def load_cross(folder: Path, name: str = "", device: torch.device | str = "cpu") -> CrossEncoder:
    """Read a cross-encoder's folder, in float32.

    Raises:
        StudioError: files are missing or damaged, or the model has no trained head.
    """
    model, tokenizer, missing = _load(folder, {})
    if missing:
        raise StudioError(f"the model {name or folder.name!r} is no cross-encoder: it has no trained head", "choose a cross-encoder")
    # Newer releases note it in a file of their own, those from 4.0 in config.json, older ones under a name of its own there.
    general, noted = read_json(folder / "config_sentence_transformers.json", dict, {}), getattr(model.config, THEIRS, None)
    older = noted.get("activation_fn") if isinstance(noted, dict) else getattr(model.config, "sbert_ce_default_activation_function", None)
    activation = general.get("activation_fn") or older or SIGMOID
    with reading(name or folder.name, folder):
        return CrossEncoder(model, tokenizer, sigmoid=str(activation).endswith("Sigmoid"), name=name or folder.name).to(device)


def new_cross(folder: Path, *, head: Head = "linear", labels: int = 1, seed: int = 12, name: str = "") -> CrossEncoder:
    """A cross-encoder to be trained, on the backbone of any model's folder, with a new head drawn from ``seed``.

    ``linear`` is one linear layer; ``mlp`` is Linear → 512, ReLU, Linear, as in the STS-Benchmark comparison. Where the folder
    is that of a cross-encoder with just such a head, its head is kept: the training goes on.

    Raises:
        StudioError: files are missing or damaged.
    """
    model, tokenizer, missing = _load(transformer_folder(folder), {"num_labels": labels, OURS: {"head": head}}, new=True)
    generator = torch.Generator().manual_seed(seed)
    parts = {".".join(key.split(".")[:-1]) for key in missing}
    for name_, module in model.named_modules():
        within = any(name_ == part or name_.startswith(f"{part}.") for part in parts)
        if isinstance(module, nn.Linear) and within:
            nn.init.normal_(module.weight, std=0.02, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    with reading(name or folder.name, folder):
        return CrossEncoder(model, tokenizer, name=name or folder.name)


def _load(folder: Path, changes: dict[str, Any], *, new: bool = False) -> tuple[Any, Any, list[str]]:
    """A classification model in float32, its tokenizer, and which of its weights the files lack.

    Args:
        changes: settings put in the place of the folder's own.
        new: weights of another shape count as lacking, instead of as damaged: a head for another number of classes.
    """
    read_json(folder / "config.json", dict)
    require_safetensors(folder)
    from transformers import AutoConfig, AutoModelForSequenceClassification
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with reading(folder.name, folder):
        config = AutoConfig.from_pretrained(folder, **local)
        require_fitting(config, folder)
        for key, value in changes.items():
            setattr(config, key, value)
        kind = AutoModelForSequenceClassification._model_mapping[type(config)]
        mlp = getattr(config, OURS, None) == {"head": "mlp"}
        kind = with_mlp(kind) if mlp else kind
        if is_quantized(folder):
            model, report = _on_quantized(kind, folder, config)
        else:
            model, report = kind.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=new,
                **local,
            )
    tokenizer = load_tokenizer(folder)
    require_sound(model, tokenizer, report, folder)
    missing = sorted({*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])})
    if lost := [key for key in missing if new and key.startswith(f"{model.base_model_prefix}.") and ".pooler." not in key]:
        raise StudioError(f"the weights in {folder.name!r} lack {len(lost)} tensors, such as {lost[0]}", "choose another model")
    return model, tokenizer, missing


def _on_quantized(kind: Any, folder: Path, config: Any) -> tuple[Any, dict[str, Any]]:
    """Build a model of the class ``kind`` on a backbone with quantized weights; its head and its pooler are those that it draws."""
    backbone = load_quantized(folder, config)
    model = kind(without_vocabulary(config))
    model.config.vocab_size = config.vocab_size
    inside = f"{model.base_model_prefix}."
    head = [name for name in model.state_dict() if not name.startswith(inside) or ".pooler." in name]
    backbone.pooler = model.base_model.pooler
    setattr(model, model.base_model_prefix, backbone)
    return model.eval(), {"missing_keys": head, "unexpected_keys": (), "mismatched_keys": ()}


def with_mlp(kind: Any) -> Any:
    """The model class ``kind`` with the last layer of its head replaced by the MLP, so that its weights load by name."""

    def build(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        kind.__init__(self, config, *args, **kwargs)
        owner, attribute = self, "score" if hasattr(self, "score") else "classifier"
        if not isinstance(getattr(owner, attribute), nn.Linear):
            owner, attribute = getattr(owner, attribute), "out_proj"
        last = getattr(owner, attribute)
        layers = nn.Sequential(nn.Linear(last.in_features, _MLP_WIDTH), nn.ReLU(), nn.Linear(_MLP_WIDTH, last.out_features))
        setattr(owner, attribute, layers)

    return type(kind.__name__, (kind,), {"__init__": build, "__module__": kind.__module__})
