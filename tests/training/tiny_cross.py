"""A tiny random BERT (or ALBERT, RoBERTa, Llama) that reads pairs, for the tests of a cross-encoder's training."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sbert_studio.data.examples import Examples
from sbert_studio.models.cross_encoder import STUDIO_KEY, CrossEncoder, with_mlp_head
from sbert_studio.training.spec import TrainSpec

from .tiny import labelled_pairs, small_spec, tiny_encoder

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
    return small_spec(**{"architecture": "cross", "objective": "auto", **values})


def yes_or_no(count: int = 64, seed: int = 0) -> Examples:
    """Two classes by the share of words."""
    pairs = labelled_pairs(count, seed)
    assert pairs.targets is not None
    return Examples("labelled_pairs", pairs.texts, (pairs.targets > 0).astype(np.int64), pairs.lines, ("no", "yes"))
