"""Triplets of sentences from the sections of Wikipedia's articles (Ein Dor et al. 2018)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..cells import LONGEST_CELL
from ..loading.content import Content
from ..progress import checkpoint
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import Rows, codec_of, text_lines, wrong

_SPLIT_OF: dict[str, Split] = {"train.csv": "train", "validation.csv": "dev", "test.csv": "test"}
_HEADER = ("Sentence1", "Sentence2", "Sentence3")
_MORE = ("Article Title", "Article Link")
_CHECK_EVERY = 20_000


@DISTRIBUTIONS.register("sections")
class WikipediaSections(Distribution):
    """``train.csv``, ``validation.csv`` and ``test.csv`` with the columns Sentence1–3: the first two are of one section."""

    title = "Wikipedia section triplets"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """A file a split, known by its header: the names of the files are those of many sets."""
        for name, split in _SPLIT_OF.items():
            if name in folder and set(_HEADER) <= set(_names(folder[name])):
                yield Part("Wikipedia sections", split, (folder[name],))

    def read(self, part: Part) -> Content:
        """``anchor, positive, negative, article, link``."""
        (path,) = part.files
        rows = Rows("anchor", "positive", "negative", "article", "link")
        rows.begin(path)
        for number, cells in _records(path):
            texts = cells[:3]
            if all(texts):
                rows.add(number, *cells)
            else:
                rows.leave_out(number, "a text of the triplet is missing" if any(texts) else "no text")
        return rows.content()

    def roles(self, part: Part) -> Roles:
        """Triplets."""
        return Roles("triplets", ("anchor", "positive", "negative"))


def _names(path: Path) -> list[str]:
    first = next(text_lines(path, "latin-1"), (0, ""))[1].removeprefix("ï»¿")
    return [name.strip() for name in next(csv.reader([first]), [])]


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(record number, the cells of the five columns); the header is record 1."""
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding=codec_of(path, ()), newline="") as source:
        reader = csv.reader(source)
        header = [name.strip() for name in next(reader, [])]
        places = [header.index(name) if name in header else -1 for name in (*_HEADER, *_MORE)]
        least = max(places[:3]) + 1
        try:
            for number, cells in enumerate(reader, start=2):
                if number % _CHECK_EVERY == 0:
                    checkpoint()
                if 0 < len(cells) < least:
                    hint = "fetch the file again; its quotation marks may have been lost"
                    raise wrong(path, reader.line_num, f"has {len(cells)} cells where {least} are needed", hint)
                if cells:
                    yield number, [cells[place].strip() if 0 <= place < len(cells) else "" for place in places]
        except csv.Error as error:
            raise wrong(path, reader.line_num, f"is no CSV: {error}") from error
