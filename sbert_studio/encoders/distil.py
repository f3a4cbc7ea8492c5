"""Static distillation: an encoder's own vectors of single words become a table, and a text the mean of its words.

Tulkens and van Dongen 2024 (Model2Vec): the vector of each word from the encoder, as few components as are wanted by PCA, and a
weight by smooth inverse frequency. A table of whole words is read here, where theirs is of the tokenizer's pieces, so that
sentence-transformers opens the folder with its tokenizer of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError
from ..wordvectors.tokens import split_words
from ..wordvectors.vectors import WordVectors
from ..wordvectors.vocabulary import count_words
from .averages import averaged
from .base import finite

if TYPE_CHECKING:
    from ..data.progress import Progress
    from .base import Encoder
    from .words import WordEncoder

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
