"""An encoder's words as a table: which words, which weights, and what opens it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.models.base import Encoder
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.models.word_encoder import COUNTED_A, ZIPF_A, distill, project_to_principal_components, vocabulary_words
from sbert_studio.progress import StoppedError, stoppable

from ..tiny import WORDS, tiny_encoder


@pytest.fixture(scope="module")
def teacher() -> TransformerEncoder:
    return tiny_encoder("bert", EncoderConfig("mean", True))


def test_the_words_of_a_vocabulary_are_whole_and_components_keep_the_largest_spread(teacher: TransformerEncoder) -> None:
    found = vocabulary_words(teacher)
    assert found[: len(WORDS)] == WORDS and not any(word.startswith(("#", "[")) for word in found)
    spread = np.random.default_rng(1).standard_normal((200, 4)) * [3, 0.1, 1, 0.5] + 7
    found = project_to_principal_components(spread.astype(np.float32), 3)
    np.testing.assert_allclose(found.std(axis=0), [3, 1, 0.5], rtol=0.2)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-3)
    assert project_to_principal_components(spread, 9).shape == (200, 4)


@pytest.mark.parametrize("mark", ["\u2581", "\u0120"])
def test_marked_pieces_begin_words(mark: str) -> None:
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    from sbert_studio.models.inference.batching import TransformerTokens

    vocabulary = ["<unk>", f"{mark}the", "ing", f"{mark}walk", mark, "é", f"{mark}Cat"]
    backend = Tokenizer(models.WordLevel({piece: place for place, piece in enumerate(vocabulary)}, unk_token="<unk>"))
    backend.decoder = decoders.Metaspace() if mark == "\u2581" else decoders.ByteLevel()
    found = TransformerTokens(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>"), 8).words()
    assert found == ["the", "walk", "", "Cat"]


def test_a_text_is_the_weighted_mean_of_what_the_teacher_says_of_its_words(teacher: TransformerEncoder) -> None:
    words = vocabulary_words(teacher)
    student = distill(teacher, dim=8)
    rows = project_to_principal_components(teacher.encode(words), 8)
    frequency = 1 / np.arange(1, len(words) + 1)
    weights = ZIPF_A / (ZIPF_A + frequency / frequency.sum())
    places = [words.index(word) for word in ("the", "cat", "sat")]
    expected = (rows[places] * weights[places, None]).sum(axis=0) / weights[places].sum()
    np.testing.assert_allclose(student.encode(["The cat sat!"])[0], expected, atol=1e-5)
    assert student.dim == 8 and "Zipf" in student.note


def test_texts_bring_their_words_and_how_often_they_occur(teacher: TransformerEncoder) -> None:
    texts = ["zebra zebra zebra cat", "cat ran", "dog ran home"]
    student = distill(teacher, texts)
    table = student.backbone.embeddings.words.words[1:]
    assert table[:2] == ("zebra", "cat") and set(WORDS) < set(table)
    weights = student.backbone.weights.emb_layer.weight.ravel().numpy()[1:]  # type: ignore[union-attr]
    assert weights[0] == pytest.approx(COUNTED_A / (COUNTED_A + 3 / 9)) and weights[-1] == 1
    assert student.coverage(["zebra home unheard"]).unknown == 1


def test_sentence_transformers_opens_it_and_the_card_says_what_it_is(teacher: TransformerEncoder, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    student = distill(teacher, ["the cat sat on the mat", "a zebra ran"], dim=6)
    student.save(tmp_path / "static")
    texts = ["The cat sat.", "a zebra", "hello world"]
    theirs = SentenceTransformer(str(tmp_path / "static"), device="cpu").encode(texts)
    np.testing.assert_allclose(student.encode(texts), theirs, atol=1e-5)
    np.testing.assert_array_equal(load_folder(tmp_path / "static").encode(texts), student.encode(texts))
    card = (tmp_path / "static" / "README.md").read_text(encoding="utf-8")
    assert "static distillation" in card and "texts of any length" in card and "SentenceTransformer(" in card


def test_an_encoder_without_words_needs_texts_and_a_stop_is_heard(teacher: TransformerEncoder) -> None:
    class Mute(Encoder):
        name, normalizes, dim, max_length, fingerprint = "mute", True, 3, 9, "0"

        def encode(self, texts, *, progress=None, should_stop=None):  # type: ignore[no-untyped-def]
            return np.array([[len(text), text.count("a"), 1] for text in texts], np.float32)

        def describe(self):  # type: ignore[no-untyped-def]
            return {}

    with pytest.raises(StudioError, match="does not provide its vocabulary"):
        distill(Mute())
    assert distill(Mute(), ["a cat", "dogs ran"]).dim == 3
    with pytest.raises(StudioError, match="dim is 0"):
        distill(teacher, dim=0)
    with pytest.raises(StoppedError), stoppable(lambda: True):
        distill(teacher)
