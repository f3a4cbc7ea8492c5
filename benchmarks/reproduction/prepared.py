"""Files that some commands read and that the public sets do not hold as they are; each is made once, below WORK."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _rows(path: Path) -> Iterable[Mapping[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _write(path: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    fresh = path.with_suffix(".part")
    with fresh.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sentence1", "sentence2", "label"))
        writer.writerows(rows)
    fresh.replace(path)


def _nli(data: Path, path: Path) -> None:
    """The inference labels of SNLI and of SICK in one file."""
    snli = [(row["premise"], row["hypothesis"], row["label"]) for row in _rows(data / "snli/train.csv")]
    sick = [(row["sentence1"], row["sentence2"], row["label"]) for row in _rows(data / "sick/train.csv")]
    _write(path, [*snli, *sick])


def _stsb_classes(data: Path, path: Path) -> None:
    """The STS Benchmark's training rows with six classes: the rounded score."""
    rows = _rows(data / "stsb/train.csv")
    _write(path, [(row["sentence1"], row["sentence2"], f"class {float(row['score']):.0f}") for row in rows])


def _smollm2(_data: Path, path: Path) -> None:
    """SmolLM2-135M as a plain folder: ``python tests/smollm2.py WORK/smollm2``."""
    spec = importlib.util.spec_from_file_location("smollm2", ROOT / "tests/smollm2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.convert(path)


PREPARED: dict[str, Callable[[Path, Path], None]] = {"nli.csv": _nli, "stsb-classes.csv": _stsb_classes, "smollm2": _smollm2}


def prepare(names: Iterable[str], data: Path, work: Path) -> None:
    """Make those files of ``names`` that are not there yet."""
    for name in names:
        if not (work / name).exists():
            PREPARED[name](data, work / name)
