"""A single file of a distribution, given to the general reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..loading.content import Content
from .base import known_distributions


def read_alone(path: Path, name: str, start: Sequence[str], encoding: str | None) -> Content | None:
    """The rows of a file that a distribution knows better than its lines tell: where quotes are no quotes, and commas part nothing.

    Args:
        path: the file.
        name: what it is called, by which some are known.
        start: its first lines, by which others are.
        encoding: the codec, where a person named it.

    Returns:
        ``None`` of any other file.

    Raises:
        StudioError: the file says nothing without its other half, which is named.
    """
    for one in known_distributions():
        if one.alone(name, start):
            return one.read_alone(path, name, encoding)
    return None
