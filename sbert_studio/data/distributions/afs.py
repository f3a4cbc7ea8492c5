"""Argument facet similarity (Misra, Ecker & Walker 2016): pairs of arguments on three topics, a file a topic."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...errors import StudioError
from ..cells import LONGEST_CELL
from ..findings import Finding
from ..loading.content import Content
from ..schema.numbers import parse_number
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part
from .lines import Rows, codec_of, encoding_note, wrong

_TOPICS = {"ArgPairs_DP.csv": "death penalty", "ArgPairs_GC.csv": "gun control", "ArgPairs_GM.csv": "gay marriage"}
_NEEDED = {"sentence1": ("sentence_1", "sentence1"), "sentence2": ("sentence_2", "sentence2"), "score": ("regression_label",)}

# UTF-8 that was once read as Windows-1252 and written as Mac Roman, where three bytes stand for each of these signs.
_DAMAGED = re.compile("‰Û([\x9dÏªÒÓ÷¢_])")
_SIGNS = {"Ï": "“", "\x9d": "”", "÷": "‘", "ª": "’", "Ò": "–", "Ó": "—", "¢": "•", "_": "…"}
_WINDOWS = {code: sign for code in range(0x80, 0xA0) if (sign := bytes([code]).decode("cp1252", "ignore"))}


@DISTRIBUTIONS.register("afs")
class ArgumentFacets(Distribution):
    """``ArgPairs_DP.csv``, ``ArgPairs_GC.csv`` and ``ArgPairs_GM.csv``, as far as they are there, as one set with its topics."""

    title = "Argument facet similarity"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """All topics together."""
        files = tuple(folder[name] for name in _TOPICS if name in folder)
        if files:
            yield Part("AFS", "all", files)

    def read(self, part: Part) -> Content:
        """``sentence1, sentence2, score, topic``; rows are numbered through the files."""
        rows = Rows("sentence1", "sentence2", "score", "topic")
        notes: list[Finding] = []
        for path in part.files:
            codec = codec_of(path)
            notes += [note for note in encoding_note("cp1252" if codec == "latin-1" else codec) if note not in notes]
            rows.begin(path)
            for number, (first, second, score) in _pairs(path, codec):
                if not score:
                    rows.leave_out(number, "no gold score")
                elif not first or not second:
                    rows.leave_out(number, "text on one side only" if first or second else "no text")
                elif not 0.0 <= parse_number(score) <= 5.0:
                    raise wrong(path, number, f"holds {score[:40]!r}, which is no score from 0 to 5")
                else:
                    rows.add(number, first, second, score, _TOPICS[path.name])
        return rows.content(notes)

    def roles(self, part: Part) -> Roles:
        """Pairs scored 0–5, each of a topic."""
        note = "scores 0–5, divided by 5"
        return Roles("scored_pairs", ("sentence1", "sentence2"), "score", 0.0, 5.0, group="topic", note=note)


def _whole(text: str, codec: str) -> str:
    """The text with the quotation marks and dashes that its writer set."""
    if codec == "latin-1":  # some bytes of these signs are none of Windows-1252
        text = text.translate(_WINDOWS)
    return _DAMAGED.sub(lambda found: _SIGNS[found[1]], text)


def _pairs(path: Path, codec: str) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """(record number, two sentences and their score); the header is record 1, as in a spreadsheet."""
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding=codec, newline="") as source:
        reader = csv.reader(source)
        try:
            header = [name.strip().casefold() for name in next(reader, [])]
            places = []
            for names in _NEEDED.values():
                there = [header.index(name) for name in names if name in header]
                if not there:
                    raise StudioError(f"{path.name} has no column {names[0]!r}", f"its first line names {', '.join(header)[:200]}")
                places.append(there[0])
            for number, cells in enumerate(reader, start=2):
                if not any(map(str.strip, cells)):
                    continue
                if len(cells) <= max(places):
                    hint = "fetch the file again; its quotation marks may have been lost"
                    raise wrong(path, reader.line_num, f"has {len(cells)} cells where {max(places) + 1} are needed", hint)
                first, second, score = (" ".join(_whole(cells[place], codec).split()) for place in places)
                yield number, (first, second, score)
        except csv.Error as error:
            raise wrong(path, reader.line_num, f"is no CSV: {error}") from error
