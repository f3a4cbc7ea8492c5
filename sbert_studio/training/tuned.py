"""The two things that can be tuned, a sentence encoder and a cross-encoder, where a run must know which of them it has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..encoders.card import CardFacts, model_card
from ..encoders.cross import CrossEncoder
from ..encoders.transformer import TransformerEncoder
from ..objectives import build_pair_objective
from .advisor import settled
from .spec import TrainSpec

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..encoders.adapters import LoraSettings
    from ..encoders.catalog import Catalog

Tuned = TransformerEncoder | CrossEncoder
"""A module that maps a batch of token ids to float32 rows: vectors, or the logits of pairs."""


def fresh(catalog: Catalog, spec: TrainSpec, examples: Examples, source: Path | None = None) -> Tuned:
    """What ``spec`` tunes on ``examples``, untuned: an encoder, or a cross-encoder with the head that its objective needs.

    Args:
        source: the model's folder that an earlier stage left, in the place of the spec's model.

    Raises:
        StudioError: the model cannot be found or read; or a cross-encoder does not learn from such examples.
    """
    name, folders = (spec.model, None) if source is None else (str(source), True)
    encoder: Tuned
    if spec.architecture == "cross":
        objective = build_pair_objective(
            settled(spec, examples).objective, spec.objective_params, labels=len(examples.labels), head=spec.head
        )
        head: Any = spec.head
        encoder = catalog.load_fresh_cross(name, head=head, labels=objective.dim, seed=spec.seed, allow_folders=folders)
        encoder.sigmoid = objective.squeezes
        if encoder.labels > 1:
            encoder.name_classes(examples.labels)
    else:
        encoder = catalog.load_fresh(name, allow_folders=folders)
    if source is not None:
        encoder.base = catalog.resolve(spec.model).base
    return encoder


def transformer_of(encoder: Tuned) -> Any:
    """The ``PreTrainedModel`` (or what peft made of it) that learns: with its head, where the model has one of its own."""
    return encoder.model if isinstance(encoder, CrossEncoder) else encoder.backbone


def adapt(encoder: Tuned, settings: LoraSettings) -> None:
    """Put a LoRA adapter into ``encoder``.

    Raises:
        StudioError: no target layer is there, or an adapter already is.
    """
    from ..encoders.adapters import apply_lora
    from ..encoders.cross_adapters import apply_cross_lora

    if isinstance(encoder, CrossEncoder):
        apply_cross_lora(encoder, settings)
    else:
        apply_lora(encoder, settings)


def save_and_merge(encoder: Tuned, folder: Path, base_id: str) -> None:
    """Write the adapter of ``encoder``, then add it to the weights."""
    from ..encoders.adapters import merge_lora, save_adapter
    from ..encoders.cross_adapters import merge_cross_lora, save_cross_adapter

    if isinstance(encoder, CrossEncoder):
        save_cross_adapter(encoder, folder, base_id)
        merge_cross_lora(encoder)
    else:
        save_adapter(encoder, folder, base_id)
        merge_lora(encoder)


def card_of(encoder: Tuned, facts: CardFacts) -> str:
    """The model card."""
    from ..encoders.cross_card import cross_card

    return cross_card(encoder, facts) if isinstance(encoder, CrossEncoder) else model_card(encoder, facts)
