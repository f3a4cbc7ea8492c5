"""The STS evaluator beside sentence-transformers' own: ``python benchmarks/sts_parity.py DATA [--model NAME] [--rows N]``.

On STSb and every file of STS 2012 to 2014 both encode the sentences themselves and print Spearman's and Pearson's correlation of four
similarities; the table shows our Spearman and the largest difference over the eight numbers. Exit status 1 where it is more than 1e-6.

Some files hold pairs of one and the same sentence (to the model: of the same tokens), or the same pair twice. Such pairs are equally
alike, so that they share a rank; where a sentence is encoded twice, or a product is rounded to 32 bits, the last bit decides instead
which of them comes first, and Spearman's correlation moves by up to 1e-3. They are left out of the comparison, on both sides; the last
column tells the difference with them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sbert_studio.data.tables import Table, read_table
from sbert_studio.evaluation.encoding import MEASURES
from sbert_studio.evaluation.evaluate import evaluate
from sbert_studio.services import Studio
from sbert_studio.settings import Settings

MOST = 1e-6
_FOLDERS = ("sts12", "sts13", "sts14")


@dataclass(frozen=True)
class Parity:
    """How near the two come on one file.

    Attributes:
        rows: how many pairs were judged; ``tied`` were left out.
        spearman: ours, by similarity.
        apart: the largest difference of the eight correlations; ``with_tied``: on all pairs.
    """

    rows: int
    tied: int
    spearman: dict[str, float]
    apart: float
    with_tied: float


def files_in(data: Path) -> Iterator[Path]:
    """STSb's test set, and every file of the STS years."""
    yield data / "stsb/test.csv"
    for folder in _FOLDERS:
        yield from sorted((data / folder).glob("*.csv"))


def parity(ours: Any, peer: Any, table: Table) -> Parity:
    """Both evaluators on a table of ``sentence1, sentence2, score``."""
    kept = untied(ours, table)
    spearman, apart = _apart(ours, peer, table.select(kept))
    tied = len(table) - len(kept)
    return Parity(len(kept), tied, spearman, apart, _apart(ours, peer, table)[1] if tied else apart)


def untied(encoder: Any, table: Table) -> np.ndarray:
    """The places of pairs of two different sentences, each pair once, as the encoder reads them."""
    sides = [encoder.tokenize(table.column(name)) for name in ("sentence1", "sentence2")]
    seen: dict[frozenset[tuple[int, ...]], int] = {}
    for place, (left, right) in enumerate(zip(*sides, strict=True)):
        seen.setdefault(frozenset((tuple(left), tuple(right))), place)
    return np.array([place for pair, place in seen.items() if len(pair) == 2], np.int64)


def _apart(ours: Any, peer: Any, table: Table) -> tuple[dict[str, float], float]:
    report = evaluate(ours, table, "sts")
    known = _theirs(peer, table)
    apart = max(abs(report.scores[name][kind] - known[f"{kind}_{name}"]) for name in MEASURES for kind in ("spearman", "pearson"))
    return {name: report.scores[name]["spearman"] for name in MEASURES}, apart


def _theirs(peer: Any, table: Table) -> dict[str, float]:
    """What EmbeddingSimilarityEvaluator finds: ``spearman_cosine`` and so on."""
    from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

    scores = [float(score) for score in table.column("score")]
    texts = (table.column("sentence1"), table.column("sentence2"))
    judge = EmbeddingSimilarityEvaluator(*texts, scores, similarity_fn_names=list(MEASURES), write_csv=False)
    return {name: float(value) for name, value in judge(peer).items()}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--rows", type=int, help="only the first rows of each file")
    given = parser.parse_args()
    from sentence_transformers import SentenceTransformer

    with Studio(Settings.from_env(), allow_folders=True) as studio:
        ours = studio.catalog.load(given.model)
        peer = SentenceTransformer(str(studio.catalog.resolve(given.model).path), device=str(ours.device))
        sys.stdout.write(
            f"{'file':<20}{'pairs':>6}{'cosine':>9}{'dot':>9}{'euclid.':>9}{'manh.':>9}{'apart':>9}{'tied':>6}{'with them':>11}\n"
        )
        worst = 0.0
        for path in files_in(given.data):
            table = read_table(path)
            found = parity(ours, peer, table if given.rows is None else table.select(range(min(given.rows, len(table)))))
            worst = max(worst, found.apart)
            numbers = "".join(f"{found.spearman[name]:>9.4f}" for name in MEASURES)
            name = f"{path.parent.name}/{path.stem}"
            sys.stdout.write(f"{name:<20}{found.rows:>6}{numbers}{found.apart:>9.0e}{found.tied:>6}{found.with_tied:>11.0e}\n")
            sys.stdout.flush()
    sys.stdout.write(f"the largest difference of all: {worst:.1e}, allowed: {MOST:.0e}\n")
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
