"""Documents: titles and sections of text, and the files that could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...errors import StudioError
from ...i18n import _, join, ngettext, to_sentence

BETWEEN_SECTIONS = "\n\n"
_SHOWN_FILES = 5


@dataclass(frozen=True)
class Section:
    """Text below one heading.

    Attributes:
        heading_path: the headings above the text, outermost first; empty if there are none.
        text: the text without its headings; paragraphs are separated by a blank line.
        page: the page that the text begins on, from 1; ``None`` if the format has no pages.
    """

    heading_path: tuple[str, ...]
    text: str
    page: int | None = None


@dataclass(frozen=True)
class Document:
    """A document.

    Attributes:
        id: its id in a table or BEIR folder, otherwise the path of its file; unique among the documents that are read together.
        title: its title, by default the name of its file without the extension.
        sections: its sections in order, without empty ones.
        source: path of its file, relative to the folder or archive that was read.
        cells: of a row of a table, its other columns by name.
    """

    id: str
    title: str
    sections: tuple[Section, ...]
    source: str
    cells: Mapping[str, str] = field(default_factory=dict, hash=False)

    @cached_property
    def text(self) -> str:
        """The texts of all sections, which character ranges refer to."""
        return BETWEEN_SECTIONS.join(section.text for section in self.sections)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The position in :attr:`text` of each section."""
        starts, position = [], 0
        for section in self.sections:
            starts.append(position)
            position += len(section.text) + len(BETWEEN_SECTIONS)
        return tuple(starts)


@dataclass(frozen=True)
class SkippedFile:
    """A file that was not read.

    Attributes:
        source: its path, as in :class:`Document`.
        reason: one of the keys of :func:`describe_reasons`.
    """

    source: str
    reason: str


def describe_reasons() -> dict[str, tuple[str, str]]:
    """Return what is wrong with a file, and what to do, for each reason to skip it."""
    return {
        "encrypted": (_("protected by a password"), _("save a copy without the password")),
        "scanned": (_("without a text layer, such as scanned pages"), _("recognize its text first, for example with OCRmyPDF")),
        "empty": (_("without text"), ""),
        "too_large": (_("larger than allowed"), _("split the file")),
        "too_slow": (_("reading took too long"), _("split the file, or save it as plain text")),
        "memory": (_("reading needed too much memory"), _("split the file, or save it as plain text")),
        "damaged": (_("damaged, or not what its name says"), _("open it in its program, and save it again")),
        "binary": (_("not a text"), _("use txt, md, html, docx or pdf")),
        "unsupported": (_("in a format that is not read"), _("convert it to txt, md, html, docx or pdf")),
        "archive": (_("an archive within the archive"), _("unpack it")),
        "link": (_("a symbolic link or a special file"), _("add the file that it points to")),
        "unsafe": (_("with a path outside of the archive"), _("create the archive again")),
        "unreadable": (_("not readable"), _("check its permissions")),
        "gone": (_("deleted while the folder was read"), ""),
        "hidden": (_("hidden"), ""),
        "table": (_("a table without texts"), _("check its columns")),
        "beside_corpus": (
            _("not part of the BEIR data set of this folder, whose documents are in corpus.jsonl"),
            _("put other documents in another folder"),
        ),
        "too_many": (_("beyond the maximum number of files or characters"), _("read the folder in parts")),
    }


@dataclass(frozen=True)
class Documents:
    """Documents that were read together.

    Attributes:
        name: display name of the folder or file.
        documents: the documents in the order of their paths.
        skipped: the files that were not read.
        scanned_pages: number of pages without a text layer, by the source of their document.
        repaired: sources of documents with bytes that are invalid in their encoding.
        blank_rows: number of rows of tables without text.
        trimmed: sources of web pages with text beside their main part, which was left out.
    """

    name: str
    documents: tuple[Document, ...]
    skipped: tuple[SkippedFile, ...] = ()
    scanned_pages: Mapping[str, int] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    blank_rows: int = 0
    trimmed: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    def notes(self) -> list[str]:
        """Return one sentence for each reason why files, or parts of them, were not read: how many, which, and what to do."""
        notes = []
        for reason, (what, how) in describe_reasons().items():
            files = [file.source for file in self.skipped if file.reason == reason]
            if files:
                note = ngettext(
                    "{n} file skipped ({what}): {names}",
                    "{n} files skipped ({what}): {names}",
                    len(files),
                    what=what,
                    names=_list_names(files),
                )
                notes.append(_("{note}. {how}", note=note, how=to_sentence(how)) if how else to_sentence(note))
        if self.scanned_pages:
            pages = sum(self.scanned_pages.values())
            notes.append(
                ngettext(
                    "{n} page without a text layer was skipped: {names}. Recognize its text first, for example with OCRmyPDF.",
                    "{n} pages without a text layer were skipped: {names}. Recognize their text first, for example with OCRmyPDF.",
                    pages,
                    names=_list_names(list(self.scanned_pages)),
                )
            )
        if self.blank_rows:
            notes.append(ngettext("{n} row without text was skipped.", "{n} rows without text were skipped.", self.blank_rows))
        if self.trimmed:
            notes.append(
                ngettext(
                    "Of {n} web page, only the main part is used, without menus and the like: {names}.",
                    "Of {n} web pages, only the main part is used, without menus and the like: {names}.",
                    len(self.trimmed),
                    names=_list_names(self.trimmed),
                )
            )
        if self.repaired:
            notes.append(
                ngettext(
                    "{n} file has bytes that are invalid in its encoding; they are shown as �: {names}.",
                    "{n} files have bytes that are invalid in their encoding; they are shown as �: {names}.",
                    len(self.repaired),
                    names=_list_names(self.repaired),
                )
            )
        return notes

    def require_documents(self) -> Documents:
        """Return this object.

        Raises:
            StudioError: no document was read; its message gives the reasons.
        """
        if self.documents:
            return self
        notes = self.notes()
        why = join(" ", notes) if notes else _("It has no file of these types.")
        raise StudioError(
            _("{name} contains no document that can be read", name=self.name), _("use txt, md, html, docx or pdf. {why}", why=why)
        )


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_FILES])
    return _("{shown} and {rest} more", shown=shown, rest=f"{len(names) - _SHOWN_FILES:,}") if len(names) > _SHOWN_FILES else shown
