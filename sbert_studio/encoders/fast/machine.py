"""Which products this machine is quick at: measured once, in under a second, and remembered."""

from __future__ import annotations

import functools
import json
import logging
import math
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...workspace import write_json
from .lanes import one_threaded
from .packed import PackedLinear, can_pack

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
