"""Measure what rounding costs: Spearman's correlation of the cosine by precision: python benchmarks/rounding.py DATA.

Encodes STSb's dev and test set in DATA with the default model in each precision that this machine multiplies, and writes the table of
docs/PERFORMANCE.md. Whether a precision is good enough is decided on the dev set.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sbert_studio.data.loading.table import read_table
from sbert_studio.evaluation.encoding import pairwise_measures
from sbert_studio.evaluation.tasks.sts import spearman
from sbert_studio.services.resources import Resources

PAGE = Path(__file__).resolve().parents[1] / "docs" / "PERFORMANCE.md"
_PRECISIONS, _BEGIN, _END = ("float32", "bfloat16", "int8"), "<!-- rounding -->", "<!-- /rounding -->"


def scores(data: Path, precision: str) -> tuple[float, float]:
    """Return Spearman's correlation on the dev and on the test set."""
    found = []
    with Resources() as services:
        encoder = services.catalog.load(services.settings.default_model, precision)
        for name in ("dev", "test"):
            table = read_table(data / "stsb" / f"{name}.csv")
            left, right = (encoder.encode(list(table.column(column))) for column in ("sentence1", "sentence2"))
            found.append(spearman(pairwise_measures(left, right)["cosine"], np.array([float(cell) for cell in table.column("score")])))
    return found[0], found[1]


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    lines, whole = ["| precision | STSb dev | STSb test | points lost, dev and test |", "|---|---|---|---|"], scores(data, "float32")
    for precision in _PRECISIONS:
        found = scores(data, precision)
        lost = ", ".join(f"{round(100 * (exact - rounded), 2) + 0.0:.2f}" for exact, rounded in zip(whole, found, strict=True))
        lines.append(f"| {precision} | {found[0]:.4f} | {found[1]:.4f} | {lost} |")
        print(lines[-1], flush=True)
    before, rest = PAGE.read_text(encoding="utf-8").split(_BEGIN)
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{_BEGIN}\n\n{table}\n\n{_END}{rest.split(_END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
