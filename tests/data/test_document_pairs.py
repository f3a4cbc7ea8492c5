"""Pairs from documents: what becomes a query, what is hidden from its passage, and what is not used."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sbert_studio.data.document_pairs import (
    AMBIGUOUS,
    DUPLICATE,
    IDENTICAL,
    NO_QUERY,
    TOO_SHORT,
    DocumentPair,
    PairCollection,
    PairOptions,
    PassageText,
    make_document_pairs,
    parse_sources,
    passages_for_pairs,
)
from sbert_studio.data.documents.document import Document, Section
from sbert_studio.data.documents.passages import TokenBudget, make_passages
from sbert_studio.errors import StudioError

COLORS = ("red", "blue", "green", "grey", "black", "white")
ENGLISH = [f"The {color} valve number {number} opens slowly on cold days. " for number, color in enumerate(COLORS)]
CHINESE = [f"第{number}号阀门在寒冷的早晨打开得很慢，需要提前检查。" for number in "一二三四五六"]
HIDE = PairOptions(keep=0.0)


def passage(sentences: list[str], *headings: str, document: str = "d") -> PassageText:
    return PassageText(document, headings, tuple(sentences))


@pytest.mark.parametrize("sentences", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize(("origin", "hidden"), [("summary", True), ("cloze", True), ("crop", False)])
def test_a_query_is_part_of_its_passage_and_hidden_from_it_unless_it_is_a_crop(sentences: list[str], origin: Any, hidden: bool) -> None:
    for seed in range(20):
        (pair,) = make_document_pairs([passage(sentences)], [origin], PairOptions(keep=0.0, seed=seed)).pairs
        assert pair.query in "".join(sentences) and pair.origin == origin and (pair.query not in pair.document) == hidden
        assert (pair.query == sentences[0].strip()) == (origin == "summary") or origin == "cloze"
        rest = [sentence for sentence in sentences if sentence.strip() != pair.query]
        assert pair.document == "".join(rest if hidden else sentences).strip()


def test_queries_stay_at_the_given_rate_and_all_pairs_of_a_passage_share_their_second_text() -> None:
    passages = [passage([f"{sentence.strip()} {number} " for sentence in ENGLISH], document=str(number)) for number in range(400)]
    pairs = make_document_pairs(passages, ["summary"], PairOptions(keep=0.25)).pairs
    assert 0.18 < sum(pair.query in pair.document for pair in pairs) / len(pairs) < 0.32
    passages = [passage([f"{one.strip()} {number} " for one in ENGLISH], f"Valve {number}", document=str(number)) for number in range(30)]
    found, again, other = (
        make_document_pairs(passages, parse_sources(["structure", "crop"]), PairOptions(cloze=2, crops=2, seed=seed)).pairs
        for seed in (1, 1, 2)
    )
    assert found == again != other
    assert len({(pair.document_id, pair.document) for pair in found}) == len({pair.document_id for pair in found}) > 25


def test_crops_are_made_of_passages_that_give_no_other_pair() -> None:
    with_heading, without = (
        passage(ENGLISH, "Old valves", document="a"),
        passage([one.replace("valve", "pump") for one in ENGLISH], document="b"),
    )
    without = PassageText("b", (), without.sentences, is_first=False)

    def origins(options: PairOptions) -> set[tuple[str, bool]]:
        pairs = make_document_pairs([with_heading, without], parse_sources(["structure", "crop"]), options).pairs
        return {(pair.document_id, pair.origin in ("cloze", "crop")) for pair in pairs}

    assert origins(PairOptions()) == {("a", False), ("b", True)}
    assert origins(PairOptions(fill=False)) == {("a", False), ("a", True), ("b", True)}


def test_headings_and_questions_become_queries() -> None:
    sections = (
        Section(("How do I open the valve?",), "".join(ENGLISH[:3])),
        Section(("Usage",), "Which valve is the oldest one? " + "".join(ENGLISH[3:])),
        Section(("Maintenance in spring",), "".join(ENGLISH)),
    )
    documents = [
        Document("a", "Valve manual", sections, "a.md"),
        Document("b", "Pump manual", (Section(("Usage",), "".join(ENGLISH).replace("valve", "pump")),), "b.md"),
    ]
    passages = passages_for_pairs(documents, make_passages(documents, TokenBudget(lambda texts: [len(text) for text in texts], 2000), 0.0))
    assert [text.headings for text in passages][:2] == [("Valve manual", "How do I open the valve?"), ("Valve manual", "Usage")]
    assert ["".join(text.sentences) for text in passages][2] == "".join(ENGLISH).strip()
    found = {
        pair.query: pair
        for seed in range(8)
        for pair in make_document_pairs(passages, parse_sources(["structure"]), PairOptions(0, 0, 0.0, seed)).pairs
    }
    origins = {query: pair.origin for query, pair in found.items() if pair.origin != "summary"}
    assert origins == {
        "How do I open the valve?": "question",
        "Which valve is the oldest one?": "question",
        "Maintenance in spring": "heading",
        "Valve manual: Usage": "heading",  # repeated in another document
        "Pump manual: Usage": "heading",
    }
    assert found["How do I open the valve?"].document.startswith("Valve manual\n") and "manual" not in found["Valve manual: Usage"].document


def test_a_passage_gives_a_few_questions() -> None:
    questions = [f"Does the {color} valve open on cold days? " for color in COLORS]
    found = make_document_pairs([passage([*questions, *ENGLISH])], ["question"], HIDE)
    assert [pair.query for pair in found.pairs] == [question.strip() for question in questions[:3]]
    assert found.pairs[0].document == "".join([*questions[3:], *ENGLISH]).strip()


def test_what_other_documents_contain_is_no_query_and_no_passage_of_its_own() -> None:
    notice = "This page was written by volunteers and comes without any warranty at all. "
    own = [[f"{sentence.strip()} {number} " for sentence in ENGLISH] for number in range(4)]
    passages = [passage([notice, *sentences, notice], document=str(number)) for number, sentences in enumerate(own)]
    passages.append(passage([notice, "Short one here. "], "A page about nothing", document="4"))
    for seed in range(10):
        found = make_document_pairs(passages, parse_sources(["structure", "crop"]), PairOptions(2, 2, 0.0, seed))
        assert {pair.document_id for pair in found.pairs} == {"0", "1", "2", "3"} and not found.kept["summary"]
        assert not any("volunteers" in pair.query or "warranty" in pair.query for pair in found.pairs)
        assert all(pair.document.startswith(notice) for pair in found.pairs), "search finds it there as well"


def test_unusable_pairs_are_counted_by_reason() -> None:
    long = "a long enough text about the valves of this house"
    pairs = [
        ("one two three four", long, "1"),
        ("one two three four", long.upper(), "1"),
        ("short", long, "2"),
        ("w x y z", "too short", "2"),
    ]
    pairs += [(long, long, "3"), ("asked of two documents", long + " 1", "4"), ("Asked  of two documents", long + " 2", "5")]
    found = PairCollection()
    found.add(DocumentPair(query, document, "cloze", name) for query, document, name in pairs)
    assert [pair.document_id for pair in found.pairs] == ["1"] and found.kept == Counter(cloze=1)
    assert found.dropped == {"cloze": {DUPLICATE: 1, TOO_SHORT: 2, IDENTICAL: 1, AMBIGUOUS: 2}}
    passages = {TOO_SHORT: 2, IDENTICAL: 1, AMBIGUOUS: 1, DUPLICATE: 1, NO_QUERY: 2}  # the copy of a used passage is another one
    assert found.unused_passages(["1", "1", "2", "2", "3", "4", "6", "7"]) == passages


@pytest.mark.parametrize("names", [[], ["structure", "nothing"]])
def test_an_unknown_source_is_rejected(names: list[str]) -> None:
    with pytest.raises(StudioError, match="source"):
        parse_sources(names)
