"""Encoders that average static word vectors, and the distillation of an encoder into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ...errors import StudioError
from ...i18n import _
from ..base import require_finite_vectors
from ..io.settings import EncoderConfig
from ..modules.embeddings import WordEmbeddings, WordWeights
from ..modules.projection import Dense
from ..word_encoder import WordEncoder, WordNetwork
from .tokens import count_words, split_words
from .vectors import WordVectors
from .weighting import SIF_A, common_components, removal_transform, word_weights

if TYPE_CHECKING:
    from ...progress import Progress
    from ..base import Encoder

DIM = 256
MOST_WORDS = 100_000
# SIF's a for Zipf's law and for counts, and the common components, chosen by Spearman on STSb's dev set with all-MiniLM-L6-v2.
ZIPF_A = 3e-4
COUNTED_A = 3e-3
_COMMON = 2


def build_average_encoder(
    vectors: WordVectors,
    texts: Sequence[str] = (),
    *,
    weighting: str = "plain",
    common: int = 0,
    normalize: bool = False,
    a: float = SIF_A,
    progress: Progress | None = None,
) -> WordEncoder:
    """Build an encoder whose vector of a text is the (weighted) mean of its word vectors.

    Args:
        texts: training texts, to which TF-IDF weights and common components are fitted.
        weighting: ``plain``, ``tfidf`` or ``sif`` (Arora et al. 2017, equation 3).
        common: number of common components to remove with a linear layer (Arora et al. 2017, algorithm 1, lines 4 to 6).
        normalize: scale vectors to unit length.
        a: parameter of SIF.
    """
    embeddings = WordEmbeddings.from_vectors(vectors)
    weights = None
    if weighting != "plain":
        found = word_weights(weighting, vectors, texts, a)
        padded = np.concatenate([np.ones(len(embeddings.words) - len(vectors), np.float32), found])
        weights = WordWeights(embeddings.words.words, padded)
    encoder = WordEncoder(WordNetwork(embeddings, weights), EncoderConfig("mean", False), name=vectors.name)
    if common:
        matrix, bias = removal_transform(common_components(require_finite_vectors(encoder.encode(texts, progress=progress)), common))
        encoder.projection = nn.Sequential(_linear(matrix, bias))
    encoder.normalizes = normalize
    return encoder


def _linear(matrix: np.ndarray, bias: np.ndarray) -> Dense:
    layer = Dense(matrix.shape[1], matrix.shape[0], "identity", bias=bool(np.any(bias)))
    layer.load_state_dict({"linear.weight": torch.from_numpy(matrix), **({"linear.bias": torch.from_numpy(bias)} if np.any(bias) else {})})
    return layer


def distill(encoder: Encoder, texts: Sequence[str] = (), *, dim: int = DIM, progress: Progress | None = None) -> WordEncoder:
    """Distill ``encoder`` into static word vectors.

    The vocabulary consists of the words of ``texts``, most frequent first, followed by the whole words of the encoder's own vocabulary. SIF
    weights use the frequencies in ``texts``, from which common components are also removed; without texts, Zipf's law in vocabulary order.

    Args:
        dim: components of a vector, at most those of the encoder.
        progress: called with the number of encoded words.
    """
    if dim < 1:
        raise StudioError(_("dim is {dim}", dim=dim), "choose at least 1")
    known_words = vocabulary_words(encoder)
    if not known_words and not texts:
        raise StudioError(
            _("{name} does not provide its vocabulary", name=encoder.name),
            "use a file of texts whose words should get a vector (--vocabulary)",
        )
    words, counts = _vocabulary(texts, known_words)
    vectors = project_to_principal_components(require_finite_vectors(encoder.encode(words, progress=progress)), dim)
    table = WordVectors(tuple(words), vectors, counts, encoder.name)
    student = build_average_encoder(
        table, texts, weighting="sif", common=_COMMON if texts else 0, a=COUNTED_A if texts else ZIPF_A
    )  # fmt: skip
    student.base = encoder.describe().get("base")
    student.note = distillation_note(encoder.name, counted=bool(texts))
    return student


def vocabulary_words(encoder: Encoder) -> list[str]:
    """Return the whole words of an encoder's vocabulary in lower case, without duplicates, in order; empty if unknown.

    The order is assumed to be that of frequency: WordPiece sorts by it, unigram by likelihood, BPE by merge order. Single non-ASCII
    characters, which WordPiece lists first by code point, come last.
    """
    found = [] if encoder.tokens is None else encoder.tokens.words()
    words = dict.fromkeys(word for text in found if split_words(word := text.lower()) == [word] and any(map(str.isalnum, word)))
    return sorted(words, key=lambda word: len(word) == 1 and not word.isascii())


def project_to_principal_components(vectors: np.ndarray, dim: int) -> np.ndarray:
    """Project centered (n, d) vectors onto their first principal components: (n, at most dim) float32."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ directions[:, ::-1][:, :dim], np.float32)


def distillation_note(teacher: str, *, counted: bool) -> str:
    """Return the note of a distilled model for lists and model cards."""
    by = "their frequency in the texts that it was distilled for" if counted else "Zipf's law in vocabulary order"
    return _(
        "A static distillation of {teacher}: one vector per word, weighted by {by}. Unknown words are ignored. "
        "sentence-transformers loads it with its word tokenizer, which splits texts at spaces.",
        teacher=teacher,
        by=by,
    )


def _vocabulary(texts: Sequence[str], own: Sequence[str]) -> tuple[list[str], np.ndarray | None]:
    if not texts:
        return list(own[:MOST_WORDS]), None
    counted = count_words(texts, min_count=1, most=MOST_WORDS)
    known = set(counted.words)
    words = [*counted.words, *(word for word in own if word not in known)][:MOST_WORDS]
    counts = np.zeros(len(words), np.int64)
    counts[: len(counted)] = counted.counts
    return words, counts
