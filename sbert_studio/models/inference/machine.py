"""Device, precision and batch size for inference, and parallel execution on CPU cores."""

from __future__ import annotations

import ctypes
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from ...errors import StudioError
from ...i18n import _
from .zerogpu import gpu_name

PRECISIONS = ("float32", "bfloat16", "int8", "auto")


def resolve_device(name: str = "auto") -> torch.device:
    """Return the device ``name``; ``auto`` is CUDA, else Apple's GPU, else the CPU; outside ZeroGPU slices, always the CPU."""
    if name == "auto":
        if gpu_name():
            return torch.device("cpu")  # a GPU is available within slices only
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise StudioError(
            _("there is no device {name}", name=repr(name)), "choose auto, cpu, cuda, cuda:N or mps (--device, SBERT_STUDIO_DEVICE)"
        ) from None
    absent = (
        (device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count())
        or (device.type == "mps" and not torch.backends.mps.is_available())
        or device.type not in ("cpu", "cuda", "mps")
    )
    if absent:
        raise StudioError(_("this machine has no device {name}", name=repr(name)), "choose auto or cpu (--device, SBERT_STUDIO_DEVICE)")
    return device


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return bfloat16 if ``device`` supports it in hardware, else ``None``."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else None
    if device.type == "cpu":
        return torch.bfloat16 if torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported() else None
    return None


def resolve_precision(name: str, device: torch.device) -> str:
    """Return ``float32``, ``bfloat16`` or ``int8``; ``auto`` is bfloat16 if supported in hardware, else float32."""
    if name not in PRECISIONS:
        raise StudioError(
            _("there is no precision {name}", name=repr(name)), _("choose one of {precisions}", precisions=", ".join(PRECISIONS))
        )
    if name == "auto":
        return "float32" if autocast_dtype(device) is None else "bfloat16"
    if name == "int8" and device.type != "cpu":
        raise StudioError(_("int8 runs on the CPU only, and this model is on {type}", type=device.type), "choose bfloat16")
    return name


def token_budget(device: torch.device) -> tuple[int, int]:
    """Return (tokens, rows) of one inference batch.

    On a CPU, 512 tokens per thread, so that activations fit into the cache (8,192 take twice as long); on a GPU, enough to hide launches.
    """
    if device.type == "cpu":
        return min(8_192, max(1_024, 512 * torch.get_num_threads())), 256
    return 65_536, 2_048


def even_budget(device: torch.device, budget: int, tokens: int) -> int:
    """Return the tokens of one inference batch for texts of so many tokens: fewer for few texts, so that workers end together.

    1,500 sentences take 5 to 10 % less time than in batches of 1,024 tokens on two cores.
    """
    if device.type != "cpu":
        return budget
    return min(budget, max(_LEAST_TOKENS, tokens // (_EVEN_BATCHES * min(_MAX_WORKERS, torch.get_num_threads()))))


_T = TypeVar("_T")
_MAX_WORKERS = 8  # more are limited by the GIL
_BATCHES_PER_WORKER = 4  # with fewer, waiting for the last worker costs more than is gained
_EVEN_BATCHES, _LEAST_TOKENS = 32, 512  # batches per worker whose sizes even out, and tokens below which products get slower


def worker_count(device: torch.device, batches: int) -> int:
    """Return the number of workers for a number of batches on ``device``; 1 means sequential execution on all cores."""
    if device.type != "cpu" or not _thread_setters():
        return 1
    workers = min(_MAX_WORKERS, torch.get_num_threads())
    return workers if workers > 1 and batches >= _BATCHES_PER_WORKER * workers else 1


def map_parallel(compute: Callable[[_T], Tensor], items: Iterable[_T], workers: int) -> Iterator[Tensor]:
    """Yield ``compute(item)`` in order, without gradients, using a pool of workers; items are consumed in the caller's thread.

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
    """Limit matrix products of the current thread only.

    ``torch.set_num_threads`` changes MKL's threads in the whole process, including a running training run, whose sums would then be added
    in another order.
    """
    torch.get_num_threads()  # initializes PyTorch's settings of this thread
    for setter in _thread_setters():
        setter(threads)


@functools.cache
def _thread_setters() -> tuple[Callable[[int], object], ...]:
    """Return the OpenMP and MKL functions that limit the threads of the calling thread; empty if this build of PyTorch lacks them."""
    folder = Path(torch.__file__).parent / "lib"
    try:
        openmp, mkl = (ctypes.CDLL(str(next(folder.glob(name)))) for name in ("libgomp*.so*", "libtorch_cpu.so"))
        return openmp.omp_set_num_threads, mkl.MKL_Set_Num_Threads_Local
    except (OSError, StopIteration, AttributeError):
        return ()
