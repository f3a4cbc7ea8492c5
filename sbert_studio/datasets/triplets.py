"""Triplets: Wikipedia sections."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from ..data.loading.content import Content
from ..data.schema.roles import Roles
from .base import DatasetLayout, DatasetPart, FolderFiles, Split
from .text_files import RowBuilder, comma_separated, detect_codec, text_lines

_TEXTS = ("Sentence1", "Sentence2", "Sentence3")
_OTHERS = ("Article Title", "Article Link")


class WikipediaSections(DatasetLayout):
    """Wikipedia section triplets (Ein Dor et al. 2018): the first two of three sentences are from the same section."""

    dataset = "Wikipedia sections"
    split_files: ClassVar[Mapping[str, Split]] = {"train.csv": "train", "validation.csv": "dev", "test.csv": "test"}
    columns = Roles("triplets", ("anchor", "positive", "negative"))

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        """Yield one file per split. The header decides, because many datasets use these file names."""
        return [part for part in super().parts(folder) if set(_TEXTS) <= set(_header(part.files[0]))]

    def read(self, part: DatasetPart) -> Content:
        """Return ``anchor, positive, negative, article, link``."""
        (path,) = part.files
        rows = RowBuilder("anchor", "positive", "negative", "article", "link")
        rows.start_file(path)
        for number, cells in comma_separated(path, detect_codec(path, ()), [(name,) for name in _TEXTS], _OTHERS):
            if all(cells[:3]):
                rows.add(number, *cells)
            else:
                rows.skip(number, "a text of the triplet is missing" if any(cells[:3]) else "no text")
        return rows.build()


def _header(path: Path) -> list[str]:
    line = next(text_lines(path, "latin-1"), (0, ""))[1].removeprefix("ï»¿")
    return [name.strip() for name in next(csv.reader([line]), [])]
