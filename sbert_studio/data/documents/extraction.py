"""Extraction of titles, headings and texts from files; runs in a child process with limits (:mod:`.reader`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from .markup import extract_html, extract_markdown
from .pdf import extract_pdf
from .sections import MAX_CHARACTERS, Extracted, ExtractionError, clean, read_text
from .word import extract_docx

_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def extract(path: Path, suffix: str) -> Extracted:
    """Return the content of a file with the extension ``suffix``.

    Raises:
        ExtractionError: the file cannot be read.
    """
    if path.stat().st_size == 0:
        raise ExtractionError("empty")
    found = EXTRACTORS[suffix](path)
    if not found.sections:
        raise ExtractionError("empty")
    return found


def extract_text(path: Path) -> Extracted:
    """Return a plain text as one section; its lines stay as they are."""
    text, repaired = read_text(path)
    text = _BLANK_LINES.sub("\n\n", clean(text)).strip()
    if len(text) > MAX_CHARACTERS:
        raise ExtractionError("too_large")
    return Extracted(sections=[([], text, 0)] if text else [], repaired=repaired)


EXTRACTORS: dict[str, Callable[[Path], Extracted]] = {
    ".txt": extract_text, ".text": extract_text, ".md": extract_markdown, ".markdown": extract_markdown, ".html": extract_html,
    ".htm": extract_html, ".xhtml": extract_html, ".docx": extract_docx, ".pdf": extract_pdf,
}  # fmt: skip
"""Functions that read a file, by its extension."""
