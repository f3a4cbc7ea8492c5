"""Parquet files of made-up sentences, a tiny model and a job over them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from processes import started
from tiny_studio import sentences, studio_at
from waiting import wait_until

from sbert_studio.cli.main import run
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.services.shards import EncodingOptions, ShardingOptions
from sbert_studio.shards.executor import ExecutionOptions
from sbert_studio.shards.jobs import JobFolder

ROWS = 64


def write_texts(folder: Path, files: int = 3, rows: int = 200) -> Path:
    """Files of as many rows, two of them without text, in several row groups."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        texts: list[Any] = sentences(rows, number)
        texts[3], texts[5] = "  ", None
        ids = [f"{number}-{row}" for row in range(rows)]
        pq.write_table(pa.table({"key": ids, "text": texts, "n": list(range(rows))}), folder / f"{number}.parquet", row_group_size=50)
    return folder


def encoded(
    home: Path, texts: Path, out: Path, how: ExecutionOptions | None = None, rows: int = ROWS, progress: Any = None, **encoding: Any
) -> Any:
    """Encode ``texts`` by the tiny model in ``home``."""
    model = home / "model"
    with studio_at(home, model) as studio:
        return studio.shards.encode(
            texts, out, how or ExecutionOptions(), ShardingOptions(1, rows), EncodingOptions(id_column="key", **encoding), progress
        )


def digests(out: Path) -> dict[str, str]:
    """The SHA-256 of every shard's file."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((out / "shards").glob("part-*"))}


def texts_of(out: Path) -> list[tuple[Any, str]]:
    """The id and the text of every row, in order."""
    folder = JobFolder(out)
    tables = [pq.read_table(folder.shard(receipt.number)) for receipt in folder.finished(folder.job())]
    return [pair for table in tables for pair in zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)]


def encode_and_wait(command: list[str], rows: int) -> None:
    """Run a command that encodes, and wait to be killed once more than so many rows have been asked for."""
    encode, asked = SentenceEncoder.encode, [0]

    def held(self: SentenceEncoder, texts: Any, **named: Any) -> Any:
        asked[0] += len(texts)
        if asked[0] > rows:
            print("waiting", flush=True)
            threading.Event().wait()
        return encode(self, texts, **named)

    SentenceEncoder.encode = held  # type: ignore[method-assign]
    run(command)


def killed(folder: Path, function: Callable[[list[str], int], None], command: list[str], rows: int) -> None:
    """Kill a process that runs ``function``, one that does what :func:`encode_and_wait` does, when it waits."""
    with started(folder, function, command, rows) as child:
        wait_until(lambda: "waiting" in child.out.read_text() + child.err.read_text() or not child.runs, 120)
        assert child.runs, child.err.read_text()
        child.kill()
