"""Files that some commands read and that the public sets do not hold as they are; each is made once, below WORK."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import derived
from .derived import read_rows, write_rows

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Prepared:
    """A file that is made of public sets.

    Attributes:
        make: writes it, by the folder of the sets and its own path.
        sets: the folders that it reads.
    """

    make: Callable[[Path, Path], None]
    sets: tuple[str, ...] = ()


_PAIRS = ("sentence1", "sentence2", "label")


def _nli(data: Path, path: Path) -> None:
    """The inference labels of SNLI and of SICK in one file."""
    snli = [(row["premise"], row["hypothesis"], row["label"]) for row in read_rows(data / "snli/train.csv")]
    sick = [(row["sentence1"], row["sentence2"], row["label"]) for row in read_rows(data / "sick/train.csv")]
    write_rows(path, _PAIRS, [*snli, *sick])


def _stsb_classes(data: Path, path: Path) -> None:
    """The STS Benchmark's training rows with six classes: the rounded score."""
    rows = read_rows(data / "stsb/train.csv")
    write_rows(path, _PAIRS, [(row["sentence1"], row["sentence2"], f"class {float(row['score']):.0f}") for row in rows])


def _smollm2(_data: Path, path: Path) -> None:
    """SmolLM2-135M as a plain folder: ``python tests/smollm2.py WORK/smollm2``."""
    spec = importlib.util.spec_from_file_location("smollm2", ROOT / "tests/smollm2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.convert(path)


PREPARED: dict[str, Prepared] = {
    "nli.csv": Prepared(_nli, ("snli", "sick")),
    "stsb-classes.csv": Prepared(_stsb_classes, ("stsb",)),
    "smollm2": Prepared(_smollm2),
    "nli-triplets.csv": Prepared(derived.nli_triplets, ("snli", "sick")),
    "nli-triplets-test.csv": Prepared(derived.nli_triplets_test, ("snli",)),
    "nli-pairs.csv": Prepared(derived.nli_pairs, ("snli", "sick")),
    "nli-candidates.csv": Prepared(derived.nli_candidates, ("snli",)),
    "trec-triplets.csv": Prepared(derived.trec_triplets, ("trec",)),
    "trec-triplets-test.csv": Prepared(derived.trec_triplets_test, ("trec",)),
    "banking77-triplets.csv": Prepared(derived.banking_triplets, ("banking77",)),
    "banking77-triplets-test.csv": Prepared(derived.banking_triplets_test, ("banking77",)),
    "banking77-some-triplets.csv": Prepared(derived.banking_some_triplets, ("banking77",)),
    "banking77-unseen-triplets-test.csv": Prepared(derived.banking_unseen_triplets_test, ("banking77",)),
    "wikisections-triplets.csv": Prepared(derived.section_triplets, ("wikisections",)),
    "wikisections-triplets-test.csv": Prepared(derived.section_triplets_test, ("wikisections",)),
    "stsb-sentences.csv": Prepared(derived.stsb_sentences, ("stsb",)),
    "sick-sentences.csv": Prepared(derived.sick_sentences, ("sick",)),
    "sts14-topics.csv": Prepared(derived.sts14_topics, ("sts14",)),
}


def prepare(names: Iterable[str], data: Path, work: Path) -> None:
    """Make those files of ``names`` that are not there yet."""
    for name in names:
        if not (work / name).exists():
            PREPARED[name].make(data, work / name)
