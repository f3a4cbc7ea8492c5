"""Execution of jobs over shards, in this process or with a pool of Ray workers. The results are bit-identical."""

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
from typing import Any, ClassVar

from ..errors import StudioError
from ..i18n import _
from ..progress import Progress, checkpoint
from ..registry import Registry
from ..settings import configure_ray
from ..workspace import require_disk_space
from .jobs import Job, JobFolder, Receipt, Shard
from .operations import OPERATIONS, Operation, ProcessShard

_CONNECT_SECONDS = 10
_MIN_OBJECT_STORE_MB = 80  # minimum required by Ray


@dataclass(frozen=True)
class ExecutionOptions:
    """Execution options of a job, which do not change its result.

    Attributes:
        engine: one of :data:`ENGINES`.
        address: address of an existing cluster; if empty, Ray starts one on this machine.
        workers: number of shards processed at a time; 0 for the number of cores.
        memory_mb: shared memory of a cluster started here, in MiB. Only shard numbers and receipts pass through it.

    Raises:
        StudioError: an address is given for the local engine.
    """

    engine: str = "local"
    address: str = ""
    workers: int = 0
    memory_mb: int = 100

    def __post_init__(self) -> None:
        if self.engine == "local" and self.address:
            raise StudioError("--address requires a distributed engine", "add --engine ray, or omit --address")


@dataclass(frozen=True)
class JobOutcome:
    """Outcome of a job.

    Attributes:
        receipts: receipts of all shards, in order.
        resumed: number of shards finished earlier.
        seconds: duration of the others.
        rows: number of rows of the others.
    """

    receipts: tuple[Receipt, ...]
    resumed: int
    seconds: float
    rows: int


class Engine(ABC):
    """Processes shards."""

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, options: ExecutionOptions) -> None:
        self.options = options

    @abstractmethod
    def process(self, operation: Operation, shards: Sequence[Shard], report: Callable[[int], None]) -> Iterator[int]:
        """Process shards in any order and yield the number of each once its receipt is written.

        Args:
            report: called with the number of rows done in the current shard, if known.

        Raises:
            StudioError: a shard cannot be processed.
        """


ENGINES: Registry[Engine] = Registry("engine")


def execute(job: Job, folder: JobFolder, options: ExecutionOptions, progress: Progress | None = None) -> JobOutcome:
    """Process every shard of ``job`` that is missing in ``folder``. Finished shards are kept if the job is interrupted.

    Raises:
        StudioError: the folder contains another job, the disk is too small, or a shard cannot be processed.
    """
    folder.begin(job)
    engine, operation = ENGINES[options.engine](options), OPERATIONS[job.work](job, folder)
    finished = folder.receipts(job, verify=True)
    pending = [shard for shard in job.shards if shard.number not in finished]
    rows = sum(shard.rows for shard in pending)
    require_disk_space(folder.path, operation.estimate_bytes(rows))
    done, start = job.rows - rows, time.perf_counter()

    def report(rows: int) -> None:
        if progress is not None:
            progress(done + rows, job.rows)

    report(0)
    if pending:
        for number in engine.process(operation, pending, report):
            done += job.shards[number].rows
            report(0)
            checkpoint()
    return JobOutcome(tuple(folder.finished(job)), len(finished), time.perf_counter() - start, rows)


@ENGINES.register("local")
class LocalEngine(Engine):
    """The reference engine; all others give bit-identical results."""

    title = "This process, one shard at a time"

    def process(self, operation: Operation, shards: Sequence[Shard], report: Callable[[int], None]) -> Iterator[int]:
        """See :meth:`Engine.process`."""
        with operation.prepared() as process_shard:
            for shard in shards:
                checkpoint()
                process_shard(shard, report)
                yield shard.number


@ENGINES.register("ray")
class RayEngine(Engine):
    """Ray Data on an existing cluster, or on one started for the duration of the job."""

    title = "Ray Data, on this machine or a cluster"

    def process(self, operation: Operation, shards: Sequence[Shard], report: Callable[[int], None]) -> Iterator[int]:
        """See :meth:`Engine.process`."""
        with self._connected(operation.threads) as ray:
            from ray import data

            for name in ("ray", "ray.data"):
                logging.getLogger(name).setLevel(logging.ERROR)
            data.DataContext.get_current().enable_progress_bars = False
            gpus = 1 if ray.cluster_resources().get("GPU") else 0
            size = self._pool_size(ray, operation.threads, gpus, len(shards))
            # One block per shard: after a worker dies only its shard is repeated.
            rows = data.from_items([{"number": shard.number} for shard in shards], override_num_blocks=len(shards))
            worker: Any = _Worker
            pool = data.ActorPoolStrategy(size=size)
            done = rows.map(worker, fn_constructor_args=(operation,), compute=pool, num_cpus=operation.threads, num_gpus=gpus)
            for row in done.iter_rows():
                if row["error"]:
                    raise StudioError(row["error"], row["hint"])
                yield int(row["number"])

    def _pool_size(self, ray: Any, threads: int, gpus: int, shards: int) -> int:
        resources = ray.cluster_resources()
        limit = int(resources.get("GPU", 0)) if gpus else int(resources.get("CPU", 0)) // threads
        if limit < 1:
            raise StudioError(
                _("the cluster has no machine with {threads} cores", threads=threads), "use fewer --threads, or a larger cluster"
            )
        return min(self.options.workers or limit, limit, shards)

    @contextmanager
    def _connected(self, threads: int) -> Iterator[Any]:
        """Connect to the given cluster, or start one that listens only on the loopback interface and ends with the block."""
        configure_ray(alone=not self.options.address)
        try:
            import ray
        except ImportError:
            raise StudioError("the engine ray needs Ray, which is not installed", "pip install 'sbert-studio[ray]'") from None
        with ExitStack() as stack:
            if not ray.is_initialized():
                if self.options.address:
                    _require_listening(self.options.address)
                _start_ray(ray, self.options.address, self.options.workers * threads or None, self.options.memory_mb)
                stack.callback(ray.shutdown)
            yield ray


class _Worker:
    """A process of the pool. The operation is prepared for its first shard and reused."""

    def __init__(self, operation: Operation) -> None:
        self._operation, self._stack = operation, ExitStack()
        self._process_shard: ProcessShard | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        number = int(row["number"])
        try:
            if self._process_shard is None:
                self._process_shard = self._stack.enter_context(self._operation.prepared())
            self._process_shard(self._operation.job.shards[number], lambda rows: None)
        except StudioError as error:  # another process would fail as well: report it, do not retry
            return {"number": number, "error": error.message, "hint": error.hint}
        return {"number": number, "error": "", "hint": ""}


def _require_listening(address: str) -> None:
    """Reject an address at which nothing listens; Ray itself would retry for minutes."""
    if address in ("auto", "local"):
        return
    host, _unused, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = "specify HOST:PORT of its head node; docs/SCALE.md explains how to start one"
        raise StudioError(_("no Ray cluster responds at {address}: {reason}", address=address, reason=reason), hint) from error


def _start_ray(ray: Any, address: str, cores: int | None, memory_mb: int) -> None:
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    before = signal.getsignal(signal.SIGTERM)
    try:
        if address:
            ray.init(address=address, **common)
        else:
            memory = max(memory_mb, _MIN_OBJECT_STORE_MB) << 20
            ray.init(num_cpus=cores, include_dashboard=False, object_store_memory=memory, _node_ip_address="127.0.0.1", **common)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        lines = str(error).strip().splitlines()
        reason = lines[0][:200] if lines else type(error).__name__
        what = _("no Ray cluster responds at {address}", address=address) if address else "Ray could not be started here"
        raise StudioError(_("{what}: {reason}", what=what, reason=reason), "docs/SCALE.md explains how to start one") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # Ray installs a handler that ends the process immediately
