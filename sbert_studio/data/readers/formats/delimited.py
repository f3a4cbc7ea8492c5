"""Comma-, tab-, semicolon- and otherwise separated values."""

from __future__ import annotations

from ...progress import Progress
from ..rows import Content
from ..text.delimited import read_delimited
from .base import FORMATS, FileFormat, Start


@FORMATS.register("csv")
class Delimited(FileFormat):
    """Whatever no other format knows."""

    suffixes = (".csv", ".tsv", ".tab")
    rank = 100

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        return True

    def read(self, start: Start, progress: Progress | None) -> Content:
        """See :meth:`FileFormat.read`."""
        choices = start.choices
        return read_delimited(start.path, progress=progress, encoding=start.encoding, delimiter=choices.delimiter, header=choices.header)
