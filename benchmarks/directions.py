"""Two labels that no vocabulary has, in six languages and both directions: read, asked about, or taught the wrong way round?

    python benchmarks/directions.py DATA [--rows 400]

DATA is the folder that benchmarks/figures.py describes. Each file holds pairs of the STS benchmark's training set with a score in the
lowest or the highest quarter, labelled by two words: once the one that comes first in the alphabet means alike, once the other. Each is
trained on by `sbert-studio train FILE` with no other option; what is not asked about is judged on the STS benchmark's test set beside the
untuned model. Prints a Markdown table; 1 where a model lost more than two points.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import score, studio

MODEL = "all-MiniLM-L6-v2"
WORDS = {
    "Welsh": ("cydweddu", "ysgar"),
    "Finnish": ("eroaa", "vastaa"),
    "Swahili": ("hailingani", "sawia"),
    "Icelandic": ("hittir", "skilur"),
    "Tagalog": ("kaiba", "tugma"),
    "Georgian": ("ემთხვევა", "სცდება"),
}
"""A language, and two words of it in the order of the alphabet."""
_LOST = 0.02


def files(data: Path, folder: Path, rows: int) -> Iterator[tuple[str, Path]]:
    """Each file, and what its labels mean."""
    with (data / "stsb/train.csv").open(encoding="utf-8", newline="") as source:
        clear = [row for row in csv.DictReader(source) if not 1.25 < float(row["score"]) < 3.75]
    order = np.random.default_rng(12).permutation(len(clear))[:rows]
    for language, words in WORDS.items():
        for apart, alike in (words, words[::-1]):
            path = folder / f"{language}-{alike}.csv"
            with path.open("w", encoding="utf-8", newline="") as target:
                writer = csv.writer(target)
                writer.writerow(("sentence1", "sentence2", "label"))
                for row in (clear[place] for place in order):
                    writer.writerow((row["sentence1"], row["sentence2"], alike if float(row["score"]) > 2.5 else apart))
            yield f"{language}: {apart} < {alike}", path


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=400)
    given = parser.parse_args()
    untuned, worse, asked = score(MODEL, given.data), 0, 0
    print(f"Untuned: {untuned:.4f}.\n\n| labels, least alike first | what came of it |\n| --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for title, path in files(given.data, Path(place), given.rows):
            try:
                studio("train", path, "--out", model := path.with_suffix(""))
            except subprocess.CalledProcessError as error:
                if error.returncode != 2:
                    raise
                asked += 1
                print(f"| {title} | asked |", flush=True)
                continue
            found = score(model, given.data)
            worse += found < untuned - _LOST
            print(f"| {title} | STSb test {found:.4f} ({found - untuned:+.4f}) |", flush=True)
    print(f"\n{asked} of {2 * len(WORDS)} asked about, {worse} lost more than two points.")
    return int(worse > 0)


if __name__ == "__main__":
    raise SystemExit(main())
