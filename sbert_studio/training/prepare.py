"""A fresh encoder and a spec become what is trained: pooling, projection, adapters, dropout, and the objective with its head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from ..encoders.cross import CrossEncoder
from ..encoders.transformer import TransformerEncoder
from ..errors import StudioError
from ..objectives import build_objective, build_pair_objective, objectives_of
from ..objectives.base import Objective
from .processes import Processes
from .quick import quicken
from .spec import TrainSpec
from .tuned import Tuned, adapt, transformer_of

if TYPE_CHECKING:
    from ..data.examples import Examples

# What attention modules call their own dropout where it is not a module.
_DROPOUT_NAMES = ("dropout", "attention_dropout", "dropout_prob")


def prepare(spec: TrainSpec, encoder: Tuned, examples: Examples, processes: Processes) -> Objective:
    """Change ``encoder`` as ``spec`` says, and make the objective; both in training mode, new weights drawn from the seed.

    Raises:
        StudioError: the objective does not learn from this kind of examples, or a setting does not fit the model.
    """
    known = objectives_of(spec.architecture)
    if examples.kind not in known[spec.objective].kinds:
        fitting = ", ".join(name for name in known if examples.kind in known[name].kinds)
        raise StudioError(
            f"the objective {spec.objective} does not learn from {examples.kind.replace('_', ' ')}",
            f"choose one of {fitting}" if fitting else "a cross-encoder learns from pairs with a score or a label",
        )
    reshape(spec, encoder)
    if spec.dropout >= 0:
        _set_dropout(transformer_of(encoder), spec.dropout)
    put_adapter(spec, encoder)
    if spec.gradient_checkpointing:
        # After the adapter: peft would otherwise ask for the gradient of the frozen embeddings, which only reentrant checkpoints need.
        transformer_of(encoder).gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if isinstance(encoder, CrossEncoder):
        objective = _of_pairs(spec, encoder, examples)
    else:
        objective = build_objective(
            spec.objective, spec.objective_params, dim=encoder.dim, labels=len(examples.labels), matryoshka_dims=spec.widths
        )
    if encoder.device.type == "cpu" and processes.count == 1:
        quicken(transformer_of(encoder))
    encoder.train()
    return objective.to(encoder.device).train()


def reshape(spec: TrainSpec, encoder: Tuned) -> None:
    """Change what ``spec`` says of the untuned encoder: how much it reads, how it pools, and what it projects to."""
    if spec.max_length:
        encoder.limit(spec.max_length)
    if not isinstance(encoder, TransformerEncoder):
        return
    if spec.pooling:
        encoder.repool(spec.pooling)
    if spec.projection:
        encoder.project(spec.projection, seed=spec.seed)


def put_adapter(spec: TrainSpec, encoder: Tuned) -> None:
    """Put the adapter into ``encoder`` that ``spec`` asks for, if it does; torch draws from the seed from now on."""
    torch.manual_seed(spec.seed)
    if spec.method == "lora":
        from ..encoders.adapters import LoraSettings

        adapt(encoder, LoraSettings(r=spec.lora_r, alpha=spec.lora_alpha, dropout=spec.lora_dropout))


def _of_pairs(spec: TrainSpec, encoder: CrossEncoder, examples: Examples) -> Objective:
    """The objective of a cross-encoder, whose score is from now on what the objective takes it to be."""
    if spec.pooling or spec.projection or spec.widths:
        raise StudioError(
            "a cross-encoder has no vectors to pool, to project or to shorten", "leave pooling, projection and matryoshka out"
        )
    objective = build_pair_objective(spec.objective, spec.objective_params, labels=len(examples.labels), head=spec.head)
    if objective.dim != encoder.labels:
        raise StudioError(f"the model gives {encoder.labels} scores, and {spec.objective} needs {objective.dim}", "begin with a new head")
    encoder.sigmoid = objective.squeezes
    if encoder.labels > 1:
        encoder.name_classes(examples.labels)
    return objective


def _set_dropout(backbone: nn.Module, rate: float) -> None:
    for module in backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        for name in _DROPOUT_NAMES:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, rate)
