"""Poly-encoders: the paper's equations in a loop, what must change nothing, folders, and what a damaged one says."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from sbert_studio.errors import StudioError
from sbert_studio.models.base import EncodingStoppedError
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.modules.embeddings import WordEmbeddings, WordWeights
from sbert_studio.models.poly_encoder import PolyEncoder, create_poly_encoder, load_poly_encoder
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.models.static.vectors import WordVectors
from sbert_studio.models.word_encoder import WordEncoder, WordNetwork

from .tiny import TEXTS, WORDS, tiny_encoder

PAIRS = [(a, b) for a in TEXTS[:5] for b in TEXTS[4:]]


def of_words() -> WordEncoder:
    """Word vectors with weights, behind a projection."""
    matrix = np.random.default_rng(3).standard_normal((len(WORDS), 12)).astype(np.float32)
    table = WordEmbeddings.from_vectors(WordVectors(tuple(WORDS), matrix, None, "tiny"))
    weights = WordWeights(table.words.words, np.linspace(0, 2, len(WORDS) + 1))
    return WordEncoder(WordNetwork(table, weights), EncoderConfig("mean", False, projection=8, activation="tanh"), name="words")


def encoder_of(kind: str) -> SentenceEncoder:
    return of_words() if kind == "words" else tiny_encoder(kind)


def poly_of(kind: str = "bert", codes: int = 5) -> PolyEncoder:
    poly = PolyEncoder(encoder_of(kind), codes)
    with torch.no_grad():
        poly.codes.mul_(8)  # attention far from a mean
    return poly


def by_the_paper(poly: PolyEncoder, query: str, candidate: str) -> float:
    """Section 4.4 in loops, a number at a time; each text read by itself."""

    def softmax(values: list[float]) -> list[float]:
        powers = [math.exp(value - max(values)) for value in values]
        return [power / sum(powers) for power in powers]

    def dot(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    def unit(a: list[float]) -> list[float]:
        return [x / math.sqrt(dot(a, a)) for x in a] if any(a) else a

    encoder = poly.encoder
    with torch.no_grad():
        vectors, counts = encoder.token_vectors(encoder.collate(encoder.tokenize([query])))
        weights = [1.0] * vectors.shape[1] if counts is None else counts[0].tolist()
        # A token that counts w times stands there w times.
        h = [(row, weight) for row, weight in zip(vectors[0].tolist(), weights, strict=True) if weight > 0]
        found = []
        for code in poly.codes.tolist():
            shares = softmax([dot(code, row) + math.log(weight) for row, weight in h]) if h else []
            y = [sum(share * row[place] for share, (row, _) in zip(shares, h, strict=True)) for place in range(encoder.hidden_size)]
            found.append(unit(encoder.postprocess(torch.tensor(y, dtype=torch.float32)[None])[0].tolist()))
    own = unit(encoder.encode([candidate])[0].tolist())
    w = softmax([poly.sharpness * dot(own, y) for y in found])
    attended = [sum(share * y[place] for share, y in zip(w, found, strict=True)) for place in range(encoder.dim)]
    return dot(attended, own)


@pytest.mark.parametrize("kind", ["bert", "roberta", "llama", "words"])
def test_scores_are_the_papers_equations(kind: str) -> None:
    poly = poly_of(kind)
    scores = poly.predict(PAIRS)
    assert scores.shape == (len(PAIRS),) and scores.dtype == np.float32
    np.testing.assert_allclose(scores, [by_the_paper(poly, *pair) for pair in PAIRS], atol=1e-5)
    assert np.ptp(scores) > 1e-3 and np.abs(scores).max() <= 1 + 1e-6


def test_candidates_are_known_by_the_vectors_of_the_encoder_within_which_the_peer_opens(tmp_path: Path) -> None:
    poly = poly_of()
    vectors = poly.candidate_encoder.encode(TEXTS)
    scores = poly.score_candidates(TEXTS[:5], vectors)
    expected = [[poly.predict([(query, text)])[0] for text in TEXTS] for query in TEXTS[:5]]
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    poly = poly_of()
    poly.save(tmp_path / "poly")
    peer = SentenceTransformer(str(tmp_path / "poly"), device="cpu", local_files_only=True)
    np.testing.assert_allclose(peer.encode(TEXTS[:3]), poly.encoder.encode(TEXTS[:3]), atol=1e-5)


def test_codes_that_say_nothing_give_the_mean_and_unknown_words_no_likeness() -> None:
    for poly in (PolyEncoder(tiny_encoder("bert"), 3), PolyEncoder(of_words(), 3)):
        with torch.no_grad():
            poly.codes.zero_()
        left, right = poly.encoder.encode([a for a, _ in PAIRS]), poly.encoder.encode([b for _, b in PAIRS])
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        np.testing.assert_allclose(poly.predict(PAIRS), (left * right).sum(axis=1) / np.maximum(lengths, 1e-12), atol=1e-5)
    matrix = np.random.default_rng(3).standard_normal((len(WORDS), 12)).astype(np.float32)
    table = WordEmbeddings.from_vectors(WordVectors(tuple(WORDS), matrix, None, "tiny"))
    poly = PolyEncoder(WordEncoder(WordNetwork(table), EncoderConfig("mean", False)), 3)
    scores = poly.predict([("xyzzy", "the cat"), ("the cat", "xyzzy"), ("the cat", "the cat")])
    assert scores[:2].tolist() == [0, 0] and scores[2] > 0.9


def test_each_text_is_read_once_without_dropout_and_a_stop_is_heard() -> None:
    poly = poly_of()
    read: list[int] = []
    poly.encoder.pooling.register_forward_pre_hook(lambda module, given: read.append(len(given[0])))
    poly.predict([("red", "the cat"), ("red", "a dog"), ("the cat", "a dog"), ("red", "the cat")])
    assert sum(read) == 4
    assert poly.predict([]).shape == (0,)
    with pytest.raises(EncodingStoppedError):
        poly.predict(PAIRS, should_stop=lambda: True)
    poly = poly_of().train()
    np.testing.assert_array_equal(poly.predict(PAIRS), poly.predict(PAIRS))
    assert poly.training and poly.encoder.training


def test_codes_are_drawn_from_their_seed_and_need_one_way_of_pooling(tmp_path: Path) -> None:
    poly_of(codes=4).save(tmp_path / "poly")
    same, fewer = (
        create_poly_encoder(load_poly_encoder(tmp_path / "poly").encoder, tmp_path / "poly", codes=codes, seed=1) for codes in (4, 3)
    )
    assert torch.equal(same.codes, poly_of(codes=4).codes) and len(fewer.codes) == 3
    one, two, other = (PolyEncoder(tiny_encoder("bert"), 3, seed=seed).codes for seed in (1, 1, 2))
    assert torch.equal(one, two) and not torch.equal(one, other)
    encoder = tiny_encoder("bert")
    poly = PolyEncoder(encoder)
    with pytest.raises(StudioError, match="cls\\+mean pooling"):
        poly.configure_output(pooling="cls+mean")
    with pytest.raises(StudioError, match="cls\\+mean pooling"):
        PolyEncoder(encoder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    poly_of().save(tmp_path / "poly")
    return tmp_path / "poly"


def write(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("poly.json", write("[]")),
        ("poly.json", write('{"codes": "x", "sharpness": 20}')),
        ("poly.json", write('{"codes": 5, "sharpness": 0}')),
        ("poly.json", write('{"codes": 6, "sharpness": 20.0}')),
        ("codes.safetensors", write("no tensors")),
    ],
)
def test_a_damaged_folder_is_refused_by_the_file_at_fault(catalog: Catalog, folder: Path, name: str, harm: Callable[[Path], None]) -> None:
    catalog.load_poly_encoder(str(folder))
    harm(folder / name)
    for act in (lambda: catalog.load_poly_encoder(str(folder)), lambda: catalog.load_trainable_poly_encoder(str(folder), codes=5)):
        with pytest.raises(StudioError) as caught:
            act()
        assert "\n" not in str(caught.value)
    # It is still no plain sentence encoder, whose cosines would pass for its scores.
    with pytest.raises(StudioError, match="poly-encoder"):
        catalog.load(str(folder))


def test_the_catalogue_tells_the_families_apart(catalog: Catalog, folder: Path, tmp_path: Path) -> None:
    tiny_encoder("bert").save(tmp_path / "plain")
    poly = catalog.load_poly_encoder(str(folder))
    assert catalog.load_poly_encoder(str(folder)) is poly is catalog.load_scorer(str(folder)) is catalog.load_any(str(folder))
    assert catalog.load_vector_encoder(str(folder)) is poly.encoder
    assert catalog.load_vector_encoder(str(tmp_path / "plain")) is catalog.load(str(tmp_path / "plain"))
    assert (
        catalog.is_poly_encoder(str(folder))
        and not catalog.is_cross_encoder(str(folder))
        and not catalog.is_poly_encoder(str(tmp_path / "plain"))
    )
    for load in (catalog.load, catalog.load_trainable):
        with pytest.raises(StudioError, match="is a poly-encoder") as caught:
            load(str(folder))
        assert "architecture poly" in caught.value.hint
    with pytest.raises(StudioError, match="is not a poly-encoder"):
        catalog.load_poly_encoder(str(tmp_path / "plain"))
    np.testing.assert_array_equal(poly.predict(PAIRS), poly_of().predict(PAIRS))
    assert not any(weight.requires_grad for weight in poly.parameters())
