"""Relevance judgments made in the Evaluate tab: questions, ticks that survive a reload, and the table that is evaluated on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_studio import sentences

from sbert_studio.data.loading.table import read_table
from sbert_studio.data.retrieval import read_judgments, retrieval_kind
from sbert_studio.errors import StudioError
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.state import Header
from sbert_studio.ui.tabs.evaluate import relevance
from sbert_studio.ui.tabs.evaluate.relevance import (
    parse_questions,
    restore,
    search_questions,
    tick,
    use_judgments,
    write_judgments,
)
from sbert_studio.ui.views import UNCHANGED

TEXTS = list(dict.fromkeys(sentences(60)))[:40]
QUESTIONS = f"  {TEXTS[3]} moon\n\n{TEXTS[8]}\n{TEXTS[8]}\n"


@pytest.fixture
def corpus(page: Page, tmp_path: Path) -> str:
    path = tmp_path / "docs.csv"
    path.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    return page.corpora.open_file(None, path)


def test_ticks_make_a_table_of_all_texts_that_models_are_evaluated_on(page: Page, corpus: str, static: str, toasts: list[str]) -> None:
    shown = search_questions(page, None, corpus, static, QUESTIONS).judged["questions"]
    asked = [TEXTS[3] + " moon", TEXTS[8]]
    assert [one["query"] for one in shown] == asked
    for one in shown:
        rows = [hit["row"] for hit in one["hits"]]
        assert 10 <= len(rows) == len(set(rows)) <= 20 and not any(hit["ticked"] for hit in one["hits"])
        assert [hit["text"] for hit in one["hits"]] == [TEXTS[row] for row in rows]
    with pytest.raises(StudioError, match="no passage is ticked"):
        write_judgments(page, None, corpus)
    other = next(hit["row"] for hit in shown[0]["hits"] if hit["row"] != 3)
    for item in (
        [asked[0], other, True],
        [asked[0], other, False],
        [asked[0], 3, True],
        ["a", 3, True],
        [asked[0], 99, True],
        [[], {}, 1],
        None,
    ):
        note = tick(page, None, corpus, Selection("tick", item))
    assert note["text"].startswith("1 of 2 questions")
    table = read_table(write_judgments(page, None, corpus))
    data = read_judgments(table)
    assert retrieval_kind(table) == "labelled" and data.queries == tuple(asked[:1])
    assert sorted(data.documents) == sorted(TEXTS), "the texts that were not shown are searched, too"
    assert len(data.grades[0]) == len(shown[0]["hits"]) and [data.documents[row] for row, grade in data.grades[0].items() if grade] == [
        TEXTS[3]
    ]
    used = use_judgments(page, Header(corpus=corpus, model=static))
    assert "now the data of all tabs" in toasts[0] and "docs.csv" in toasts[0]
    key = used.chosen.corpus
    assert isinstance(key, str) and page.corpora.get(key).corpus.name.endswith("relevance.csv")
    assert set(page.corpora.get(key).corpus.texts) == set(TEXTS)


def test_ticks_survive_a_reload_and_another_search_but_belong_to_a_visitor_and_to_the_data(page: Page, corpus: str, static: str) -> None:
    search_questions(page, None, corpus, static, QUESTIONS)
    row = restore(page, None, corpus).judged["questions"][1]["hits"][2]["row"]
    tick(page, None, corpus, Selection("tick", [TEXTS[8], row, True]))
    again = restore(page, None, corpus)
    assert again.questions == "\n".join(parse_questions(QUESTIONS)) and again.judged["questions"][1]["hits"][2]["ticked"]
    more = search_questions(page, None, corpus, static, f"another\n{TEXTS[8]}").judged["questions"]
    assert [any(hit["ticked"] for hit in one["hits"]) for one in more] == [False, True]
    other = page.corpora.put(page.corpora.sample())
    assert restore(page, None, other).questions is UNCHANGED and restore(page, None, other).judged["empty"]
    search_questions(page, None, other, static, "cat")
    assert restore(page, None, corpus).judged["questions"] == more, "labels of other data stay"
    for path in page.studio.workspace.cache("relevance").glob("*.json"):
        path.write_text("[")
    assert restore(page, None, corpus).judged["empty"]
    for wrong in ("", " \n", "\n".join(map(str, range(60)))):
        with pytest.raises(StudioError, match="questions"):
            parse_questions(wrong)


def test_ticks_stay_if_another_model_does_not_find_the_passage_and_while_a_search_is_under_way(
    page: Page, corpus: str, static: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_questions(page, None, corpus, static, TEXTS[8])
    row = restore(page, None, corpus).judged["questions"][0]["hits"][0]["row"]

    def pool(*_arguments: object) -> list[int]:
        tick(page, None, corpus, Selection("tick", [TEXTS[8], row, True]))
        return [one for one in range(len(TEXTS)) if one != row][:5]

    monkeypatch.setattr(relevance, "_pool", pool)
    hits = search_questions(page, None, corpus, static, TEXTS[8]).judged["questions"][0]["hits"]
    assert [hit["row"] for hit in hits if hit["ticked"]] == [row] and len(hits) == 6


def test_judged_passages_below_headings_are_read_as_one_column(page: Page, tmp_path: Path, static: str) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(json.dumps({"title": f"Page {row}", "text": text}) for row, text in enumerate(TEXTS)), encoding="utf-8")
    corpus = page.corpora.keep(None, page.corpora.read(path, ["title", "text"]))
    assert all(text.count("\n") == 1 for text in page.corpora.get(corpus).corpus.texts)
    search_questions(page, None, corpus, static, TEXTS[8])
    tick(page, None, corpus, Selection("tick", [TEXTS[8], 8, True]))
    used = use_judgments(page, Header(corpus=corpus, model=static)).chosen.corpus
    assert isinstance(used, str) and len(page.corpora.get(used).corpus.texts) == len(TEXTS)
