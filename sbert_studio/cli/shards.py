"""Options and answers of commands over shards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import StudioError
from ..shards.jobs import MANIFEST
from ..shards.sources import is_multi_file
from ..workspace import existing_path
from .output import Answer, format_number, one_line

if TYPE_CHECKING:
    from ..services.results import EncodedShards, MinedShards
    from ..services.shards import ShardingOptions
    from ..shards.executor import ExecutionOptions

Engine = Annotated[
    str | None, typer.Option(metavar="NAME", help="Process shards by: local (one after the other) or ray (on many machines).")
]
Address = Annotated[str, typer.Option(metavar="HOST:PORT", help="Ray cluster, or auto.", show_default="one on this machine alone")]
Workers = Annotated[int, typer.Option(min=0, help="Shards at a time.", show_default="as many as there are cores for")]
Threads = Annotated[int, typer.Option(min=1, help="Threads per shard; the last bits of the result depend on it.")]
ShardRows = Annotated[int, typer.Option("--shard-rows", min=1, help="Rows per shard; the last bits of the result depend on it.")]


def is_shard_job(file: Path, engine: str | None) -> bool:
    """Return True if shards are requested: by an engine, or because there are several files."""
    return engine is not None or is_multi_file(file)


def is_shard_folder(file: Path) -> bool:
    """Return True for a folder of shards written by ``encode``."""
    found = existing_path(file)
    return found is not None and (found / MANIFEST).is_file()


def parse_execution_options(engine: str | None, address: str, workers: int) -> ExecutionOptions:
    """Return the execution options; the engine defaults to ``local``, or ``ray`` if a cluster is named.

    Raises:
        StudioError: there is no such engine, or it takes no address.
    """
    from ..shards.executor import ENGINES, ExecutionOptions

    name = engine or ("ray" if address else "local")
    if name not in ENGINES:
        raise StudioError(f"there is no engine {name!r}", f"choose one of {', '.join(ENGINES)}")
    return ExecutionOptions(name, address, workers)


def parse_sharding_options(threads: int, rows: int | None = None) -> ShardingOptions:
    """Return the sharding options."""
    from ..services.shards import ShardingOptions

    return ShardingOptions(threads) if rows is None else ShardingOptions(threads, rows)


def reject_engine_options(address: str = "", workers: int = 0, id: str | None = None, threads: int = 1, cut: bool = False) -> None:
    """Refuse options that only an engine uses."""
    more = (("--threads", threads != 1), ("--shard-rows", cut))
    for option, given in (("--address", address), ("--workers", workers), ("--id", id), *more):
        if given:
            raise StudioError(f"{option} goes with an engine", "add --engine ray or --engine local")


def encoded_shards_answer(result: EncodedShards) -> Answer:
    """Return the answer of ``encode`` for shards."""
    rate = f"{result.seconds:.1f} s ({result.sentences_per_second:,.0f}/s)"
    lines = [f"{result.rows:,} texts as {result.dim}-d vectors in {result.shards:,} shards, written to {result.folder}"]
    lines += [f"{result.encoded:,} rows of the files were read now, in {rate}" if result.encoded else "all of them were there already"]
    if result.resumed and result.encoded:
        lines.append(f"{result.resumed:,} shards were there already")
    if result.left_out:
        lines.append(f"left out: {result.left_out:,} without text")
    return Answer(result.to_json(), lines)


def mined_shards_answer(result: MinedShards) -> Answer:
    """Return the answer of ``mine`` for shards."""
    lines = list(result.notes)
    for pair in result.pairs:
        lines += [f"{format_number(pair.score)}  {pair.id_a} and {pair.id_b}", f"  {one_line(pair.a)}", f"  {one_line(pair.b)}"]
    return Answer(result.to_json(), lines)
