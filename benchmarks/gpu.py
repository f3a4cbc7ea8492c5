"""Compare our speed on a GPU with sentence-transformers' in bfloat16 on the same card: python benchmarks/gpu.py [DATA] [--rounds 3]

The peer encodes in bfloat16 in its fastest batch size, and trains with bf16; both sides work by turns. Ours encodes and trains in float32
and in bfloat16. Prints a table of ratios with the floor set by the card's measured rates, in under ten minutes. Without DATA, a folder of
the public sets, on the samples that come with the program; without a GPU, on the processor.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from claims import HEADER, Measured, Ratio, Setting
from machine import measure_gpu_rates, measure_rates
from performance_tasks import encode, mixed, train

_BATCH_SIZES, _GOAL = (16, 128), 1.5


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if torch.cuda.is_available():
            rates, device = measure_gpu_rates(), torch.cuda.get_device_name()
        else:
            rates, device = measure_rates(), "no GPU: the processor"
            rates.pop("int8", None)
        products = ", ".join(f"{rates[name] / 1000:,.1f} in {name}" for name in ("float32", "bfloat16"))
        print(f"{device}; matrix products at {products} (10¹² operations a second), memory at {rates['memory']:,.0f} GB/s\n\n{HEADER}")
        for ratio in measure(Setting(options.data, options.rounds, Path(scratch), rates, peer_precision="bfloat16")):
            print(ratio.table_row(), flush=True)


def measure(setting: Setting) -> Measured:
    """Yield the ratios; only those with bfloat16 on both sides have a goal."""
    for ratio in (*encode(setting), *mixed(setting)):
        yield _with_goal(ratio)
    for size in _BATCH_SIZES:
        yield from map(_with_goal, train(replace(setting, batch_size=size)))


def _with_goal(ratio: Ratio) -> Ratio:
    return replace(ratio, goal=_GOAL if "bfloat16" in ratio.key else None, peer=f"{ratio.peer}, bfloat16")


if __name__ == "__main__":
    main()
