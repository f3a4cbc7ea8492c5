"""What this machine can do at most, as seen: the rates that floors are computed by."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_SIZE, _BYTES, _TURNS = 1_536, 512 << 20, 5
_SIZE_OF_A_GPU = 8_192


def rates() -> dict[str, float]:
    """10⁹ operations a second of a product of matrices that fit in the cache, all threads, and 10⁹ bytes a second that are read."""
    import numpy as np
    import torch
    from torch import nn

    from sbert_studio.models.inference.int8 import can_round
    from sbert_studio.models.inference.packing import PackedLinear, can_pack

    found = {"threads": float(torch.get_num_threads())}
    operations = 2.0 * _SIZE**3
    layer, rows = nn.Linear(_SIZE, _SIZE), torch.randn(_SIZE, _SIZE)
    with torch.inference_mode():
        for dtype in (torch.float32, torch.bfloat16):
            plain, x = layer.to(dtype), rows.to(dtype)
            ways: list[Any] = [plain, *([PackedLinear(plain.weight, plain.bias)] if can_pack(dtype) else [])]
            found[str(dtype).removeprefix("torch.")] = max(operations / _least(lambda way=way, x=x: way(x)) for way in ways) / 1e9
        if can_round():
            found["int8"] = operations / _least(_eight_bits()) / 1e9
    much = np.ones(_BYTES // 8)
    tensor = torch.from_numpy(much)
    found["memory"] = _BYTES / _least(tensor.sum) / 1e9
    return found


def rates_of_gpu() -> dict[str, float]:
    """The same of a GPU, without eight bits."""
    import torch

    def seconds(once: Callable[[], Any]) -> float:
        return _least(lambda: (once(), torch.cuda.synchronize()))

    found: dict[str, float] = {}
    for dtype in (torch.float32, torch.bfloat16):
        left = torch.randn(_SIZE_OF_A_GPU, _SIZE_OF_A_GPU, device="cuda", dtype=dtype)
        found[str(dtype).removeprefix("torch.")] = 2.0 * _SIZE_OF_A_GPU**3 / seconds(lambda left=left: left @ left) / 1e9
    much = torch.ones(_BYTES, device="cuda", dtype=torch.uint8)
    found["memory"] = 2 * _BYTES / seconds(much.clone) / 1e9  # read, and written
    return found


def _eight_bits() -> Callable[[], Any]:
    """A product of numbers in eight bits."""
    import torch

    packed = torch.ops.onednn.qlinear_prepack(torch.randint(-127, 127, (_SIZE, _SIZE), dtype=torch.int8), [_SIZE, _SIZE])
    x = torch.randint(0, 255, (_SIZE, _SIZE), dtype=torch.uint8)
    scales, zeros = torch.ones(_SIZE), torch.zeros(_SIZE, dtype=torch.int64)
    return lambda: torch.ops.onednn.qlinear_pointwise(x, 1.0, 0, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], "")


def _least(once: Callable[[], Any]) -> float:
    once()
    times = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    return min(times)
