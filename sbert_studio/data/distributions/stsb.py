"""The STS Benchmark (Cer et al. 2017): tab-separated, without a header, with quotation marks that belong to the sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..loading.content import Content
from ..schema.numbers import parse_number
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import BLANK, Rows, codec_of, text_lines, wrong

_SPLIT_OF: dict[str, Split] = {"sts-train": "train", "sts-dev": "dev", "sts-test": "test"}
_GENRE = re.compile(r"main-\w+")
_WIDTH = 7  # genre, file, year, id, score, two sentences; then, in some lines, where these come from


@DISTRIBUTIONS.register("stsb")
class StsBenchmark(Distribution):
    """``sts-train.csv``, ``sts-dev.csv`` and ``sts-test.csv``, whatever their ending."""

    title = "STS Benchmark"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """Each file whose first line looks like one is a part."""
        for name, path in folder.items():
            stem, _, ending = name.partition(".")
            if stem in _SPLIT_OF and ending in ("csv", "tsv", "txt") and _is_row(next(text_lines(path, "latin-1"), (0, ""))[1]):
                yield Part("STSb", _SPLIT_OF[stem], (path,))

    def read(self, part: Part) -> Content:
        """``sentence1, sentence2, score, genre, file, year, id``; what a few lines say of their sources is not read."""
        return _read(part.files[0], codec_of(part.files[0], ()))

    def roles(self, part: Part) -> Roles:
        """Scored pairs of 0–5."""
        note = "scores 0–5, divided by 5"
        return Roles("scored_pairs", ("sentence1", "sentence2"), "score", 0.0, 5.0, group="genre", note=note)

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """By its lines, whatever it is called now."""
        lines = [line for line in start if line.strip()]
        return bool(lines) and all(map(_is_row, lines))

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content:
        """As a part."""
        return _read(path, encoding or codec_of(path, ()))


def _is_row(line: str) -> bool:
    cells = line.rstrip("\r\n").split("\t")
    return len(cells) >= _WIDTH and bool(_GENRE.fullmatch(cells[0].lstrip("\ufeffï»¿"))) and 0.0 <= parse_number(cells[4]) <= 5.0


def _read(path: Path, codec: str) -> Content:
    rows = Rows("sentence1", "sentence2", "score", "genre", "file", "year", "id")
    rows.begin(path)
    for number, line in text_lines(path, codec):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip():
            rows.leave_out(number, BLANK)
        elif len(cells) < _WIDTH:
            raise wrong(path, number, f"has {len(cells)} cells where {_WIDTH} are needed")
        elif not 0.0 <= parse_number(cells[4]) <= 5.0:
            raise wrong(path, number, f"holds {cells[4][:40]!r}, which is no score from 0 to 5")
        else:
            rows.add(number, cells[5], cells[6], *cells[4:5], *cells[:4])
    return rows.content()
