"""LoRA on a cross-encoder: adapters in its backbone, while the new head and a BERT's pooler learn in full."""

from __future__ import annotations

from pathlib import Path

from ..workspace import atomic_folder, write_json
from .adapters import LoraSettings, add_lora, write_adapter
from .cross import CrossEncoder
from .digests import seal
from .targets import find_heads

# What peft's own files do not say: which head to put on the base model before the adapter is loaded.
_NOTE = "cross_encoder.json"


def apply_cross_lora(encoder: CrossEncoder, settings: LoraSettings) -> None:
    """Freeze the backbone, put an adapter beside its target layers, and keep the head trainable in full (``modules_to_save``).

    Raises:
        StudioError: no target layer is there, or an adapter already is.
    """
    encoder.model = add_lora(encoder.model, settings, find_heads(encoder.model))


def merge_cross_lora(encoder: CrossEncoder) -> None:
    """Add the adapter's product to the weights beside it, and leave the plain model with its tuned head."""
    if hasattr(encoder.model, "peft_config"):
        encoder.model = encoder.model.merge_and_unload()


def save_cross_adapter(encoder: CrossEncoder, folder: Path, base_id: str) -> None:
    """Write peft's adapter, the head among its tensors, and a note of which head that is; whole or not at all.

    Raises:
        StudioError: ``base_id`` is an absolute path.
    """
    with atomic_folder(folder) as part:
        write_adapter(encoder.model, part, base_id)
        write_json(part / _NOTE, {"head": encoder.head, "labels": encoder.labels, "sigmoid": encoder.sigmoid})
        seal(part)
