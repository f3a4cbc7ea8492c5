"""A tiny random poly-encoder, for the tests of its training."""

from __future__ import annotations

from typing import Any

from sbert_studio.models.poly_encoder import PolyEncoder
from sbert_studio.training.spec import TrainSpec

from .tiny import small_spec, tiny_encoder

CODES = 4


def tiny_poly(*, dropout: float = 0.1, codes: int = CODES) -> PolyEncoder:
    """A fresh one, the same each time."""
    return PolyEncoder(tiny_encoder(dropout=dropout), codes)


def poly_spec(**values: Any) -> TrainSpec:
    return small_spec(**{"architecture": "poly", "objective": "auto", "codes": CODES, **values})
