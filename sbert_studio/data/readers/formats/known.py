"""Files of the literature's sets, as they are handed out."""

from __future__ import annotations

from ....errors import StudioError
from ...distributions.alone import read_alone
from ...progress import Progress
from ..rows import Content
from ..text.lines import first_lines
from .base import FORMATS, FileFormat, Start

_LOOKED_AT = 20


@FORMATS.register("distribution")
class Distribution(FileFormat):
    """Known by its name and its first lines, unless it is said how to read it."""

    suffixes = ()
    rank = 10

    def __init__(self) -> None:
        self._content: Content | None = None

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        if start.choices.delimiter is None and start.choices.header is None:
            codec = start.encoding.codec if start.choices.encoding else None
            self._content = read_alone(start.path, start.name, first_lines(start.path, start.encoding, _LOOKED_AT), codec)
        return self._content is not None

    def read(self, start: Start, progress: Progress | None) -> Content:
        """See :meth:`FileFormat.read`."""
        if self._content is None and not self.knows(start):
            raise StudioError(f"{start.name} is of no known set", "give a file of one, as it was handed out")
        assert self._content is not None
        return self._content
