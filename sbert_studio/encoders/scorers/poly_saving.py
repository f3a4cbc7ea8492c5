"""A poly-encoder's folder: that of its encoder, as sentence-transformers reads it, with the codes beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...workspace import atomic_folder, write_json
from ..storage.digests import seal
from ..storage.saving import write_modules
from .poly_card import poly_card

if TYPE_CHECKING:
    from .poly import PolyEncoder

SETTINGS, CODES = "poly.json", "codes.safetensors"


def save_poly(poly: PolyEncoder, folder: Path, card: str | None = None) -> None:
    """Write ``poly`` to ``folder``, whole or not at all; sentence-transformers opens the encoder in it, and passes the codes over.

    Raises:
        StudioError: an adapter sits in the model unmerged, or it was frozen.
    """
    if poly.adapted:
        raise StudioError("a poly-encoder with an adapter cannot be saved", "merge the adapter first")
    with atomic_folder(folder) as part:
        write_modules(poly.encoder, part)
        write_codes(poly, part)
        (part / "README.md").write_text(card or poly_card(poly), encoding="utf-8")
        seal(part)


def write_codes(poly: PolyEncoder, folder: Path) -> None:
    """Write ``poly.json`` and ``codes.safetensors``."""
    from safetensors.torch import save_file

    write_json(folder / SETTINGS, {"codes": len(poly.codes), "sharpness": poly.sharpness})
    save_file({"codes": poly.codes.detach().cpu().contiguous()}, folder / CODES, metadata={"format": "pt"})
