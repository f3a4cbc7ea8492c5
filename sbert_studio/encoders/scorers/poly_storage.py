"""A poly-encoder read from its folder, or begun on any sentence encoder."""

from __future__ import annotations

import math
from pathlib import Path

import torch

from ...errors import StudioError
from ..sentence import SentenceEncoder
from ..storage.backbone import read_json
from ..storage.digests import cut_short
from ..storage.reading import load_folder
from .poly import PolyEncoder
from .poly_saving import CODES, SETTINGS


def is_poly_folder(folder: Path) -> bool:
    """Whether a folder holds a poly-encoder; one that lost one of its two files is a damaged one, and no plain encoder."""
    return (folder / SETTINGS).is_file() or (folder / CODES).is_file()


def load_poly(folder: Path, name: str = "", device: torch.device | str = "cpu") -> PolyEncoder:
    """Read a poly-encoder's folder, in float32.

    Raises:
        StudioError: files are missing or damaged, or it is the folder of another model.
    """
    return with_codes(load_folder(folder, name, device), folder)


def with_codes(encoder: SentenceEncoder, folder: Path) -> PolyEncoder:
    """``encoder`` with the codes of ``folder``.

    Raises:
        StudioError: the codes are missing or damaged, or do not fit the encoder.
    """
    from safetensors.torch import load_file

    if not is_poly_folder(folder):
        raise StudioError(f"the model {encoder.name!r} is no poly-encoder: it has no codes", "choose a poly-encoder")
    settings = read_json(folder / SETTINGS, dict)
    count, sharpness = settings.get("codes"), settings.get("sharpness")
    if not isinstance(count, int) or count < 1 or not isinstance(sharpness, int | float) or not 0 < sharpness < math.inf:
        raise StudioError(f"the model's file {folder.name}/{SETTINGS} is damaged", "copy the folder again")
    if not (folder / CODES).is_file():
        raise StudioError(f"the model lacks its file {folder.name}/{CODES}", "copy the whole folder")
    if why := cut_short(folder / CODES):
        raise StudioError(f"the model's file {folder.name}/{CODES} is cut short or damaged ({why})", "copy the folder again")
    codes = load_file(folder / CODES).get("codes")
    sizes = (count, encoder.hidden_size)
    if codes is None or codes.shape != sizes or not codes.is_floating_point() or not torch.isfinite(codes).all():
        raise StudioError(
            f"the codes in {folder.name}/{CODES} are not {count} vectors of {encoder.hidden_size} numbers", "copy the folder again"
        )
    poly = PolyEncoder(encoder, count, sharpness=float(sharpness))
    with torch.no_grad():
        poly.codes.copy_(codes)
    return poly


def new_poly(encoder: SentenceEncoder, folder: Path, *, codes: int, seed: int) -> PolyEncoder:
    """A poly-encoder to be trained over ``encoder``, which was read from ``folder``, with new codes drawn from ``seed``.

    Where the folder is that of a poly-encoder with as many codes, these are kept: the training goes on.

    Raises:
        StudioError: what the folder holds of codes is damaged; or the encoder pools in several ways at once.
    """
    if is_poly_folder(folder):
        earlier = with_codes(encoder, folder)
        if len(earlier.codes) == codes:
            return earlier
    return PolyEncoder(encoder, codes, seed=seed)
