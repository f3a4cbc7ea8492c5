"""Which format a file has: by its first bytes, then its name, then its first lines."""

from __future__ import annotations

from pathlib import Path

from ..progress import Progress
from .formats import FORMATS, Choices, Start
from .rows import Content

_BY_RANK = sorted((FORMATS[name] for name in FORMATS), key=lambda kind: kind.rank)
SUFFIXES = tuple(suffix for name in FORMATS for suffix in FORMATS[name].suffixes)
"""The endings of files that are understood."""


def read_content(
    path: Path,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Content:
    """Read a file of any format there is.

    Args:
        path: the file.
        name: what people call it, by which files of a known distribution are told; the file's own name unless given.

    Raises:
        StudioError: it is absent, empty, binary, damaged, or holds no rows.
    """
    start = Start.of(path, Choices(encoding, delimiter, header), name)
    found = next(kind for known in _BY_RANK if (kind := known()).knows(start))
    return found.read(start, progress)
