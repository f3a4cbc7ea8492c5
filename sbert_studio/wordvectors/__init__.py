"""Word vectors: learned from texts (GloVe, skip-gram, CBOW) or read from files, with weights for their mean."""

from __future__ import annotations

from .vocabulary import Vocabulary, count_words

__all__ = ["Vocabulary", "count_words"]
