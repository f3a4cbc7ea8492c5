"""Static word vectors: trained on texts (GloVe, skip-gram, CBOW, TF-IDF) or read from files, with weights for averaging."""

from __future__ import annotations

from . import glove, weighting, word2vec  # noqa: F401  in the order in which learners are offered
from .learners import LEARNERS, Learner
from .vectors import VECTOR_PACKAGES, load_pretrained
from .weighting import WEIGHTINGS

__all__ = ["LEARNERS", "VECTOR_PACKAGES", "WEIGHTINGS", "Learner", "load_pretrained"]
