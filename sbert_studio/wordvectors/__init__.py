"""Word vectors: learned from texts (GloVe, skip-gram, CBOW, TF-IDF) or read from files, with weights for their mean."""

from __future__ import annotations

from .base import LEARNERS, Learner
from .glove import GloVe
from .neighbours import neighbours
from .pretrained import PACKAGED, load_pretrained
from .tfidf import TfIdf
from .tokens import Coverage, WordTokens
from .vectors import WordVectors
from .vocabulary import Vocabulary, count_words
from .weights import WEIGHTINGS, common_component, removal, word_weights
from .word2vec import Cbow, SkipGram

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
