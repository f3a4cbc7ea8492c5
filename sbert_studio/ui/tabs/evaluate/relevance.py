"""Relevance judgments made in the page: type questions, tick the passages that answer them, and evaluate retrieval on the result.

The questions, the passages found and the ticks are stored for each visitor and their data, so that they survive a reload.
"""

from __future__ import annotations

import html
import json
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....data.cells import write_rows
from ....errors import StudioError
from ....explore.vector_store import evict_files
from ....i18n import _, ngettext
from ....workspace import validate_key, write_json
from ...components import cancel_button
from ...handlers import progress_callback
from ...panel import Panel
from ...sessions.language import notify_info
from ...state import Header, OpenedCorpus, SelectedCorpus
from ...views import UNCHANGED, Unchanged, Update, Value, placeholder, props, shorten, view

if TYPE_CHECKING:
    from ...page import Page
    from ...panel import Selection

SUBTAB = "relevance"
MAX_QUESTIONS = 50
_DEPTH = 10  # passages of each of the two rankings
_MAX_BYTES = 64 << 20  # of all visitors
_MAX_QUESTION, _MAX_TEXT = 500, 4_000  # characters
_MAX_SHOWN = 600  # characters of a passage that are shown; tables contain all
_LOCK = threading.Lock()
_NOTHING = placeholder("The passages found for each question appear here.")  # and the progress of the search
_TASK = "relevance"
_INTRO = (
    "Type about ten questions that people ask, press Search, and tick the passages that answer them. This is a test set of your own. "
    "Passages nearest in meaning and those with the same words are found."
)


@dataclass(frozen=True)
class RelevanceView:
    judged: Value | None
    note: Value | None
    files: Update
    questions: str | Unchanged = UNCHANGED


@dataclass(frozen=True)
class UsedJudgments:
    chosen: OpenedCorpus
    subtabs: gr.Tabs


def search_questions(
    page: Page, owner: object, corpus: str | None, model: str | None, questions: str | None, progress: gr.Progress | None = None
) -> RelevanceView:
    """Search the selected texts for every question by meaning and by words; ticks of earlier searches are kept.

    A ticked passage stays, also if another model does not find it.
    """
    selected = page.corpora.selected(corpus)
    asked = parse_questions(questions)
    report, pools = progress_callback(progress, "Searching"), {}
    for number, query in enumerate(asked):
        if report is not None and number:
            report(number, len(asked))
        pools[query] = dict.fromkeys(_pool(page, selected, query, model, report if not number else None))
    with _LOCK:
        ticked = {one["query"]: _ticked(one) for one in _load(page, owner, selected)}  # now: some may have been ticked during the search
        found = [{"query": query, "hits": _hits(selected, rows, ticked.get(query, set()))} for query, rows in pools.items()]
        _store(page, owner, selected, found)
    return _view(found)


def _hits(selected: SelectedCorpus, pooled: Iterable[int], ticked: Collection[int]) -> list[dict[str, Any]]:
    rows = dict.fromkeys([*pooled, *sorted(ticked)])
    texts, places = selected.corpus.texts, selected.corpus.places
    files = {row: {"file": places[row].file or places[row].document} for row in rows} if places else {}
    return [{"row": row, "text": shorten(texts[row], _MAX_TEXT), "ticked": row in ticked} | files.get(row, {}) for row in rows]


def _pool(page: Page, selected: SelectedCorpus, query: str, model: str | None, report: Any) -> Iterator[int]:
    """Yield rows of the first passages by meaning and by words in turn, so that no way of searching is preferred."""
    corpus = selected.corpus
    rankings = [
        page.studio.search.search(corpus, query, min(_DEPTH, len(corpus)), mode, model=model or None, progress=report).hits
        for mode in ("semantic", "lexical")
    ]
    for place in range(_DEPTH):
        yield from (hits[place].row for hits in rankings if place < len(hits))


def parse_questions(questions: str | None) -> list[str]:
    """Return the distinct questions, one per line.

    Raises:
        StudioError: there are none, or too many.
    """
    lines = (line.strip()[:_MAX_QUESTION] for line in (questions or "").splitlines())
    found = list(dict.fromkeys(line for line in lines if line))
    if not 1 <= len(found) <= MAX_QUESTIONS:
        raise StudioError(_("there are {n} questions", n=len(found)), _("type 1 to {most}, one per line", most=MAX_QUESTIONS))
    return found


def tick(page: Page, owner: object, corpus: str | None, selection: Selection) -> Value:
    """Store a tick of a passage, ``[question, row, is ticked]``; return the note on what is ready.

    Another page of the visitor may have stored other questions meanwhile, which such a tick does not change.
    """
    selected = page.corpora.selected(corpus)
    with _LOCK:
        found, item = _load(page, owner, selected), selection.item
        query, row, is_ticked = item if isinstance(item, list) and len(item) == 3 else ("", -1, False)
        if hits := [hit for one in found if one["query"] == query for hit in one["hits"] if hit["row"] == row]:
            hits[0]["ticked"] = is_ticked is True
            _store(page, owner, selected, found)
    return describe(found)


def restore(page: Page, owner: object, corpus: str | None) -> RelevanceView:
    """Return the stored questions and ticks for the selected data; empty if there are none."""
    found = _load(page, owner, page.corpora.selected(corpus))
    return _view(found, "\n".join(one["query"] for one in found)) if found else RelevanceView(_NOTHING, None, props(visible=False))


def describe(judgments: list[dict[str, Any]]) -> Value:
    """Return the note on the number of questions with a ticked passage."""
    ready = sum(bool(_ticked(one)) for one in judgments)
    questions = ngettext("{n} question", "{n} questions", len(judgments))
    return {"text": _("{ready} of {questions} have a ticked passage. The others are left out.", ready=ready, questions=questions)}


def write_judgments(page: Page, owner: object, corpus: str | None) -> Path:
    """Write the table query, document, grade: 1 for ticked passages, 0 for the others that were shown; then the texts not shown.

    A text is one line: a column whose cells all have two, such as a heading and a passage, would be read as two columns.

    Raises:
        StudioError: nothing is ticked.
    """
    selected = page.corpora.selected(corpus)
    texts = [" ".join(text.split()) for text in selected.corpus.texts]
    judged = [one for one in _load(page, owner, selected) if _ticked(one)]
    if not judged:
        raise StudioError("no passage is ticked", "tick at least one passage for a question")
    rows = [(one["query"], texts[hit["row"]], int(hit["ticked"])) for one in judged for hit in one["hits"]]
    shown = {hit["row"] for one in judged for hit in one["hits"]}
    rest = (("", text, "") for row, text in enumerate(texts) if row not in shown)
    path = page.training_tables.path(f"{Path(selected.corpus.name).stem} relevance.csv")
    write_rows(path, ("query", "document", "grade"), [*rows, *rest], guarded=False)
    return path


def use_judgments(page: Page, header: Header) -> UsedJudgments:
    """Select the table as the data of all tabs, and open the form that evaluates on it."""
    path, earlier = write_judgments(page, header.owner, header.corpus), page.corpora.selected(header.corpus).corpus.name
    key = page.corpora.open_file(header.owner, path, "document")
    names = {"name": html.escape(path.name), "earlier": html.escape(earlier)}
    words = _("{name} is now the data of all tabs: press Evaluate. To go back, select {earlier} at the top.", **names)
    notify_info(words, title="Data selected")
    return UsedJudgments(page.fit_corpus(key, header), gr.Tabs(selected="scores"))


def _view(judgments: list[dict[str, Any]], questions: str | Unchanged = UNCHANGED) -> RelevanceView:
    return RelevanceView({"questions": judgments, "shown": _MAX_SHOWN}, describe(judgments), props(visible=True), questions)


def _ticked(one: Mapping[str, Any]) -> set[int]:
    return {hit["row"] for hit in one["hits"] if hit["ticked"]}


def _path(page: Page, owner: object, selected: SelectedCorpus) -> Path:
    name = validate_key(f"{page.visitor(owner)}-{selected.corpus.digest[:16]}")
    return page.studio.workspace.cache("relevance") / f"{name}.json"


def _store(page: Page, owner: object, selected: SelectedCorpus, judgments: list[dict[str, Any]]) -> None:
    path = _path(page, owner, selected)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"corpus": selected.corpus.digest, "questions": judgments})
    evict_files(path.parent, _MAX_BYTES, path, "*.json")


def _load(page: Page, owner: object, selected: SelectedCorpus) -> list[dict[str, Any]]:
    """Return the stored questions on the selected texts; none if they are on other texts, or damaged."""
    try:
        stored = json.loads(_path(page, owner, selected).read_text(encoding="utf-8"))
        questions = stored["questions"] if stored["corpus"] == selected.corpus.digest else []
        rows = [hit["row"] for one in questions for hit in one["hits"] if isinstance(one["query"], str) and "ticked" in hit]
        return questions if all(0 <= row < len(selected.corpus) for row in rows) else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def build_relevance(page: Page, subtabs: gr.Tabs) -> None:
    """Draw the sub-tab and connect its events."""
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
            view("intro", {"title": "Label relevance", "text": _INTRO})
            questions = gr.Textbox(label="Questions, one per line", lines=8, max_lines=16, elem_id="relevance-questions")
            search = gr.Button("Search", variant="primary", elem_id="relevance-search")
            cancel_button(_TASK)
        with gr.Column(min_width=320, scale=2):
            judged = view("relevance", _NOTHING, elem_id="relevance-judged")
            note = view("note", elem_id="relevance-note")
            with gr.Row(visible=False, elem_classes=["sb-buttons"]) as files:
                use = gr.Button("Use as test data", variant="primary", elem_id="relevance-use")
    panel = Panel(page, questions=questions, judged=judged, note=note, files=files, subtabs=subtabs)
    panel.on(search.click, search_questions, task=_TASK, progress_on="judged")
    panel.on(judged.select, tick, output="note", each=True, quiet=True, queue=False)
    panel.on(page.corpus.change, restore, quiet=True)
    panel.on(use.click, use_judgments, progress_on="judged")
    page.on_load.append(lambda loaded: panel.on(loaded.then, restore, quiet=True))
