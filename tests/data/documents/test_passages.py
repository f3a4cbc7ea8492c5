"""Passages fit the budget, are slices of the document, lose nothing and end between sentences in any script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.data.documents.document import Document, Section
from sbert_studio.data.documents.passages import TokenBudget, make_passages, split_sentences


def count_words(texts: Sequence[str]) -> list[int]:
    """Count words and wide characters, and two special tokens."""
    return [2 + len(re.findall(r"[\u0e00-\u9fff]|[^\s\u0e00-\u9fff]+", text)) for text in texts]


def document(*texts: str, title: str = "A title", path: tuple[str, ...] = ("Part",)) -> Document:
    return Document("d", title, tuple(Section(path, text, page) for page, text in enumerate(texts, start=1)), "d.pdf")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Smith arrived. He left at 5.30 p.m. today!", ["Dr. Smith arrived.", "He left at 5.30 p.m. today!"]),
        ("Am 3. Oktober kam Hr. Meier z. B. mit J. S. Bach. Gut so.", ["Am 3. Oktober kam Hr. Meier z. B. mit J. S. Bach.", "Gut so."]),
        ("“Why?” he asked. “No!” Then… silence", ["“Why?” he asked.", "“No!”", "Then… silence"]),
        ("In 1998. Next", ["In 1998.", "Next"]),
        ("这是第一句。“真的吗？”好！", ["这是第一句。", "“真的吗？”", "好！"]),
        ("これはペンです。そうですか？", ["これはペンです。", "そうですか？"]),
        ("สวัสดีครับ วันนี้อากาศดี", ["สวัสดีครับ", "วันนี้อากาศดี"]),
        ("यह एक है। यह दो है।", ["यह एक है।", "यह दो है।"]),
        ("A list\n- one item\n- two\n\nA paragraph", ["A list", "- one item", "- two", "A paragraph"]),
        ("  \n ", []),
    ],
)
def test_sentences_end_where_readers_expect(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


WORDS = st.sampled_from(["word", "a,", "end.", "End!", "句子。", "很长", "ไทย", "Dr.", "\n", "\n\n", "x" * 30, "; "])
TEXTS = st.lists(WORDS, min_size=1, max_size=120).map(" ".join)
TEXTS_OF_PAGES = st.lists(TEXTS, min_size=1, max_size=3)


@given(TEXTS_OF_PAGES, st.integers(6, 40), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from(["", "A long title here"]))
def test_passages_fit_and_cover_the_document(texts: list[str], limit: int, overlap: float, title: str) -> None:
    one = document(*texts, title=title)
    passages = list(make_passages([one], TokenBudget(count_words, limit), overlap))
    assert all(passage.text == one.text[passage.start : passage.end] == passage.text.strip() for passage in passages)
    counts = count_words([passage.encoded_text for passage in passages])
    assert all(count <= limit for count in counts)
    covered = {place for passage in passages for place in range(passage.start, passage.end)}
    assert all(place in covered for place, character in enumerate(one.text) if not character.isspace())
    starts = [passage.start for passage in passages]
    assert starts == sorted(set(starts))
    assert all(one.starts[(passage.page or 0) - 1] <= passage.start for passage in passages)
    if overlap == 0:
        assert all(first.end <= second.start for first, second in pairwise(passages))


def test_passages_keep_headings_break_between_sentences_and_overlap() -> None:
    sentences = [f"This is sentence number {n} of many." for n in range(40)]
    one = document(" ".join(sentences[:20]), " ".join(sentences[20:]))
    other = document("Short.", title="Part", path=("Part", "Part", "Deep"))
    passages = list(make_passages([one, other], TokenBudget(count_words, 64), overlap=0.15))
    long, short = passages[:-1], passages[-1]
    assert (short.document, short.context, short.encoded_text) == (1, "Part › Deep", "Part › Deep\nShort.")
    assert {passage.context for passage in long} == {"A title › Part"} and all(passage.text.endswith("many.") for passage in long)
    lengths = [end - start for start, end in ((passage.start, passage.end) for passage in long)]
    assert max(lengths) < 2 * min(lengths) and [passage.page for passage in long[:2]] == [1, 1] and long[-1].page == 2
    assert all(second.start < first.end and second.text.startswith("This is") for first, second in pairwise(long))
    cut = next(make_passages([document("x", title=" ".join(["endless"] * 99), path=())], TokenBudget(count_words, 40)))
    assert 4 <= len(cut.context.split()) <= 10
