"""Large corpora: folders of Parquet shards, processed locally or with Ray."""

from __future__ import annotations

SHARD_ROWS = 8_192
"""Default number of rows of a shard. Texts are batched only within a shard, so its vectors do not depend on where or in which order

shards are encoded.
"""
MANIFEST = "manifest.json"
"""File that describes the job of a folder of shards."""
