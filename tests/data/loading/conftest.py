"""Measure how much memory reading a file takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Forks for each path it reads from standard input, so that every file is read in the memory of a fresh process.
_READER = """
import os, resource, sys
import numpy, openpyxl, pandas, pyarrow  # whatever a reader imports is no part of its growth
from pathlib import Path
from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError
for line in sys.stdin:
    if os.fork():
        os.wait()
        continue
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        table = read_table(Path(line.rstrip()))
        found = f"{len(table)} rows to line {table.lines[-1]}: {table.column(table.columns[0])[-1]}"
    except StudioError as error:
        found = error
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, found, flush=True)
    os._exit(0)
"""

Measure = Callable[[Path], tuple[int, str]]


@pytest.fixture(scope="module")
def measure() -> Iterator[Measure]:
    """A function that returns (MiB the memory grew by, rows or error) of reading a file."""
    with subprocess.Popen([sys.executable, "-c", _READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin and reader.stdout
        source, answers = reader.stdin, reader.stdout

        def read(path: Path) -> tuple[int, str]:
            source.write(f"{path}\n")
            source.flush()
            mebibytes, found = answers.readline().strip().split(" ", 1)
            return int(mebibytes), found

        yield read
        source.close()
