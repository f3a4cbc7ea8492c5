"""SemEval's STS tasks of 2012 to 2017 (Agirre et al. 2012–2016): sentences in one file, gold scores in another, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import StudioError
from ..loading.content import Content
from ..schema.numbers import parse_number
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import Rows, missing, text_lines, wrong

_FILE = re.compile(r"STS(?P<year>\d{4})?\.(?P<half>input|gs)\.(?P<subset>.+)\.txt", re.IGNORECASE)
_YEAR = re.compile(r"(?:20)?(1[2-9])")
_TOGETHER = "all"  # 2012 repeats all its subsets in files of that name


@DISTRIBUTIONS.register("sts")
class SemEvalSts(Distribution):
    """``STS.input.X.txt`` and ``STS.gs.X.txt`` of each subset X, in a folder a year; a pair without a gold score is left out."""

    title = "SemEval STS 2012–2016"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """All subsets of a folder are one part; in a folder of several years, those of each year."""
        halves: dict[str, dict[str, tuple[Path, Path]]] = {}
        for name, path in folder.items():
            known = _FILE.fullmatch(name)
            if known and known["subset"].casefold() != _TOGETHER:
                halves.setdefault(_set_name(path), {})[known["subset"]] = (_half(path, "input"), _half(path, "gs"))
        for name, subsets in halves.items():
            files = tuple(path for subset in sorted(subsets, key=str.casefold) for path in subsets[subset])
            yield Part(name, _split(files[0].parent), files)

    def read(self, part: Part) -> Content:
        """``sentence1, sentence2, score, subset``; rows are numbered through the input files."""
        rows = Rows("sentence1", "sentence2", "score", "subset")
        for inputs, gold in zip(part.files[::2], part.files[1::2], strict=True):
            _read_subset(rows, inputs, gold)
        return rows.content()

    def roles(self, part: Part) -> Roles:
        """Scored pairs of 0–5."""
        note = "scores 0–5, divided by 5"
        return Roles("scored_pairs", ("sentence1", "sentence2"), "score", 0.0, 5.0, group="subset", note=note)

    def subsets(self, part: Part) -> dict[str, Part]:
        """Two files each."""
        halves = zip(part.files[::2], part.files[1::2], strict=True)
        return {_subset_of(inputs): replace(part, files=(inputs, gold), section=_subset_of(inputs)) for inputs, gold in halves}

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """Either half by its name."""
        return _FILE.fullmatch(name) is not None

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content:
        """Neither half is of use by itself."""
        known = _FILE.fullmatch(name)
        assert known is not None
        other = _half(Path(name), "gs" if known["half"].casefold() == "input" else "input").name
        holds, lacks = ("gold scores", "sentences") if known["half"].casefold() == "gs" else ("sentences", "gold scores")
        raise StudioError(
            f"{name} holds the {holds} only; the {lacks} stand line by line in {other}",
            "put both files into one folder and give the folder",
        )


def _read_subset(rows: Rows, inputs: Path, gold: Path) -> None:
    for path, other in ((inputs, gold), (gold, inputs)):
        if not path.is_file():
            raise missing(path, other)
    pairs, scores = _without_blank_end(inputs), _without_blank_end(gold)
    if len(scores) > len(pairs):
        raise StudioError(
            f"{gold.name} has {len(scores):,} lines and {inputs.name} has {len(pairs):,}, so that nothing tells which score is whose",
            "fetch both files again",
        )
    subset = _subset_of(inputs)
    rows.begin(inputs)
    for number, line in enumerate(pairs, start=1):
        score = scores[number - 1].split("\t")[0].strip() if number <= len(scores) else ""
        cells = [cell.strip() for cell in line.split("\t")]
        if not score:
            rows.leave_out(number, "no gold score")
            continue
        if not 0.0 <= parse_number(score) <= 5.0:
            raise wrong(gold, number, f"holds {score[:40]!r}, which is no score from 0 to 5")
        if len(cells) < 2:
            raise wrong(inputs, number, "has no tab between two sentences", "an editor may have turned tabs into blanks: fetch it again")
        if cells[0] and cells[1]:
            rows.add(number, cells[0], cells[1], score, subset)
        else:
            rows.leave_out(number, "text on one side only" if cells[0] or cells[1] else "no text")


def _subset_of(path: Path) -> str:
    known = _FILE.fullmatch(path.name)
    assert known is not None
    return known["subset"]


def _without_blank_end(path: Path) -> list[str]:
    lines = [line for _, line in text_lines(path)]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _half(path: Path, half: str) -> Path:
    known = _FILE.fullmatch(path.name)
    assert known is not None
    written = known["half"]
    return path.with_name(path.name.replace(f".{written}.", f".{half}.", 1))


def _set_name(path: Path) -> str:
    """``STS12`` … by the year in the file's name, else in those of the folders around it that speak of STS; else ``STS``."""
    known = _FILE.fullmatch(path.name)
    if known and known["year"]:
        return f"STS{known['year'][2:]}"
    for folder in list(reversed(path.resolve().parent.parts))[:3]:
        if "sts" in folder.casefold() and (year := _YEAR.search(folder)):
            return f"STS{year[1]}"
    return "STS"


def _split(folder: Path) -> Split:
    name = folder.resolve().name.casefold()
    return "train" if "train" in name else "dev" if "trial" in name else "test"
