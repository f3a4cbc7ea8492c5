"""What `train FILE` with no option but `--dev` makes of the STS benchmark, by seed, and what it costs elsewhere.

    python benchmarks/defaults.py DATA [SEED ...] [-- OPTION ...]

DATA is the folder that benchmarks/figures.py describes, with trec/ beside. Three seeds without another choice; what stands behind `--` is
handed to `train`, to hold other settings beside the defaults. Prints a Markdown table: Spearman on the dev and the test set,
nearest-neighbour accuracy on BANKING77 and the accuracy of a linear probe on TREC (the test set of each), the untuned model first, and the
mean ± standard deviation last. The test set is only read here: no setting was chosen by it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import score, studio

MODEL = "all-MiniLM-L6-v2"
_SEEDS = (12, 13, 14)
_HEAD = ("model", "dev", "test", "BANKING77", "TREC", "strength", "steps", "seconds")


def elsewhere(model: object, data: Path) -> list[float]:
    """What a model knows of texts that have nothing to do with the training."""
    asked = (("banking77", "categories", "nearest_neighbour_accuracy"), ("trec", "transfer", "accuracy"))
    return [float(studio("evaluate", model, "--data", data / name / "test.csv", "--task", task)[metric]) for name, task, metric in asked]


def row(name: str, figures: list[float], rest: tuple[object, ...] = ("", "", "")) -> str:
    """A row of the table."""
    return "| " + " | ".join([name, *(f"{value:.4f}" for value in figures), *map(str, rest)]) + " |"


def main(arguments: list[str]) -> int:
    """Print the table."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    if not arguments[:place]:
        print(__doc__, file=sys.stderr)
        return 2
    data, seeds = Path(arguments[0]), [int(seed) for seed in arguments[1:place]] or _SEEDS
    train, dev = data / "stsb/train.csv", data / "stsb/dev.csv"
    untuned = float(studio("evaluate", MODEL, "--data", dev, "--task", "sts")["cosine"]["spearman"])
    print(row("", [], _HEAD[1:]), "|" + " --- |" * len(_HEAD), sep="\n")
    print(row("untuned", [untuned, score(MODEL, data), *elsewhere(MODEL, data)]), flush=True)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            out = Path(folder) / str(seed)
            run = studio("train", train, "--dev", dev, "--seed", seed, *arguments[place + 1 :], "--out", out)
            found.append([run["after"]["score"], score(out, data), *elsewhere(out, data)])
            print(row(f"seed {seed}", found[-1], (run["after"].get("strength", 1), run["steps"], round(run["seconds"]))), flush=True)
    spread = np.std(found, axis=0, ddof=1) if len(found) > 1 else np.zeros(len(found[0]))
    print("| mean | " + " | ".join(f"{mean:.4f} ± {sd:.4f}" for mean, sd in zip(np.mean(found, axis=0), spread, strict=True)) + " | | | |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
