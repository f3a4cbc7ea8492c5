"""A large file is read in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_READ = """
import resource, sys
import numpy, pyarrow
from pathlib import Path
from sbert_studio.data.tables import read_table
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = read_table(Path(sys.argv[1]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(table), table.lines[-1], table.select([len(table) - 1]).column("text")[0], (after - before) // 1024)
"""


def test_a_million_rows_take_little_more_memory_than_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "million.csv"
    with path.open("w", encoding="utf-8") as target:
        target.write("text,label\n")
        for start in range(0, 1_000_000, 10_000):
            target.write("".join(f'"number {row}, one of many",{row % 7}\n' for row in range(start, start + 10_000)))
    out = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True).stdout
    rows, last, *text, mebibytes = out.split()
    assert (int(rows), int(last), " ".join(text)) == (1_000_000, 1_000_001, "number 999999, one of many")
    # As Python strings the cells alone would take about 130 MiB beyond the file's 30; rows kept as lists far more.
    assert int(mebibytes) < 130
