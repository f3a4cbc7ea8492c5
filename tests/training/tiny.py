"""A tiny random BERT and examples that it can learn: pairs of made-up sentences, alike as far as they share words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny_studio import WORDS, sentences, tiny_bert
from transformers import BertModel

from sbert_studio.data.examples import Examples
from sbert_studio.data.schema.roles import Kind
from sbert_studio.models.cross_encoder import STUDIO_KEY, CrossEncoder, with_mlp_head
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.modules.embeddings import WordEmbeddings
from sbert_studio.models.poly_encoder import PolyEncoder
from sbert_studio.models.static.vectors import WordVectors
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.models.word_encoder import WordEncoder, WordNetwork
from sbert_studio.training.events import Event, Notice
from sbert_studio.training.spec import TrainSpec


def tiny_encoder(seed: int = 0, *, dropout: float = 0.1, normalize: bool = True) -> TransformerEncoder:
    tokenizer, config = tiny_bert(dropout)
    torch.manual_seed(seed)
    backbone = BertModel(config, add_pooling_layer=False)
    return TransformerEncoder(backbone, tokenizer, EncoderConfig("mean", normalize, max_length=64), name="tiny", base="tiny/tiny")


def tiny_words(seed: int = 0) -> WordEncoder:
    """A table of all words with 16 components each, and their mean."""
    matrix = np.random.default_rng(seed).standard_normal((len(WORDS), 16)).astype(np.float32)
    table = WordEmbeddings.from_vectors(WordVectors(tuple(WORDS), matrix, None, "tiny"))
    return WordEncoder(WordNetwork(table), EncoderConfig("mean", False), name="tiny")


def scored_pairs(count: int = 64, seed: int = 0) -> Examples:
    """The score is the share of words that both sides hold."""
    left, right = sentences(count, seed), sentences(count, seed + 1)
    shared = [len(set(a.split()) & set(b.split())) / len(set(a.split()) | set(b.split())) for a, b in zip(left, right, strict=True)]
    return _examples("scored_pairs", (left, right), np.asarray(shared, np.float32))


def labelled_pairs(count: int = 64, seed: int = 0) -> Examples:
    """Three classes by the share of words."""
    pairs = scored_pairs(count, seed)
    return _examples(
        "labelled_pairs", pairs.texts, np.digitize(pairs.targets, [0.1, 0.25]).astype(np.int64), ("contradiction", "neutral", "entailment")
    )


def positive_pairs(count: int = 64, seed: int = 0) -> Examples:
    """The same words in another order; every fourth anchor comes twice."""
    random = np.random.default_rng(seed)
    left = sentences(count, seed)
    left[3::4] = left[2::4][: len(left[3::4])]
    return _examples("positive_pairs", (left, [" ".join(random.permutation(text.split())) for text in left]), None)


def bare_sentences(count: int = 64, seed: int = 0) -> Examples:
    return _examples("sentences", (sentences(count, seed),), None)


def labelled_texts(count: int = 64, seed: int = 0) -> Examples:
    """Four categories: two words of the category's own five among three of any; the last row repeats the first under another category."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, 4, count)
    texts = []
    for one in classes.tolist():
        own, any_word = random.choice(WORDS[5 * one : 5 * one + 5], 2), random.choice(WORDS, 3)
        texts.append(" ".join(random.permutation([*own, *any_word])))
    texts[-1], classes[-1] = texts[0], (classes[0] + 1) % 4
    found = _examples("labelled_texts", (texts,), classes.astype(np.int64), ("animals", "colours", "places", "things"))
    return replace(found, ordered=False)


def _examples(kind: Kind, texts: Any, targets: np.ndarray | None, labels: tuple[str, ...] = ()) -> Examples:
    return Examples(kind, tuple(tuple(column) for column in texts), targets, np.arange(len(texts[0]), dtype=np.int64) + 2, labels)


def small_spec(**values: Any) -> TrainSpec:
    defaults = {"model": "tiny", "loss": "cosine", "epochs": 2, "batch_size": 8, "learning_rate": 1e-3, "precision": "float32"}
    return TrainSpec(**{**defaults, **values})


SHORT, SHORT_ROWS = small_spec(epochs=2, checkpoint_every=3, evaluations_per_epoch=2), scored_pairs(40)
"""A run of ten steps, which several tests damage and resume: see ``conftest.py``."""


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def load(spec: TrainSpec, examples: Examples, source: Path | None) -> TransformerEncoder:
    """Return the model that one of several trainings begins with: a new one, or that of an earlier stage."""
    return tiny_encoder() if source is None else load_folder(source)


class Told(list[Event]):
    """The events of a run, as they come."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self if isinstance(event, kind)]

    def notices(self, words: str) -> list[str]:
        """The notices that contain ``words``."""
        return [event.message for event in self.of(Notice) if words in event.message]


def never() -> bool:
    return False


def stops_after(steps: int) -> Callable[[], bool]:
    """Return what stops a run once it has taken ``steps`` steps."""
    left = iter(range(steps))
    return lambda: next(left, None) is None


SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
KINDS: dict[str, dict[str, Any]] = {
    "bert": {"max_position_embeddings": 64},
    "albert": {"max_position_embeddings": 64, "embedding_size": 16},
    "roberta": {"max_position_embeddings": 80, "type_vocab_size": 1},
    "llama": {"max_position_embeddings": 64},
}


def tiny_cross(kind: str = "bert", *, head: str = "linear", labels: int = 1, sigmoid: bool = False, dropout: float = 0.1) -> CrossEncoder:
    """A fresh one, the same each time."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    tokenizer = tiny_encoder().tokenizer
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), pad_token_id=0, num_labels=labels, **SIZE, **KINDS[kind])
    for name in (
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "attention_dropout",
        "classifier_dropout",
        "classifier_dropout_prob",
    ):
        if hasattr(config, name):
            setattr(config, name, dropout)
    setattr(config, STUDIO_KEY, {"head": head})
    torch.manual_seed(0)
    model_class = AutoModelForSequenceClassification._model_mapping[type(config)]
    model = (with_mlp_head(model_class) if head == "mlp" else model_class)(config).float()
    return CrossEncoder(model, tokenizer, sigmoid=sigmoid, name="tiny", base="tiny/tiny")


def cross_spec(**values: Any) -> TrainSpec:
    return small_spec(**{"architecture": "cross", "loss": "auto", **values})


def yes_or_no(count: int = 64, seed: int = 0) -> Examples:
    """Two classes by the share of words."""
    pairs = labelled_pairs(count, seed)
    return Examples("labelled_pairs", pairs.texts, (pairs.targets > 0).astype(np.int64), pairs.lines, ("no", "yes"))


CODES = 4


def tiny_poly(*, dropout: float = 0.1, codes: int = CODES) -> PolyEncoder:
    """A fresh one, the same each time."""
    return PolyEncoder(tiny_encoder(dropout=dropout), codes)


def poly_spec(**values: Any) -> TrainSpec:
    return small_spec(**{"architecture": "poly", "loss": "auto", "codes": CODES, **values})
