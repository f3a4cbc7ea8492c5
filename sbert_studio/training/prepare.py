"""Preparation of the initial model and the loss of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from ..errors import StudioError
from ..losses import build_cross_encoder_loss, build_loss, build_poly_encoder_loss
from ..losses.base import Loss
from ..models.base import Encoder
from ..models.lora import LoraSettings
from ..models.prompts import column_roles, override_prompts
from ..models.trainable import Trainable
from .fast_layers import speed_up_backbone
from .spec import TrainSpec, require_learnable, require_teacher, resolve_loss
from .steps import Processes

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.catalog import Catalog


def create_model(catalog: Catalog, spec: TrainSpec, examples: Examples, source: Path | None = None) -> Trainable:
    """Load the base model of ``spec``: an encoder, a cross-encoder with the head its loss needs, or a poly-encoder.

    Args:
        source: model folder of an earlier stage, used instead of the spec's model.

    Raises:
        StudioError: the model cannot be found or read, or the architecture does not support such examples.
    """
    name, folders = (spec.model, None) if source is None else (str(source), True)
    encoder: Trainable
    if spec.architecture == "cross":
        require_no_prompt(spec)
        loss_fn = build_cross_encoder_loss(resolve_loss(spec, examples).loss, spec.loss_params, labels=len(examples.labels), head=spec.head)
        head: Any = spec.head
        encoder = catalog.load_trainable_cross_encoder(name, head=head, labels=loss_fn.dim, seed=spec.seed, allow_folders=folders)
        encoder.configure_head(loss_fn.dim, sigmoid=loss_fn.applies_sigmoid, class_names=examples.labels)
    elif spec.architecture == "poly":
        resolve_loss(spec, examples)  # rejects unsupported examples before anything is loaded
        encoder = catalog.load_trainable_poly_encoder(name, codes=spec.codes, seed=spec.seed, allow_folders=folders)
        override_prompts(encoder.encoder, spec.prompt)
    else:
        encoder = catalog.load_trainable(name, allow_folders=folders)
        override_prompts(encoder, spec.prompt)
    if source is not None:
        encoder.base = catalog.resolve(spec.model).base
    return encoder


def require_no_prompt(spec: TrainSpec) -> None:
    """Reject a prompt for a cross-encoder.

    Raises:
        StudioError: a prompt was specified.
    """
    if spec.prompt:
        raise StudioError("a cross-encoder does not support prompts", "omit the prompt, or choose another architecture")


_ROWS = 10_000


def fit_head(spec: TrainSpec, loss_fn: Loss, encoder: Trainable, examples: Examples, processes: Processes) -> bool:
    """Fit the head of ``loss_fn`` to the frozen vectors of at most 10,000 examples.

    Returns:
        True if the loss has a head to fit.
    """
    if not loss_fn.initializes_head or not isinstance(encoder, Encoder):
        return False
    some = examples.take(np.sort(np.random.default_rng(spec.seed).permutation(len(examples))[:_ROWS]))
    readers = map(encoder.for_role, column_roles(some.kind, len(some.texts)))
    columns = [torch.from_numpy(reader.encode(text)).to(encoder.device) for reader, text in zip(readers, some.texts, strict=True)]
    targets = None if some.targets is None else torch.from_numpy(some.targets).to(encoder.device)
    loss_fn.initialize_head(columns, targets)
    with torch.no_grad():
        processes.average([parameter.data for parameter in loss_fn.parameters()])  # bit-identical in every process
    return True


# Names of dropout attributes in attention modules without a dropout module.
_DROPOUT_NAMES = ("dropout", "attention_dropout", "dropout_prob")
# If these settings are equal, the recurrent network and the projection of an earlier stage are reused.
_NETWORK = ("recurrent", "hidden", "bidirectional")
_PROJECTION = (*_NETWORK, "pooling", "projection", "activation")


def prepare(spec: TrainSpec, encoder: Trainable, examples: Examples, processes: Processes, *, earlier: TrainSpec | None = None) -> Loss:
    """Configure ``encoder`` according to ``spec`` and create the loss; both in training mode, with new weights drawn from the seed.

    Args:
        earlier: see :func:`apply_architecture`.

    Raises:
        StudioError: the loss does not support this kind of examples, or a setting does not fit the model.
    """
    require_learnable(spec, examples.kind)
    require_teacher(spec, examples)
    apply_architecture(spec, encoder, earlier)
    if spec.dropout >= 0:
        _set_dropout(encoder.adaptable, spec.dropout)
    add_adapter(spec, encoder)
    if spec.gradient_checkpointing:
        # After the adapter: otherwise, peft would require gradients for the frozen embeddings, which only reentrant checkpoints need.
        encoder.adaptable.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    loss_fn = _build_loss(spec, encoder, examples)
    if loss_fn.teacher and examples.teacher is not None:
        loss_fn.prepare_teacher(examples.teacher.values)
    if not any(item.requires_grad for item in (*encoder.parameters(), *loss_fn.parameters())):
        raise StudioError(
            "this model has no trainable weights: its word table is frozen",
            "choose learn_words=yes, a recurrent network (recurrent=gru) or a projection",
        )
    if encoder.device.type == "cpu" and processes.count == 1:
        speed_up_backbone(encoder.adaptable)
    loss_fn.share_weights(encoder)
    encoder.train()
    return loss_fn.to(encoder.device).train()


def apply_architecture(spec: TrainSpec, encoder: Trainable, earlier: TrainSpec | None = None) -> None:
    """Apply the number of layers, length, recurrent layers, pooling and projection of ``spec`` to the encoder.

    Args:
        earlier: spec of the stage that produced the encoder; settings equal in both are already applied and trained.
    """

    def new(names: Sequence[str]) -> bool:
        return earlier is None or any(getattr(spec, name) != getattr(earlier, name) for name in names)

    if spec.layers and new(("layers",)):
        encoder.keep_layers(spec.layers)
    if spec.max_length:
        encoder.set_max_length(spec.max_length)
    if spec.recurrent and new(_NETWORK):
        encoder.add_recurrent_network(spec.recurrent, spec.hidden, bidirectional=spec.bidirectional, seed=spec.seed)
    if spec.learn_words:
        encoder.train_word_embeddings()
    encoder.configure_output(
        pooling=spec.pooling, projection=spec.projection if new(_PROJECTION) else 0, activation=spec.activation, seed=spec.seed
    )


def add_adapter(spec: TrainSpec, encoder: Trainable) -> None:
    """Add the LoRA adapter of ``spec``, if any, and seed torch."""
    torch.manual_seed(spec.seed)
    if spec.method == "lora":
        encoder.add_adapter(LoraSettings(r=spec.lora_r, alpha=spec.lora_alpha, dropout=spec.lora_dropout))


def _build_loss(spec: TrainSpec, encoder: Trainable, examples: Examples) -> Loss:
    labels = len(examples.labels)
    if spec.architecture == "siamese":
        layers = encoder.output_layers() if spec.adaptive_layers else 0
        return build_loss(spec.loss, spec.loss_params, dim=encoder.dim, labels=labels, matryoshka_dims=spec.widths, layers=layers)
    if spec.adaptive_layers:
        raise StudioError("only the vectors of a siamese encoder can be trained after each layer", "omit adaptive_layers")
    if spec.widths:
        is_cross = spec.architecture == "cross"
        reason = "a cross-encoder has no vectors to shorten" if is_cross else "a poly-encoder compares its vectors in full"
        raise StudioError(reason, "omit matryoshka")
    if spec.architecture == "poly":
        return build_poly_encoder_loss(spec.loss, spec.loss_params, dim=encoder.dim, codes=spec.codes, labels=labels)
    loss_fn = build_cross_encoder_loss(spec.loss, spec.loss_params, labels=labels, head=spec.head)
    encoder.configure_head(loss_fn.dim, sigmoid=loss_fn.applies_sigmoid, class_names=examples.labels)
    return loss_fn


def _set_dropout(backbone: nn.Module, rate: float) -> None:
    for module in backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        for name in _DROPOUT_NAMES:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, rate)
