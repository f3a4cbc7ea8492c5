"""Encoders on tables of words: by themselves, beside sentence-transformers, written and read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.modules.embeddings import WordEmbeddings, WordWeights
from sbert_studio.models.modules.recurrent import GRU, LSTM, RNN, Recurrent
from sbert_studio.models.static.vectors import WordVectors
from sbert_studio.models.word_encoder import WordEncoder, WordNetwork

WORDS = ("the", "cat", "sat", "on", "mat", "dog", "barks", "at", "moon", "it's")
TEXTS = ["The cat sat on the mat.", "A dog barks", "", "unknown words only", "moon", "It's the cat, the dog, the moon and it's at the mat"]
Network = Callable[[], WordNetwork]


def table() -> WordEmbeddings:
    matrix = np.random.default_rng(1).standard_normal((len(WORDS), 8)).astype(np.float32)
    return WordEmbeddings.from_vectors(WordVectors(WORDS, matrix, None, "ten words"))


def weighted() -> WordNetwork:
    embeddings = table()
    weights = np.linspace(0.2, 2, len(embeddings.words), dtype=np.float32)
    return WordNetwork(embeddings, WordWeights(embeddings.words.words, weights))


def recurrent(kind: type[Recurrent], *, bidirectional: bool) -> Network:
    return lambda: WordNetwork(table(), None, kind(8, 6, bidirectional=bidirectional))


NETWORKS: dict[str, Network] = {
    "mean": lambda: WordNetwork(table()),
    "weighted": weighted,
    "weighted LSTM": lambda: WordNetwork(table(), weighted().weights, LSTM(8, 6)),
    "LSTM": recurrent(LSTM, bidirectional=False),
    "BiLSTM": recurrent(LSTM, bidirectional=True),
    "GRU": recurrent(GRU, bidirectional=False),
    "RNN": recurrent(RNN, bidirectional=False),
}


def encoder(network: str, pooling: str = "mean", **config: object) -> WordEncoder:
    return WordEncoder(NETWORKS[network](), EncoderConfig(pooling, False, **config), name="words")  # type: ignore[arg-type]


def test_the_mean_is_that_of_the_known_words() -> None:
    model = encoder("mean")
    matrix = model.backbone.embeddings.emb_layer.weight.numpy()[1:]
    places = [WORDS.index(word) for word in ("the", "cat", "sat", "on", "the", "mat")]
    np.testing.assert_allclose(model.encode([TEXTS[0]])[0], matrix[places].mean(axis=0), atol=1e-6)
    assert not model.encode(["unknown words only"]).any()
    found = model.coverage(TEXTS)
    assert (found.unknown, found.empty) == (5, 2)


@pytest.mark.parametrize("pooling", ["mean", "weighted_mean"])
def test_word_weights_and_positions_count_in_the_mean(pooling: str) -> None:
    model = encoder("weighted", pooling)
    embeddings, weights = (module.emb_layer.weight.numpy() for module in model.backbone.modules_in_order)
    ids = model.tokenize([TEXTS[0]])[0]
    counts = weights[ids] * (np.arange(1, len(ids) + 1)[:, None] if pooling == "weighted_mean" else 1)
    np.testing.assert_allclose(model.encode([TEXTS[0]])[0], (embeddings[ids] * counts).sum(axis=0) / counts.sum(), atol=1e-6)


@pytest.mark.parametrize(
    ("network", "pooling"),
    [
        *((network, pooling) for network in ("mean", "LSTM", "BiLSTM") for pooling in ("mean", "max")),
        *(("weighted", pooling) for pooling in ("mean", "max", "last", "mean_sqrt_len")),
        *(("weighted LSTM", pooling) for pooling in ("max", "last")),
    ],
)
def test_sentence_transformers_opens_what_is_saved(network: str, pooling: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = encoder(network, pooling, projection=5, activation="identity")
    model.save(tmp_path / "model")
    known = [text for text in TEXTS if model.coverage([text]).known]
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(known)
    np.testing.assert_allclose(model.encode(known), theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("network", "pooling"), [("mean", "cls"), ("LSTM", "cls"), ("weighted", "weighted_mean"), ("weighted LSTM", "mean")]
)
def test_what_gives_other_vectors_there_does_not_promise_to_open_there(network: str, pooling: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = encoder(network, pooling)
    model.save(tmp_path / "model")
    assert not model.portable and "SentenceTransformer(" not in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    try:
        theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode([TEXTS[0]])
    except TypeError:
        return
    assert not np.allclose(model.encode([TEXTS[0]]), theirs, atol=1e-5)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_what_sentence_transformers_saves_is_opened(bidirectional: bool, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import LSTM as TheirLSTM
    from sentence_transformers.sentence_transformer.modules import Pooling
    from sentence_transformers.sentence_transformer.modules import WordEmbeddings as Theirs
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    torch.manual_seed(1)
    words = Theirs(WhitespaceTokenizer(list(WORDS), stop_words=["on"], do_lower_case=True), np.random.default_rng(2).random((10, 8)))
    lstm = TheirLSTM(8, 6, bidirectional=bidirectional)
    theirs = SentenceTransformer(modules=[words, lstm, Pooling(lstm.get_embedding_dimension(), "mean")], device="cpu")
    theirs.save(str(tmp_path / "model"))
    known = [TEXTS[0], TEXTS[1], TEXTS[4], TEXTS[5]]
    np.testing.assert_allclose(load_folder(tmp_path / "model").encode(known), theirs.encode(known), atol=1e-5)


def test_the_card_says_where_networks_open_and_unknown_modules_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder("GRU").save(tmp_path / "gru")
    encoder("LSTM").save(tmp_path / "lstm")
    ours, theirs = ((tmp_path / name / "README.md").read_text(encoding="utf-8") for name in ("gru", "lstm"))
    assert "opens in SBERT Studio only" in ours and "SentenceTransformer(" not in ours
    assert "SentenceTransformer(" in theirs and "text-embeddings-inference does not serve" in theirs
    from sbert_studio.errors import StudioError
    from sbert_studio.models.modules import MODULES
    from sbert_studio.models.modules.base import NORMALIZATION
    from sbert_studio.models.modules.projection import Normalize

    monkeypatch.setattr(MODULES, "_items", dict(MODULES._items))
    model = encoder("mean", "mean")
    model.normalizes = True
    model.save(tmp_path / "model")

    @MODULES.register("Halve")
    class Halve(Normalize):
        stage = NORMALIZATION

    listed = tmp_path / "model" / "modules.json"
    listed.write_text(listed.read_text(encoding="utf-8").replace(".Normalize", ".Halve"), encoding="utf-8")
    with pytest.raises(StudioError, match="Halve"):
        load_folder(tmp_path / "model")


def test_every_recurrent_network_can_be_chosen_by_the_setting() -> None:
    from sbert_studio.models.modules.recurrent import RECURRENT
    from sbert_studio.training.spec import TrainSpec

    (choices,) = [item.choices for item in TrainSpec.settings() if item.name == "recurrent"]
    assert sorted(choices or ()) == sorted(["", *RECURRENT])
