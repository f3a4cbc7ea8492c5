"""Exploration: search, mining, duplicates, maps, clusters and topics."""

from __future__ import annotations

DEFAULT_SEED = 12
"""Random seed of maps and clusters: the same texts give the same map and the same topics in every run."""
DEFAULT_RESULTS = 10
"""Hits of a search, and pairs of mining, unless another number is chosen."""
