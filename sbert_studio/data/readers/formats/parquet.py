"""Parquet."""

from __future__ import annotations

from ...progress import Progress
from ..nested.columnar import read_parquet
from ..rows import Content
from .base import FORMATS, FileFormat, Start


@FORMATS.register("parquet")
class Parquet(FileFormat):
    """Known by its magic number."""

    suffixes = (".parquet",)
    rank = 0

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        return start.head.startswith(b"PAR1")

    def read(self, start: Start, progress: Progress | None) -> Content:
        """See :meth:`FileFormat.read`."""
        return read_parquet(start.path, progress=progress)
