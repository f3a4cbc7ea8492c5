"""Compare our topics with BERTopic's on the same vectors: python benchmarks/topics.py DATA [FILE …] [--peer FOLDER] [--json FILE]

DATA is a folder of the public sets; each FILE is a text file with one text a line. BERTopic 0.17 runs with its default settings, for
Chinese with jieba. For each set the table has the number of topics, the shares of the largest topic and of the outliers, V-measure
(Rosenberg & Hirschberg 2007) where there are classes, NPMI coherence (Bouma 2009) of the ten best words over the texts, and seconds,
vectors given.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

_TOP = 10


@dataclass(frozen=True)
class Corpus:
    """Texts to find topics in, with classes if they have some."""

    name: str
    texts: list[str]
    classes: list[str] | None = None
    model: str = "all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    corpus: str
    rows: int
    by: str
    topics: int
    largest: float
    outliers: float
    v_measure: float | None
    npmi: float
    seconds: float


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--peer", type=Path, help="folder of packages with bertopic and hdbscan, if they are not installed")
    parser.add_argument("--only", nargs="*", help="names of sets")
    parser.add_argument("--names", action="store_true", help="also print the topics with their typical texts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.peer:
        sys.path.append(str(options.peer))
    rows = []
    print("| texts | by | topics | largest | outliers | V-measure | NPMI | seconds |\n|---|---|---|---|---|---|---|---|", flush=True)
    for corpus in corpora(options.data, options.files):
        if options.only and corpus.name not in options.only:
            continue
        vectors = encode(corpus)
        for measure in (measure_ours, measure_bertopic):
            row = measure(corpus, vectors, options.names)
            rows.append(row)
            v = "" if row.v_measure is None else f"{row.v_measure:.3f}"
            cells = (f"{row.corpus} ({row.rows:,})", row.by, row.topics, f"{row.largest:.1%}", f"{row.outliers:.1%}", v)
            print(f"| {' | '.join(map(str, cells))} | {row.npmi:.3f} | {row.seconds:.1f} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")


def corpora(data: Path, files: Sequence[Path]) -> Iterator[Corpus]:
    """Yield the sets."""
    for part in ("test", "train"):
        texts, classes = _columns(data / f"banking77/{part}.csv", "text", "category")
        yield Corpus(f"BANKING77 {part}", texts, classes)
    yield Corpus("TREC questions", _columns(data / "trec/train.csv", "text")[0])
    yield Corpus("SICK sentences", _distinct(data / "sick/train.csv"))
    yield Corpus("STSb Chinese", _distinct(data / "stsb-zh/train.csv"), model="multilingual-e5-small")
    for file in files:
        yield Corpus(file.stem, [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()])


def _columns(path: Path, *names: str) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [[row[name] for row in rows] for name in names]


def _distinct(path: Path) -> list[str]:
    return list(dict.fromkeys(itertools.chain(*_columns(path, "sentence1", "sentence2"))))


def encode(corpus: Corpus) -> np.ndarray:
    """Return the vectors, (n, d) float32."""
    from sbert_studio.services import Studio
    from sbert_studio.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(replace(Settings.from_env(), home=Path(folder)))
        return np.asarray(studio.similarity.encode(corpus.texts, corpus.model).vectors, np.float32)


def measure_ours(corpus: Corpus, vectors: np.ndarray, names: bool) -> Row:
    """Find topics by the program's default."""
    from sbert_studio.explore.clusters import ClusterParams, cluster
    from sbert_studio.explore.topics import split_terms
    from sbert_studio.explore.umap import warm_up
    from sbert_studio.workspace import Workspace

    warm_up(Path(tempfile.gettempdir()))
    split_terms(corpus.texts[:1])  # loads the dictionary of its language
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = cluster(vectors, corpus.texts, ClusterParams(), "topics", Workspace(Path(folder)))
        seconds = time.perf_counter() - start
    if names:
        for number, label in enumerate(found.labels):
            group = found.groups[found.parents[number]] if found.groups else ""
            print(f"{found.sizes[number]:5d}  {label}  [{group}]")
            for row in found.examples(number):
                print(f"         {corpus.texts[row][:110]}")
    return _row(corpus, "ours", found.ids, found.keywords, seconds)


def measure_bertopic(corpus: Corpus, vectors: np.ndarray, names: bool) -> Row:
    """Find topics by BERTopic's default."""
    from bertopic import BERTopic
    from sklearn.feature_extraction.text import CountVectorizer

    chinese: dict[str, Any] = {"language": "multilingual", "vectorizer_model": CountVectorizer(tokenizer=_words_of(corpus))}
    _words_of(corpus)(corpus.texts[0])
    start = time.perf_counter()
    model = BERTopic(**chinese) if "Chinese" in corpus.name else BERTopic()
    ids = np.asarray(model.fit_transform(corpus.texts, vectors)[0])
    seconds = time.perf_counter() - start
    words = [[word for word, _ in model.get_topic(topic) if word] for topic in range(int(ids.max()) + 1)]
    return _row(corpus, "BERTopic", ids, words, seconds)


def _row(corpus: Corpus, by: str, ids: np.ndarray, words: Sequence[Sequence[str]], seconds: float) -> Row:
    from sklearn.metrics import v_measure_score

    sizes = np.bincount(ids[ids >= 0])
    v = None if corpus.classes is None else float(v_measure_score(corpus.classes, ids))
    coherence = npmi(words, [set(_words_of(corpus)(text)) for text in corpus.texts])
    return Row(corpus.name, len(ids), by, len(sizes), float(sizes.max() / len(ids)), float((ids < 0).mean()), v, coherence, seconds)


def _words_of(corpus: Corpus) -> Any:
    if "Chinese" in corpus.name:
        import jieba

        return lambda text: [word for word in jieba.cut(text.lower()) if word.strip()]
    return lambda text: re.findall(r"\b\w\w+\b", text.lower())


def npmi(topics: Sequence[Sequence[str]], documents: Sequence[set[str]]) -> float:
    """Return the mean NPMI of the pairs of each topic's words: probabilities are shares of documents, and a pair that never occurs is -1.

    A word pair counts as its first and second word.
    """
    words = [list(dict.fromkeys(word for term in topic for word in term.split()))[:_TOP] for topic in topics]
    rows: dict[str, set[int]] = {word: set() for topic in words for word in topic}
    for number, document in enumerate(documents):
        for word in document & rows.keys():
            rows[word].add(number)
    means = []
    for topic in words:
        values = [_npmi(rows[a], rows[b], len(documents)) for a, b in itertools.combinations(topic, 2) if rows[a] and rows[b]]
        means += [float(np.mean(values))] if values else []
    return float(np.mean(means))


def _npmi(first: set[int], second: set[int], documents: int) -> float:
    both = len(first & second) / documents
    if both in (0, 1):
        return 2 * both - 1
    return math.log(both * documents * documents / (len(first) * len(second))) / -math.log(both)


if __name__ == "__main__":
    main()
