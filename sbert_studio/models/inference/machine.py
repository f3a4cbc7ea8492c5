"""Parallel execution on CPU cores, and which matrix products this machine computes fastest."""

from __future__ import annotations

import ctypes
import functools
import json
import logging
import math
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ...workspace import write_json
from .packing import PackedLinear, supports_packing

_T = TypeVar("_T")
_MAX_WORKERS = 8  # more are limited by Python's global lock
_BATCHES_PER_WORKER = 4  # with fewer, waiting for the last worker costs more than is gained
log = logging.getLogger(__name__)
_ROWS, _INPUTS, _OUTPUTS = 512, 384, 1_536  # tokens of a batch through the widest layer of a small encoder
_REPEATS = 5
_MIN_PACKING_SPEEDUP = 1.1  # packing needs a second copy of the weights for a while
_MIN_BFLOAT16_SPEEDUP = 1.2  # bfloat16 is less precise
_CPUINFO = Path("/proc/cpuinfo")


def worker_count(device: torch.device, batches: int) -> int:
    """Return how many workers to use for a number of batches on ``device``; 1 for sequential execution on all cores."""
    if device.type != "cpu" or not _thread_setters():
        return 1
    workers = min(_MAX_WORKERS, torch.get_num_threads())
    return workers if workers > 1 and batches >= _BATCHES_PER_WORKER * workers else 1


def map_parallel(compute: Callable[[_T], Tensor], items: Iterable[_T], workers: int) -> Iterator[Tensor]:
    """Yield ``compute(item)`` in order, without gradients, by a pool of workers; items are drawn in the caller's thread.

    The thread counts of the caller and of other computations are unchanged.
    """
    threads = max(1, torch.get_num_threads() // workers)
    with ThreadPoolExecutor(workers, "encode", functools.partial(_limit_threads, threads)) as pool:
        remaining, pending = iter(items), deque[Future[Any]]()
        try:
            pending.extend(pool.submit(_compute_inference, compute, item) for item in islice(remaining, 2 * workers))
            while pending:
                result = pending.popleft().result()
                pending.extend(pool.submit(_compute_inference, compute, item) for item in islice(remaining, 1))
                yield result
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def single_thread_executor() -> ThreadPoolExecutor:
    """Return an executor of one thread whose matrix products are single-threaded, if this build of PyTorch allows it."""
    return ThreadPoolExecutor(1, "measure", functools.partial(_limit_threads, 1))


def _compute_inference(compute: Callable[[_T], Tensor], item: _T) -> Tensor:
    with torch.inference_mode():  # a setting per thread
        return compute(item)


def _limit_threads(threads: int) -> None:
    """Limit matrix products of this thread only.

    ``torch.set_num_threads`` changes MKL's threads in the whole process, including a running training, whose sums would be added in
    another order.
    """
    torch.get_num_threads()  # initializes PyTorch's settings of this thread
    for setter in _thread_setters():
        setter(threads)


@functools.cache
def _thread_setters() -> tuple[Callable[[int], object], ...]:
    """Return OpenMP's and MKL's functions that limit the threads of the calling thread; empty if this build of PyTorch lacks them."""
    folder = Path(torch.__file__).parent / "lib"
    try:
        openmp, mkl = (ctypes.CDLL(str(next(folder.glob(name)))) for name in ("libgomp*.so*", "libtorch_cpu.so"))
        return openmp.omp_set_num_threads, mkl.MKL_Set_Num_Threads_Local
    except (OSError, StopIteration, AttributeError):
        return ()


@dataclass(frozen=True)
class MachineSpeed:
    """Matrix multiplication speed of a processor, best of a few measurements.

    Attributes:
        processor: processor and PyTorch version; measurements of another one are discarded.
        plain, packed: 10⁹ operations per second by weight dtype: ``float32``, and ``bfloat16`` if the hardware supports it; ``packed`` is
            empty without oneDNN.
    """

    processor: str
    plain: dict[str, float]
    packed: dict[str, float]

    def prefers_packed(self, precision: str) -> bool:
        """Return True if packed weights of ``precision`` are clearly faster."""
        return self.packed.get(precision, 0.0) >= _MIN_PACKING_SPEEDUP * self.plain.get(precision, float("inf"))

    def best_rate(self, precision: str) -> float:
        """Return 10⁹ operations per second in ``precision``; 0 if the hardware does not support it."""
        return max(self.plain.get(precision, 0.0), self.packed.get(precision, 0.0))

    def auto_precision(self) -> tuple[str, str]:
        """Return the precision that ``auto`` chooses on this processor, and the reason in a sentence."""
        float32, bfloat16 = self.best_rate("float32"), self.best_rate("bfloat16")
        if not bfloat16:
            return "float32", "this processor does not multiply bfloat16"
        speedup = bfloat16 / max(float32, 1e-9)
        if speedup < _MIN_BFLOAT16_SPEEDUP:
            return "float32", f"bfloat16 multiplies only {speedup:.1f} times as fast here, and rounds"
        return (
            "bfloat16",
            f"it multiplies {speedup:.1f} times as fast as float32 here; int8, which rounds more, is taken only where it is named",
        )


def measure_machine(folder: Path | None) -> MachineSpeed:
    """Return this machine's speed, cached in ``folder``; measured again if the cache is missing or damaged."""
    processor = _processor()
    path = None if folder is None else folder / "machine.json"
    stored = None if path is None else _read_speed(path)
    if stored is not None and stored.processor == processor:
        return stored
    measured = _measure_speed(processor)
    if path is not None:
        try:
            write_json(path, asdict(measured))
        except OSError as error:
            log.info("the machine's speed could not be saved: %s", error)
    return measured


def _read_speed(path: Path) -> MachineSpeed | None:
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return MachineSpeed(str(values["processor"]), _parse_rates(values["plain"]), _parse_rates(values["packed"]))
    except Exception as error:  # a damaged file can raise anything
        log.info("the machine's speed is measured again: %s", error)
        return None


def _parse_rates(values: object) -> dict[str, float]:
    if not isinstance(values, dict):
        raise ValueError("no table of rates")
    rates = {str(name): float(rate) for name, rate in values.items()}
    if not all(0 < rate < math.inf for rate in rates.values()):
        raise ValueError("no rate is so")
    return rates


@functools.cache
def _measure_speed(processor: str) -> MachineSpeed:
    """Measure by the CPU time of one thread, which does not advance while other programs use its core."""
    with single_thread_executor() as pool:
        return pool.submit(_measure_rates, processor).result()


@torch.inference_mode()
def _measure_rates(processor: str) -> MachineSpeed:
    from ..runtime import autocast_dtype

    generator = torch.Generator().manual_seed(12)
    rows, weight = (torch.randn(size, _INPUTS, generator=generator) for size in (_ROWS, _OUTPUTS))
    seconds: dict[tuple[str, str], float] = {}
    variants: list[tuple[str, str, Any, Tensor]] = []
    for dtype in (torch.float32, torch.bfloat16):
        if dtype == torch.bfloat16 and autocast_dtype(torch.device("cpu")) is None:
            continue
        plain = nn.Linear(_INPUTS, _OUTPUTS, dtype=dtype)
        plain.weight.data.copy_(weight)
        name, x = str(dtype).removeprefix("torch."), rows.to(dtype)
        variants.append(("plain", name, plain, x))
        if supports_packing(dtype):
            variants.append(("packed", name, PackedLinear(plain.weight, plain.bias), x))
    for repeat in range(_REPEATS + 1):  # interleaved, so that other load affects all alike; the first is a warm-up
        for layout, name, layer, x in variants:
            started = time.thread_time()
            layer(x)
            if repeat:
                seconds[layout, name] = min(seconds.get((layout, name), float("inf")), time.thread_time() - started)
    rates: dict[str, dict[str, float]] = {"plain": {}, "packed": {}}
    for (layout, name), duration in seconds.items():
        rates[layout][name] = round(2e-9 * _ROWS * _INPUTS * _OUTPUTS / max(duration, 1e-9), 1)
    return MachineSpeed(processor, rates["plain"], rates["packed"])


def _processor() -> str:
    """Return name and model numbers of the processor (clouds hide the name), and the version of PyTorch."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    fields: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = " ".join(fields[key] for key in ("vendor_id", "model name", "cpu family", "model", "stepping") if key in fields)
    return "; ".join((name or platform.processor() or platform.machine(), torch.__version__))
