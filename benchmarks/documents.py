"""Measure how much a search improves that is trained on its documents alone, and what contributes to it.

    python benchmarks/documents.py SET [VARIANT…] [--model MODEL] [--seeds 12 13 14] [--part dev|test|all]
    python benchmarks/documents.py SET --scale 2500 10000 [--steps 50]

default       `pairs` and `train` without options
structure     pairs of headings, questions and first sentences only
crop          pairs of cloze sentences and random crops only
negatives     the default pairs with a hard negative each (`negatives`)
distillation  the same, trained on the margins of a larger encoder or a cross-encoder (`--teacher`) by MarginMSE
written       queries that a language model writes only, such as `--pair-options "--llm-url local --llm-model FOLDER"`; not by default

SET is a folder in the BEIR layout. Only its ``corpus.jsonl`` is used for training. A third of its queries, chosen by their ids, is the
part ``dev``, the others are ``test``: settings are chosen on the first and reported on the second. ``--sample N`` keeps the documents of N
queries of the part, for quick comparisons. ``--no-titles`` removes the titles of the documents. ``--train-options`` and ``--pair-options``
add options to the trainings and to `pairs`. Prints rows of a Markdown table: nDCG@10 of the untuned model and of each variant by seed,
alone and fused with BM25, with the number of training rows and the share of the pairs that were kept, then mean ± standard deviation; the
commands go to stderr. `benchmarks/sets` has a German and a Chinese set.

``--scale`` measures instead the minutes, also of the processor, and the peak memory of `pairs`, `negatives`, `train` (so many steps) and
`evaluate --retrieval` on so many passages, which are recombined from the documents of SET: memory that hardly grows with them is flat.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from figures import four_digits, row
from synthetic import recombined
from timing import run_studio

from sbert_studio.workspace import write_json_lines

MODEL = "all-MiniLM-L6-v2"
VARIANTS: dict[str, tuple[str, ...]] = {
    "default": (),
    "structure": ("--from", "structure"),
    "crop": ("--from", "crop"),
    "negatives": (),
    "distillation": (),
    "written": ("--from", "llm"),
}
_DEFAULT = tuple(name for name in VARIANTS if name != "written")
_METRIC = "ndcg@10"
BATCH, _QUERIES = 32, 1_000  # of the scaled sets


def is_dev(query: str) -> bool:
    """Return True for the third of all queries on which settings are chosen."""
    return int(hashlib.sha256(query.encode()).hexdigest(), 16) % 3 == 0


def write_part(source: Path, target: Path, part: str, sample: int, *, titles: bool) -> None:
    """Write the queries of a part with all documents, or with the documents of a sample of these queries."""
    judgments = [line.split("\t") for line in (source / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    chosen = [row for row in judgments if part == "all" or is_dev(row[0]) == (part == "dev")]
    queries = dict.fromkeys(row[0] for row in chosen)
    if sample:
        queries = dict.fromkeys(list(queries)[:: max(1, len(queries) // sample)][:sample])
    chosen = [row for row in chosen if row[0] in queries]
    documents = {row[1] for row in chosen}
    (target / "qrels").mkdir(parents=True)
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(row) for row in chosen)]
    (target / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, kept in (("corpus.jsonl", documents if sample else None), ("queries.jsonl", queries)):
        with (source / name).open(encoding="utf-8") as rows, (target / name).open("w", encoding="utf-8") as file:
            for row in map(json.loads, rows):
                if kept is None or row["_id"] in kept:
                    if not titles:
                        row.pop("title", None)
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")


def scores(model: object, folder: Path) -> list[float]:
    """Return nDCG@10 of a model alone and fused with BM25."""
    found = run_studio("evaluate", model, "--retrieval", folder)
    hybrid = next(one for one in found["baselines"] if one["kind"] == "hybrid")
    return [found[_METRIC], hybrid[_METRIC]]


def train(variant: str, folder: Path, out: Path, seed: int, options: argparse.Namespace) -> tuple[dict[str, Any], int, float]:
    """Train a variant; return its run, the number of its rows, and the share of the pairs that were kept."""
    pairs, triplets = folder / f"pairs-{variant}-{seed}.jsonl", folder / f"triplets-{variant}-{seed}.jsonl"
    pair_options = (*VARIANTS[variant], *shlex.split(options.pair_options))
    made = run_studio("pairs", folder / "corpus.jsonl", "--out", pairs, "--seed", seed, "--model", options.model, *pair_options)
    kept, dropped = sum(made["kept"].values()), sum(sum(reasons.values()) for reasons in made["dropped"].values())
    teacher: tuple[str, ...] = ()
    if variant in ("negatives", "distillation"):
        run_studio("negatives", pairs, "--out", triplets, "--model", options.model)
        pairs = triplets
        teacher = ("--teacher", options.teacher) if variant == "distillation" else ()
    run = run_studio("train", pairs, "--model", options.model, "--seed", seed, "--out", out, *teacher, *shlex.split(options.train_options))
    return run, len(pairs.read_text(encoding="utf-8").splitlines()), kept / (kept + dropped)


def measure(options: argparse.Namespace) -> Iterator[str]:
    yield row("training", "nDCG@10", "with BM25", "rows", "kept", "steps", "strength", "minutes")
    yield row(*("---" for _column in range(8)))
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "set"
        write_part(options.set, folder, options.part, options.sample, titles=not options.no_titles)
        yield row("untuned", *four_digits(scores(options.model, folder)), *[""] * 5)
        for variant in options.variants or _DEFAULT:
            found = []
            for seed in options.seeds:
                out = Path(home) / f"{variant}-{seed}"
                run, rows, kept = train(variant, folder, out, seed, options)
                found.append(scores(out, folder))
                facts = (f"{rows:,}", f"{kept:.0%}", run["steps"], f"{run['after'].get('strength', 1):g}", round(run["seconds"] / 60))
                yield row(f"{variant}, seed {seed}", *four_digits(found[-1]), *facts)
            spread = np.std(found, axis=0, ddof=1) if len(found) > 1 else np.zeros(2)
            cells = [f"{mean:.4f} ± {sd:.4f}" for mean, sd in zip(np.mean(found, axis=0), spread, strict=True)]
            yield row(f"{variant}, mean", *cells, *[""] * 5)


def write_scaled(source: Path, target: Path, passages: int) -> None:
    """Write documents of one passage each; the first words of some of them are the queries."""
    with (source / "corpus.jsonl").open(encoding="utf-8") as lines:
        texts = [" ".join(json.loads(line)["text"].split()) for line in lines]
    texts = recombined([text for text in texts if 30 <= len(text.split()) <= 120], passages)
    write_json_lines(target / "corpus.jsonl", ({"_id": f"d{n}", "title": f"Entry {n}", "text": text} for n, text in enumerate(texts)))
    asked = range(0, passages, max(1, passages // _QUERIES))
    write_json_lines(target / "queries.jsonl", ({"_id": f"q{n}", "text": " ".join(texts[n].split()[:8])} for n in asked))
    (target / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in asked)]
    (target / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def timed(count: int, *command: object) -> tuple[dict[str, Any], tuple[object, ...]]:
    """Run a command; return its answer, and the number of passages, its name, its minutes, its processor minutes and its peak memory."""
    start = time.perf_counter()
    found = run_studio(*command)
    minutes = (f"{one / 60:.1f}" for one in (time.perf_counter() - start, found["processor_seconds"]))
    return found, (f"{count:,}", command[0], *minutes, found["peak_bytes"] >> 20)


def measure_scale(options: argparse.Namespace) -> Iterator[str]:
    yield row("passages", "step", "minutes", "processor minutes", "peak memory, MiB", "result")
    yield row(*["---"] * 6)
    chosen = ("--model", options.model)
    for count in options.scale:
        with tempfile.TemporaryDirectory() as home:
            folder, pairs, mined, model = (Path(home) / name for name in ("set", "pairs.jsonl", "triplets.jsonl", "model"))
            folder.mkdir()
            write_scaled(options.set, folder, count)
            os.environ["SBERT_STUDIO_HOME"] = str(Path(home) / "studio")  # nothing is cached
            found, cells = timed(count, "pairs", folder / "corpus.jsonl", "--out", pairs, *chosen)
            yield row(*cells, f"{found['passages']:,} passages, {sum(found['kept'].values()):,} pairs")
            found, cells = timed(count, "negatives", pairs, "--corpus", folder / "corpus.jsonl", "--out", mined, *chosen)
            yield row(*cells, f"{found['negatives']:,} negatives")
            rows = len(mined.read_text(encoding="utf-8").splitlines()) * 0.9  # a tenth is held out
            steps = ("--epochs", f"{options.steps * BATCH / rows:.4f}", "--batch-size", BATCH)
            found, cells = timed(count, "train", mined, *steps, "--out", model, *chosen)
            yield row(*cells, f"{found['steps']} steps in {found['seconds'] / 60:.1f} minutes")
            found, cells = timed(count, "evaluate", model, "--retrieval", folder)
            yield row(*cells, f"nDCG@10 {found[_METRIC]:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, metavar="SET")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=f"{', '.join(VARIANTS)}; default: all but written")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--teacher", default="multilingual-e5-small", help="of `distillation` (multilingual-e5-small)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[12, 13, 14])
    parser.add_argument("--part", choices=("dev", "test", "all"), default="dev")
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--scale", type=int, nargs="+", default=[], metavar="PASSAGES")
    parser.add_argument("--steps", type=int, default=50, help="of training with --scale (50)")
    parser.add_argument("--no-titles", action="store_true")
    parser.add_argument("--train-options", default="", metavar="OPTIONS")
    parser.add_argument("--pair-options", default="", metavar="OPTIONS")
    options = parser.parse_args()
    if unknown := set(options.variants) - set(VARIANTS):
        parser.error(f"unknown variants: {', '.join(sorted(unknown))}; choose from {', '.join(VARIANTS)}")
    for line in measure_scale(options) if options.scale else measure(options):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
