"""Batches computed side by side on a processor, one core each, instead of one after the other on all cores.

Where all cores share each product, every one of them waits for the slowest some thousand times a second: a browser, a server's own
threads or another visitor on one core hold up all the others, which spin meanwhile. Lanes wait for each other only at the end.
"""

from __future__ import annotations

import ctypes
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

if TYPE_CHECKING:
    from torch import Tensor

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
