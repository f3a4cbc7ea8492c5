"""Excel workbooks."""

from __future__ import annotations

import zipfile
from pathlib import Path

from ...progress import Progress
from ..rows import Content
from ..workbook import read_workbook
from .base import FORMATS, FileFormat, Start


@FORMATS.register("xlsx")
class Workbook(FileFormat):
    """A zip with a folder ``xl``."""

    suffixes = (".xlsx",)
    rank = 1

    def knows(self, start: Start) -> bool:
        """See :meth:`FileFormat.knows`."""
        return start.head.startswith(b"PK\x03\x04") and _is_workbook(start.path)

    def read(self, start: Start, progress: Progress | None) -> Content:
        """See :meth:`FileFormat.read`."""
        return read_workbook(start.path, progress=progress, header=start.choices.header)


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError):
        return path.suffix.lower() in {".xlsx", ".xlsm"}
