"""Public benchmarks: their file layouts, searching folders for them, and the evaluation suites of the literature.

A new layout is a subclass of :class:`~sbert_studio.datasets.base.DatasetLayout` and an entry in :data:`LAYOUTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..data.loading.content import Content
from .base import DatasetLayout
from .labelled import MRPC, TREC, BinaryClassification, NaturalLanguageInference, StanfordSentiment
from .scored_pairs import SICK, ArgumentFacetSimilarity, SemEvalSTS, STSBenchmark, WikipediaSections

LAYOUTS: tuple[DatasetLayout, ...] = (
    ArgumentFacetSimilarity(),
    MRPC(),
    NaturalLanguageInference(),
    BinaryClassification(),
    WikipediaSections(),
    SICK(),
    StanfordSentiment(),
    SemEvalSTS(),
    STSBenchmark(),
    TREC(),
)


def read_dataset_file(path: Path, name: str, first_lines: Sequence[str], encoding: str | None) -> Content | None:
    """Read a file with the first layout that recognizes it, because general rules for quotes and commas would misread it; else ``None``."""
    layout = next((layout for layout in LAYOUTS if layout.recognizes(name, first_lines)), None)
    return layout.read_file(path, name, encoding) if layout else None
