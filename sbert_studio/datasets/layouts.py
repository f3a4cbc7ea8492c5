"""List of known file layouts. To add one, subclass :class:`DatasetLayout` and add it here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..data.loading.content import Content
from .base import DatasetLayout
from .labelled_pairs import MRPC, NaturalLanguageInference
from .labelled_texts import TREC, BinaryClassification, StanfordSentiment
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
