"""A table of word vectors → an encoder that averages them: plainly, by TF-IDF or by SIF, with what all texts have in common taken away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ..wordvectors.weights import SIF_A, common_component, removal, word_weights
from .base import finite
from .modules.dense import Dense
from .modules.word_embeddings import WordEmbeddings
from .modules.word_weights import WordWeights
from .storage.config import EncoderConfig
from .words import WordEncoder, WordNetwork

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..wordvectors.vectors import WordVectors


def averaged(
    vectors: WordVectors,
    texts: Sequence[str] = (),
    *,
    weighting: str = "plain",
    common: int = 0,
    normalize: bool = False,
    a: float = SIF_A,
    progress: Progress | None = None,
) -> WordEncoder:
    """The encoder whose vector of a text is the (weighted) mean of its words' vectors.

    Args:
        texts: those of the training alone, to which TF-IDF weights and the common components are fitted.
        weighting: ``plain``, ``tfidf`` or ``sif`` (Arora et al. 2017, equation 3).
        common: how many common components are taken away, by a linear layer (Arora et al. 2017, algorithm 1, lines 4 to 6).
        normalize: whether a text's vector is brought to length 1.
        a: of SIF.

    Raises:
        StudioError: the weighting is unknown, or there are no texts to fit it to.
    """
    embeddings = WordEmbeddings.of(vectors)
    weights = None
    if weighting != "plain":
        found = word_weights(weighting, vectors, texts, a)
        padded = np.concatenate([np.ones(len(embeddings.words) - len(vectors), np.float32), found])
        weights = WordWeights(embeddings.words.words, padded)
    encoder = WordEncoder(WordNetwork(embeddings, weights), EncoderConfig("mean", False), name=vectors.name)
    if common:
        matrix, bias = removal(common_component(finite(encoder.encode(texts, progress=progress)), common))
        encoder.projection = nn.Sequential(_linear(matrix, bias))
    encoder.normalizes = normalize
    return encoder


def _linear(matrix: np.ndarray, bias: np.ndarray) -> Dense:
    """The layer v → M v + b."""
    layer = Dense(matrix.shape[1], matrix.shape[0], "identity", bias=bool(np.any(bias)))
    layer.load_state_dict({"linear.weight": torch.from_numpy(matrix), **({"linear.bias": torch.from_numpy(bias)} if np.any(bias) else {})})
    return layer
