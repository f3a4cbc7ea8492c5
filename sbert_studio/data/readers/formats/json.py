"""JSON, and JSON Lines."""

from __future__ import annotations

from ...progress import Progress
from ..nested.json import looks_like_json_lines, read_json
from ..rows import Content
from ..text.lines import first_lines
from .base import FORMATS, FileFormat, Start

_BLANK = b"\xef\xbb\xbf \r\n\t"


@FORMATS.register("json")
class Json(FileFormat):
    """Known by its name, or by lines that are objects, unless a delimiter or a plain text is asked for."""

    suffixes = (".jsonl", ".ndjson", ".json")
    rank = 10

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        if start.suffix in self.suffixes:
            return True
        if start.choices.delimiter is not None or start.suffix in {".txt", ".text", ".md"}:
            return False
        return start.head.lstrip(_BLANK).startswith(b"{") and looks_like_json_lines(first_lines(start.path, start.encoding, 3))

    def read(self, start: Start, progress: Progress | None) -> Content:
        """See :meth:`FileFormat.read`."""
        return read_json(start.path, progress=progress, encoding=start.encoding)
