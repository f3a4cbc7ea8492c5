"""Rates that this machine reaches, by which the floor of a task is computed."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SIZE, _BYTES, _TURNS = 1_536, 512 << 20, 5
_GPU_SIZE = 8_192


def measure_rates() -> dict[str, float]:
    """Measure 10⁹ operations a second of a matrix product in the cache, by precision, and 10⁹ bytes read a second (``memory``)."""
    import numpy as np
    import torch
    from torch import nn

    from sbert_studio.models.inference.packing import PackedLinear, supports_int8, supports_packing

    rates = {"threads": float(torch.get_num_threads())}
    operations = 2.0 * _SIZE**3
    layer, rows = nn.Linear(_SIZE, _SIZE), torch.randn(_SIZE, _SIZE)
    with torch.inference_mode():
        for dtype in (torch.float32, torch.bfloat16):
            plain, x = layer.to(dtype), rows.to(dtype)
            ways: list[Any] = [plain, *([PackedLinear(plain.weight, plain.bias)] if supports_packing(dtype) else [])]
            rates[str(dtype).removeprefix("torch.")] = max(operations / _best_seconds(lambda way=way, x=x: way(x)) for way in ways) / 1e9
        if supports_int8():
            rates["int8"] = operations / _best_seconds(_int8_product()) / 1e9
    much = np.ones(_BYTES // 8)
    tensor = torch.from_numpy(much)
    rates["memory"] = _BYTES / _best_seconds(tensor.sum) / 1e9
    return rates


def measure_gpu_rates() -> dict[str, float]:
    """Measure the same on a GPU, without int8."""
    import torch

    def seconds(once: Callable[[], Any]) -> float:
        return _best_seconds(lambda: (once(), torch.cuda.synchronize()))

    rates: dict[str, float] = {}
    for dtype in (torch.float32, torch.bfloat16):
        left = torch.randn(_GPU_SIZE, _GPU_SIZE, device="cuda", dtype=dtype)
        rates[str(dtype).removeprefix("torch.")] = 2.0 * _GPU_SIZE**3 / seconds(lambda left=left: left @ left) / 1e9
    much = torch.ones(_BYTES, device="cuda", dtype=torch.uint8)
    rates["memory"] = 2 * _BYTES / seconds(much.clone) / 1e9  # read, and written
    return rates


def _int8_product() -> Callable[[], Any]:
    import torch

    packed = torch.ops.onednn.qlinear_prepack(torch.randint(-127, 127, (_SIZE, _SIZE), dtype=torch.int8), [_SIZE, _SIZE])
    x = torch.randint(0, 255, (_SIZE, _SIZE), dtype=torch.uint8)
    scales, zeros = torch.ones(_SIZE), torch.zeros(_SIZE, dtype=torch.int64)
    return lambda: torch.ops.onednn.qlinear_pointwise(x, 1.0, 0, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], "")


def _best_seconds(once: Callable[[], Any]) -> float:
    once()
    times = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    return min(times)


def processor_name() -> str:
    """Return the processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
