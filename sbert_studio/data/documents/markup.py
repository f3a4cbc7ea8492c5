"""Extraction from Markdown and HTML."""

from __future__ import annotations

import copy
import re
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..schema.names import word_set
from .sections import Extracted, ExtractionError, SectionBuilder, as_title, join_words, read_text

_INLINE = word_set(
    "a abbr b bdi bdo big cite code data del dfn em font hi i img ins kbd label mark nobr q rp rt ruby s samp small span strong sub sup "
    "time tt u var wbr"
)

# Only what begins like a tag is removed: "x < 3 and y > 4" stays.
_TAGS = re.compile(r"<!--.*?(?:-->|$)|</?[A-Za-z][^<>]*>", re.DOTALL)
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w -]*>")  # such as <your-key>, unless it is a tag of HTML
_TAG_NAME = re.compile(r"</?([A-Za-z][\w-]*)")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_YAML_KEY = re.compile(r"""(["']?)[\w.-]+\1[ \t]*:(?:[ \t]|$)""")
_YAML_OTHER = re.compile(r"[ \t]|-[ \t]|#|-$")


def extract_markdown(path: Path) -> Extracted:
    """Return the content of a CommonMark file with tables and perhaps YAML front matter."""
    from markdown_it import MarkdownIt

    text, repaired = read_text(path)
    text, title = _split_front_matter(text.replace("\r\n", "\n").lstrip("\ufeff"))
    known: dict[str, Any] = {}
    builder, tokens = SectionBuilder(), MarkdownIt("commonmark").enable("table").parse(text, known)
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
            builder.add_block(unescape(_TAGS.sub(" ", token.content)))
    # CommonMark has no footnotes: a short one is the address of a link that its number names.
    for name, link in known.get("references", {}).items():
        if name.startswith("^"):
            builder.add_block(" ".join(filter(None, (unquote(link["href"]), link["title"]))))
    return Extracted(title or builder.first_heading, builder.finish(), repaired=repaired)


def _split_front_matter(text: str) -> tuple[str, str]:
    """Return the text without its YAML front matter, and the title in it."""
    found = _FRONT_MATTER.match(text)
    if found is None or not _is_yaml(found[1].splitlines()):
        return text, ""
    # A title below "title: |" or "title: >" is not read.
    title = re.search(r"""^title:[ \t]*+(?![|>][-+\d]*[ \t]*$)(["']?)(.*?)\1[ \t]*$""", found[1], re.MULTILINE)
    return text[found.end() :], as_title(title[2]) if title else ""


def _is_yaml(lines: list[str]) -> bool:
    """Return whether lines between two rules look like YAML with at least one key; otherwise, they are text between horizontal rules."""
    lines = [line for line in lines if line.strip()]
    keys = [bool(_YAML_KEY.match(line)) for line in lines]
    return any(keys) and all(is_key or _YAML_OTHER.match(line) for is_key, line in zip(keys, lines, strict=True))


@lru_cache
def _is_html(tag: str) -> bool:
    from lxml.html import defs

    return tag in defs.tags or tag in ("main", "picture", "template", "slot")


def _inline_text(tokens: list[Any]) -> str:
    parts = []
    closed = {token.content[2:-1].strip().lower() for token in tokens if token.type == "html_inline" and token.content.startswith("</")}
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type == "softbreak":
            parts.append("\n")
        elif token.type == "hardbreak":
            parts.append(" ")
        elif token.type == "image":
            parts.append(_inline_text(token.children or []))
        elif token.type == "html_inline" and (tag := _TAG_NAME.match(token.content)) and tag[1].lower() not in _INLINE:
            # <br> and the like separate words.
            name = tag[1].lower()
            is_placeholder = _PLACEHOLDER.fullmatch(token.content) and name not in closed and not _is_html(name)
            parts.append(token.content if is_placeholder else " ")
    return "".join(parts)


_HEADING = re.compile("h[1-6]")
_DROPPED = word_set(
    "script style noscript template svg math head nav footer button iframe select option datalist textarea canvas object audio video"
)
_SHORT_PAGE, _LONG_PAGE = 2_000, 2_000_000  # characters outside links; shorter pages are used whole, and longer ones are no article
_MAIN_WORDS, _LETTERS = 20, 5
_ARTICLE_SHARE, _MAIN_SHARE, _WHOLE_SHARE = 0.5, 0.9, 0.95
_TAGS_OF_MAIN = {"list": "ul", "item": "li", "row": "tr", "cell": "td", "lb": "br", "quote": "blockquote", "code": "pre", "ref": "a"}


def extract_html(path: Path) -> Extracted:
    """Return the content of the main part of a web page."""
    from lxml import etree, html

    text, repaired = _decode_html(path.read_bytes())
    if not text.strip():
        raise ExtractionError("empty")
    parser = html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, ValueError):
        raise ExtractionError("empty") from None
    headings = [as_title(node.text_content()) for node in tree.iter("h1")]
    title = headings[0] if len(headings) == 1 and headings[0] else as_title(tree.findtext(".//title") or "")
    whole = _PageReader(tree)
    main = _read_main_part(tree, whole)
    return Extracted(title, main.sections, repaired=repaired, trimmed=main.characters < _WHOLE_SHARE * whole.characters)


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


def _read_main_part(tree: Any, whole: _PageReader) -> _PageReader:
    """Read ``<main>``, a single article, what trafilatura finds, or the whole page.

    ``<main>`` is explicit. An article may be a teaser, and trafilatura misses text outside of paragraphs and may pick one section of a
    reference page: they are used only if they have most of the text of the page, not counting links, which menus consist of.
    """
    mains, articles = (tree.xpath(query) for query in ("//main|//*[@role='main']", "//article"))
    if len(mains) == 1 and (main := _PageReader(mains[0])).is_longer(_MAIN_WORDS):
        return main
    if len(articles) == 1 and (article := _PageReader(articles[0])).characters >= max(1, _ARTICLE_SHARE * whole.characters):
        return article
    if not _SHORT_PAGE <= whole.characters <= _LONG_PAGE:
        return whole
    from trafilatura import bare_extraction

    # with links, so that the text in links can be told from other text
    found = bare_extraction(copy.deepcopy(tree), fast=True, favor_recall=True, include_comments=False, include_links=True)
    body = getattr(found, "body", None)
    if body is None:
        return whole
    for node in body.iter():
        if isinstance(node.tag, str):
            node.tag = (node.get("rend") or "h2") if node.tag == "head" else _TAGS_OF_MAIN.get(node.tag, node.tag)
    likely = _PageReader(body)
    return likely if likely.characters >= _MAIN_SHARE * whole.characters else whole


class _PageReader:
    """Sections below an HTML element, and the size of its text.

    Attributes:
        sections: its sections in order.
        characters: number of characters of text outside links, without spaces.
        words: number of words, also in links.
    """

    def __init__(self, root: Any) -> None:
        from lxml import etree

        self.characters = self.words = 0
        self._builder = SectionBuilder()
        self._parts: list[str] = []
        self._row: list[str] = []
        self._level = self._preformatted = self._cells = self._links = 0
        walker, skipped = etree.iterwalk(root, events=("start", "end")), None
        for event, node in walker:
            if event == "start" and _is_dropped(node):
                walker.skip_subtree()
                skipped = node
            elif event == "start":
                self._open(node.tag)
                self._add_text(node.text)
            else:
                if node is skipped:
                    self._parts.append(" ")
                else:
                    self._close(node.tag)
                if node is not root:
                    self._add_text(node.tail)
        self._end_block()
        self._end_row()
        self.sections = self._builder.finish()

    def is_longer(self, words: int) -> bool:
        """Return whether the text has more words; a script without spaces has about as many as five characters each."""
        return self.words > words or self.characters > _LETTERS * words

    def _add_text(self, text: str | None) -> None:
        if text:
            words = text.split()
            self.words += len(words)
            self.characters += 0 if self._links else sum(map(len, words))
            self._parts.append(text)

    def _open(self, tag: str) -> None:
        if tag == "br":
            self._parts.append("\n" if self._preformatted else " ")
            return
        self._separate(tag)
        if re.fullmatch("h[1-6]", tag):
            self._level = int(tag[1])
        self._count(tag, 1)

    def _close(self, tag: str) -> None:
        if tag == "br":
            return
        self._separate(tag)
        if tag in ("tr", "table"):
            self._end_row()
        if re.fullmatch("h[1-6]", tag):
            self._level = 0
        self._count(tag, -1)

    def _count(self, tag: str, step: int) -> None:
        self._preformatted += step * (tag == "pre")
        self._cells += step * (tag in ("td", "th"))
        self._links += step * (tag == "a")

    def _separate(self, tag: str) -> None:
        if self._cells and tag in ("p", "div"):
            self._parts.append(" ")
        elif tag not in _INLINE:
            self._end_block()

    def _end_block(self) -> None:
        text = "".join(self._parts)
        self._parts.clear()
        if not text.strip():
            return
        if self._level:
            self._end_row()
            self._builder.add_heading(self._level, text)
        elif self._cells:
            self._row.append(join_words(text))
        else:
            self._builder.add_block(text, keep_lines=self._preformatted > 0)

    def _end_row(self) -> None:
        self._builder.add_block(" | ".join(cell for cell in self._row if cell))
        self._row.clear()


def _is_dropped(node: Any) -> bool:
    """Return whether an element has no text of the page: scripts, menus, controls, and what is hidden."""
    if not isinstance(node.tag, str) or (node.tag in _DROPPED and not _is_toggle(node)):
        return True
    if node.get("hidden", "until-found") != "until-found" or node.get("aria-hidden") == "true":
        return True
    return node.tag == "aside" and _is_mostly_links(node)


def _is_toggle(node: Any) -> bool:
    """Return whether an element is a button that shows a part of the page, such as the question of a list of answers."""
    if node.tag != "button":
        return False
    return node.get("aria-expanded") is not None or any(_HEADING.fullmatch(str(above.tag)) for above in node.iterancestors())


def _is_mostly_links(node: Any) -> bool:
    texts = node.xpath(".//text()[not(ancestor::script or ancestor::style)]")
    links = node.xpath(".//a//text()[not(ancestor::script or ancestor::style)]")
    count, linked = (sum(len("".join(text.split())) for text in found) for found in (texts, links))
    return 2 * linked > count
