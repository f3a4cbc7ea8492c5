"""Files that some commands read, made of public sets with a fixed seed, each once, below WORK.

Sizes are capped so that a training on each file takes a minute or so on one core.
"""

from __future__ import annotations

import csv
import importlib.util
import random
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[2]
SEED = 12
TRIPLETS = 1_500
"""Maximum number of triplets of a training file made from classes or sections."""
TEST_TRIPLETS = 1_000
SENTENCES = 4_800
TOPICS = ("headlines", "images", "OnWN")
"""Files of SemEval-2014 that stand in for topics: three genres, like the three topics of argument facets."""
TOPIC_PAIRS = 250
QUERIES, CANDIDATES = 200, 20
_Item = TypeVar("_Item")
_TRIPLET = ("anchor", "positive", "negative")
_PAIRS = ("sentence1", "sentence2", "label")


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file with a header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file, whole or not at all."""
    fresh = path.with_suffix(".part")
    with fresh.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    fresh.replace(path)


# Inference labels


def nli_triplets(data: Path, path: Path) -> None:
    """Write (premise, entailed, contradicting) of SNLI and SICK's training rows; premises of SNLI's test rows are left out."""
    write_rows(path, _TRIPLET, _nli(data))


def nli_triplets_test(data: Path, path: Path) -> None:
    """Write the same of SNLI's test rows."""
    write_rows(path, _TRIPLET, _triplets(_snli(data, "test")))


def nli_pairs(data: Path, path: Path) -> None:
    """Write the triplets of ``nli-triplets.csv`` as pairs for a cross-encoder.

    Each premise with what it entails has the label 1; with what contradicts it, and with what another premise entails, 0.
    """
    triplets = _nli(data)
    others = _shuffled([positive for _, positive, _ in triplets])
    entailed, rows = {(premise, positive) for premise, positive, _ in triplets}, []
    for (premise, positive, negative), other in zip(triplets, others, strict=True):
        rows += [(premise, positive, "1"), (premise, negative, "0")]
        if (premise, other) not in entailed:
            rows.append((premise, other, "0"))
    write_rows(path, ("sentence1", "sentence2", "label"), rows)


def nli_candidates(data: Path, path: Path) -> None:
    """Write SNLI's test premises with 20 candidates each: what each entails, its contradiction, and 18 hypotheses of other premises."""
    triplets, draw = _triplets(_snli(data, "test"))[:QUERIES], random.Random(SEED)
    pool = list(dict.fromkeys(text for _, *texts in triplets for text in texts))
    rows = []
    for premise, positive, negative in triplets:
        own = {text for anchor, *texts in triplets if anchor == premise for text in texts}
        others = draw.sample([text for text in pool if text not in own], min(CANDIDATES - 2, len(pool) - len(own)))
        rows.append((premise, positive, negative, *others))
    names = [f"negative{place}" for place in range(1, len(rows[0]) - 1)]
    write_rows(path, ("anchor", "positive", *names), rows)


def _nli(data: Path) -> list[tuple[str, str, str]]:
    held_out = {premise for premise, _, _ in _snli(data, "test")}
    snli = [row for row in _snli(data, "train") if row[0] not in held_out]
    sick = [(row["sentence1"], row["sentence2"], row["label"]) for row in read_rows(data / "sick/train.csv")]
    turned = [(second, first, label) for first, second, label in sick if label == "contradiction"]  # contradiction goes both ways
    return _triplets([*snli, *sick, *turned])


def _snli(data: Path, split: str) -> list[tuple[str, str, str]]:
    return [(row["premise"], row["hypothesis"], row["label"]) for row in read_rows(data / f"snli/{split}.csv")]


def _triplets(pairs: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return a triplet for each entailed text of a premise that has a contradiction, these in turn."""
    by_premise: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for premise, text, label in pairs:
        by_premise[premise][label].append(text)
    return [
        (premise, positive, texts["contradiction"][place % len(texts["contradiction"])])
        for premise, texts in by_premise.items()
        if texts["contradiction"]
        for place, positive in enumerate(texts["entailment"])
    ]


# Classes and sections


def trec_triplets(data: Path, path: Path) -> None:
    """Write triplets of TREC's six question types."""
    write_rows(path, _TRIPLET, class_triplets(read_rows(data / "trec/train.csv"), "label", TRIPLETS))


def trec_triplets_test(data: Path, path: Path) -> None:
    """Write the same of its test rows."""
    write_rows(path, _TRIPLET, class_triplets(read_rows(data / "trec/test.csv"), "label", TEST_TRIPLETS))


def banking_triplets(data: Path, path: Path) -> None:
    """Write triplets of BANKING77's intents."""
    write_rows(path, _TRIPLET, class_triplets(read_rows(data / "banking77/train.csv"), "category", TRIPLETS))


def banking_triplets_test(data: Path, path: Path) -> None:
    """Write the same of its test rows."""
    write_rows(path, _TRIPLET, class_triplets(read_rows(data / "banking77/test.csv"), "category", TEST_TRIPLETS))


def banking_some_triplets(data: Path, path: Path) -> None:
    """Write triplets of two thirds of BANKING77's intents."""
    rows, unseen = read_rows(data / "banking77/train.csv"), _unseen(data)
    write_rows(path, _TRIPLET, class_triplets([row for row in rows if row["category"] not in unseen], "category", TRIPLETS))


def banking_unseen_triplets_test(data: Path, path: Path) -> None:
    """Write triplets of its test rows of the other third: no text and no intent of them was trained on."""
    rows, unseen = read_rows(data / "banking77/test.csv"), _unseen(data)
    write_rows(path, _TRIPLET, class_triplets([row for row in rows if row["category"] in unseen], "category", TEST_TRIPLETS))


def _unseen(data: Path) -> Container[str]:
    return set(sorted({row["category"] for row in read_rows(data / "banking77/train.csv")})[::3])


def class_triplets(rows: Sequence[Mapping[str, str]], column: str, most: int) -> list[tuple[str, str, str]]:
    """Draw triplets: each text once as the anchor, a text of its class, a text of another class.

    Args:
        rows: with the columns ``text`` and ``column``, the class.
        most: how many at most.
    """
    draw, by_class = random.Random(SEED + 1), defaultdict(list)  # not the seed of the order, which would pair each with its neighbour
    for row in rows:
        by_class[row[column]].append(row["text"])
    found = []
    for row in _shuffled(rows):
        positives = [text for text in by_class[row[column]] if text != row["text"]]
        if positives and len(by_class) > 1 and len(found) < most:
            negative = draw.choice(rows)
            while negative[column] == row[column]:
                negative = draw.choice(rows)
            found.append((row["text"], draw.choice(positives), negative["text"]))
    return found


def section_triplets(data: Path, path: Path) -> None:
    """Write some of the training triplets of Wikipedia's sections (Ein Dor et al. 2018), whose files hold millions."""
    write_rows(path, _TRIPLET, _sections(data / "wikisections/train.csv", TRIPLETS))


def section_triplets_test(data: Path, path: Path) -> None:
    """Write some of their test triplets, of other articles."""
    write_rows(path, _TRIPLET, _sections(data / "wikisections/test.csv", TEST_TRIPLETS))


def _sections(path: Path, most: int) -> list[tuple[str, str, str]]:
    rows = [(row["Sentence1"], row["Sentence2"], row["Sentence3"]) for row in read_rows(path)]
    return _shuffled(rows)[:most]


# Sentences and topics


def stsb_sentences(data: Path, path: Path) -> None:
    """Write some of the sentences of the STS Benchmark's training rows."""
    _sentences(data / "stsb/train.csv", path)


def sick_sentences(data: Path, path: Path) -> None:
    """Write the sentences of SICK's training rows."""
    _sentences(data / "sick/train.csv", path)


def _sentences(source: Path, path: Path) -> None:
    texts = dict.fromkeys(text for row in read_rows(source) for text in (row["sentence1"], row["sentence2"]))
    write_rows(path, ("text",), [(text,) for text in _shuffled(list(texts))[:SENTENCES]])


def sts14_topics(data: Path, path: Path) -> None:
    """Write scored pairs of three genres, 250 of each, with the genre as their topic."""
    rows = [
        (row["sentence1"], row["sentence2"], row["score"], topic)
        for topic in TOPICS
        for row in _shuffled(read_rows(data / f"sts14/{topic}.csv"))[:TOPIC_PAIRS]
    ]
    write_rows(path, ("sentence1", "sentence2", "score", "topic"), rows)


def _shuffled(items: Sequence[_Item]) -> list[_Item]:
    return random.Random(SEED).sample(items, len(items))


@dataclass(frozen=True)
class DerivedFile:
    """A file made from public sets.

    Attributes:
        make: writes it, called with the folder of the sets and its own path.
        sets: the folders that it reads.
    """

    make: Callable[[Path, Path], None]
    sets: tuple[str, ...] = ()


def nli_labels(data: Path, path: Path) -> None:
    """Write the inference labels of SNLI and of SICK in one file."""
    snli = [(row["premise"], row["hypothesis"], row["label"]) for row in read_rows(data / "snli/train.csv")]
    sick = [(row["sentence1"], row["sentence2"], row["label"]) for row in read_rows(data / "sick/train.csv")]
    write_rows(path, _PAIRS, [*snli, *sick])


def _stsb_classes(data: Path, path: Path) -> None:
    """Write the STS Benchmark's training rows with six classes: the rounded score."""
    rows = read_rows(data / "stsb/train.csv")
    write_rows(path, _PAIRS, [(row["sentence1"], row["sentence2"], f"class {float(row['score']):.0f}") for row in rows])


def _smollm2(_data: Path, path: Path) -> None:
    """Unpack SmolLM2-135M into a folder, like ``python tests/smollm2.py WORK/smollm2``."""
    spec = importlib.util.spec_from_file_location("smollm2", ROOT / "tests/smollm2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.convert(path)


DERIVED_FILES: dict[str, DerivedFile] = {
    "nli.csv": DerivedFile(nli_labels, ("snli", "sick")),
    "stsb-classes.csv": DerivedFile(_stsb_classes, ("stsb",)),
    "smollm2": DerivedFile(_smollm2),
    "nli-triplets.csv": DerivedFile(nli_triplets, ("snli", "sick")),
    "nli-triplets-test.csv": DerivedFile(nli_triplets_test, ("snli",)),
    "nli-pairs.csv": DerivedFile(nli_pairs, ("snli", "sick")),
    "nli-candidates.csv": DerivedFile(nli_candidates, ("snli",)),
    "trec-triplets.csv": DerivedFile(trec_triplets, ("trec",)),
    "trec-triplets-test.csv": DerivedFile(trec_triplets_test, ("trec",)),
    "banking77-triplets.csv": DerivedFile(banking_triplets, ("banking77",)),
    "banking77-triplets-test.csv": DerivedFile(banking_triplets_test, ("banking77",)),
    "banking77-some-triplets.csv": DerivedFile(banking_some_triplets, ("banking77",)),
    "banking77-unseen-triplets-test.csv": DerivedFile(banking_unseen_triplets_test, ("banking77",)),
    "wikisections-triplets.csv": DerivedFile(section_triplets, ("wikisections",)),
    "wikisections-triplets-test.csv": DerivedFile(section_triplets_test, ("wikisections",)),
    "stsb-sentences.csv": DerivedFile(stsb_sentences, ("stsb",)),
    "sick-sentences.csv": DerivedFile(sick_sentences, ("sick",)),
    "sts14-topics.csv": DerivedFile(sts14_topics, ("sts14",)),
}


def prepare(names: Iterable[str], data: Path, work: Path) -> None:
    """Create the missing files of ``names``."""
    for name in names:
        if not (work / name).exists():
            DERIVED_FILES[name].make(data, work / name)
