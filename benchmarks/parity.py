"""Compare our numbers with sentence-transformers':

    python benchmarks/parity.py sts DATA [--model NAME] [--rows N]
    python benchmarks/parity.py models [FOLDER ...]

sts     The STS evaluators, on STSb and every file of STS 2012 to 2014 in DATA. Both encode the sentences themselves and compute Spearman's
and
        Pearson's correlation of four similarities; the table shows our Spearman and the largest difference of the eight. Fails above 1e-6.
        Some files hold pairs of the same tokens, or one pair twice. Such pairs are equally similar and share a rank; where a sentence is
        encoded twice, or a product is rounded to 32 bits, the last bit decides their order instead, which moves Spearman by up to 1e-3.
        These ties are left out on both sides; the last column is the difference with them.
models  The vectors of model folders: largest difference of a component over texts of many kinds and lengths, as they are, as queries and as
        documents, and of the model's similarity function. The bundled multilingual-e5-small, which sentence-transformers cannot read, is
        saved in float32 first; its column `packed` is the difference between its 4-bit weights and that folder. Fails above 1e-5.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sbert_studio.data.loading.table import Table, read_table
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.encoding import MEASURES
from sbert_studio.evaluation.evaluate import evaluate
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.similarity import similarity
from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.workspace import Workspace

MAX_SCORE_DIFFERENCE, MAX_VECTOR_DIFFERENCE = 1e-6, 1e-5
MULTILINGUAL = "multilingual-e5-small"
TEXTS = [
    "I lost my card.",
    "How do I get a refund for a parcel that never came? " * 12,
    "",
    "我的银行卡丢了，怎么办？",
    "Ich habe meine Karte verloren.",
    "Где моя посылка?",
    "カードをなくしました。",
    "long " * 700,
    "Café  naïve\tresumé\n№ ½",
    "🙂🙂 ok",
]


@dataclass(frozen=True)
class ScoreParity:
    """Both evaluators on one file.

    Attributes:
        rows: pairs compared; tied: pairs left out.
        spearman: ours, by similarity.
        difference: the largest of the eight correlations; with_ties: on all pairs.
    """

    rows: int
    tied: int
    spearman: dict[str, float]
    difference: float
    with_ties: float


def compare_scores(ours: Any, peer: Any, table: Table) -> ScoreParity:
    """Compare the evaluators on a table of ``sentence1, sentence2, score``."""
    rows = rows_without_ties(ours, table)
    spearman, difference = _score_difference(ours, peer, table.select(rows))
    tied = len(table) - len(rows)
    return ScoreParity(len(rows), tied, spearman, difference, _score_difference(ours, peer, table)[1] if tied else difference)


def rows_without_ties(encoder: Any, table: Table) -> np.ndarray:
    """Return the rows of two texts with different tokens, each pair once."""
    sides = [encoder.tokenize(table.column(name)) for name in ("sentence1", "sentence2")]
    first: dict[frozenset[tuple[int, ...]], int] = {}
    for row, (left, right) in enumerate(zip(*sides, strict=True)):
        first.setdefault(frozenset((tuple(left), tuple(right))), row)
    return np.array([row for pair, row in first.items() if len(pair) == 2], np.int64)


def _score_difference(ours: Any, peer: Any, table: Table) -> tuple[dict[str, float], float]:
    from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

    scores = [float(score) for score in table.column("score")]
    texts = (table.column("sentence1"), table.column("sentence2"))
    evaluator = EmbeddingSimilarityEvaluator(*texts, scores, similarity_fn_names=list(MEASURES), write_csv=False)
    report, theirs = evaluate(ours, table, "sts"), evaluator(peer)
    kinds = ("spearman", "pearson")
    difference = max(abs(report.scores[name][kind] - float(theirs[f"{kind}_{name}"])) for name in MEASURES for kind in kinds)
    return {name: report.scores[name]["spearman"] for name in MEASURES}, difference


def sts_files(data: Path) -> Iterator[Path]:
    yield data / "stsb/test.csv"
    for year in ("sts12", "sts13", "sts14"):
        yield from sorted((data / year).glob("*.csv"))


def compare_evaluators(data: Path, model: str, rows: int | None) -> float:
    """Print the table of ``sts``; return the largest difference."""
    from sentence_transformers import SentenceTransformer

    worst = 0.0
    _print_row("file", "pairs", *MEASURES, "difference", "ties", "with them")
    _print_row(*("---" for _ in range(len(MEASURES) + 5)))
    with Studio(Settings.from_env(), allow_folders=True) as studio:
        ours: Any = studio.catalog.load(model)
        peer = SentenceTransformer(str(studio.catalog.resolve(model).path), device=str(ours.device))
        for path in sts_files(data):
            table = read_table(path)
            found = compare_scores(ours, peer, table if rows is None else table.select(range(min(rows, len(table)))))
            worst = max(worst, found.difference)
            scores = (f"{found.spearman[name]:.4f}" for name in MEASURES)
            name = f"{path.parent.name}/{path.stem}"
            _print_row(name, found.rows, *scores, f"{found.difference:.0e}", found.tied, f"{found.with_ties:.0e}")
    return worst


def vector_differences(folder: Path, catalog: Catalog) -> dict[str, float]:
    """Return the largest difference of each kind between our vectors for ``folder`` and sentence-transformers'."""
    from sentence_transformers import SentenceTransformer

    ours = catalog.load(str(folder), allow_folders=True)
    peer: Any = SentenceTransformer(str(folder), device="cpu")
    # encode_document of sentence-transformers 6.2 ignores a prompt named `passage`.
    prompt = next((name for name in ("document", "passage", "corpus") if peer.prompts.get(name)), None)
    theirs = {
        "plain": peer.encode(TEXTS),
        "query": peer.encode_query(TEXTS),
        "document": peer.encode_document(TEXTS, prompt_name=prompt) if prompt else peer.encode_document(TEXTS),
    }
    roles: dict[str, Any] = {"plain": "plain", "query": "query", "document": "document"}
    vectors = {name: ours.for_role(role).encode(TEXTS) for name, role in roles.items()}
    differences = {name: float(np.abs(vectors[name] - theirs[name]).max()) for name in theirs}
    own = similarity(vectors["query"], vectors["document"], ours.similarity_name)
    other = np.asarray(peer.similarity(theirs["query"], theirs["document"]))
    return differences | {"similarity": float(np.abs(own - other).max() / max(1.0, float(np.abs(other).max())))}


def compare_models(folders: Sequence[Path]) -> float:
    """Print the table of ``models``; return the largest difference."""
    _print_row("model", "similarity function", "plain", "query", "document", "similarity", "packed")
    _print_row(*("---" for _ in range(7)))
    worst, packed = 0.0, dict[Path, float]()
    with tempfile.TemporaryDirectory() as scratch:
        catalog = Catalog(Workspace(Settings.from_env().home), device="cpu")
        if MULTILINGUAL in catalog.bundled():
            saved = Path(scratch) / MULTILINGUAL
            catalog.load_trainable(MULTILINGUAL).save(saved)
            bundled, dense = catalog.load(MULTILINGUAL), catalog.load(str(saved), allow_folders=True)
            packed[saved] = float(np.abs(bundled.encode(TEXTS) - dense.encode(TEXTS)).max())
        for folder in (*folders, *packed):
            try:
                found = vector_differences(folder, catalog)
            except StudioError as error:
                _print_row(folder.name, f"refused: {error}", "", "", "", "", "")
                continue
            worst = max(worst, *found.values(), packed.get(folder, 0.0))
            function = catalog.load(str(folder), allow_folders=True).similarity_name
            last = f"{packed[folder]:.1e}" if folder in packed else ""
            _print_row(folder.name, function, *(f"{value:.1e}" for value in found.values()), last)
    return worst


def _print_row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> int:
    """Return 1 where a difference is too large, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sts = commands.add_parser("sts")
    sts.add_argument("data", type=Path, metavar="DATA")
    sts.add_argument("--model", default="all-MiniLM-L6-v2")
    sts.add_argument("--rows", type=int, help="use the first rows of each file")
    models = commands.add_parser("models")
    models.add_argument("folders", type=Path, nargs="*", metavar="FOLDER")
    options = parser.parse_args()
    if options.command == "sts":
        worst, allowed = compare_evaluators(options.data, options.model, options.rows), MAX_SCORE_DIFFERENCE
    else:
        worst, allowed = compare_models(options.folders), MAX_VECTOR_DIFFERENCE
    print(f"largest difference: {worst:.1e}, allowed: {allowed:.0e}")
    return 1 if worst > allowed else 0


if __name__ == "__main__":
    sys.exit(main())
