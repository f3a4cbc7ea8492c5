"""Extraction of titles, headings and texts from files; runs in a child process with limits (:mod:`.reader`)."""

from __future__ import annotations

import copy
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..schema.names import word_set

MAX_CHARACTERS = 20_000_000
"""Maximum number of characters of a document."""

_MAX_UNPACKED, _MAX_RATIO = 1 << 29, 500  # of a DOCX file: bytes, and bytes per compressed byte
_MAX_HEADING = 200
_MAX_DEPTH = 6
_TRANSLATION = str.maketrans({
    "\r": "\n", "\u2028": "\n", "\u2029": "\n\n", "\xa0": " ", "\u202f": " ", "\xad": None, "\u200b": None, "\ufeff": None,
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st",
})  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_WIDE = "\u0e00-\u0e7f\u3000-\u30ff\u3400-\u9fff\uff00-\uffef"
_WRAPPED_WIDE = re.compile(rf"(?<=[{_WIDE}])[ \t]*\n[ \t]*(?=[{_WIDE}])")
_HYPHENATED = re.compile(r"(?<=[a-zà-ÿ])-\n(?=[a-zà-ÿ])")
_TAGS = re.compile(r"<!--.*?(?:-->|$)|<[^<>]*>", re.DOTALL)


class ExtractionError(Exception):
    """A file that is skipped; the argument is one of the reasons of :func:`.document.describe_reasons`."""


@dataclass
class Extracted:
    """Content of a file.

    Attributes:
        title: its title; empty if unknown.
        sections: (headings above the text, text, page or 0) of each section.
        scanned_pages: number of pages without a text layer, if others have one.
        repaired: whether some bytes are invalid in the file's encoding.
    """

    title: str = ""
    sections: list[tuple[list[str], str, int]] = field(default_factory=list)
    scanned_pages: int = 0
    repaired: bool = False


class _SectionBuilder:
    """Collect blocks of text below headings."""

    def __init__(self) -> None:
        self.sections: list[tuple[list[str], str, int]] = []
        self.page = 0
        self.first_heading = ""
        self._path: list[tuple[int, str]] = []
        self._blocks: list[str] = []
        self.characters = 0

    def add_heading(self, level: int, text: str) -> None:
        self.flush()
        text = " ".join(_clean(text).split())[:_MAX_HEADING]
        self._path = [item for item in self._path if item[0] < level]
        if text:
            self.first_heading = self.first_heading or text
            self._path.append((level, text))

    def add_block(self, text: str, *, keep_lines: bool = False) -> None:
        text = _clean(text)
        text = text.strip("\n") if keep_lines else " ".join(_WRAPPED_WIDE.sub("", text).split())
        if text.strip():
            self.characters += len(text)
            if self.characters > MAX_CHARACTERS:
                raise ExtractionError("too_large")
            self._blocks.append(text)

    def flush(self) -> None:
        if self._blocks:
            self.sections.append(([text for _, text in self._path], "\n\n".join(self._blocks), self.page))
            self._blocks = []


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


def _clean(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n").translate(_TRANSLATION))


def _extract_text(path: Path) -> Extracted:
    text, repaired = _read_text(path)
    text = _BLANK_LINES.sub("\n\n", _clean(text)).strip()
    if len(text) > MAX_CHARACTERS:
        raise ExtractionError("too_large")
    return Extracted(sections=[([], text, 0)] if text else [], repaired=repaired)


def _read_text(path: Path) -> tuple[str, bool]:
    from ...errors import StudioError
    from ..loading.encoding import detect_encoding

    try:
        encoding = detect_encoding(path)
    except StudioError:
        raise ExtractionError("binary") from None
    return path.read_bytes().decode(encoding.codec, "replace"), encoding.damaged


def _extract_markdown(path: Path) -> Extracted:
    from markdown_it import MarkdownIt

    text, repaired = _read_text(path)
    text, title = _split_front_matter(text.replace("\r\n", "\n").lstrip("\ufeff"))
    builder, tokens = _SectionBuilder(), MarkdownIt("commonmark").enable("table").parse(text)
    above, row = "", list[str]()
    for token in tokens:
        if token.nesting == 1:
            above = token.tag
        if token.type == "inline":
            words = _inline_text(token.children or [])
            if above[:1] == "h":
                builder.add_heading(int(above[1:]), words)
            elif above in ("td", "th"):
                row.append(" ".join(words.split()))
            else:
                builder.add_block(words)
        elif token.type == "tr_close":
            builder.add_block(" | ".join(cell for cell in row if cell))
            row = []
        elif token.type in ("fence", "code_block"):
            builder.add_block(token.content, keep_lines=True)
        elif token.type == "html_block":
            builder.add_block(_TAGS.sub(" ", token.content))
    builder.flush()
    return Extracted(title or builder.first_heading, builder.sections, repaired=repaired)


def _split_front_matter(text: str) -> tuple[str, str]:
    """Return the text without its YAML front matter, and the title that stands there."""
    found = re.match(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", text, re.DOTALL)
    if found is None:
        return text, ""
    title = re.search(r"""^title:[ \t]*(["']?)(.*?)\1[ \t]*$""", found[1], re.MULTILINE)
    return text[found.end() :], title[2].strip()[:_MAX_HEADING] if title else ""


def _inline_text(tokens: list[Any]) -> str:
    parts = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "image":
            parts.append(_inline_text(token.children or []))
    return "".join(parts)


def _extract_html(path: Path) -> Extracted:
    from lxml import etree, html

    text, repaired = _decode_html(path.read_bytes())
    if not text.strip():
        raise ExtractionError("empty")
    parser = html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, ValueError):
        raise ExtractionError("empty") from None
    title = " ".join(_clean(tree.findtext(".//title") or "").split())[:_MAX_HEADING]
    builder = _walk_html(_main_content(tree))
    headings = [" ".join(node.text_content().split()) for node in tree.iter("h1")]
    return Extracted(headings[0][:_MAX_HEADING] if len(headings) == 1 and headings[0] else title, builder.sections, repaired=repaired)


def _decode_html(raw: bytes) -> tuple[str, bool]:
    """Decode by the byte order mark, the declaration, as UTF-8, or by the most plausible code page."""
    from ..loading.codepages import detect_codepage

    marks = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
    declared = re.search(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{2,40})""", raw[:4096], re.IGNORECASE)
    codecs = [codec for mark, codec in marks if raw.startswith(mark)]
    codecs += ["utf-8"] + ([declared[1].decode("ascii", "replace")] if declared else [])
    for codec in codecs:
        try:
            return raw.decode(codec), False
        except (LookupError, ValueError):
            continue
    if b"\0" in raw[:4096]:
        raise ExtractionError("binary")
    codec = detect_codepage(b"\n".join(line for line in raw.splitlines() if not line.isascii())[: 1 << 16])[0]
    text = raw.decode(codec, "replace")
    return text, "\ufffd" in text


_DROPPED = word_set("script style noscript template svg math head nav footer aside form button iframe select canvas object audio video")
_INLINE = word_set(
    "a abbr b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q rp rt ruby s samp small span strong sub sup time "
    "tt u var wbr"
)
_SHORT_PAGE, _MAIN_SHARE = 2_000, 0.4
_TAGS_OF_MAIN = {"list": "ul", "item": "li", "row": "tr", "cell": "td", "lb": "br", "quote": "blockquote", "code": "pre"}


def _main_content(tree: Any) -> Any:
    """Return the element with the main content: ``<main>``, a single article, what trafilatura finds, or the whole page.

    What trafilatura finds is used only if it has a good part of the text of a long page: on reference pages it may pick one section.
    """
    for query in ("//main|//*[@role='main']", "//article"):
        found = tree.xpath(query)
        if len(found) == 1 and len(found[0].text_content().split()) > 20:
            return found[0]
    whole = _walk_html(tree).characters
    if whole < _SHORT_PAGE:
        return tree
    from trafilatura import bare_extraction

    main = bare_extraction(copy.deepcopy(tree), fast=True, favor_recall=True, include_comments=False)
    body = getattr(main, "body", None)
    if body is None:
        return tree
    for node in body.iter():
        if isinstance(node.tag, str):
            node.tag = (node.get("rend") or "h2") if node.tag == "head" else _TAGS_OF_MAIN.get(node.tag, node.tag)
    return body if _walk_html(body).characters >= _MAIN_SHARE * whole else tree


def _walk_html(root: Any) -> _SectionBuilder:
    from lxml import etree

    builder, words, row = _SectionBuilder(), list[str](), list[str]()
    level = preformatted = cells = 0

    def end_block() -> None:
        text = "".join(words)
        words.clear()
        if level:
            builder.add_heading(level, text)
        elif cells:
            row.append(" ".join(text.split()))
        else:
            builder.add_block(text, keep_lines=preformatted > 0)

    walker = etree.iterwalk(root, events=("start", "end"))
    for event, node in walker:
        tag = node.tag if isinstance(node.tag, str) else ""
        is_start = event == "start"
        if is_start and (tag in _DROPPED or not tag or node.get("hidden") is not None or node.get("aria-hidden") == "true"):
            walker.skip_subtree()
            continue
        if tag in _DROPPED or not tag or (not is_start and (node.get("hidden") is not None or node.get("aria-hidden") == "true")):
            words.append(" " + (node.tail or ""))
            continue
        if tag == "br":
            words.append("\n" if is_start else node.tail or "")
            continue
        if cells and tag in ("p", "div"):
            words.append(" ")
        elif tag not in _INLINE:
            end_block()
            if tag == "tr" and not is_start:
                builder.add_block(" | ".join(cell for cell in row if cell))
                row.clear()
        step = 1 if is_start else -1
        if re.fullmatch("h[1-6]", tag):
            level = int(tag[1]) if is_start else 0
        preformatted += step * (tag == "pre")
        cells += step * (tag in ("td", "th"))
        words.append((node.text if is_start else node.tail) or "")
    end_block()
    builder.flush()
    return builder


def _extract_docx(path: Path) -> Extracted:
    from docx import Document
    from docx.table import Table

    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise ExtractionError("encrypted")  # a protected document is stored in this container, as are documents of Word 97
    with zipfile.ZipFile(path) as archive:
        sizes = [(entry.file_size, max(1, entry.compress_size)) for entry in archive.infolist()]
        if sum(size for size, _ in sizes) > _MAX_UNPACKED or any(size > 1 << 20 and size > _MAX_RATIO * packed for size, packed in sizes):
            raise ExtractionError("too_large")
    document, builder = Document(str(path)), _SectionBuilder()
    title = " ".join((document.core_properties.title or "").split())[:_MAX_HEADING]
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            for line in _table_lines(block):
                builder.add_block(line)
        elif level := _heading_level(block):
            builder.add_heading(level, block.text)
        else:
            builder.add_block(block.text)
    builder.flush()
    return Extracted(title or builder.first_heading, builder.sections)


def _table_lines(table: Any) -> Iterator[str]:
    for row in table.rows:
        cells: dict[int, str] = {id(cell._tc): " ".join(cell.text.split()) for cell in row.cells}  # merged cells are repeated
        yield " | ".join(text for text in cells.values() if text)


def _heading_level(paragraph: Any) -> int:
    """Return the level of a heading from 1, or 0; a title counts as a heading of level 1 above the others."""
    style = paragraph.style
    while style is not None:
        if found := re.fullmatch(r"(?i)heading (\d)", style.name or ""):
            return int(found[1]) + 1
        if (style.name or "").casefold() == "title":
            return 1
        style = style.base_style
    return 0


_MAX_REPEATED_LINES = 3
_LEAST_PAGES, _FEW_LINES = 4, 3
_DIGITS = re.compile(r"\d+")


def _extract_pdf(path: Path) -> Extracted:
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(path, strict=False)
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise ExtractionError("encrypted")
        pages = [_clean(page.extract_text() or "") for page in reader.pages]
        headings = _outline_headings(reader)
        title = " ".join(str(reader.metadata.title if reader.metadata else "").split())[:_MAX_HEADING]
    except PyPdfError:
        raise ExtractionError("damaged") from None
    if not any(page.strip() for page in pages):
        raise ExtractionError("scanned" if pages else "empty")
    builder, path_now = _SectionBuilder(), list[str]()
    for number, lines in enumerate(_without_running_lines([page.splitlines() for page in pages]), start=1):
        path_now = headings.get(number, path_now)
        builder._path = list(enumerate(path_now))
        builder.page = number
        for paragraph in re.split(r"\n\s*\n", _HYPHENATED.sub("", "\n".join(lines))):
            builder.add_block(paragraph)
        builder.flush()
    is_name = re.search(r"(?i)untitled|^microsoft word|\.\w{2,4}$", title)
    return Extracted("" if is_name else title, builder.sections, scanned_pages=sum(not page.strip() for page in pages))


def _outline_headings(reader: Any) -> dict[int, list[str]]:
    """Return the bookmarks that apply from a page on, outermost first, by the number of the page; damaged outlines are ignored."""
    found: dict[int, list[str]] = {}

    def visit(items: Any, above: list[str]) -> None:
        last = above
        for item in items:
            if isinstance(item, list):
                visit(item, last)
                continue
            last = [*above, " ".join(_clean(str(item.title)).split())[:_MAX_HEADING]][-_MAX_DEPTH:]
            page = reader.get_destination_page_number(item)
            if page is not None and page >= 0:
                found.setdefault(page + 1, last)

    try:
        visit(reader.outline, [])
    except Exception:  # pypdf raises many errors for damaged outlines, which only provide headings
        return {}
    return found


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Remove headers and footers: first and last lines that are equal, apart from numbers, on at least half of the pages."""
    if len(pages) < _LEAST_PAGES:
        return pages
    for from_end in (False, True):
        for _ in range(_MAX_REPEATED_LINES):
            edges = [_DIGITS.sub("#", page[-1 if from_end else 0].strip()) if page else "" for page in pages]
            line, number = Counter(edge for edge in edges if edge).most_common(1)[0] if any(edges) else ("", 0)
            if 2 * number < len(pages):
                break
            pages = [
                (page[:-1] if from_end else page[1:]) if edge == line and len(page) > _FEW_LINES else page
                for page, edge in zip(pages, edges, strict=True)
            ]
    return pages


EXTRACTORS: dict[str, Callable[[Path], Extracted]] = {
    ".txt": _extract_text, ".text": _extract_text, ".md": _extract_markdown, ".markdown": _extract_markdown, ".html": _extract_html,
    ".htm": _extract_html, ".xhtml": _extract_html, ".docx": _extract_docx, ".pdf": _extract_pdf,
}  # fmt: skip
"""Functions that read a file, by its extension."""
