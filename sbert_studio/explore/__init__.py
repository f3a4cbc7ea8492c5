"""Exploration: search, mining, duplicates, maps, clusters and topics."""

from __future__ import annotations

DEFAULT_RESULTS = 10
"""Hits of a search, and pairs of mining, unless another number is chosen."""
