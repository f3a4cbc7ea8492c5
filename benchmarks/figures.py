"""Every figure of the README, measured by the commands that a user would type.

    python benchmarks/figures.py DATA [NAME ...]

DATA is a folder with the public sets as CSV: {stsb,stsb-zh,sick,snli,mrpc}/{train,dev,test}.csv (pairs with score or label) and
banking77/{train,test}.csv (text, category). NAME picks figures; without one all are taken, which needs about an hour and a half on two
cores. Each line printed is a row of a Markdown table; the command behind it stands on stderr. Comparisons with
sentence-transformers are taken by turns in one process.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import categories
import exploring
import language
import pairs
import tuning
from measure import Figure

FIGURES: dict[str, Figure] = {item.__name__: item for room in (exploring, tuning, categories, language, pairs) for item in room.FIGURES}


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
