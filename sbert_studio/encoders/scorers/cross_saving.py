"""A cross-encoder's folder, written in the layout that ``sentence_transformers.CrossEncoder`` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...errors import StudioError
from ...workspace import atomic_folder
from ..quantized import dense_tables
from ..storage.digests import seal
from ..storage.saving import save_tokenizer
from .cross_card import cross_card

if TYPE_CHECKING:
    from .cross import CrossEncoder

IDENTITY, SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
# The key of config.json under which sentence-transformers keeps what it adds.
THEIRS = "sentence_transformers"


def save_cross(encoder: CrossEncoder, folder: Path, card: str | None = None) -> None:
    """Write the folder that ``sentence_transformers.CrossEncoder`` reads; one with the MLP head opens here only.

    Raises:
        StudioError: an adapter sits in the model unmerged.
    """
    if encoder.adapted:
        raise StudioError("a cross-encoder with an adapter cannot be saved", "merge the adapter first")
    with atomic_folder(folder) as part:
        encoder.model.config.dtype = torch.float32
        setattr(encoder.model.config, THEIRS, {"activation_fn": SIGMOID if encoder.sigmoid and encoder.labels == 1 else IDENTITY})
        with dense_tables(encoder.model):
            encoder.model.save_pretrained(part)
        save_tokenizer(encoder, part)
        (part / "README.md").write_text(card or cross_card(encoder), encoding="utf-8")
        seal(part)
