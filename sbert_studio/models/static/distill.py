"""Static distillation of an encoder, and encoders that average static vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ...errors import StudioError
from ..base import finite
from ..io.settings import EncoderConfig
from ..modules.dense import Dense
from ..modules.word_embeddings import WordEmbeddings, WordWeights
from ..word_encoder import WordEncoder, WordNetwork
from .tokens import count_words, split_words
from .vectors import WordVectors
from .weighting import SIF_A, common_component, removal, word_weights

if TYPE_CHECKING:
    from ...progress import Progress
    from ..base import Encoder


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


DIM = 256
MOST_WORDS = 100_000
# a of SIF and the common components, chosen by the Spearman of STSb's dev set with all-MiniLM-L6-v2: by Zipf's law, and by counts.
ZIPF_A = 3e-4
COUNTED_A = 3e-3
_COMMON = 2


def distilled(encoder: Encoder, texts: Sequence[str] = (), *, dim: int = DIM, progress: Progress | None = None) -> WordEncoder:
    """The table of words that ``encoder`` gives vectors of.

    Its words are those of ``texts``, the commonest first, and behind them the whole words that the encoder's own vocabulary holds.
    They weigh by how often they occur in ``texts``, from whose vectors their common components are taken away; without texts by Zipf's
    law in the order of the vocabulary.

    Args:
        dim: components of a vector; not more than the encoder's.
        progress: told the words that have a vector.

    Raises:
        StudioError: there are no words; ``dim`` is below 1.
    """
    if dim < 1:
        raise StudioError(f"dim is {dim}", "choose at least 1")
    own = own_words(encoder)
    if not own and not texts:
        raise StudioError(
            f"{encoder.name} does not tell which words it knows", "give a file of texts whose words are to have a vector (--vocabulary)"
        )
    words, counts = _vocabulary(texts, own)
    vectors = principal(finite(encoder.encode(words, progress=progress)), dim)
    table = WordVectors(tuple(words), vectors, counts, encoder.name)
    student = averaged(
        table, texts, weighting="sif", common=_COMMON if texts else 0, a=COUNTED_A if texts else ZIPF_A
    )  # fmt: skip
    student.base = encoder.describe().get("base")
    student.note = note_of(encoder.name, counted=bool(texts))
    return student


def own_words(encoder: Encoder) -> list[str]:
    """The whole words of an encoder's vocabulary in lower case, each once, in its order; none where it does not tell.

    A tokenizer's order is taken for that of frequency: WordPiece sorts by it, unigram by likelihood, BPE by when a word was merged.
    Single characters that are not ASCII, which WordPiece lists first and by their code, come last.
    """
    found = [] if encoder.tokens is None else encoder.tokens.words()
    words = dict.fromkeys(word for text in found if split_words(word := text.lower()) == [word] and any(map(str.isalnum, word)))
    return sorted(words, key=lambda word: len(word) == 1 and not word.isascii())


def principal(vectors: np.ndarray, dim: int) -> np.ndarray:
    """(n, d) vectors, centred, on their first ``dim`` principal components: (n, at most dim) float32."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ directions[:, ::-1][:, :dim], np.float32)


def note_of(teacher: str, *, counted: bool) -> str:
    """What a card says of the table."""
    by = "how often they occur in the texts that it was made for" if counted else "Zipf's law in the order of the vocabulary"
    return (
        f"A static distillation of {teacher}: one vector for each word, weighted by {by}. A word that is not in the table is passed over. "
        "sentence-transformers reads it with its tokenizer of words, which splits texts at spaces."
    )


def _vocabulary(texts: Sequence[str], own: Sequence[str]) -> tuple[list[str], np.ndarray | None]:
    """The words, and how often each occurs in ``texts``; ``None`` where there are no texts."""
    if not texts:
        return list(own[:MOST_WORDS]), None
    counted = count_words(texts, min_count=1, most=MOST_WORDS)
    known = set(counted.words)
    words = [*counted.words, *(word for word in own if word not in known)][:MOST_WORDS]
    counts = np.zeros(len(words), np.int64)
    counts[: len(counted)] = counted.counts
    return words, counts
