"""Extraction from PDF files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..schema.names import word_set
from .sections import Extracted, ExtractionError, SectionBuilder, as_title, clean

_MAX_DEPTH = 6
_MAX_REPEATED_LINES = 3
_LEAST_PAGES, _FEW_LINES = 4, 3
_LEAST_WORDS = 3
_HYPHENATED = re.compile(r"(?<=[a-zà-ÿ])-\n(?=[a-zà-ÿ])")
_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r"[^\W\d_]+")
_WIDE_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PAGE_WORDS = word_set(
    "page pages p pp pg of seite seiten s von sur de página pagina pág págs di van sida side av af strona z стр страница из "
    "第 页 頁 共 页共 頁共 ページ 쪽 페이지"
)


def extract_pdf(path: Path) -> Extracted:
    """Return the text layer of each page, below the bookmarks that apply to it, without running headers and footers."""
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(path, strict=False)
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise ExtractionError("encrypted")
        pages = [clean(page.extract_text() or "") for page in reader.pages]
        headings = _outline_headings(reader)
        title = as_title(str(reader.metadata.title or "") if reader.metadata else "")
    except PyPdfError:
        raise ExtractionError("damaged") from None
    if not any(page.strip() for page in pages):
        raise ExtractionError("scanned" if pages else "empty")
    builder, path_now = SectionBuilder(), list[str]()  # the bookmark that applies to a page without one
    for number, lines in enumerate(remove_running_lines([page.splitlines() for page in pages]), start=1):
        first, last = headings.get(number, (path_now, path_now))
        path_now = last
        builder.begin_page(number, first)
        for paragraph in re.split(r"\n\s*\n", _HYPHENATED.sub("", "\n".join(lines))):
            builder.add_block(paragraph)
    is_name = re.search(r"(?i)untitled|^microsoft word|\.\w{2,4}$", title)
    return Extracted("" if is_name else title, builder.finish(), scanned_pages=sum(not page.strip() for page in pages))


def _outline_headings(reader: Any) -> dict[int, tuple[list[str], list[str]]]:
    """Return the first and the last bookmark of a page, outermost first, by the number of the page; damaged outlines are ignored."""
    found: dict[int, tuple[list[str], list[str]]] = {}

    def visit(items: Any, above: list[str]) -> None:
        last = above
        for item in items:
            if isinstance(item, list):
                visit(item, last)
                continue
            last = [*above, as_title(str(item.title))][-_MAX_DEPTH:]
            page = reader.get_destination_page_number(item)
            if page is not None and page >= 0:
                found[page + 1] = found.get(page + 1, (last, last))[0], last

    try:
        visit(reader.outline, [])
    except Exception:  # pypdf raises many errors for damaged outlines, which only provide headings
        return {}
    return found


def remove_running_lines(pages: Sequence[list[str]]) -> list[list[str]]:
    """Remove headers and footers: first and last lines that at least half of the pages have in common.

    Page numbers are removed. A line that is repeated stays where it first occurs. Lines that differ in numbers are removed after the
    first only if they contain the number of the page, and enough words to be no heading such as "Article 1".
    """
    removed: list[set[int]] = [set() for _ in pages]
    if len(pages) >= _LEAST_PAGES:
        for from_end in (False, True):
            _mark_running_lines(pages, from_end, removed)
    return [[line for place, line in enumerate(page) if place not in gone] for page, gone in zip(pages, removed, strict=True)]


def _mark_running_lines(pages: Sequence[list[str]], from_end: bool, removed: list[set[int]]) -> None:
    """Add the places of running lines at one end of the pages to ``removed``."""
    places = [[place for place, line in enumerate(page) if line.strip()] for page in pages]
    if from_end:
        places = [found[::-1] for found in places]
    depths = [0] * len(pages)
    for _ in range(_MAX_REPEATED_LINES):
        edges = {
            number: pages[number][found[depth]].strip()
            for number, (found, depth) in enumerate(zip(places, depths, strict=True))
            if depth < len(found) and found[depth] not in removed[number]
        }
        running = _find_running_lines(edges, len(pages))
        if not running:
            break
        for number, is_removed in running.items():
            if is_removed and len(places[number]) - len(removed[number]) > _FEW_LINES:
                removed[number].add(places[number][depths[number]])
            depths[number] += 1


def _find_running_lines(edges: dict[int, str], pages: int) -> dict[int, bool]:
    """Return the pages, from 0, whose line is a header or footer, each with whether to remove it; empty if there is none."""
    same = _most_common(edges)
    if 2 * len(same) >= pages:
        is_page_number = _is_page_number(edges[min(same)], needs_word=True)
        return {number: is_page_number or number != min(same) for number in same}
    alike = _most_common({number: _DIGITS.sub("\0", line) for number, line in edges.items()})
    if 2 * len(alike) < pages:
        return {}
    lines = {number: edges[number] for number in alike}
    first = lines[min(lines)]
    if _is_page_number(first, needs_word=True):
        return dict.fromkeys(lines, True)
    counting, others_vary = _find_counting(lines)
    if _is_page_number(first, needs_word=False):  # without a word, it may be a number of a table
        return dict.fromkeys(counting, True) if 2 * len(counting) >= len(lines) else {}
    if len(counting) < len(lines) or others_vary or _count_words(first) < _LEAST_WORDS:
        return {}
    return {number: number != min(lines) for number in lines}


def _most_common(lines: dict[int, str]) -> list[int]:
    """Return the pages that have the most frequent line."""
    counts = Counter(lines.values())
    line = counts.most_common(1)[0][0] if counts else ""
    return [number for number, other in lines.items() if other == line]


def _is_page_number(line: str, *, needs_word: bool) -> bool:
    """Return whether a line is only numbers, punctuation and words such as "page"; ``needs_word``: with at least one such word."""
    if not _DIGITS.search(line):
        return False
    words = _WORDS.findall(_DIGITS.sub(" ", line).casefold())
    return all(word in _PAGE_WORDS for word in words) and (bool(words) or not needs_word)


def _find_counting(lines: dict[int, str]) -> tuple[list[int], bool]:
    """Return the pages whose line contains the number of the page, and whether other numbers of the lines differ.

    Most of the lines share the place of the number, and its difference to the number of the page.
    """
    numbers = {page: [int(digits[:12]) for digits in _DIGITS.findall(line)] for page, line in lines.items()}
    found: list[int] = []
    others_vary = False
    for place in range(len(next(iter(numbers.values())))):
        counting = _most_common({page: str(values[place] - page) for page, values in numbers.items()})
        found = max(found, counting, key=len)
        others_vary |= len(counting) < len(lines) and len({values[place] for values in numbers.values()}) > 1
    return found, others_vary


def _count_words(line: str) -> int:
    """Return the number of words; two characters of a script without spaces count as one."""
    wide = len(_WIDE_CHARACTER.findall(line))
    return len(_WORDS.findall(_WIDE_CHARACTER.sub(" ", line))) + wide // 2
