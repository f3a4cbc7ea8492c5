"""Options of the commands that work on shards, and what these answer."""

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
    str | None, typer.Option("--engine", metavar="NAME", help="Work in shards: local (one after the other) or ray (on many machines).")
]
Address = Annotated[
    str, typer.Option("--address", metavar="HOST:PORT", help="The Ray cluster, or auto.", show_default="one on this machine alone")
]
Workers = Annotated[int, typer.Option("--workers", min=0, help="Shards at a time.", show_default="as many as there are cores for")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Threads that a shard is computed in; the last bits depend on it.")]
ShardRows = Annotated[int, typer.Option("--shard-rows", min=1, help="Rows of a shard; the last bits depend on it.")]


def is_shard_job(file: Path, engine: str | None) -> bool:
    """Whether shards are asked for: by an engine, or because there are several files."""
    return engine is not None or is_multi_file(file)


def is_shard_folder(file: Path) -> bool:
    """Whether ``encode`` wrote that folder."""
    found = existing_path(file)
    return found is not None and (found / MANIFEST).is_file()


def parse_execution_options(engine: str | None, address: str, workers: int) -> ExecutionOptions:
    """By whom: ``local`` where it is not said, unless a cluster is named.

    Raises:
        StudioError: there is no such engine, or it takes no address.
    """
    from ..shards.executor import ENGINES, ExecutionOptions

    name = engine or ("ray" if address else "local")
    if name not in ENGINES:
        raise StudioError(f"there is no engine {name!r}", f"choose one of {', '.join(ENGINES)}")
    return ExecutionOptions(name, address, workers)


def parse_sharding_options(threads: int, rows: int | None = None) -> ShardingOptions:
    """How a job is cut and computed."""
    from ..services.shards import ShardingOptions

    return ShardingOptions(threads) if rows is None else ShardingOptions(threads, rows)


def reject_engine_options(address: str = "", workers: int = 0, id: str | None = None, threads: int = 1, cut: bool = False) -> None:
    """Refuse what only an engine has a use for, where none is named."""
    more = (("--threads", threads != 1), ("--shard-rows", cut))
    for option, given in (("--address", address), ("--workers", workers), ("--id", id), *more):
        if given:
            raise StudioError(f"{option} goes with an engine", "add --engine ray or --engine local")


def encoded_shards_answer(found: EncodedShards) -> Answer:
    """What ``encode`` says of shards."""
    rate = f"{found.seconds:.1f} s ({found.sentences_per_second:,.0f}/s)"
    lines = [f"{found.rows:,} texts as {found.dim}-d vectors in {found.shards:,} shards, written to {found.folder}"]
    lines += [f"{found.encoded:,} rows of the files were read now, in {rate}" if found.encoded else "all of them were there already"]
    if found.resumed and found.encoded:
        lines.append(f"{found.resumed:,} shards were there already")
    if found.left_out:
        lines.append(f"left out: {found.left_out:,} without text")
    return Answer(found.to_json(), lines)


def mined_shards_answer(found: MinedShards) -> Answer:
    """What ``mine`` says of shards."""
    lines = list(found.notes)
    for pair in found.pairs:
        lines += [f"{format_number(pair.score)}  {pair.id_a} and {pair.id_b}", f"  {one_line(pair.a)}", f"  {one_line(pair.b)}"]
    return Answer(found.to_json(), lines)
