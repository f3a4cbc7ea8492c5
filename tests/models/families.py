"""Every family of models that is trained here, each with a small random one. A new family is an entry in ``FAMILIES``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sbert_studio.data.examples import Examples
from sbert_studio.models.base import PairScorer
from sbert_studio.models.cross_encoder import load_cross_encoder
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.modules.embeddings import WordEmbeddings, WordWeights
from sbert_studio.models.modules.recurrent import GRU, LSTM, RNN, Recurrent
from sbert_studio.models.poly_encoder import PolyEncoder, load_poly_encoder
from sbert_studio.models.static.vectors import WordVectors
from sbert_studio.models.trainable import Trainable
from sbert_studio.models.word_encoder import WordEncoder, WordNetwork

from .tiny import BACKBONES, TEXTS, WORDS, tiny_cross, tiny_encoder


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        make: a model with the same weights each time.
        load: reads what the model's ``save`` wrote.
        spec: settings of a training, beside those of all families.
        adapts: whether LoRA has anywhere to sit.
        unread: name endings of weights that no text reads, and that no gradient reaches.
        whole: whether the slow tests try it too: damaged folders, trainings.
    """

    name: str
    make: Callable[[], Trainable]
    load: Callable[[Path], Trainable] = load_folder
    spec: Mapping[str, Any] = field(default_factory=dict)
    adapts: bool = True
    unread: tuple[str, ...] = ()
    whole: bool = True

    def __str__(self) -> str:
        return self.name


def words(recurrent: type[Recurrent] | None = None, *, bidirectional: bool = False, weighted: bool = False) -> WordEncoder:
    """A table of 29 words with 8 components, and what reads it."""
    matrix = np.random.default_rng(1).standard_normal((len(WORDS), 8)).astype(np.float32)
    table = WordEmbeddings.from_vectors(WordVectors(tuple(WORDS), matrix, None, "few words"))
    weights = WordWeights(table.words.words, np.linspace(0.2, 2, len(table.words), dtype=np.float32)) if weighted else None
    network = None if recurrent is None else recurrent(8, 6, bidirectional=bidirectional)
    pooling = "mean" if recurrent is None else "max" if bidirectional else "last"
    return WordEncoder(WordNetwork(table, weights, network), EncoderConfig(pooling, False), name="tiny-words")


_ENTIRELY = ("bert", "llama")
_UNREAD = {"xlnet": ("mask_emb", "seg_embed", "r_s_bias")}
_TABLE = {"learn_words": True, "learning_rate": 0.02}
_READER = {"learning_rate": 0.02}
_PAIRS = {"architecture": "cross", "loss": "mse"}
_cross = partial(Family, load=load_cross_encoder)
_poly = partial(Family, load=load_poly_encoder, spec={"architecture": "poly", "loss": "cosine", "codes": 4})

FAMILIES = (
    *(Family(kind, partial(tiny_encoder, kind), unread=_UNREAD.get(kind, ()), whole=kind in _ENTIRELY) for kind in BACKBONES),
    Family("words", words, spec=_TABLE, adapts=False),
    Family("weighted words", partial(words, weighted=True), spec=_TABLE, adapts=False),
    Family("RNN", partial(words, RNN), spec=_READER, adapts=False, whole=False),
    Family("LSTM", partial(words, LSTM), spec=_READER, adapts=False, whole=False),
    Family("GRU", partial(words, GRU), spec=_READER, adapts=False),
    Family("BiLSTM", partial(words, LSTM, bidirectional=True), spec=_READER, adapts=False),
    _cross("cross", tiny_cross, spec=_PAIRS),
    _cross("cross MLP", partial(tiny_cross, "roberta", head="mlp"), spec=_PAIRS | {"head": "mlp"}),
    _cross("cross XLNet", partial(tiny_cross, "xlnet"), spec=_PAIRS, unread=_UNREAD["xlnet"], whole=False),
    _cross("cross Llama", partial(tiny_cross, "llama"), spec=_PAIRS, whole=False),
    _poly("poly", lambda: PolyEncoder(tiny_encoder(), 4)),
    _poly("poly GRU", lambda: PolyEncoder(words(GRU), 4), adapts=False, whole=False),
)


def answers(model: Any, texts: list[str], partners: list[str]) -> np.ndarray:
    """The vectors of ``texts``, or the scores of each with its partner."""
    if isinstance(model, PairScorer):
        return model.predict(list(zip(texts, partners, strict=True)))
    return model.encode(texts)


PARTNERS = TEXTS[3:] + TEXTS[:3]


def pairs(count: int = 64, seed: int = 0) -> Examples:
    """Made-up sentences of two to eight words; the score is the share of words that both sides hold."""
    random = np.random.default_rng(seed)
    left, right = ([" ".join(random.choice(WORDS, random.integers(2, 9))) for _ in range(count)] for _ in range(2))
    shared = [len(set(a.split()) & set(b.split())) / len(set(a.split()) | set(b.split())) for a, b in zip(left, right, strict=True)]
    return Examples("scored_pairs", (tuple(left), tuple(right)), np.asarray(shared, np.float32), np.arange(count, dtype=np.int64) + 2, ())
