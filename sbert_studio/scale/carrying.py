"""Carrying out a job: what is done already is left as it is, an engine does the rest."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data.progress import checkpoint
from ..workspace import require_disk
from .engines import ENGINES
from .folder import JobFolder, Receipt
from .job import Job
from .works import WORKS

if TYPE_CHECKING:
    from ..data.progress import Progress
    from .engines.base import How


@dataclass(frozen=True)
class Carried:
    """What came of a job.

    Attributes:
        receipts: of all shards, in order.
        resumed: how many of them were done before.
        seconds: what the others took; ``rows``: how many rows these read.
    """

    receipts: tuple[Receipt, ...]
    resumed: int
    seconds: float
    rows: int


def carry_out(job: Job, folder: JobFolder, how: How, progress: Progress | None = None) -> Carried:
    """Do every shard of ``job`` that ``folder`` does not hold yet. Whatever ends it, the shards that are done stay done.

    Args:
        progress: told how many rows are done, of how many.

    Raises:
        StudioError: the folder holds another job, the disk is too small, or a shard cannot be done.
    """
    folder.begin(job)
    engine, work = ENGINES[how.engine](how), WORKS[job.work](job, folder)
    known = folder.receipts(job, verify=True)
    todo = [shard for shard in job.shards if shard.number not in known]
    wanted = sum(shard.rows for shard in todo)
    require_disk(folder.path, work.bytes_of(wanted))
    done, start = job.rows - wanted, time.perf_counter()

    def tell(rows: int) -> None:
        if progress is not None:
            progress(done + rows, job.rows)

    tell(0)
    if todo:
        for number in engine.carry(work, todo, tell):
            done += job.shards[number].rows
            tell(0)
            checkpoint()
    return Carried(tuple(folder.finished(job)), len(known), time.perf_counter() - start, wanted)
