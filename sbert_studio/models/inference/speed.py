"""Speed of matrix products on this machine, used to choose the precision and packing."""

from __future__ import annotations

import functools
import logging
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic
import torch
from torch import Tensor, nn

from ...i18n import _
from ...workspace import write_json
from .machine import autocast_dtype, single_thread_executor
from .packing import PackedLinear, supports_packing

log = logging.getLogger(__name__)
_ROWS, _INPUTS, _OUTPUTS = 512, 384, 1_536  # a batch of tokens and the widest layer of a small encoder
_REPEATS = 5
_MIN_PACKING_SPEEDUP = 1.1  # worthwhile speedup, because packing temporarily needs a second copy of the weights
_MIN_BFLOAT16_SPEEDUP = 1.2  # minimum speedup for bfloat16, which is less precise
_CPUINFO = Path("/proc/cpuinfo")
_Rate = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class MachineSpeed:
    """Matrix multiplication speed of a CPU, best of a few measurements.

    Attributes:
        processor: CPU and PyTorch version; measurements of others are discarded.
        plain, packed: 10⁹ operations per second by weight dtype: ``float32``, and ``bfloat16`` if the hardware supports it; ``packed`` is
            empty without oneDNN.
    """

    processor: str
    plain: dict[str, _Rate]
    packed: dict[str, _Rate]

    def prefers_packed(self, precision: str) -> bool:
        return self.packed.get(precision, 0.0) >= _MIN_PACKING_SPEEDUP * self.plain.get(precision, float("inf"))

    def best_rate(self, precision: str) -> float:
        """Return 10⁹ operations per second in ``precision``; 0 if the hardware does not support it."""
        return max(self.plain.get(precision, 0.0), self.packed.get(precision, 0.0))

    def auto_precision(self) -> tuple[str, str]:
        """Return the precision that ``auto`` chooses on this CPU, and one sentence with the reason."""
        float32, bfloat16 = self.best_rate("float32"), self.best_rate("bfloat16")
        if not bfloat16:
            return "float32", "this CPU does not support fast bfloat16"
        speedup = bfloat16 / max(float32, 1e-9)
        if speedup < _MIN_BFLOAT16_SPEEDUP:
            return "float32", _("bfloat16 is only {speedup} times as fast here, and less precise", speedup=f"{speedup:.1f}")
        return (
            "bfloat16",
            _(
                "it is {speedup} times as fast as float32 here; int8, which is less precise, is used only on request",
                speedup=f"{speedup:.1f}",
            ),
        )


def measure_machine(folder: Path | None) -> MachineSpeed:
    """Return this machine's speed, cached in ``folder``; it is measured again if the cache is missing or damaged."""
    processor = _processor()
    if folder is None:
        return _measure_speed(processor)
    path = folder / "machine.json"
    try:
        stored = pydantic.TypeAdapter(MachineSpeed).validate_json(path.read_bytes())
        if stored.processor == processor:
            return stored
    except (OSError, ValueError) as error:
        log.info("the machine's speed is measured again: %s", error)
    measured = _measure_speed(processor)
    try:
        write_json(path, asdict(measured))
    except OSError as error:
        log.info("the machine's speed could not be saved: %s", error)
    return measured


@functools.cache
def _measure_speed(processor: str) -> MachineSpeed:
    """Measure the CPU time of one thread, which does not advance while other programs use its core."""
    with single_thread_executor() as pool:
        return pool.submit(_measure_rates, processor).result()


@torch.inference_mode()
def _measure_rates(processor: str) -> MachineSpeed:
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
    for repeat in range(_REPEATS + 1):  # interleaved, so that other load affects all equally; the first is a warm-up
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
    """Return the name and model numbers of the CPU (cloud providers hide the name), and the PyTorch version."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    fields: dict[str, str] = {}
    for line in lines:
        key, _unused, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = " ".join(fields[key] for key in ("vendor_id", "model name", "cpu family", "model", "stepping") if key in fields)
    return "; ".join((name or platform.processor() or platform.machine(), torch.__version__))
