"""What the readers of every format share: sections below headings, cleaning and decoding of text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

MAX_CHARACTERS = 20_000_000
"""Maximum number of characters of a document."""

MAX_HEADING = 200
"""Maximum number of characters of a heading; a longer one is a paragraph that looks like a heading."""

_SPACE_CONTROLS = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028"
_TRANSLATION = str.maketrans({
    **dict.fromkeys(_SPACE_CONTROLS, "\n"),  # they separate words: deleting them would join the words
    "\r": "\n", "\u2029": "\n\n", "\xa0": " ", "\u202f": " ", "\xad": None, "\u200b": None, "\ufeff": None,
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st",
})  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f\ud800-\udfff]")
_WIDE = "\u0e00-\u0e7f\u3000-\u30ff\u3400-\u9fff\uff00-\uffef"
_WRAPPED_WIDE = re.compile(rf"(?<=[{_WIDE}])[ \t]*\n[ \t]*(?=[{_WIDE}])")


class ExtractionError(Exception):
    """A file that is skipped; the argument is one of the reasons of :func:`.document.describe_reasons`."""


FoundSection = tuple[list[str], str, int]
"""Headings above a text, outermost first; the text; its page, or 0."""


@dataclass
class Extracted:
    """Content of a file.

    Attributes:
        title: its title; empty if unknown.
        sections: its sections in order.
        scanned_pages: number of pages without a text layer, if others have one.
        repaired: whether some bytes are invalid in the file's encoding.
        trimmed: whether text of a web page beside its main part was left out.
    """

    title: str = ""
    sections: list[FoundSection] = field(default_factory=list)
    scanned_pages: int = 0
    repaired: bool = False
    trimmed: bool = False


@dataclass
class _Heading:
    level: int
    text: str
    has_sections: bool = False


class SectionBuilder:
    """Collect blocks of text below headings, without losing a heading that has no text below it."""

    def __init__(self) -> None:
        self.first_heading = ""
        self._sections: list[FoundSection] = []
        self._path: list[_Heading] = []
        self._blocks: list[str] = []
        self._page = 0
        self._characters = 0

    def add_heading(self, level: int, text: str) -> None:
        """Begin a section below a heading; an empty heading only ends the sections of its level."""
        heading = join_words(text)
        if len(heading) > MAX_HEADING:
            self.add_block(text)
            return
        self._end_headings(level)
        if heading:
            self.first_heading = self.first_heading or heading
            self._count(heading)
            self._path.append(_Heading(level, heading))

    def add_block(self, text: str, *, keep_lines: bool = False) -> None:
        """Add a paragraph; its lines are joined unless ``keep_lines``."""
        text = clean(text)
        text = text.strip("\n") if keep_lines else " ".join(_WRAPPED_WIDE.sub("", text).split())
        if text.strip():
            self._count(text)
            self._blocks.append(text)

    def begin_page(self, page: int, headings: list[str]) -> None:
        """Begin a section for a page; its headings are bookmarks, which are not part of its text."""
        self._end_section()
        self._page = page
        self._path = [_Heading(level, text, has_sections=True) for level, text in enumerate(headings)]

    def finish(self) -> list[FoundSection]:
        """Return all sections."""
        self._end_headings(0)
        return self._sections

    def _count(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise ExtractionError("too_large")

    def _end_headings(self, level: int) -> None:
        """Leave the headings of ``level`` and below; those without any section become one."""
        self._end_section()
        while self._path and self._path[-1].level >= level:
            heading = self._path.pop()
            if not heading.has_sections:
                self._add_section(heading.text)

    def _end_section(self) -> None:
        if self._blocks:
            self._add_section("\n\n".join(self._blocks))
            self._blocks = []

    def _add_section(self, text: str) -> None:
        self._sections.append(([heading.text for heading in self._path], text, self._page))
        for heading in self._path:
            heading.has_sections = True


def clean(text: str) -> str:
    """Return a text with ordinary spaces, line breaks and letters in place of control characters and ligatures."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").translate(_TRANSLATION))


def join_words(text: str) -> str:
    """Return a cleaned text on one line."""
    return " ".join(clean(text).split())


def as_title(text: str) -> str:
    """Return a title on one line; the end of a very long one is replaced by an ellipsis."""
    title = join_words(text)
    return title if len(title) <= MAX_HEADING else title[: MAX_HEADING - 1].rstrip() + "…"


def read_text(path: Path) -> tuple[str, bool]:
    """Return the text of a file in its encoding, and whether some of its bytes are invalid there.

    Raises:
        ExtractionError: the file is not a text.
    """
    from ...errors import StudioError
    from ..loading.encoding import detect_encoding

    try:
        encoding = detect_encoding(path)
    except StudioError:
        raise ExtractionError("binary") from None
    return path.read_bytes().decode(encoding.codec, "replace"), encoding.damaged
