"""Every figure of the README, measured by the commands that a user would type.

    python benchmarks/figures.py DATA [NAME ...]

DATA is a folder with the public sets as CSV: stsb/{train,dev,test}.csv (sentence1, sentence2, score) and banking77/train.csv (text,
category). NAME picks figures; without one all are taken, which needs about an hour and a half on two cores. Each line printed is a row
of a Markdown table; the command behind it stands on stderr. Comparisons with sentence-transformers are taken by turns in one process.
"""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Row = tuple[str, str]
Figure = Callable[[Path, Path], Iterator[Row]]


def studio(*arguments: object) -> dict[str, Any]:
    """Run ``sbert-studio ... --json`` and return its answer, with ``peak_bytes``: the most memory that the process had."""
    command = ["sbert-studio", *map(str, arguments), "--json"]
    print("$", shlex.join(command), file=sys.stderr, flush=True)
    with subprocess.Popen([sys.executable, "-m", "sbert_studio", *command[1:]], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        written = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, written)
    answer: dict[str, Any] = json.loads(written)
    return answer | {"peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)}


def _score(model: object, data: Path) -> float:
    return float(studio("evaluate", model, "--data", data / "stsb/test.csv", "--task", "sts")["cosine"]["spearman"])


def untuned(data: Path, _out: Path) -> Iterator[Row]:
    """The embedded model on the STS benchmark's test set."""
    found = studio("evaluate", "all-MiniLM-L6-v2", "--data", data / "stsb/test.csv")
    low, high = found["interval"]
    yield "STSb test, untuned, Spearman", f"{found['cosine']['spearman']:.4f} (95 % interval {low:.3f}–{high:.3f})"


def encode(data: Path, _out: Path) -> Iterator[Row]:
    """10,000 distinct sentences, beside sentence-transformers."""
    found = studio("bench", "encode", "--data", data / "stsb/train.csv", "--limit", 10_000, "--repeats", 3)
    yield (
        f"encode {found['texts']:,} sentences, float32",
        f"{found['ours']:.0f} sentences/s, {found['ratio']:.2f} × sentence-transformers ({found['peer']:.0f}); "
        f"least cosine between the two {found['min_cosine']['float32']:.7f}",
    )


def encode_bfloat16(data: Path, _out: Path) -> Iterator[Row]:
    """The same in bfloat16, which is worth it only where the processor multiplies it."""
    found = studio("bench", "encode", "--data", data / "stsb/train.csv", "--limit", 10_000, "--repeats", 3, "--precision", "bfloat16")
    yield (
        f"encode {found['texts']:,} sentences, bfloat16",
        f"{found['ours']:.0f} sentences/s, {found['ratio']:.2f} × sentence-transformers in float32 ({found['peer']:.0f}); "
        f"least cosine between the two {found['min_cosine']['bfloat16']:.5f}",
    )


def speed(data: Path, _out: Path) -> Iterator[Row]:
    """Cosine regression on 1,000 pairs of the STS benchmark, two rounds by turns with sentence-transformers' trainer."""
    found = studio("bench", "train", "--data", data / "stsb/train.csv", "--limit", 1_000, "--repeats", 2)
    print(json.dumps(found), file=sys.stderr)
    yield (
        "train on 1,000 pairs of STSb, cosine, batch 16, float32",
        f"{found['ours']:.1f} pairs/s, {found['ratio']:.2f} × sentence-transformers ({found['peer']:.1f})",
    )


def seeds(data: Path, _out: Path) -> Iterator[Row]:
    """Three seeds of the same, in float32 and with bfloat16 autocast."""
    train, test = data / "stsb/train.csv", data / "stsb/test.csv"
    found = studio("bench", "train", "--data", train, "--test", test, "--repeats", 3, "--precision", "float32,bfloat16")
    print(json.dumps(found), file=sys.stderr)
    half = found["variants"]["bfloat16"]
    yield "three seeds, float32", f"{found['ours']:.1f} pairs/s, {found['ratio']:.2f} × sentence-transformers ({found['peer']:.1f})"
    yield "three seeds, bfloat16 autocast", f"{half['ours']:.1f} pairs/s, {half['ratio']:.2f} ×"


def _trained(data: Path, out: Path, title: str, *options: object, dev: bool = True, rows: Path | None = None) -> Iterator[Row]:
    held_out = ("--dev", data / "stsb/dev.csv") if dev else ()
    found = studio("train", rows or data / "stsb/train.csv", *held_out, *options, "--out", out)
    score = _score(out, data)
    yield title, f"STSb test {score:.4f} after {found['steps']} steps in {found['seconds']:.0f} s ({found['pairs_per_second']:.1f} pairs/s)"


def cosine(data: Path, out: Path) -> Iterator[Row]:
    """One epoch of cosine regression by the command of the README."""
    recipe = ("--objective", "cosine", "--epochs", 1, "--batch-size", 16, "--lr", "2e-5", "--seed", 12, "--set", "precision=float32")
    yield from _trained(data, out, "train one epoch, cosine", *recipe)


def lora(data: Path, out: Path) -> Iterator[Row]:
    """The same by LoRA, at a fitting rate."""
    recipe = ("--objective", "cosine", "--epochs", 1, "--batch-size", 16, "--lr", "5e-4", "--seed", 12, "--method", "lora")
    yield from _trained(data, out, "train one epoch, cosine, LoRA", *recipe)


def defaults(data: Path, out: Path) -> Iterator[Row]:
    """No option but the file: what the advisor makes of the training set."""
    yield from _trained(data, out, "train with no option", dev=False)


def small(data: Path, out: Path) -> Iterator[Row]:
    """The defaults on 300 pairs, three seeds."""
    lines = (data / "stsb/train.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    scores = []
    for seed in (1, 2, 3):
        rows = out.with_name(f"pairs-{seed}.csv")
        picked = np.random.default_rng(seed).choice(np.arange(1, len(lines)), 300, replace=False)
        rows.write_text(lines[0] + "".join(lines[place] for place in picked), encoding="utf-8")
        folder = out.with_name(f"small-{seed}")
        studio("train", rows, "--seed", seed, "--out", folder)
        scores.append(_score(folder, data))
    yield "300 pairs, no option, three seeds", f"STSb test {np.mean(scores):.4f} ± {np.std(scores, ddof=1):.4f}"


def smollm2(data: Path, out: Path) -> Iterator[Row]:
    """A language model of 135 million weights, mean-pooled, then tuned by LoRA on 1,920 pairs at even distances, in about ten minutes."""
    yield from _language_model(data, out, "SmolLM2-135M, LoRA r 16", epochs=2)


def smollm2_projected(data: Path, out: Path) -> Iterator[Row]:
    """The same with Linear → 768 and GELU behind the pooling, by LoRA and whole, on 480 pairs."""
    head = ("--set", "projection=768")
    for title, method, rate in (("LoRA r 16", "lora", "5e-4"), ("whole", "full", "2e-5")):
        name = f"SmolLM2-135M, projection 768, {title}"
        yield from _language_model(data, out.with_name(method), name, *head, method=method, rate=rate, rows=480, epochs=1)


def _language_model(
    data: Path, out: Path, title: str, *options: object, epochs: float, rows: int = 1_920, method: str = "lora", rate: str = "5e-4"
) -> Iterator[Row]:
    model, pairs = out.with_name("smollm2-135m"), out.with_name(f"{rows}.csv")
    if not model.is_dir():
        subprocess.run([sys.executable, Path(__file__).parents[1] / "tests/smollm2.py", model], check=True)
    with (data / "stsb/train.csv").open(encoding="utf-8", newline="") as source:
        head, *lines = csv.reader(source)
    with pairs.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerows([head, *(lines[place] for place in np.linspace(0, len(lines) - 1, rows).astype(int))])
    untuned = _score(model, data)
    recipe = ("--objective", "cosent", "--epochs", epochs, "--batch-size", 16, "--lr", rate, "--seed", 12, "--set", "dev_fraction=0")
    found = studio("train", pairs, "--model", model, "--method", method, *recipe, *options, "--out", out)
    yield (
        f"{title}, {rows:,} pairs of STSb",
        f"STSb test {untuned:.4f} → {_score(out, data):.4f} after {found['steps']} steps in {found['seconds']:.0f} s "
        f"({found['pairs_per_second']:.1f} pairs/s, {found['peak_bytes'] / 1e9:.1f} GB at most)",
    )


def search(data: Path, _out: Path) -> Iterator[Row]:
    """A customer's words against 10,003 requests."""
    found = studio("search", data / "banking77/train.csv", "the machine swallowed my card")
    again = studio("search", data / "banking77/train.csv", "the machine swallowed my card")
    right = sum(hit["fields"]["category"] == "card_swallowed" for hit in found["hits"])
    yield "search 10,003 requests", f"{right} of {len(found['hits'])} hits right; {again['milliseconds']:.0f} ms once the vectors are there"


def mine(data: Path, out: Path) -> Iterator[Row]:
    """The most similar pairs of 10,003 requests, held against brute force."""
    path = data / "banking77/train.csv"
    found = studio("mine", path, "--top", 10)
    studio("encode", path, "--out", out.with_suffix(".npy"))
    vectors = np.load(out.with_suffix(".npy"), allow_pickle=False)
    start = time.perf_counter()
    cosines = np.triu(vectors @ vectors.T, 1)
    best = np.sort(np.partition(cosines.ravel(), -10)[-10:])[::-1]
    seconds = time.perf_counter() - start
    gap = float(np.abs(best - [pair["score"] for pair in found["pairs"]]).max())
    yield "mine 10,003 requests", f"{found['seconds']:.2f} s (brute force in NumPy {seconds:.2f} s; scores differ by {gap:.1e})"


_ALL: tuple[Figure, ...] = (
    *(untuned, encode, encode_bfloat16, search, mine, cosine, lora, speed, defaults, small, seeds),
    *(smollm2, smollm2_projected),
)
FIGURES: dict[str, Figure] = {item.__name__: item for item in _ALL}


def main(arguments: list[str]) -> int:
    """Print the chosen figures."""
    if not arguments or (unknown := set(arguments[1:]) - set(FIGURES)):
        print(__doc__, f"Figures: {', '.join(FIGURES)}.", f"Unknown: {unknown}." if arguments else "", sep="\n", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments[1:] or FIGURES:
            for what, value in FIGURES[name](Path(arguments[0]), Path(folder) / name):
                print(f"| {what} | {value} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
