"""A fresh encoder and a spec become what is trained: pooling, projection, adapters, dropout, and the objective with its head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from ..encoders.transformer import TransformerEncoder
from ..errors import StudioError
from ..objectives import build_objective
from ..objectives.base import OBJECTIVES, Objective
from .processes import Processes
from .quick import quicken
from .spec import TrainSpec

if TYPE_CHECKING:
    from ..data.examples import Examples

# What attention modules call their own dropout where it is not a module.
_DROPOUT_NAMES = ("dropout", "attention_dropout", "dropout_prob")


def prepare(spec: TrainSpec, encoder: TransformerEncoder, examples: Examples, processes: Processes) -> Objective:
    """Change ``encoder`` as ``spec`` says, and make the objective; both in training mode, new weights drawn from the seed.

    Raises:
        StudioError: the objective does not learn from this kind of examples, or a setting does not fit the model.
    """
    if examples.kind not in OBJECTIVES[spec.objective].kinds:
        fitting = ", ".join(name for name in OBJECTIVES if examples.kind in OBJECTIVES[name].kinds)
        raise StudioError(
            f"the objective {spec.objective} does not learn from {examples.kind.replace('_', ' ')}", f"choose one of {fitting}"
        )
    if spec.max_length:
        encoder.limit(spec.max_length)
    if spec.pooling:
        encoder.repool(spec.pooling)
    if spec.projection:
        encoder.project(spec.projection, seed=spec.seed)
    if spec.dropout >= 0:
        _set_dropout(encoder.backbone, spec.dropout)
    torch.manual_seed(spec.seed)
    if spec.method == "lora":
        from ..encoders.adapters import LoraSettings, apply_lora

        apply_lora(encoder, LoraSettings(r=spec.lora_r, alpha=spec.lora_alpha, dropout=spec.lora_dropout))
    if spec.gradient_checkpointing:
        # After the adapter: peft would otherwise ask for the gradient of the frozen embeddings, which only reentrant checkpoints need.
        encoder.backbone.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    objective = build_objective(
        spec.objective, spec.objective_params, dim=encoder.dim, labels=len(examples.labels), matryoshka_dims=spec.widths
    )
    if encoder.device.type == "cpu" and processes.count == 1:
        quicken(encoder.backbone)
    encoder.train()
    return objective.to(encoder.device).train()


def _set_dropout(backbone: nn.Module, rate: float) -> None:
    for module in backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        for name in _DROPOUT_NAMES:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, rate)
