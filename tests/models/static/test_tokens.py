"""Word tokenization and vocabularies."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.errors import StudioError
from sbert_studio.models.static.tokens import WordTokens, count_words, split_words
from sbert_studio.progress import StoppedError, stoppable

VOCABULARY = ["the", "dog", "don't", "u.s.", "u.s", ".", "--", "Paris", "straße", "ὀδός", "日本", "i̇stanbul", "well-known", "PADDING_TOKEN"]
PIECES = [
    *(*VOCABULARY, "Dog", "DOG.", "(dog)", "dog?!", "U.S.", "U.S.,", "…", "“dog”", "ΟΔΌΣ"),
    *("İstanbul", "犬", "...", "'", "paris", "STRASSE", "the"),
]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12),
    st.sampled_from([" ", "\t", "\n", "\u00a0", "\u3000", " ,"]),
    st.lists(st.sampled_from(PIECES), max_size=3),
    st.booleans(),
)
def test_ids_are_those_of_sentence_transformers(pieces: list[str], gap: str, stop_words: list[str], lowercase: bool) -> None:
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    theirs = WhitespaceTokenizer(VOCABULARY, stop_words, lowercase)
    ours = WordTokens(VOCABULARY, stop_words, lowercase=lowercase)
    text = gap.join(pieces)
    assert ours.ids(text) == theirs.tokenize(text)


@pytest.mark.parametrize("lowercase", [True, False])
def test_sentence_transformers_reads_the_file_and_we_read_theirs(tmp_path: Path, lowercase: bool) -> None:
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    WordTokens(VOCABULARY, ["the"], lowercase=lowercase).write(tmp_path)
    theirs = WhitespaceTokenizer.load(str(tmp_path))
    text = "The DOG, the dog. 日本 don't; Paris"
    assert theirs.tokenize(text) == WordTokens.read(tmp_path).ids(text) != []
    theirs.save(str(tmp_path))
    again = WordTokens.read(tmp_path)
    assert (again.words, again.stop_words, again.lowercase) == (tuple(VOCABULARY), frozenset(["the"]), lowercase)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12))
def test_every_word_that_is_learned_from_is_found_again(pieces: list[str]) -> None:
    text = " ".join(pieces)
    learned = split_words(text)
    tokens = WordTokens(dict.fromkeys(learned))
    assert [tokens.words[place] for place in tokens.ids(text)] == learned


def test_an_unspaced_clause_is_one_unknown_word() -> None:
    found = WordTokens(["dog", "日本"]).coverage(["日本で犬を飼う。", "A dog — 日本", "..."])
    assert (found.known, found.unknown, found.empty) == (2, 2, 2)
    assert found.share == 0.5


def test_flat_ids_keep_the_bounds_of_texts() -> None:
    ids, starts = WordTokens(["a", "b"]).flat(["a b x", "", "B"])
    assert (ids.tolist(), starts.tolist()) == ([0, 1, 1], [0, 2, 2, 3])
    assert WordTokens(["a"]).flat([])[1].tolist() == [0]


def test_a_word_twice_is_refused() -> None:
    with pytest.raises(StudioError, match="'b' occurs twice"):
        WordTokens(["a", "b", "b"])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"vocab": [1]}', '{"vocab": "abc"}', '{"vocab": ["a", "a"]}', '{"vocab": {"a": 1}}'])
def test_a_damaged_file_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "whitespacetokenizer_config.json").write_text(content)
    with pytest.raises(StudioError):
        WordTokens.read(tmp_path)


def test_words_stand_by_count_and_then_alphabet() -> None:
    found = count_words(["b a c", "C. b, A!", "(c) once"], min_count=1)
    assert (found.words, found.counts.tolist(), found.skipped) == (("c", "a", "b", "once"), [3, 2, 2, 1], 0)
    assert count_words(["once (c)", "A! b, C.", "c a b"], min_count=1).words == found.words


def test_rare_words_and_those_beyond_the_limit_are_left_out() -> None:
    assert count_words(["a a b b c"], min_count=2).words == ("a", "b")
    assert count_words(["a \ud800x"], min_count=1).words == ("a",), "not valid UTF-8"
    kept = count_words(["a a a b b c c d"], min_count=1, most=2)
    assert (kept.words, kept.skipped) == (("a", "b"), 3)


@pytest.mark.parametrize("texts", [[], ["..."], ["日本で犬を飼う", "猫を飼う"]])
def test_no_word_is_told(texts: list[str]) -> None:
    with pytest.raises(StudioError, match="no word"):
        count_words(texts)


def test_counting_can_be_stopped() -> None:
    with stoppable(lambda: True), pytest.raises(StoppedError):
        count_words(["a a"])
