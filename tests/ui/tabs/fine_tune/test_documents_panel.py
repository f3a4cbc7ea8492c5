"""From documents to a better search in the Fine-tune tab: every step with its result, file and closer look."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from model_server import Reply, serve_model
from tiny_studio import WORDS, sentences

from sbert_studio.errors import StudioError
from sbert_studio.evaluation.comparison import Comparison
from sbert_studio.i18n import translate_value
from sbert_studio.runs.run import Run
from sbert_studio.services.jobs import JobView
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.sessions import file_store
from sbert_studio.ui.tabs.fine_tune import documents, documents_panel, handlers
from sbert_studio.ui.tabs.fine_tune.documents import GuideSettings, WritingInputs
from sbert_studio.ui.tabs.fine_tune.documents_panel import ClickedGuide, GuideView
from sbert_studio.ui.tabs.fine_tune.view_model import pins_form
from sbert_studio.ui.views import UNCHANGED, props
from sbert_studio.workspace import write_json

from ... import waiting
from .forms import form_of, open_path

COUNT = 110


@pytest.fixture
def corpus(page: Page, tmp_path: Path) -> str:
    """The key of a table of titles and texts."""
    texts = iter(sentences(6 * COUNT, 3))
    rows = [
        {"title": f"All {WORDS[row % 20]} {WORDS[row // 20]}", "text": " ".join(f"It is {next(texts)} {row}." for _ in range(6))}
        for row in range(COUNT)
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return page.corpora.keep(None, page.corpora.read(path, ["text"]))


def click(page: Page, corpus: str, action: str, step: str = "", writing: WritingInputs | None = None, **settings: object) -> ClickedGuide:
    form = documents_panel.settings_form(page.studio)
    form["values"] |= settings
    return documents_panel.click_step(page, corpus, None, None, form, writing or WritingInputs(), 1, Selection(action, step))


def end_job(page: Page, corpus: str) -> tuple[JobView, GuideView]:
    """Wait for the job, and poll as the page does."""
    job = waiting.ended(lambda: page.studio.document_jobs.latest("local"))
    view = documents_panel.poll_guide(page, corpus, None, None)
    assert view is not None
    again = documents_panel.poll_guide(page, corpus, None, view.guide_state)
    assert again is not None and again.made is UNCHANGED and again.documents_timer == props(active=False)
    return job, view


def pages(texts: Iterable[str]) -> set[str]:
    """The numbers of the documents that texts are from."""
    return {number for text in texts for number in re.findall(r" (\d+)\.", text)}


def steps_of(view: GuideView) -> dict[str, dict[str, Any]]:
    assert isinstance(view.steps, dict)
    return {step["name"]: step for step in view.steps["steps"]}


def actions(view: GuideView, step: str) -> list[str]:
    return [action for _label, action in steps_of(view)[step]["actions"]]


@pytest.mark.slow
def test_documents_become_pairs_negatives_a_model_and_a_comparison(page: Page, corpus: str) -> None:
    shown = documents_panel.show_guide(page, corpus, None)
    assert isinstance(shown.steps, dict) and shown.steps["title"] == f"You have {COUNT} documents and no pairs"
    assert [step["status"] for step in steps_of(shown).values()] == ["done", "current", "", "", "", ""]
    assert actions(shown, "pairs") == ["start"] and not actions(shown, "negatives") and not actions(shown, "use")
    with pytest.raises(StudioError, match="no pairs"):
        click(page, corpus, "start", "negatives")

    assert actions(click(page, corpus, "start", "pairs").view, "pairs") in (["stop"], ["show", "load", "start"])
    job, view = end_job(page, corpus)
    assert job.status == "finished", job
    text = steps_of(view)["pairs"]["text"]
    assert steps_of(view)["pairs"]["status"] == "done" and "22 documents are not used" in text
    assert re.search(r"On \d+ queries, nDCG@10 is 0\.\d{3} so far; a difference of more than about 0\.\d{3} is likely", text), text
    assert "文档" in translate_value(view.steps, "zh")["title"]
    table = click(page, corpus, "show", "pairs").view.inspected
    assert isinstance(table, dict) and 10 <= len(table["rows"]) <= 70 and "kept for the comparison" in table["note"]
    path = documents_panel.write_made(page, "pairs", corpus, None)
    assert path is not None
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len({pair["document_id"] for pair in pairs}) == COUNT - 22

    click(page, corpus, "start", "negatives", per_row=2, margin=0.0)
    job, view = end_job(page, corpus)
    assert job.status == "finished" and "hard negatives" in steps_of(view)["negatives"]["text"], job
    assert re.search(r"Unrelated texts score 0\.\d{3} on average; texts above 100%", steps_of(view)["negatives"]["text"])
    opened = documents_panel.open_made(page, str(view.made), corpus, None, None, "")
    assert opened is not None and opened.view.draft is not None
    again = handlers.show_data(page, None, corpus, None, {}, None, "")
    assert again is not None and again.file.view.preview["caption"] == opened.view.preview["caption"], "a reload opens the newest file"
    newest = again.file.view.draft
    page.drafts.get(opened.view.draft)  # what an event of the earlier form does
    handlers.check_draft(page, newest, corpus)
    draft = page.drafts.get(newest)
    assert draft.plan is not None and draft.plan.roles.kind == "triplets", draft.problem
    form = form_of(draft, epochs="0.2", evaluation="split", method="full", seeds=1, soup=1)
    run_id = handlers.start_training(page, opened.view.draft, None, None, "", 0, corpus, {}, form).selected.chosen
    run = waiting.ended(lambda: page.studio.store.get(run_id), 120)
    assert run.status == "finished", run

    view = documents_panel.refresh_guide(page, corpus, None)
    assert steps_of(view)["train"]["status"] == "done" and actions(view, "comparison") == ["start"]
    click(page, corpus, "start", "comparison")
    job, view = end_job(page, corpus)
    assert job.status == "finished" and view.made is UNCHANGED, job
    assert "22 documents that were not used for training" in steps_of(view)["comparison"]["text"]
    table = click(page, corpus, "show", "comparison").view.inspected
    assert isinstance(table, dict) and run.name in [row[0] for row in table["rows"]] and "BM25" in [row[0] for row in table["rows"]]
    used = click(page, corpus, "use", "use")
    assert used.choice.saved_model == run_id and used.tabs == {"__type__": "update", "selected": "Search"}

    click(page, corpus, "start", "pairs", crop=False)
    _job, view = end_job(page, corpus)
    assert steps_of(view)["negatives"]["status"] == "" and view.negatives_file == {"__type__": "update", "visible": False}
    assert len([file for file in page.files.list_files("local") if file.use.startswith(("document", "hard"))]) <= 2


def test_removed_documents_take_along_what_was_made_from_them(page: Page, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    click(page, corpus, "start", "pairs")
    end_job(page, corpus)
    assert len(page.files.list_files("local")) == 2
    released, load = threading.Event(), documents._load
    monkeypatch.setattr(documents, "_load", lambda *arguments: released.wait(60) and load(*arguments))
    documents.start_pairs(page, "local", page.corpora.get(corpus), None, GuideSettings(), WritingInputs())
    corpora.delete_file(page, corpus, None)
    released.set()
    assert waiting.ended(lambda: page.studio.document_jobs.latest("local")).status == "stopped" and not page.files.list_files("local")
    view = documents_panel.poll_guide(page, corpus, None, None)
    assert view is not None and isinstance(view.steps, dict) and "no longer open here" in view.steps["title"]
    assert view.steps["steps"] == [] and view.guide_timer == props(active=False)


def test_answers_on_doubtful_texts_go_to_the_basket_and_become_negatives(page: Page, corpus: str) -> None:
    click(page, corpus, "start", "pairs")
    end_job(page, corpus)
    click(page, corpus, "start", "negatives", margin=0.3)
    _job, view = end_job(page, corpus)
    assert "ask" in actions(view, "negatives")
    table = click(page, corpus, "ask", "negatives").view.inspected
    assert isinstance(table, dict) and not any(row[1].endswith("…") for row in table["rows"]), "passages are shown whole"
    documents_panel.answer_doubtful(page, corpus, None, Selection("apart", 0))
    documents_panel.answer_doubtful(page, corpus, None, Selection("together", 1))
    assert documents_panel.answer_doubtful(page, corpus, None, Selection("apart", 10_000)) is UNCHANGED
    apart, together = page.baskets.of("local").pairs
    assert (apart.together, together.together, apart.source) == (False, True, "Documents")
    click(page, corpus, "start", "negatives", margin=0.3)
    end_job(page, corpus)
    path = documents_panel.write_made(page, "negatives", corpus, None)
    assert path is not None
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {row["negative"] for row in rows if row["query"] == apart.a} <= {apart.b}
    made = documents_panel.write_made(page, "pairs", corpus, None)
    assert made is not None
    used = [json.loads(line)["document"] for line in made.read_text(encoding="utf-8").splitlines()]
    assert pages(row["negative"] for row in rows) <= pages(used) and len(pages(used)) == COUNT - 22, "held-out documents are not used"
    table = click(page, corpus, "ask", "negatives").view.inspected
    assert isinstance(table, dict)
    assert not {(apart.a, apart.b), (together.a, together.b)} & {tuple(pair) for pair in table["pairs"]}


def test_written_queries_are_estimated_first_and_no_source_is_refused(page: Page, corpus: str) -> None:
    with serve_model(lambda prompt: Reply("what is " + prompt.split("\n")[1])) as server:
        writing = WritingInputs(server.url, "tiny", examples="where is the cat\n")
        settings: dict[str, Any] = {
            "structure": False,
            "crop": False,
            "llm": True,
            "passages": "6",
            "input_price": "2",
            "output_price": "4",
        }
        click(page, corpus, "start", "pairs", writing, **settings)
        job, view = end_job(page, corpus)
        asked = len(server.asked)
        text = steps_of(view)["pairs"]["text"]
        assert "6 requests" in text and "Cost" in text and asked <= 6 and view.made is UNCHANGED, job
        click(page, corpus, "start", "pairs", writing, **settings)
        job, view = end_job(page, corpus)
    assert job.about == documents.JobTopic(page.corpora.get(corpus).data_key, "pairs") and asked < len(server.asked) <= 12
    click(page, corpus, "start", "pairs", WritingInputs("no address", "tiny"), llm=True)
    job, view = end_job(page, corpus)
    assert job.status == "failed" and "base URL" in steps_of(view)["pairs"]["text"], "the reason stands in the step"
    with pytest.raises(StudioError, match="no source"):
        click(page, corpus, "start", "pairs", structure=False, crop=False)


def test_other_data_hide_the_panel_and_a_stopped_step_can_be_repeated(page: Page, corpus: str, corpus_file: Path) -> None:
    other = page.corpora.put(page.corpora.read(corpus_file))
    hidden = documents_panel.show_guide(page, other, None)
    assert hidden.guide == {"__type__": "update", "visible": False} and hidden.steps is None
    click(page, corpus, "start", "pairs")
    click(page, corpus, "stop", "pairs")
    job, view = end_job(page, corpus)
    labels = [label for label, action in steps_of(view)["pairs"]["actions"] if action == "start"]
    assert (job.status, labels) in [("stopped", ["Continue"]), ("finished", ["Make again"])]
    assert documents_panel.show_guide(page, other, None).steps is None


def test_visitors_of_a_shared_page_use_the_operators_language_model_for_a_few_passages(page: Page, corpus: str) -> None:
    page.studio.catalog.allow_folders = False
    with serve_model(lambda prompt: Reply("what is " + prompt.split("\n")[1])) as server:
        for passages in ("0", "1000"):
            with pytest.raises(StudioError, match="passages were requested"):
                click(page, corpus, "start", "pairs", llm=True, passages=passages)
        click(page, corpus, "start", "pairs", WritingInputs(server.url, "tiny"), llm=True, passages="4")
        job, view = end_job(page, corpus)
        assert job.status == "failed" and "operator" in steps_of(view)["pairs"]["text"] and not server.asked


@pytest.mark.process
def test_files_of_documents_wait_for_pairs(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("# Note\n\nA cat sat on the mat. The dog did not see it.\n", encoding="utf-8")
    corpus = page.corpora.keep(None, page.corpora.read(path))
    shown = handlers.show_data(page, None, corpus, None, {}, None, "")
    assert shown is not None and shown.file.view.draft is None and "pairs" in shown.file.view.preview["empty"]
    with pytest.raises(StudioError, match="no pairs"):
        handlers.start_training(page, None, None, None, "", 0, corpus, {}, {"values": {}})
    assert actions(documents_panel.show_guide(page, corpus, None), "passages") == ["show"]
    table = click(page, corpus, "show", "passages").view.inspected
    assert isinstance(table, dict) and table["rows"][0][0] == "note.md" and "cat sat" in table["rows"][0][1]


def test_few_documents_cannot_prove_a_gain(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text(
        "title,text\n" + "".join(f"All {word},{text} {word}. It is so.\n" for word, text in zip(WORDS, sentences(30), strict=False))
    )
    few = page.corpora.keep(None, page.corpora.read(path, ["text"]))
    click(page, few, "start", "pairs")
    job, view = end_job(page, few)
    assert "a gain cannot be proved" in steps_of(view)["pairs"]["text"], job


@pytest.mark.parametrize(
    ("score", "least", "said"),
    [
        (0.4, 0.031, "0.400 so far; a difference of more than about 0.031"),
        (0.0, 0.0, "nDCG@10 is 0.000 so far."),
        (1.0, 0.0, "nearly everything"),
    ],
)
def test_what_the_comparison_can_show_is_said_before(
    page: Page, corpus: str, monkeypatch: pytest.MonkeyPatch, score: float, least: float, said: str
) -> None:
    scores = SimpleNamespace(detectable=least, means={"ndcg@10": score})
    monkeypatch.setattr(page.studio.retrieval, "evaluate", lambda *_, **named: SimpleNamespace(models=[SimpleNamespace(scores=scores)]))
    click(page, corpus, "start", "pairs")
    job, view = end_job(page, corpus)
    text = steps_of(view)["pairs"]["text"]
    assert said in text and ("is likely beyond chance" in text) is (least > 0), job


def test_only_one_step_at_a_time_runs_with_the_same_documents(page: Page, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    load = documents._load

    def wait(*arguments: Any) -> Any:
        assert released.wait(60)
        return load(*arguments)

    monkeypatch.setattr(documents, "_load", wait)
    for _ in range(2):  # a double click
        click(page, corpus, "start", "pairs", crop=False)
    assert len(page.studio.document_jobs.list_jobs("local")) == 1
    released.set()
    job, _view = end_job(page, corpus)
    assert job.status == "finished", job
    pairs = documents.find_made(page, "local", page.corpora.get(corpus)).pairs
    assert pairs is not None
    page.files.touch("local", pairs.id, "", {**pairs.layout, "comparison": {"model": ["run", 1, None]}})
    elsewhere = documents_panel.show_guide(page, corpus, None).guide_state
    assert isinstance(elsewhere, dict)
    idle = documents_panel.poll_guide(page, corpus, None, elsewhere)
    assert idle == GuideView(UNCHANGED, UNCHANGED, UNCHANGED, props(active=False))
    released.clear()
    click(page, corpus, "start", "pairs", crop=False)
    seen = documents_panel.poll_guide(page, corpus, None, elsewhere)
    assert seen is not None and steps_of(seen)["pairs"]["status"] == "running" and seen.documents_timer == props(active=True)
    with pytest.raises(StudioError, match=r"Pairs from .* is still under way"):
        click(page, corpus, "start", "negatives")
    page.sessions.opened("")  # the page that began it, which is open
    monkeypatch.setattr(documents_panel, "session_id", lambda: "another")
    released.set()
    waiting.ended(lambda: page.studio.document_jobs.latest("local"))
    seen = documents_panel.poll_guide(page, corpus, None, elsewhere)
    assert seen is not None and seen.made is UNCHANGED and steps_of(seen)["pairs"]["status"] == "done", "its rows are not replaced"
    page.sessions.closed("")
    seen = documents_panel.poll_guide(page, corpus, None, elsewhere)
    assert seen is not None and isinstance(seen.made, str)
    monkeypatch.undo()
    end_job(page, corpus)
    again = documents.find_made(page, "local", page.corpora.get(corpus)).pairs
    assert again is not None and again.id == pairs.id and again.layout["comparison"], "the same pairs keep their comparison"


def test_documents_without_hard_negatives_keep_their_pairs(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "page.jsonl"
    path.write_text(json.dumps({"title": "All refunds", "text": "It is late. We pay it back. Then the card is charged. " * 3}))
    corpus = page.corpora.keep(None, page.corpora.read(path, ["text"]))
    click(page, corpus, "start", "pairs")
    assert end_job(page, corpus)[0].status == "finished"
    click(page, corpus, "start", "negatives")
    job, view = end_job(page, corpus)
    assert job.status == "failed" and "no hard negatives were found" in str(job.message), job
    assert view.negatives_file == props(visible=False)
    opened = handlers.show_data(page, None, corpus, None, {}, None, "")
    assert opened is not None and opened.file.view.draft is not None


def test_pairs_are_opened_although_a_form_with_the_documents_was_stored_later(page: Page, corpus: str) -> None:
    key = page.drafts.put(open_path(page, page.corpora.get(corpus).path))
    stored = handlers.store_form(page, None, corpus, key, "", pins_form([""] * 11))
    restored = handlers.show_data(page, None, corpus, None, stored, None, "")
    assert restored is not None and page.drafts.get(str(restored.file.view.draft)).path == page.corpora.get(corpus).path
    click(page, corpus, "start", "pairs", crop=False)
    end_job(page, corpus)
    pairs = documents.find_made(page, "local", page.corpora.get(corpus)).pairs
    opened = handlers.show_data(page, None, corpus, None, stored, None, "")
    assert pairs is not None and opened is not None and page.drafts.get(str(opened.file.view.draft)).path == pairs.path


def test_the_steps_follow_a_run_but_open_the_pairs_only_once(page: Page, corpus: str, tmp_path: Path) -> None:
    click(page, corpus, "start", "pairs", crop=False)
    _job, view = end_job(page, corpus)
    assert view.documents_timer == {"__type__": "update", "active": False}
    pairs = documents.find_made(page, "local", page.corpora.get(corpus)).pairs
    assert pairs is not None
    source = {"data": {"name": "pairs.jsonl", "sha256": file_store.fingerprint(pairs.path).rpartition(" ")[2]}}
    state = view.guide_state
    run = Run(id="run-0000000001", owner="local", name="n", status="running", created="2026-01-01T00:00:00+00:00", model="m", steps=10)
    page.studio.store.add(run)
    write_json(page.studio.workspace.run(run.id) / "source.json", source)
    for status, step, shown in (("running", 3, "30%"), ("running", 6, "60%"), ("stopped", 6, "stopped")):
        page.studio.store.record(run.id, status=status, step=step)
        polled = documents_panel.poll_guide(page, corpus, None, state)
        assert polled is not None and shown in str(steps_of(polled)["train"]["text"]) and polled.made is UNCHANGED
        assert polled.documents_timer == {"__type__": "update", "active": status == "running"}
        assert ("current" in [one["status"] for one in steps_of(polled).values()]) is (status != "running")
        state = polled.guide_state
        again = documents_panel.poll_guide(page, corpus, None, state)
        assert again == (None if status == "running" else GuideView(UNCHANGED, UNCHANGED, UNCHANGED, props(active=False)))
    assert steps_of(polled)["train"] | {"text": ""} == {
        "name": "train", "title": "Train", "status": "current", "text": "", "actions": [["Resume", "resume"]]
    }  # fmt: skip
    (tmp_path / "model").mkdir()
    for status in ("stopped", "finished"):  # a stopped run has a model too
        page.studio.store.record(run.id, status=status, model_path=tmp_path / "model")
        step = steps_of(documents_panel.refresh_guide(page, corpus, None))["train"]
        assert (step["status"] == "done", bool(step["actions"])) == (status == "finished", status == "stopped")
    page.studio.store.record(run.id, status="stopped")
    page.studio.store.release(run.id)  # as after its end
    clicked = click(page, corpus, "resume", "train")
    assert (clicked.chosen, clicked.runs_version) == (run.id, 2)
    assert waiting.ended(lambda: page.studio.store.get(run.id)).status == "failed", "it was started, but has no files"


def test_a_comparison_no_longer_applies_once_its_run_went_on_or_has_another_strength(page: Page, corpus: str) -> None:
    click(page, corpus, "start", "pairs")
    end_job(page, corpus)
    made = documents.find_made(page, "local", page.corpora.get(corpus))
    assert made.pairs is not None
    run = Run(id="run-1", owner="local", name="n", status="stopped", created="2026-01-01T00:00:00+00:00", model="m", step=5, model_path="f")
    comparison = {"model": documents._model_state(run), "text": "better"}
    pairs = replace(made.pairs, layout={**made.pairs.layout, documents.COMPARISON: comparison})
    for change, applies in (({}, True), ({"status": "finished", "step": 68}, False), ({"after": {"strength": 0.5}}, False)):
        now = documents.MadeData(pairs, run=run.model_copy(update=change))
        assert (now.about(documents.COMPARISON).get("text") == "better") is applies


def test_the_interval_of_a_comparison_shows_on_which_side_of_zero_it_lies() -> None:
    found = Comparison("pages", "file", "retrieval", "ndcg@10", ("base", "run"), (0.5012, 0.5168), (0.0003, 0.031), 0.02)
    said = str(documents._describe_comparison(SimpleNamespace(comparisons=[found], queries=200), 40))  # type: ignore[arg-type]
    assert "0.5012 before, 0.5168 after" in said and "better (95 % interval of the difference +0.0003 to +0.0310)" in said


def test_a_comparison_says_if_training_kept_the_base_model() -> None:
    run = Run(id="run-1", owner="local", name="n", status="finished", created="2026-01-01T00:00:00+00:00", model="m", model_path="f")
    for strength, is_same in ((1, False), (0, True)):
        made = documents.MadeData(run=run.model_copy(update={"after": {"strength": strength}}))
        assert ("kept the base model" in documents_panel._comparison_step(made)["text"]) is is_same


def test_a_step_that_has_ended_before_its_click_is_answered_opens_what_it_made(page: Page, corpus: str) -> None:
    before = documents_panel.show_guide(page, corpus, None)
    click(page, corpus, "start", "pairs")
    job = waiting.ended(lambda: page.studio.document_jobs.latest("local"))
    clicked = click(page, corpus, "show", "pairs").view
    assert clicked.guide_state is UNCHANGED and clicked.documents_timer == props(active=True)
    polled = documents_panel.poll_guide(page, corpus, None, before.guide_state)  # type: ignore[arg-type]
    assert polled is not None and str(polled.made).endswith(job.id)
    assert documents_panel.refresh_guide(page, corpus, None).guide_state is UNCHANGED
