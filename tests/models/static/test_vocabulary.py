"""Which words get a vector, and in which order."""

from __future__ import annotations

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.models.static import count_words
from sbert_studio.progress import StoppedError, stoppable


def test_words_stand_by_count_and_then_alphabet() -> None:
    found = count_words(["b a c", "C. b, A!", "(c) once"], min_count=1)
    assert (found.words, found.counts.tolist(), found.left_out) == (("c", "a", "b", "once"), [3, 2, 2, 1], 0)
    assert count_words(["once (c)", "A! b, C.", "c a b"], min_count=1).words == found.words


def test_rare_words_and_those_beyond_the_limit_are_left_out() -> None:
    assert count_words(["a a b b c"], min_count=2).words == ("a", "b")
    kept = count_words(["a a a b b c c d"], min_count=1, most=2)
    assert (kept.words, kept.left_out) == (("a", "b"), 3)


def test_a_word_that_cannot_be_written_is_left_out() -> None:
    assert count_words(["a \ud800x"], min_count=1).words == ("a",)


@pytest.mark.parametrize("texts", [[], ["..."], ["日本で犬を飼う", "猫を飼う"]])
def test_no_word_is_told(texts: list[str]) -> None:
    with pytest.raises(StudioError, match="no word"):
        count_words(texts)


def test_counting_can_be_stopped() -> None:
    with stoppable(lambda: True), pytest.raises(StoppedError):
        count_words(["a a"])
