"""The Similarity tab."""

from __future__ import annotations

from .tab import Tab


class SimilarityTab(Tab):
    title = "Similarity"
