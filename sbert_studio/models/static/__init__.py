"""Word vectors: learned from texts (GloVe, skip-gram, CBOW, TF-IDF) or read from files, with weights for their mean."""

from __future__ import annotations

from .glove import GloVe
from .learners import LEARNERS, Cbow, Learner, SkipGram
from .tokens import Coverage, Vocabulary, WordTokens, count_words
from .vectors import PACKAGED, WordVectors, load_pretrained, neighbours
from .weighting import WEIGHTINGS, TfIdf, common_component, removal, word_weights

__all__ = [
    "LEARNERS",
    "PACKAGED",
    "WEIGHTINGS",
    "Cbow",
    "Coverage",
    "GloVe",
    "Learner",
    "SkipGram",
    "TfIdf",
    "Vocabulary",
    "WordTokens",
    "WordVectors",
    "common_component",
    "count_words",
    "load_pretrained",
    "neighbours",
    "removal",
    "word_weights",
]
