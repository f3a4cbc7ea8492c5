"""How weights of four bits (ggml's Q4_0) are stored in a safetensors file."""

from __future__ import annotations

BLOCK, BLOCK_BYTES = 32, 18  # weights, and what they take
QUANTIZED = ".q4_0"
"""What the name of a quantized tensor ends with; its shape in the file is (rows, blocks, 18) uint8."""


def shape_of_weights(name: str, stored: list[int]) -> list[int]:
    """Return the shape of the weights that a tensor of a file stands for, whose shape there is ``stored``."""
    return [*stored[:-2], stored[-2] * BLOCK] if name.endswith(QUANTIZED) else stored
