"""A GPU's speed beside sentence-transformers in bfloat16 on the same card: python benchmarks/gpu.py [DATA] [--rounds 3]

The peer encodes in bfloat16 in its fastest batch size, and trains by its trainer with bf16; both sides work by turns in one process.
Ours encodes in float32 and bfloat16, and trains in both. Prints a table of ratios, with the floor that the card's own measured rates
set; under ten minutes on a card. Without DATA, a folder of the public sets, on the samples that come with the studio. Where there is
no GPU the same is run on the processor, which is said.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from ratios.base import HEAD, Ratio, Setting
from ratios.encoding import encode, mixed
from ratios.machine import rates, rates_of_gpu
from ratios.training import train

_BATCHES = (16, 128)
_GOAL = 1.5


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if torch.cuda.is_available():
            seen, on = rates_of_gpu(), torch.cuda.get_device_name()
        else:
            seen, on = rates(), "no GPU here: the processor"
            seen.pop("int8", None)
        products = ", ".join(f"{seen[name] / 1000:,.1f} in {name}" for name in ("float32", "bfloat16"))
        print(f"{on}; products of matrices at {products} (10¹² operations a second), memory at {seen['memory']:,.0f} GB/s\n\n{HEAD}")
        for ratio in measured(Setting(asked.data, asked.rounds, Path(scratch), seen, peer="bfloat16")):
            print(ratio.line(), flush=True)


def measured(setting: Setting) -> Iterator[Ratio]:
    """The ratios, as they come; only what is in bfloat16 on both sides has a goal."""
    for ratio in (*encode(setting), *mixed(setting)):
        yield _with_goal(ratio)
    for size in _BATCHES:
        yield from map(_with_goal, train(replace(setting, batch_size=size)))


def _with_goal(ratio: Ratio) -> Ratio:
    return replace(ratio, goal=_GOAL if "bfloat16" in ratio.key else None, peer=f"{ratio.peer}, bfloat16")


if __name__ == "__main__":
    main()
