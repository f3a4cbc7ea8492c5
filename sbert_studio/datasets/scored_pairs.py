"""Pairs with a similarity score (SemEval STS, STS Benchmark, SICK, argument facets), and triplets (Wikipedia sections)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from ..data.findings import Finding
from ..data.loading.content import Content
from ..data.schema.numbers import parse_number
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..i18n import _
from .base import (
    DatasetLayout,
    DatasetPart,
    FolderFiles,
    LineLayout,
    Part,
    RowBuilder,
    Split,
    comma_separated,
    detect_codec,
    encoding_note,
    malformed,
    missing_file,
    missing_texts,
    tab_separated,
    text_lines,
)

_PAIR = ("sentence1", "sentence2")


def _roles_0_5(group: str) -> Roles:
    return Roles("scored_pairs", _PAIR, "score", 0.0, 5.0, group=group, note="scores 0–5, divided by 5")


def _check_score(path: Path, line: int, score: str, low: float = 0.0) -> None:
    if not low <= parse_number(score) <= 5.0:
        raise malformed(path, line, _("contains {score}, which is not a score from {low} to 5", score=repr(score[:40]), low=f"{low:g}"))


class SemEvalSTS(DatasetLayout):
    """SemEval STS 2012–2017 (Agirre et al. 2012–2016): sentences in ``STS.input.X.txt``, gold scores line by line in ``STS.gs.X.txt``.

    X is a subset, and a folder contains the subsets of a year. Pairs without a gold score are skipped.
    """

    columns = _roles_0_5("subset")

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        """Yield all subsets of a year in a folder as one part."""
        years: dict[str, dict[str, tuple[Path, Path]]] = {}
        for name, path in folder.items():
            match = _STS_FILE.fullmatch(name)
            if match and match["subset"].casefold() != _ALL_SUBSETS:
                years.setdefault(_sts_year(path), {})[match["subset"]] = (_sts_half(path, "input"), _sts_half(path, "gs"))
        for year, subsets in years.items():
            files = tuple(path for subset in sorted(subsets, key=str.casefold) for path in subsets[subset])
            yield DatasetPart(year, _sts_split(files[0].parent), files)

    def read(self, part: DatasetPart) -> Content:
        """Return ``sentence1, sentence2, score, subset``; rows are numbered consecutively across the input files."""
        rows = RowBuilder(*_PAIR, "score", "subset")
        for inputs, gold in zip(part.files[::2], part.files[1::2], strict=True):
            _read_sts_subset(rows, inputs, gold)
        return rows.build()

    def subsets(self, part: Part) -> Mapping[str, Part]:
        halves = zip(part.files[::2], part.files[1::2], strict=True)
        return {_sts_subset(inputs): replace(part, files=(inputs, gold), section=_sts_subset(inputs)) for inputs, gold in halves}

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        return _STS_FILE.fullmatch(name) is not None

    def read_file(self, path: Path, name: str, encoding: str | None) -> Content:
        match = _STS_FILE.fullmatch(name)
        assert match is not None
        is_gold = match["half"].casefold() == "gs"
        other = _sts_half(Path(name), "input" if is_gold else "gs").name
        present, absent = ("gold scores", "sentences") if is_gold else ("sentences", "gold scores")
        raise StudioError(
            _(
                "{name} contains only the {present}; the {absent} are in {other}, line by line",
                name=name,
                present=present,
                absent=absent,
                other=other,
            ),
            "put both files into one folder and use the folder",
        )


_STS_FILE = re.compile(r"STS(?P<year>\d{4})?\.(?P<half>input|gs)\.(?P<subset>.+)\.txt", re.IGNORECASE)
_STS_YEAR = re.compile(r"(?:20)?(1[2-9])")
_ALL_SUBSETS = "all"  # 2012 repeats all its subsets in files of that name


def _read_sts_subset(rows: RowBuilder, inputs: Path, gold: Path) -> None:
    for path, other in ((inputs, gold), (gold, inputs)):
        if not path.is_file():
            raise missing_file(path, other)
    pairs, scores = _lines_without_blank_end(inputs), _lines_without_blank_end(gold)
    if len(scores) > len(pairs):
        raise StudioError(
            _(
                "{name} has {scores} lines, but {name2} has {pairs}, so scores cannot be matched to pairs",
                name=gold.name,
                scores=f"{len(scores):,}",
                name2=inputs.name,
                pairs=f"{len(pairs):,}",
            ),
            "download both files again",
        )
    subset = _sts_subset(inputs)
    for number, (line, scored) in rows.each(inputs, enumerate(map(list, zip_longest(pairs, scores, fillvalue="")), start=1)):
        score = scored.split("\t")[0].strip()
        cells = [cell.strip() for cell in line.split("\t")]
        if not score:
            rows.skip(number, "no gold score")
            continue
        _check_score(gold, number, score)
        if len(cells) < 2:
            hint = "an editor may have replaced tabs with spaces: download the file again"
            raise malformed(inputs, number, "has no tab between two sentences", hint)
        if reason := missing_texts(*cells[:2]):
            rows.skip(number, reason)
        else:
            rows.add(number, cells[0], cells[1], score, subset)


def _lines_without_blank_end(path: Path) -> list[str]:
    lines = [line for _, line in text_lines(path)]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _sts_match(path: Path) -> re.Match[str]:
    match = _STS_FILE.fullmatch(path.name)
    assert match is not None
    return match


def _sts_subset(path: Path) -> str:
    return _sts_match(path)["subset"]


def _sts_half(path: Path, half: str) -> Path:
    return path.with_name(path.name.replace(f".{_sts_match(path)['half']}.", f".{half}.", 1))


def _sts_year(path: Path) -> str:
    """Return ``STS12`` and so on from the year in the file name, else in the names of its three parent folders; else ``STS``."""
    if year := _sts_match(path)["year"]:
        return f"STS{year[2:]}"
    for folder in list(reversed(path.resolve().parent.parts))[:3]:
        if "sts" in folder.casefold() and (match := _STS_YEAR.search(folder)):
            return f"STS{match[1]}"
    return "STS"


def _sts_split(folder: Path) -> Split:
    name = folder.resolve().name.casefold()
    return "train" if "train" in name else "dev" if "trial" in name else "test"


_STSB_SPLITS: dict[str, Split] = {"sts-train": "train", "sts-dev": "dev", "sts-test": "test"}
_STSB_GENRE = re.compile(r"main-\w+")
_STSB_WIDTH = 7  # genre, file, year, id, score, two sentences; in some lines followed by their sources


class STSBenchmark(LineLayout):
    """STS Benchmark (Cer et al. 2017): ``sts-train.csv``, ``sts-dev.csv`` and ``sts-test.csv``; tab-separated without a header.

    Some lines end with source columns, which are ignored.
    """

    columns = _roles_0_5("genre")
    names = (*_PAIR, "score", "genre", "file", "year", "id")
    fallbacks = ()

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        """Yield the file of each split if its first line has the expected form."""
        for name, path in folder.items():
            stem, _unused, suffix = name.partition(".")
            if stem in _STSB_SPLITS and suffix in ("csv", "tsv", "txt") and _is_stsb_row(next(text_lines(path, "latin-1"), (0, ""))[1]):
                yield DatasetPart("STSb", _STSB_SPLITS[stem], (path,))

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        lines = [line for line in first_lines if line.strip()]
        return bool(lines) and all(map(_is_stsb_row, lines))

    def parse_line(self, path: Path, number: int, line: str, part: DatasetPart | None) -> Sequence[str]:
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) < _STSB_WIDTH:
            raise malformed(path, number, _("has {cells} instead of {stsb_width} cells", cells=len(cells), stsb_width=_STSB_WIDTH))
        _check_score(path, number, cells[4])
        return cells[5], cells[6], cells[4], *cells[:4]


def _is_stsb_row(line: str) -> bool:
    cells = line.rstrip("\r\n").split("\t")
    return len(cells) >= _STSB_WIDTH and bool(_STSB_GENRE.fullmatch(cells[0].lstrip("\ufeffï»¿"))) and 0.0 <= parse_number(cells[4]) <= 5.0


class SICK(DatasetLayout):
    """SICK (Marelli et al. 2014): relatedness 1–5 and entailment of sentence pairs, tab-separated with a header.

    Either one file per split, as in SemEval 2014, or ``SICK.txt``, whose newer version has a column with the split.
    """

    dataset = "SICK"
    split_files: ClassVar[Mapping[str, Split]] = {"SICK_train.txt": "train", "SICK_trial.txt": "dev", "SICK_test_annotated.txt": "test"}
    header_start = "pair_ID\tsentence_A\tsentence_B\t"
    columns = Roles("scored_pairs", _PAIR, "score", 1.0, 5.0, note="scores 1–5, rescaled so that 1 becomes 0 and 5 becomes 1")

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        """Yield the splits of ``SICK.txt`` if it has a split column, else the files of the splits, else ``SICK.txt`` as one part."""
        combined = folder.get("SICK.txt")
        if combined is not None and _SICK_SPLIT_COLUMN in _sick_header(combined):
            yield from (DatasetPart("SICK", split, (combined,)) for split in _SICK_SPLITS.values())
            return
        splits = list(super().parts(folder))
        yield from splits
        if combined is not None and not splits:
            yield DatasetPart("SICK", "all", (combined,))

    def read(self, part: DatasetPart) -> Content:
        """Return ``sentence1, sentence2, score, label, pair_id``."""
        (path,) = part.files
        header = _sick_header(path)
        label = next((name for name in _SICK_LABELS if name in header), _SICK_LABELS[0])
        columns = ["sentence_A", "sentence_B", "relatedness_score", label, "pair_ID"]
        has_splits = _SICK_SPLIT_COLUMN in header
        rows = RowBuilder(*_PAIR, "score", "label", "pair_id")
        lines = tab_separated(path, detect_codec(path), [*columns, _SICK_SPLIT_COLUMN] if has_splits else columns)
        for number, cells in rows.each(path, lines):
            if has_splits and part.split != "all":
                split = cells.pop().strip()
                if split not in _SICK_SPLITS:
                    hint = _("it should be one of {sick_splits}", sick_splits=", ".join(_SICK_SPLITS))
                    raise malformed(
                        path,
                        number,
                        _("has the {sick_split_column} {split}", sick_split_column=_SICK_SPLIT_COLUMN, split=repr(split[:40])),
                        hint,
                    )
                if _SICK_SPLITS[split] != part.split:
                    continue
            _check_score(path, number, cells[2], 1.0)
            rows.add(number, *(cell.strip() for cell in cells[:5]))
        return rows.build()


_SICK_SPLITS: dict[str, Split] = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}
_SICK_SPLIT_COLUMN = "SemEval_set"
_SICK_LABELS = ("entailment_judgment", "entailment_label")  # in the files of the splits, and in SICK.txt


def _sick_header(path: Path) -> list[str]:
    return next(text_lines(path, detect_codec(path)), (0, ""))[1].split("\t")


class ArgumentFacetSimilarity(DatasetLayout):
    """Argument facet similarity (Misra, Ecker & Walker 2016): pairs of arguments on three topics, one CSV file per topic."""

    columns = _roles_0_5("topic")

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        files = tuple(folder[name] for name in _AFS_TOPICS if name in folder)
        if files:
            yield DatasetPart("AFS", "all", files)

    def read(self, part: DatasetPart) -> Content:
        """Return ``sentence1, sentence2, score, topic``; rows are numbered consecutively across the files."""
        rows = RowBuilder(*_PAIR, "score", "topic")
        notes: list[Finding] = []
        for path in part.files:
            codec = detect_codec(path)
            notes += [note for note in encoding_note("cp1252" if codec == "latin-1" else codec) if note not in notes]
            for number, cells in rows.each(path, comma_separated(path, codec, _AFS_COLUMNS)):
                first, second, score = (" ".join(_repair_afs(cell, codec).split()) for cell in cells)
                if not score:
                    rows.skip(number, "no gold score")
                elif reason := missing_texts(first, second):
                    rows.skip(number, reason)
                else:
                    _check_score(path, number, score)
                    rows.add(number, first, second, score, _AFS_TOPICS[path.name])
        return rows.build(notes)


_AFS_TOPICS = {"ArgPairs_DP.csv": "death penalty", "ArgPairs_GC.csv": "gun control", "ArgPairs_GM.csv": "gay marriage"}
_AFS_COLUMNS = (("sentence_1", "sentence1"), ("sentence_2", "sentence2"), ("regression_label",))
# UTF-8 that was decoded as Windows-1252 and written as Mac Roman, so that each of these characters takes three bytes.
_AFS_DAMAGED = re.compile("‰Û([\x9dÏªÒÓ÷¢_])")
_AFS_REPAIRED = {"Ï": "“", "\x9d": "”", "÷": "‘", "ª": "’", "Ò": "–", "Ó": "—", "¢": "•", "_": "…"}
_WINDOWS_1252 = {code: sign for code in range(0x80, 0xA0) if (sign := bytes([code]).decode("cp1252", "ignore"))}


def _repair_afs(text: str, codec: str) -> str:
    if codec == "latin-1":  # some bytes of the damaged characters are undefined in Windows-1252
        text = text.translate(_WINDOWS_1252)
    return _AFS_DAMAGED.sub(lambda match: _AFS_REPAIRED[match[1]], text)


_TRIPLET_TEXTS = ("Sentence1", "Sentence2", "Sentence3")
_TRIPLET_OTHERS = ("Article Title", "Article Link")


class WikipediaSections(DatasetLayout):
    """Wikipedia section triplets (Ein Dor et al. 2018): the first two of three sentences are from the same section."""

    dataset = "Wikipedia sections"
    split_files: ClassVar[Mapping[str, Split]] = {"train.csv": "train", "validation.csv": "dev", "test.csv": "test"}
    columns = Roles("triplets", ("anchor", "positive", "negative"))

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        """Yield one file per split, identified by the header, because many datasets use these file names."""
        return [part for part in super().parts(folder) if set(_TRIPLET_TEXTS) <= set(_csv_header(part.files[0]))]

    def read(self, part: DatasetPart) -> Content:
        """Return ``anchor, positive, negative, article, link``."""
        (path,) = part.files
        rows = RowBuilder("anchor", "positive", "negative", "article", "link")
        lines = comma_separated(path, detect_codec(path, ()), [(name,) for name in _TRIPLET_TEXTS], _TRIPLET_OTHERS)
        for number, cells in rows.each(path, lines):
            if all(cells[:3]):
                rows.add(number, *cells)
            else:
                rows.skip(number, "a text of the triplet is missing" if any(cells[:3]) else "no text")
        return rows.build()


def _csv_header(path: Path) -> list[str]:
    line = next(text_lines(path, "latin-1"), (0, ""))[1].removeprefix("ï»¿")
    return [name.strip() for name in next(csv.reader([line]), [])]
