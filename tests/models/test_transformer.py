from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.models.base import EncodingStoppedError
from sbert_studio.models.inference import batching
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.modules.pooling import POOLINGS
from sbert_studio.models.modules.projection import Dense
from sbert_studio.models.transformer import TransformerEncoder

from .tiny import BACKBONES, TEXTS, tiny_encoder


def one_by_one(encoder: TransformerEncoder, texts: list[str]) -> np.ndarray:
    """The plain path: each text alone, with an explicit mask, no batching at all."""
    with torch.no_grad():
        return np.concatenate([encoder(encoder.collate(encoder.tokenize([text]))).numpy() for text in texts])


@pytest.mark.parametrize("kind", BACKBONES)
def test_a_full_mask_and_padding_on_either_side_give_the_same_vectors(kind: str) -> None:
    encoder = tiny_encoder(kind)
    batch = encoder.collate(encoder.tokenize(["the cat sat on", "on sat cat the", "sat the on cat"]))
    assert batch["attention_mask"].all()
    with torch.no_grad():
        torch.testing.assert_close(encoder({"input_ids": batch["input_ids"]}), encoder(batch), rtol=0, atol=2e-6)
    encoder = tiny_encoder(kind, EncoderConfig("+".join(POOLINGS), normalize=True))
    rows = encoder.tokenize(TEXTS[:5])
    right = encoder.collate(rows)
    longest = right["input_ids"].shape[1]
    left = {
        "input_ids": torch.tensor([[encoder.tokens.pad] * (longest - len(row)) + row for row in rows]),
        "attention_mask": right["attention_mask"].flip(1),
    }
    assert not right["attention_mask"].all()
    with torch.no_grad():
        torch.testing.assert_close(encoder(left), encoder(right), rtol=0, atol=5e-6)


def test_each_distinct_text_is_encoded_once_and_training_mode_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny_encoder()
    seen: list[int] = []
    encoder.register_forward_pre_hook(lambda module, args: seen.append(len(args[0]["input_ids"])))
    texts = ["the cat", "a dog", "the cat", "the cat", "a dog", "red"]
    vectors = encoder.encode(texts)
    assert sum(seen) == 3
    assert (vectors[0] == vectors[2]).all() and (vectors[0] == vectors[3]).all() and (vectors[1] == vectors[4]).all()
    np.testing.assert_allclose(vectors, one_by_one(encoder, texts), atol=2e-6)
    assert encoder.encode([]).shape == (0, 32)
    told: list[tuple[int, int]] = []
    tiny_encoder().encode(TEXTS, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(TEXTS), len(TEXTS))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    encoder = tiny_encoder()
    evaluated = encoder.encode(TEXTS)
    encoder.train()
    np.testing.assert_array_equal(encoder.encode(TEXTS), evaluated)
    assert encoder.training and encoder.backbone.training


def test_a_stop_is_heard_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "token_budget", lambda device: (8, 1))
    calls = iter([False, False, False, True])
    encoder = tiny_encoder()
    with pytest.raises(EncodingStoppedError):
        encoder.encode(TEXTS, should_stop=lambda: next(calls))


def test_texts_are_cut_at_the_limit_and_counted_whole() -> None:
    encoder = tiny_encoder()
    encoder.set_max_length(16)
    texts = ["the cat sat " * 50_000, " " * 100_000 + "hello world", "x" * 200_000, "red"]
    assert encoder.tokenize(texts) == encoder.tokenizer(texts, truncation=True, max_length=16)["input_ids"]
    encoder = tiny_encoder()
    encoder.set_max_length(8)
    assert encoder.tokens.count_tokens(["the " * 60, "red", ""]) == [62, 3, 2]
    assert [len(row) for row in encoder.tokenize(["the " * 60, "red", ""])] == [8, 3, 2]
    encoder = tiny_encoder()
    assert encoder.tokenize(["the \ud800 cat"]) == encoder.tokenize(["the ? cat"])
    assert tiny_encoder("bert", EncoderConfig(max_length=10_000)).max_length == 64
    assert tiny_encoder("roberta", EncoderConfig(max_length=10_000)).max_length == 64
    assert tiny_encoder("bert", EncoderConfig(max_length=20)).max_length == 20


def test_threads_share_one_encoder() -> None:
    encoder = tiny_encoder()
    sets = [[f"{word} cat {place}" for place in range(40)] + [text] for word, text in zip(["the", "a", "my", "red"], TEXTS, strict=False)]
    expected = [encoder.encode(texts) for texts in sets]
    results: dict[int, np.ndarray] = {}

    def work(place: int) -> None:
        for _ in range(5):
            results[place] = encoder.encode(sets[place])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(sets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, vectors in enumerate(expected):
        np.testing.assert_allclose(results[place], vectors, atol=2e-6)


CHANGES: dict[str, Callable[[TransformerEncoder], object]] = {
    "a weight": lambda encoder: encoder.backbone.embeddings.word_embeddings.weight.data[7, 3].add_(1e-3),
    "the pooling": lambda encoder: encoder.set_pooling("cls"),
    "the limit": lambda encoder: encoder.set_max_length(9),
    "a projection": lambda encoder: encoder.add_projection(8),
    "the precision": lambda encoder: encoder.freeze("bfloat16"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_changes_with(change: str) -> None:
    encoder, same = tiny_encoder(), tiny_encoder()
    before = encoder.fingerprint
    assert before == same.fingerprint and len(before) == 16
    assert encoder.freeze().fingerprint == before
    other = tiny_encoder()
    CHANGES[change](other)
    assert other.fingerprint != before


def test_the_fingerprint_tells_the_activation_of_every_layer() -> None:
    """Of two Dense layers the configuration knows the last one's alone: vectors of the one model were taken for those of the other."""
    found = {}
    for activation in ("tanh", "identity"):
        encoder = tiny_encoder()
        width = encoder.hidden_size
        encoder.projection = torch.nn.Sequential(Dense(width, width, activation, seed=1), Dense(width, 4, "identity", seed=2))
        found[encoder.fingerprint] = encoder.encode(["the cat sat"])
    assert len(found) == 2
    assert not np.allclose(*found.values())


def test_a_new_projection_is_drawn_from_its_seed_alone_and_must_fit_the_pooling() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one, two, other = tiny_encoder(), tiny_encoder(), tiny_encoder()
    torch.set_rng_state(state)
    one.add_projection(8, seed=1)
    assert (torch.get_rng_state() == state).all()
    two.add_projection(8, seed=1)
    other.add_projection(8, seed=2)
    assert (one.layers[0].linear.weight == two.layers[0].linear.weight).all()
    assert (one.layers[0].linear.weight != other.layers[0].linear.weight).any()
    encoder = tiny_encoder("bert", EncoderConfig(projection=8))
    encoder.set_pooling("max")
    with pytest.raises(StudioError, match="projection"):
        encoder.set_pooling("cls+mean")
