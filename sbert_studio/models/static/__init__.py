"""Static word vectors: trained on texts (GloVe, skip-gram, CBOW, TF-IDF) or read from files, with weights for averaging."""

from __future__ import annotations

from .glove import GloVe
from .learners import LEARNERS, Learner
from .tokens import Coverage, Vocabulary, WordTokens, count_words
from .vectors import VECTOR_PACKAGES, WordVectors, load_pretrained, nearest_words
from .weighting import WEIGHTINGS, TfIdf, common_components, removal_transform, word_weights
from .word2vec import Cbow, SkipGram

__all__ = [
    "LEARNERS",
    "VECTOR_PACKAGES",
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
    "common_components",
    "count_words",
    "load_pretrained",
    "nearest_words",
    "removal_transform",
    "word_weights",
]
