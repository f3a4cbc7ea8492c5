"""Plain text: a text a line."""

from __future__ import annotations

from ...progress import Progress
from ..rows import Content
from ..text.plain import read_plain
from .base import FORMATS, FileFormat, Start


@FORMATS.register("text")
class Plain(FileFormat):
    """Known by its name, unless a delimiter is asked for."""

    suffixes = (".txt", ".text", ".md")
    rank = 11

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        return start.suffix in self.suffixes and start.choices.delimiter is None

    def read(self, start: Start, progress: Progress | None) -> Content:
        """See :meth:`FileFormat.read`."""
        return read_plain(start.path, progress=progress, encoding=start.encoding, header=start.choices.header)
