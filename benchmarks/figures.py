"""Measure figures of the README with the commands that a user would type.

    python benchmarks/figures.py DATA [untuned search sick defaults] [--seeds 12 13 14] [--train-options "--epochs 2"]

untuned   STSb's test set by the default model
search    a customer's words against BANKING77's 10,003 requests
sick      SICK's entailment labels alone, softmax, the best step chosen on STSb's dev set
defaults  training on STSb with no option but --dev, by seed, and its cost elsewhere: the accuracy of the nearest neighbour on BANKING77 and
          of a linear probe on TREC (test sets), the untuned model first, and mean ± standard deviation last

DATA is a folder of public sets as CSV: {stsb,sick,banking77,trec}/{train,dev,test}.csv. Prints rows of Markdown tables; the commands go to
stderr. No setting was chosen on a test set. ``--train-options`` adds options to the trainings of ``defaults``, to compare other settings.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from timing import run_studio, score_on_stsb

MODEL = "all-MiniLM-L6-v2"
_QUERY, _CATEGORY = "the machine swallowed my card", "card_swallowed"


def untuned(data: Path) -> Iterator[str]:
    found = run_studio("evaluate", MODEL, "--data", data / "stsb/test.csv")
    low, high = found["interval"]
    yield row("STSb test, untuned, Spearman", f"{found['cosine']['spearman']:.4f} (95 % interval {low:.3f}–{high:.3f})")


def search(data: Path) -> Iterator[str]:
    found, cached = (run_studio("search", data / "banking77/train.csv", _QUERY) for _ in range(2))
    right = sum(hit["fields"]["category"] == _CATEGORY for hit in found["hits"])
    yield row("search 10,003 requests", f"{right} of {len(found['hits'])} hits right; {cached['milliseconds']:.0f} ms with cached vectors")


def sick(data: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        options = ("--loss", "softmax", "--epochs", 1, "--set", "evaluations_per_epoch=4", "--out", folder)
        found = run_studio("train", data / "sick/train.csv", "--dev", data / "stsb/dev.csv", *options)
        scores = f"STSb test {score_on_stsb(folder, data):.4f} (untuned {score_on_stsb(MODEL, data):.4f})"
    yield row("SICK, entailment labels, softmax", f"{scores}, {found['steps']:,} steps in {found['seconds']:.0f} s")


def defaults(data: Path, seeds: Sequence[int], options: Sequence[str]) -> Iterator[str]:
    train, dev = data / "stsb/train.csv", data / "stsb/dev.csv"
    header = ("model", "STSb dev", "STSb test", "BANKING77", "TREC", "strength", "steps", "seconds")
    yield row(*header) + "\n" + row(*("---" for _ in header))
    before = float(run_studio("evaluate", MODEL, "--data", dev, "--task", "sts")["cosine"]["spearman"])
    yield row("untuned", *four_digits([before, *_scores(MODEL, data)]), "", "", "")
    scores = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as out:
            run = run_studio("train", train, "--dev", dev, "--seed", seed, *options, "--out", out)
            scores.append([run["after"]["score"], *_scores(out, data)])
        yield row(f"seed {seed}", *four_digits(scores[-1]), run["after"].get("strength", 1), run["steps"], round(run["seconds"]))
    spread = np.std(scores, axis=0, ddof=1) if len(scores) > 1 else np.zeros(len(scores[0]))
    yield row("mean", *(f"{mean:.4f} ± {sd:.4f}" for mean, sd in zip(np.mean(scores, axis=0), spread, strict=True)), "", "", "")


def _scores(model: object, data: Path) -> list[float]:
    """Return the test scores on STSb, BANKING77 and TREC."""
    other = (("banking77", "categories", "nearest_neighbour_accuracy"), ("trec", "transfer", "accuracy"))
    answers = [(run_studio("evaluate", model, "--data", data / name / "test.csv", "--task", task), metric) for name, task, metric in other]
    return [score_on_stsb(model, data), *(float(answer[metric]) for answer, metric in answers)]


def four_digits(scores: Sequence[float]) -> list[str]:
    return [f"{score:.4f}" for score in scores]


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    names = ("untuned", "search", "sick", "defaults")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"{', '.join(names)}; default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[12, 13, 14], help="of `defaults` (12 13 14)")
    parser.add_argument("--train-options", default="", metavar="OPTIONS", help="further options of `defaults`, as one word")
    options = parser.parse_args()
    if unknown := set(options.figures) - set(names):
        parser.error(f"unknown figures: {', '.join(sorted(unknown))}; choose from {', '.join(names)}")
    for name in options.figures or names:
        if name == "defaults":
            lines = defaults(options.data, options.seeds, shlex.split(options.train_options))
        else:
            lines = {"untuned": untuned, "search": search, "sick": sick}[name](options.data)
        for line in lines:
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
