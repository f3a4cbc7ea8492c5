"""Executors of jobs: this process, or a pool of Ray workers."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import StudioError
from ..progress import checkpoint
from ..registry import Registry
from ..settings import configure_ray
from ..workspace import require_disk_space
from .jobs import Job, JobFolder, Receipt
from .operations import OPERATIONS

if TYPE_CHECKING:
    from ..progress import Progress
    from .jobs import Shard
    from .operations import Operation, ProcessShard


@dataclass(frozen=True)
class ExecutionOptions:
    """By whom a job is carried out, which changes nothing in its result.

    Attributes:
        engine: one of :data:`ENGINES`.
        address: of a cluster that is there; an engine that needs one starts it on this machine where it is empty.
        workers: how many shards are done at a time; 0: as many as there are cores for.
        memory_mb: what such a cluster may keep in shared memory, in MiB. Only numbers of shards and receipts pass through it.

    Raises:
        StudioError: an address is given to the engine of this process alone.
    """

    engine: str = "local"
    address: str = ""
    workers: int = 0
    memory_mb: int = 100

    def __post_init__(self) -> None:
        if self.engine == "local" and self.address:
            raise StudioError("--address goes with an engine of several machines", "add --engine ray, or leave it out")


class Engine(ABC):
    """A way to carry out shards.

    Args:
        how: by whom.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, how: ExecutionOptions) -> None:
        self.how = how

    @abstractmethod
    def carry(self, work: Operation, shards: Sequence[Shard], tell: Callable[[int], None]) -> Iterator[int]:
        """Do the shards, in whatever order, and yield the number of each once its receipt is written.

        Args:
            tell: told how many rows are done of a shard that is under way, where that is known.

        Raises:
            StudioError: one cannot be done, wherever it was tried.
        """


ENGINES: Registry[Engine] = Registry("engine")


@dataclass(frozen=True)
class JobOutcome:
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


def execute(job: Job, folder: JobFolder, how: ExecutionOptions, progress: Progress | None = None) -> JobOutcome:
    """Do every shard of ``job`` that ``folder`` does not hold yet. Whatever ends it, the shards that are done stay done.

    Args:
        progress: told how many rows are done, of how many.

    Raises:
        StudioError: the folder holds another job, the disk is too small, or a shard cannot be done.
    """
    folder.begin(job)
    engine, work = ENGINES[how.engine](how), OPERATIONS[job.work](job, folder)
    known = folder.receipts(job, verify=True)
    todo = [shard for shard in job.shards if shard.number not in known]
    wanted = sum(shard.rows for shard in todo)
    require_disk_space(folder.path, work.bytes_of(wanted))
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
    return JobOutcome(tuple(folder.finished(job)), len(known), time.perf_counter() - start, wanted)


_ANSWER = 10  # seconds


@ENGINES.register("ray")
class RayEngine(Engine):
    """See the module."""

    title = "Ray Data, on this machine or a cluster"

    def carry(self, work: Operation, shards: Sequence[Shard], tell: Callable[[int], None]) -> Iterator[int]:
        """See :meth:`Engine.carry`."""
        with self._connected(work.threads) as ray:
            from ray import data

            for name in ("ray", "ray.data"):
                logging.getLogger(name).setLevel(logging.ERROR)
            context = data.DataContext.get_current()
            context.enable_progress_bars = False
            gpus = 1 if ray.cluster_resources().get("GPU") else 0
            size = self._workers(ray, work.threads, gpus, len(shards))
            # A block a shard: what is done again after a death is one shard.
            rows = data.from_items([{"number": shard.number} for shard in shards], override_num_blocks=len(shards))
            worker: Any = _Worker
            done = rows.map(
                worker, fn_constructor_args=(work,), compute=data.ActorPoolStrategy(size=size), num_cpus=work.threads, num_gpus=gpus
            )
            for row in done.iter_rows():
                if row["error"]:
                    raise StudioError(row["error"], row["hint"])
                yield int(row["number"])

    def _workers(self, ray: Any, threads: int, gpus: int, shards: int) -> int:
        there = ray.cluster_resources()
        most = int(there.get("GPU", 0)) if gpus else int(there.get("CPU", 0)) // threads
        if most < 1:
            raise StudioError(f"the cluster has no machine with {threads} cores", "give fewer --threads, or a larger cluster")
        return min(self.how.workers or most, most, shards)

    @contextmanager
    def _connected(self, threads: int) -> Iterator[Any]:
        """Ray, on the cluster that is named, or on one that lives as long as this and listens on the loopback alone."""
        configure_ray(alone=not self.how.address)
        try:
            import ray
        except ImportError:
            raise StudioError("the engine ray needs Ray, which is not installed", "pip install 'sbert-studio[ray]'") from None
        with ExitStack() as ending:
            if not ray.is_initialized():
                if self.how.address:
                    _require_answer(self.how.address)
                _start_ray(ray, self.how.address, self.how.workers * threads or None, self.how.memory_mb)
                ending.callback(ray.shutdown)
            yield ray


def _require_answer(address: str) -> None:
    """Refuse an address at which nothing listens, which Ray itself would try for minutes.

    Raises:
        StudioError: nothing does, or it is no address.
    """
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER).close()
    except (OSError, ValueError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StudioError(
            f"no Ray cluster answers at {address}: {reason}", "give HOST:PORT of its head; see docs/SCALE.md for how to start one"
        ) from error


def _start_ray(ray: Any, address: str, cores: int | None, memory_mb: int) -> None:
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        if address:
            ray.init(address=address, **common)
        else:
            memory = max(memory_mb, 80) << 20
            ray.init(num_cpus=cores, include_dashboard=False, object_store_memory=memory, _node_ip_address="127.0.0.1", **common)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        words = str(error).strip().splitlines()
        first = words[0][:200] if words else type(error).__name__
        where = f"no Ray cluster answers at {address}" if address else "Ray could not be started here"
        raise StudioError(f"{where}: {first}", "see docs/SCALE.md for how to start one") from error
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)  # Ray puts a handler of its own there, which ends the process at once


class _Worker:
    """One process of the pool: the work is made ready for its first shard, and kept for the others."""

    def __init__(self, work: Operation) -> None:
        self._work, self._open = work, ExitStack()
        self._do: ProcessShard | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        number = int(row["number"])
        try:
            if self._do is None:
                self._do = self._open.enter_context(self._work.prepared())
            self._do(self._work.job.shards[number], lambda rows: None)
        except StudioError as error:  # another process would fail as well: it is told, not tried again
            return {"number": number, "error": error.message, "hint": error.hint}
        return {"number": number, "error": "", "hint": ""}


@ENGINES.register("local")
class LocalEngine(Engine):
    """The plain path, which every other engine equals bit for bit."""

    title = "This process, one shard after the other"

    def carry(self, work: Operation, shards: Sequence[Shard], tell: Callable[[int], None]) -> Iterator[int]:
        """See :meth:`Engine.carry`."""
        with work.prepared() as do:
            for shard in shards:
                checkpoint()
                do(shard, tell)
                yield shard.number
