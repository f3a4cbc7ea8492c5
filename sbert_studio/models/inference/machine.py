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
from .packing import PackedLinear, can_pack

_T = TypeVar("_T")
_MOST = 8  # lanes: beyond them Python itself, which runs in one thread at a time, holds them up
_EACH = 4  # batches a lane, below which the last one to end would be waited for longer than is won


def lane_count(device: torch.device, batches: int) -> int:
    """How many lanes so many batches are worth on ``device``; 1: compute them one after the other, on all cores."""
    if device.type != "cpu" or not _thread_setters():
        return 1
    lanes = min(_MOST, torch.get_num_threads())
    return lanes if lanes > 1 and batches >= _EACH * lanes else 1


def in_lanes(compute: Callable[[_T], Tensor], items: Iterable[_T], lanes: int) -> Iterator[Tensor]:
    """``compute(item)`` of each item in their order, without gradients, in so many lanes; the items are drawn from the caller's thread.

    The threads of the caller, and of others who compute meanwhile, stay as many as they are.
    """
    threads = max(1, torch.get_num_threads() // lanes)
    with ThreadPoolExecutor(lanes, "encode", functools.partial(_limit, threads)) as pool:
        todo, waiting = iter(items), deque[Future[Any]]()
        try:
            waiting.extend(pool.submit(_without_gradients, compute, item) for item in islice(todo, 2 * lanes))
            while waiting:
                found = waiting.popleft().result()
                waiting.extend(pool.submit(_without_gradients, compute, item) for item in islice(todo, 1))
                yield found
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def one_threaded() -> ThreadPoolExecutor:
    """A thread whose products use no other, where that can be said of a single one."""
    return ThreadPoolExecutor(1, "measure", functools.partial(_limit, 1))


def _without_gradients(compute: Callable[[_T], Tensor], item: _T) -> Tensor:
    with torch.inference_mode():  # which each thread sets for itself
        return compute(item)


def _limit(threads: int) -> None:
    """Have the products of this thread, and of no other, use so many threads.

    ``torch.set_num_threads`` sets those of MKL in the whole process: of a training that goes on beside this, which would no longer
    add its numbers in the same order.
    """
    torch.get_num_threads()  # PyTorch sets up each thread when it is first asked there
    for setter in _thread_setters():
        setter(threads)


@functools.cache
def _thread_setters() -> tuple[Callable[[int], object], ...]:
    """OpenMP's and MKL's own calls that limit the threads of the calling thread; none where this build of PyTorch has not both."""
    folder = Path(torch.__file__).parent / "lib"
    try:
        openmp, mkl = (ctypes.CDLL(str(next(folder.glob(name)))) for name in ("libgomp*.so*", "libtorch_cpu.so"))
        return openmp.omp_set_num_threads, mkl.MKL_Set_Num_Threads_Local
    except (OSError, StopIteration, AttributeError):
        return ()


log = logging.getLogger(__name__)
_ROWS, _INPUTS, _OUTPUTS = 512, 384, 1_536  # a batch's tokens through the widest layer of a small encoder
_TIMES = 5
_WORTH = 1.1  # packed weights are a second copy while they are made: they must be so many times as fast
_WORTH_HALF = 1.2  # bfloat16 rounds: it must be so many times as fast
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine:
    """What a processor multiplies in a second, the best of a few tries.

    Attributes:
        processor: which one, and under which PyTorch: of another, nothing is believed.
        plain, packed: 10⁹ operations a second, by the type of the weights: ``float32``, and ``bfloat16`` where the hardware multiplies it;
            ``packed`` has none where oneDNN lacks it.
    """

    processor: str
    plain: dict[str, float]
    packed: dict[str, float]

    def packs(self, precision: str) -> bool:
        """Whether weights of ``precision`` are better packed here."""
        return self.packed.get(precision, 0.0) >= _WORTH * self.plain.get(precision, float("inf"))

    def best(self, precision: str) -> float:
        """10⁹ operations a second in ``precision``, by whichever way is quicker here; 0 where the hardware does not multiply it."""
        return max(self.plain.get(precision, 0.0), self.packed.get(precision, 0.0))

    def auto(self) -> tuple[str, str]:
        """What ``auto`` stands for on this processor, and why, in a sentence."""
        whole, half = self.best("float32"), self.best("bfloat16")
        if not half:
            return "float32", "this processor does not multiply bfloat16"
        times = half / max(whole, 1e-9)
        if times < _WORTH_HALF:
            return "float32", f"bfloat16 multiplies only {times:.1f} times as fast here, and rounds"
        return (
            "bfloat16",
            f"it multiplies {times:.1f} times as fast as float32 here; int8, which rounds more, is taken only where it is named",
        )


def machine(folder: Path | None) -> Machine:
    """This machine: as remembered in ``folder``, else measured now and written there. What cannot be read or written is measured again."""
    processor = _processor()
    path = None if folder is None else folder / "machine.json"
    found = None if path is None else _remembered(path)
    if found is not None and found.processor == processor:
        return found
    found = _measured(processor)
    if path is not None:
        try:
            write_json(path, asdict(found))
        except OSError as error:
            log.info("the machine's speed could not be kept: %s", error)
    return found


def _remembered(path: Path) -> Machine | None:
    if not path.is_file():
        return None
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        return Machine(str(written["processor"]), _rates(written["plain"]), _rates(written["packed"]))
    except Exception as error:  # whatever a damaged file comes to
        log.info("the machine's speed is measured again: %s", error)
        return None


def _rates(written: object) -> dict[str, float]:
    if not isinstance(written, dict):
        raise ValueError("no table of rates")
    rates = {str(name): float(rate) for name, rate in written.items()}
    if not all(0 < rate < math.inf for rate in rates.values()):
        raise ValueError("no rate is so")
    return rates


@functools.cache
def _measured(processor: str) -> Machine:
    """By the time of one thread, which stands still while other programs have its core."""
    with one_threaded() as pool:
        return pool.submit(_rates_of, processor).result()


@torch.inference_mode()
def _rates_of(processor: str) -> Machine:
    from ..runtime import autocast_dtype

    generator = torch.Generator().manual_seed(12)
    rows, weight = (torch.randn(size, _INPUTS, generator=generator) for size in (_ROWS, _OUTPUTS))
    seconds: dict[tuple[str, str], float] = {}
    ways: list[tuple[str, str, Any, Tensor]] = []
    for dtype in (torch.float32, torch.bfloat16):
        if dtype == torch.bfloat16 and autocast_dtype(torch.device("cpu")) is None:
            continue
        plain = nn.Linear(_INPUTS, _OUTPUTS, dtype=dtype)
        plain.weight.data.copy_(weight)
        name, x = str(dtype).removeprefix("torch."), rows.to(dtype)
        ways.append(("plain", name, plain, x))
        if can_pack(dtype):
            ways.append(("packed", name, PackedLinear(plain.weight, plain.bias), x))
    for turn in range(_TIMES + 1):  # by turns, so that what else slows the machine slows them all; the first sets up
        for how, name, layer, x in ways:
            began = time.thread_time()
            layer(x)
            if turn:
                seconds[how, name] = min(seconds.get((how, name), float("inf")), time.thread_time() - began)
    rates: dict[str, dict[str, float]] = {"plain": {}, "packed": {}}
    for (how, name), took in seconds.items():
        rates[how][name] = round(2e-9 * _ROWS * _INPUTS * _OUTPUTS / max(took, 1e-9), 1)
    return Machine(processor, rates["plain"], rates["packed"])


def _processor() -> str:
    """Its name, and the numbers by which its maker tells generations apart; clouds hide the former."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    told: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        told.setdefault(key.strip(), value.strip())
    name = " ".join(told[key] for key in ("vendor_id", "model name", "cpu family", "model", "stepping") if key in told)
    return "; ".join((name or platform.processor() or platform.machine(), torch.__version__))
