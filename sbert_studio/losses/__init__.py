"""Losses of bi-encoders, cross-encoders and poly-encoders, and functions that build them by name.

All modules of this folder are imported, so a new loss is a new file. A loss never contains an encoder.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import StudioError
from ..i18n import _
from ..registry import Registry, parse_params
from .adaptive_layer import AdaptiveLayerLoss
from .base import LOSSES, Loss, losses_for
from .cross_encoder import CROSS_ENCODER_LOSSES, build_cross_encoder_loss
from .matryoshka import MatryoshkaLoss
from .poly_encoder import POLY_ENCODER_LOSSES, build_poly_encoder_loss

__all__ = [
    "CROSS_ENCODER_LOSSES", "LOSSES", "LOSSES_BY_ARCHITECTURE", "POLY_ENCODER_LOSSES", "AdaptiveLayerLoss", "Loss", "MatryoshkaLoss",
    "build_cross_encoder_loss", "build_loss", "build_poly_encoder_loss", "loss_title", "losses_for", "losses_of",
]  # fmt: skip

LOSSES_BY_ARCHITECTURE: Mapping[str, Registry[Loss]] = {"siamese": LOSSES, "cross": CROSS_ENCODER_LOSSES, "poly": POLY_ENCODER_LOSSES}

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)


def losses_of(architecture: str) -> Registry[Loss]:
    """Return the losses that can train an architecture: ``siamese``, ``cross`` or ``poly``."""
    return LOSSES_BY_ARCHITECTURE[architecture]


def build_loss(
    name: str, values: Mapping[str, Any], *, dim: int, labels: int = 0, matryoshka_dims: Sequence[int] = (), layers: int = 0
) -> Loss:
    """Build the registered loss ``name`` with ``values`` for its ``Params``.

    With ``matryoshka_dims``, it is wrapped in :class:`MatryoshkaLoss`; with ``layers``, in :class:`AdaptiveLayerLoss`.

    Raises:
        StudioError: the name or a setting is unknown, a value is out of bounds, ``softmax`` has fewer than two labels, or a width exceeds
            ``dim``.
    """
    chosen = LOSSES[name]
    params = parse_params(chosen.Params, values)
    if chosen.reconstructs and (matryoshka_dims or layers):
        raise StudioError(_("{title} trains one vector per text", title=chosen.title), "omit matryoshka and adaptive_layers")
    plain = chosen(params, dim, labels) if not matryoshka_dims else None
    found = plain or MatryoshkaLoss(lambda width: chosen(params, width, labels), dim, matryoshka_dims)
    return AdaptiveLayerLoss(found, layers) if layers else found


def loss_title(name: str) -> str:
    """Return the title of a loss for display, or ``name`` itself if this version does not know it."""
    return next((known[name].title for known in LOSSES_BY_ARCHITECTURE.values() if name in known), name)
