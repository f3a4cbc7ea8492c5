"""Where the page's scripts and styles, the samples and the translations lie."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def assets() -> Path:
    """The folder ``assets``: inside an installed package, and at the top of a checkout."""
    inside = _PACKAGE / "assets"
    return inside if inside.is_dir() else _PACKAGE.parent / "assets"
