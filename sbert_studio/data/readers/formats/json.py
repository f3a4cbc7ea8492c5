"""JSON, and JSON Lines."""

from __future__ import annotations

from typing import ClassVar

from ...progress import Progress
from ..nested.json import looks_like_json_lines, read_json
from ..rows import Content
from ..text.lines import first_lines
from .base import FORMATS, FileFormat, Start

_BLANK = b"\xef\xbb\xbf \r\n\t"


@FORMATS.register("json")
class Json(FileFormat):
    """Known by its name."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")
    rank = 2

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        return start.suffix in self.suffixes

    def read(self, start: Start, progress: Progress | None) -> Content:
        """See :meth:`FileFormat.read`."""
        return read_json(start.path, progress=progress, encoding=start.encoding)


@FORMATS.register("json lines")
class UnnamedJson(Json):
    """Known by lines that are objects, whatever the file is called, unless a delimiter is asked for."""

    suffixes = ()
    rank = 12

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        if start.choices.delimiter is not None or not start.head.lstrip(_BLANK).startswith(b"{"):
            return False
        return looks_like_json_lines(first_lines(start.path, start.encoding, 3))
