"""Words of texts, and files of word vectors."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.errors import StudioError
from sbert_studio.models.static.tokens import WordTokens, count_words, split_words
from sbert_studio.models.static.vectors import load_pretrained, read_vectors
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


def test_an_unspaced_clause_is_one_unknown_word_and_flat_ids_keep_the_bounds_of_texts() -> None:
    found = WordTokens(["dog", "日本"]).coverage(["日本で犬を飼う。", "A dog — 日本", "..."])
    assert (found.known, found.unknown, found.empty) == (2, 2, 2)
    assert found.share == 0.5
    ids, starts = WordTokens(["a", "b"]).flat(["a b x", "", "B"])
    assert (ids.tolist(), starts.tolist()) == ([0, 1, 1], [0, 2, 2, 3])
    assert WordTokens(["a"]).flat([])[1].tolist() == [0]
    with pytest.raises(StudioError, match="'b' occurs twice"):
        WordTokens(["a", "b", "b"])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"vocab": [1]}', '{"vocab": "abc"}', '{"vocab": ["a", "a"]}', '{"vocab": {"a": 1}}'])
def test_a_damaged_file_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "whitespacetokenizer_config.json").write_text(content)
    with pytest.raises(StudioError):
        WordTokens.read(tmp_path)


def test_words_stand_by_count_and_then_alphabet_and_rare_ones_are_left_out() -> None:
    found = count_words(["b a c", "C. b, A!", "(c) once"], min_count=1)
    assert (found.words, found.counts.tolist(), found.skipped) == (("c", "a", "b", "once"), [3, 2, 2, 1], 0)
    assert count_words(["once (c)", "A! b, C.", "c a b"], min_count=1).words == found.words
    assert count_words(["a a b b c"], min_count=2).words == ("a", "b")
    assert count_words(["a \ud800x"], min_count=1).words == ("a",), "not valid UTF-8"
    kept = count_words(["a a a b b c c d"], min_count=1, most=2)
    assert (kept.words, kept.skipped) == (("a", "b"), 3)
    with stoppable(lambda: True), pytest.raises(StoppedError):
        count_words(["a a"])


@pytest.mark.parametrize("texts", [[], ["..."], ["日本で犬を飼う", "猫を飼う"]])
def test_no_word_is_told(texts: list[str]) -> None:
    with pytest.raises(StudioError, match="no word"):
        count_words(texts)


WORDS = ["the", "naïve", "日本", "don't", "...", "Paris"]
MATRIX = np.random.default_rng(2).normal(size=(len(WORDS), 7)).astype(np.float32)
BINARY = b"2 3\nab " + np.ones(3, "<f4").tobytes() + b"cd " + np.ones(3, "<f4").tobytes()


def _file(folder: Path, content: str | bytes, name: str = "table.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _lines(words: list[str] = WORDS) -> str:
    return "".join(f"{word} {' '.join(map(repr, map(float, row)))}\n" for word, row in zip(words, MATRIX, strict=True))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_what_gensim_writes_is_read(tmp_path: Path, binary: bool, packed: bool) -> None:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(7)
    vectors.add_vectors(WORDS, MATRIX)
    path = tmp_path / ("table.gz" if packed else "table")
    vectors.save_word2vec_format(str(path), binary=binary)
    found = read_vectors(path)
    assert found.words == tuple(WORDS) and found.counts is None and found.name == path.name
    np.testing.assert_array_equal(found.matrix, MATRIX)


@pytest.mark.parametrize("between", [b"", b"\n"])
def test_a_binary_table_larger_than_a_block_is_read(tmp_path: Path, between: bytes) -> None:
    matrix = np.random.default_rng(3).normal(size=(3000, 50)).astype("<f4")
    content = b"3000 50\n" + b"".join(f"word{place} ".encode() + row.tobytes() + between for place, row in enumerate(matrix))
    found = read_vectors(_file(tmp_path, content))
    np.testing.assert_array_equal(found.matrix, matrix)
    assert found.words[-1] == "word2999" and len(read_vectors(tmp_path / "table.txt", most=2999)) == 2999


@pytest.mark.parametrize("content", ["2 3\nthe 1 2 3\na 4 5 6\n", "the 1 2 3\na 4 5 6\n", BINARY])
def test_the_mark_that_some_editors_put_before_a_file_belongs_to_no_word(tmp_path: Path, content: str | bytes) -> None:
    marked = b"\xef\xbb\xbf" + (content.encode() if isinstance(content, str) else content)
    assert read_vectors(_file(tmp_path, marked)).words == read_vectors(_file(tmp_path, content)).words


@pytest.mark.parametrize("ending", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize("header", ["", "6 7\n", "\n\n"])
def test_text_is_read(tmp_path: Path, header: str, ending: str) -> None:
    found = read_vectors(_file(tmp_path, (header + _lines()).replace("\n", ending)))
    assert found.words == tuple(WORDS)
    np.testing.assert_array_equal(found.matrix, MATRIX)
    assert load_pretrained(tmp_path / "table.txt", most=2).words == ("the", "naïve")
    assert read_vectors(_file(tmp_path, gzip.compress(_lines().encode()))).words == tuple(WORDS), "whatever its name"


def test_words_with_spaces_and_second_vectors_are_passed_over_and_capitals_told_apart(tmp_path: Path) -> None:
    found = read_vectors(_file(tmp_path, _lines(["the", ". . .", "at name@domain.com", "the", "a\u00a0b", "dog"])))
    assert found.words == ("the", "dog")
    np.testing.assert_array_equal(found.matrix, MATRIX[[0, 5]])
    cased = read_vectors(_file(tmp_path, "Paris 1 0\nparis 0 1\n"))
    assert (cased.tokens.ids("Paris, paris PARIS"), cased.tokens.lowercase) == ([0, 1, 1], False)
    assert read_vectors(_file(tmp_path, "paris 1 0\n")).tokens.ids("Paris") == [0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a 1 2\nb 1\n", "line 2 of table.txt has 1 numbers, but earlier lines have 2"),
        ("a 1 2\nb 1 2\n\nc 1 2 3\n", "line 4 of table.txt has 3 numbers"),
        ("2 2\na 1 2\nb 1 x\n", "line 3 of table.txt has 'x' instead of a number"),
        ("2 2\na 1 y\nb 1 2\n", "line 2 of table.txt has 'y'"),
        ("a 1 2\nb nan 2\n", "line 2 of table.txt contains a number that is not finite"),
        ("a 1 2\nb 1e999 2\n", "line 2 of table.txt contains a number that is not finite"),
        ("a 1 2\nb 3e38 2\n", "table.txt contains a number for the word 'b' that is too large"),
        (BINARY[:-4] + np.array([-3e38], "<f4").tobytes(), "table.txt contains a number for the word 'cd' that is too large"),
        (b"a 1 2\n\xff 1 2\n", "line 2 of table.txt is not UTF-8"),
        ("1 2\na 1 2\nb 1 2\n", "the first line announces 1 words, but the file contains 2 or more"),
        ("3 2\na 1 2\nb 1 2\n", "ends at line 3: its first line announces 3 words, but it contains 2"),
        ("3 2\na 1 2\nb 1 2\n\n", "its first line announces 3 words, but it contains 2"),
        ("3 0\n", "line 1 of table.txt says that a vector has 0 components"),
        ("sentence\nanother\n", "line 1 of table.txt is not a word followed by numbers"),
        ("a sentence of words\n", "line 1 of table.txt has 'sentence'"),
        ("a 1\nb " + "1" * 500_000, "line 2 of table.txt is too long"),
        ("", "contains no word vectors"),
        ("\n\n", "contains no word vectors"),
        (BINARY[:-1], "ends within word 2 of the 2 announced"),
        (b"99999999999999 3" + BINARY[3:], "ends within word 3 of the 99999999999999 announced"),
        (BINARY[:-4] + np.array([np.nan], "<f4").tobytes(), "word 2 of table.txt contains a number that is not finite"),
        (BINARY[:20] + b"\x00" * 20_000, "word 2 of table.txt is not terminated"),
        (gzip.compress(_lines().encode())[:-20], "cannot be unpacked"),
        (b"2 2" + BINARY[3:], "announces 2 words of 2 numbers, which the file does not contain"),
        (b"1 3" + BINARY[3:], "announces 1 words of 3 numbers, which the file does not contain"),
        (gzip.compress(b"a 1 2\n" + b"\n" * 50_000_000, 1), "contains 10,000 empty lines after line 2"),
    ],
)
def test_the_line_at_fault_is_told(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(StudioError) as caught:
        read_vectors(_file(tmp_path, content))
    assert said in caught.value.message and caught.value.hint


def test_binary_tables_that_lie_tables_too_large_and_missing_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(0).standard_normal((400, 50)).astype("<f4")
    content = b"400 49\n" + b"".join(b"word%d " % place + row.tobytes() + b"\n" for place, row in enumerate(numbers))
    with pytest.raises(StudioError, match="announces 400 words of 49 numbers"):
        read_vectors(_file(tmp_path, content), 100)
    monkeypatch.setattr("sbert_studio.models.static.vectors._BYTES", 100)
    with pytest.raises(StudioError, match="more than 0 GiB of numbers in 13 words"):
        read_vectors(_file(tmp_path, "".join(f"word{place} 1 2\n" for place in range(50))))
    with pytest.raises(StudioError, match="cannot be read"):
        read_vectors(tmp_path / "none.txt")
    with pytest.raises(StudioError, match=r"no word vectors 'none\.txt'"):
        load_pretrained("none.txt")


def test_reading_tells_how_far_it_is_and_can_be_stopped(tmp_path: Path) -> None:
    path = _file(tmp_path, "".join(f"w{place} 1 2\n" for place in range(5000)))
    told: list[tuple[int, int]] = []
    read_vectors(path, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 0), (2048, 0), (4096, 0)]
    with stoppable(lambda: True), pytest.raises(StoppedError):
        read_vectors(path)
