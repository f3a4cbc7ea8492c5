"""The vectors of a text's words before the pooling, and how much each counts in the vector of the text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from .base import Encoder, finite
from .modules.dense import Dense
from .sentence import SentenceEncoder

_MEANS = ("mean", "weighted_mean", "mean_sqrt_len")


@dataclass(frozen=True)
class WordStates:
    """A text as its tokens.

    Attributes:
        words: (start, end) in the text of each word that is read, in order.
        vectors: (t, d) float64 of the tokens, in their context.
        weights: (t,) float64, how much each counts in the mean; not negative.
        owner: (t,) int64, the word of each token; -1 of marks that stand for no word, such as [CLS].
        sums: whether the vector of the text points where Σ weights · vectors does, so that its cosine is a sum over tokens.
    """

    words: tuple[tuple[int, int], ...]
    vectors: np.ndarray
    weights: np.ndarray
    owner: np.ndarray
    sums: bool


def word_states(encoder: Encoder, text: str) -> WordStates | None:
    """The tokens of a text; ``None`` of an encoder that has none, or cannot say where in the text they stand."""
    if not isinstance(encoder, SentenceEncoder):
        return None
    spans = encoder.tokens.spans(text)
    ids = encoder.tokenize([text])
    if spans is None or len(spans) != len(ids[0]):
        return None
    with torch.inference_mode():
        hidden, mask = encoder.token_vectors(encoder.collate(ids))
        vectors, sums = _projected(encoder, hidden[0].float())
    counted = np.ones(len(vectors)) if mask is None else mask[0].cpu().numpy().astype(np.float64)
    places = np.cumsum(counted > 0)
    weights = counted * (places > encoder.pooling.skip)
    if encoder.pooling.modes == ("weighted_mean",):
        weights = weights * places
    words = sorted({span for span in spans if span is not None})
    numbers = {span: number for number, span in enumerate(words)}
    owner = np.array([-1 if span is None else numbers[span] for span in spans], np.int64)
    return WordStates(tuple(words), finite(vectors.cpu().numpy().astype(np.float64)), weights, owner, sums)


def _projected(encoder: SentenceEncoder, hidden: torch.Tensor) -> tuple[torch.Tensor, bool]:
    """Tokens as the projection maps them, and whether their weighted sum is the vector of the text: it is where all of it is linear."""
    if len(encoder.pooling.modes) != 1 or encoder.pooling.modes[0] not in _MEANS:
        return hidden, False
    if encoder.projection is None:
        return hidden, True
    for layer in encoder.projection:
        if not isinstance(layer, Dense) or layer.activation_name != "identity" or layer.linear.bias is not None:
            return hidden, False
        hidden = functional.linear(hidden, layer.linear.weight.float())
    return hidden, True
