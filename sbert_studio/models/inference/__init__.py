"""Fast inference: batching, packed and int8 layers, BERT without padding, ZeroGPU."""

from __future__ import annotations
