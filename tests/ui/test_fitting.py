"""Word vectors made on the page, without a browser: what is begun, how it is looked at, stopped, listed, chosen and deleted."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from tiny_studio import sentences, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.models.static import LEARNERS
from sbert_studio.progress import checkpoint
from sbert_studio.services.jobs import JobView
from sbert_studio.services.static_embeddings import STATIC, Fitted
from sbert_studio.settings import Limits
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.fitting.choices import is_weighted_by_choice, kinds, own_settings, start
from sbert_studio.ui.panels.fitting.panel import FittingPanel, job_view
from sbert_studio.ui.panels.tuning.run_panel import use
from sbert_studio.ui.state import new_visitor_id
from sbert_studio.ui.tabs import evaluate, models, search

from . import waiting

QUICK = {"width": "8", "epochs": "2", "min_count": "1"}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    path.write_text("text\n" + "\n".join(sentences(60)) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def shared(tmp_path: Path, model_folder: Path) -> Iterator[Page]:
    with studio_at(tmp_path / "shared", model_folder, limits=Limits(runs=1, queue=3, rows=50)) as studio:
        yield Page(studio, shared=True)


def ended(page: Page, owner: Any = None) -> JobView:
    return waiting.ended(lambda: page.studio.jobs.latest(page.visitor(owner)))


def endless(begun: threading.Event) -> Callable[..., Fitted]:
    """Work of a thousand steps a second that only a stop ends."""

    def work(begin: Any) -> Fitted:
        show = begin("learning", "steps")
        for step in range(1_000_000):
            checkpoint()
            show(step, 1_000_000)
            begun.set()
            time.sleep(0.001)
        raise AssertionError("nobody stopped it")

    return work


@contextmanager
def little_room() -> Iterator[None]:
    """No file grows beyond 4 kB, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_leaves_nothing(page: Page, texts: Path) -> None:
    wide = QUICK | {"width": "100"}
    with little_room():
        start(page, None, "glove", str(texts), None, settings=wide)
        job = ended(page)
    assert (job.status, job.message, job.hint) == ("failed", "the disk is full", "make room, then try again")
    assert not list(page.studio.workspace.fitted.iterdir())
    start(page, None, "glove", str(texts), None, settings=wide)
    assert ended(page).status == "finished"


def test_what_a_killed_program_left_of_a_table_is_removed_a_day_later(page: Page, texts: Path) -> None:
    old, new = (page.studio.workspace.fitted / f"words-000000000{number}" / "model" for number in range(2))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"half")
    os.utime(old.parent, (0, 0))
    start(page, None, "glove", str(texts), None, settings=QUICK)
    made = ended(page).model
    assert {folder.name for folder in page.studio.workspace.fitted.iterdir()} == {new.parent.name, made}


def test_every_learner_is_offered_with_its_own_settings(page: Page) -> None:
    names = [name for _, name in kinds(page.studio)]
    assert set(LEARNERS) < set(names) and names[-1] == STATIC
    assert [field.name for field in own_settings("tfidf")] == ["min_count", "most_words", "dim"]
    assert is_weighted_by_choice("glove") and not is_weighted_by_choice("tfidf") and not is_weighted_by_choice(STATIC)


def test_what_is_made_is_listed_searched_with_chosen_and_deleted(page: Page, texts: Path) -> None:
    begun = start(page, None, "glove", str(texts), None, settings=QUICK, common=1, name=" My words ")
    assert begun.title == "My words" and begun.active
    job = ended(page)
    assert (job.status, job.hint) == ("finished", "") and "20 words as 8-d vectors from 60 texts" in job.message
    value = job_view(job)
    assert value is not None and value["message"].startswith("20 words") and not value["live"]
    _, listed = models.listing(page, None, job.model)
    card = next(card for card in listed["cards"] if card["id"] == job.model)
    assert (card["title"], card["badge"]) == ("My words", "own")
    assert ("My words", job.model) in page.model_choices(None)
    update, chosen = use(page, models.Follow(job.model), None)
    assert chosen == job.model and update["value"] == job.model
    found, _, _ = models.details(page, None, job.model)
    assert found is not None and ["Dimensions", 8] in found["facts"]
    key = page.corpora.put(page.corpora.read(texts))
    _, hits, _ = search.find(page, key, "cat unheard", 3, "semantic", job.model)
    assert len(hits["rows"]) == 3 and "1 of 2 words of your query" in hits["note"]
    pairs = write_pairs(texts.with_name("pairs.csv"))
    pairs.write_text(pairs.read_text(encoding="utf-8") + "unheard,cat dog,2.5\n", encoding="utf-8")
    scores, _ = evaluate.judge(page.studio, [job.model], pairs, "auto", "pairs.csv")
    assert "1 of 122 texts holds no word that it knows" in scores["note"]
    (note,) = page.studio.explore.mine(page.studio.read.corpus(pairs, "sentence1"), 3, job.model).notes
    assert "are not in the model's table" in note or "is not in the model's table" in note
    assert models.zip_of(page, job.model).stat().st_size > 1000
    page.studio.words.delete_fitted(job.model, "local")
    assert job.model not in models.listing(page, None, "")[0]
    with pytest.raises(StudioError, match="no longer exist"):
        page.studio.explore.similarity("cat", "dog", job.model)


@pytest.mark.parametrize("kind", ["tfidf", "cbow", STATIC])
def test_other_kinds_are_made_too(page: Page, texts: Path, kind: str) -> None:
    settings = {"tfidf": {"dim": "4", "min_count": 1}, "cbow": QUICK, STATIC: {"dim": "6"}}[kind]
    start(page, None, kind, None if kind == STATIC else str(texts), None, settings=settings)
    job = ended(page)
    assert job.status == "finished", job
    width = {"tfidf": 4, "cbow": 8, STATIC: 6}[kind]
    assert page.studio.explore.similarity_matrix(["cat dog", "dog cat"], job.model)[0, 1] == pytest.approx(1, abs=1e-4)
    assert page.studio.catalog.load(job.model).dim == width


def test_a_name_without_end_is_cut(page: Page, texts: Path) -> None:
    assert start(page, None, "glove", str(texts), None, settings=QUICK, name="x" * 100_000).title == "x" * 80
    assert ended(page).status == "finished"
    assert start(page, None, "glove", str(texts), None, settings=QUICK, name=None).title == "notes-glove"  # type: ignore[arg-type]
    assert ended(page).status == "finished"


def test_a_name_that_is_not_utf8_is_replaced_where_it_cannot_be_written(page: Page, texts: Path, tmp_path: Path) -> None:
    named = tmp_path / os.fsdecode(b"caf\xe9.txt")
    table = tmp_path / os.fsdecode(b"t\xe4.txt")
    try:
        named.write_bytes(texts.read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    table.write_text("cat 1 2\ndog 2 1\n", encoding="utf-8")
    for kind, out in (("tfidf", None), (str(table), None), (str(table), tmp_path / "model")):
        found = page.studio.words.fit(named, kind, out=out)
        assert page.studio.catalog.load(found.model, allow_folders=True).encode(["cat dog"]).any()
    assert {one.name for one in page.studio.words.fitted()} == {"caf?-tfidf", "caf?-t?"}


def test_what_cannot_be_made_is_said_in_words(page: Page, texts: Path, tmp_path: Path) -> None:
    for kind, file, settings, words in (
        ("glove", str(texts), {"width": "1"}, "width is 1"),
        ("glove", None, {}, "no texts"),
        ("/etc/passwd", str(texts), {}, "no kind"),
    ):
        with pytest.raises(StudioError, match=words):
            start(page, None, kind, file, None, settings=settings)
    lonely = tmp_path / "lonely.txt"
    lonely.write_text("one\ntwo\n", encoding="utf-8")
    start(page, None, "glove", str(lonely), None)
    job = ended(page)
    assert job.status == "failed" and job.hint
    value = job_view(job)
    assert value is not None and "no word occurs 2 times" in value["message"].lower()
    assert page.studio.words.fitted() == []


def test_it_goes_on_without_its_page_and_stops_at_once(page: Page) -> None:
    begun = threading.Event()
    job = page.studio.jobs.submit("local", "endless", endless(begun))
    assert begun.wait(10)

    def latest() -> Any:  # as another page of the same visitor, or this one after a reload, asks
        return page.studio.jobs.latest("local")

    wait_until(lambda: latest().rate > 0)
    seen = latest()
    assert (seen.id, seen.phase, seen.unit) == (job.id, "learning", "steps")
    assert seen.rate < 1100 and seen.left is not None and seen.left > 100
    waiting = page.studio.jobs.submit("local", "the next", lambda begin: Fitted("", "", 1, 1, 1, 1))
    assert waiting.status == "queued"
    assert page.studio.jobs.stop("local", job.id).stopping
    wait_until(lambda: latest().status == "finished")


def test_what_ended_before_anybody_saw_it_go_on_is_told_to_the_lists(page: Page, texts: Path) -> None:
    with gr.Blocks():
        panel = FittingPanel(page)
    begun = threading.Event()
    job = page.studio.jobs.submit(page.visitor(None), "A table", endless(begun))
    assert begun.wait(60) and "__type__" in panel.look(None)[-1], "nothing has ended"
    page.studio.jobs.stop(page.visitor(None), job.id)
    over = ended(page)
    assert panel.look(None)[-1] == f"{over.id} {over.status}"


def test_strangers_neither_see_nor_stop_nor_use_it_and_make_one_at_a_time(shared: Page, texts: Path) -> None:
    mine, theirs = ({"owner": new_visitor_id(), "job": ""} for _ in range(2))
    begun = threading.Event()
    job = shared.studio.jobs.submit(shared.visitor(mine), "mine", endless(begun))
    assert shared.studio.jobs.latest(shared.visitor(theirs)) is None
    with pytest.raises(StudioError, match="no longer under way"):
        shared.studio.jobs.stop(shared.visitor(theirs), job.id)
    with pytest.raises(StudioError, match="one at a time"):
        start(shared, mine, "glove", str(texts), None, settings=QUICK)
    shared.studio.jobs.stop(shared.visitor(mine), job.id)
    assert ended(shared, mine).status == "stopped"
    start(shared, mine, "glove", str(texts), None, settings=QUICK)
    assert "at most 50" in ended(shared, mine).message
    short = texts.with_name("short.csv")
    short.write_text("text\n" + "\n".join(sentences(40)) + "\n", encoding="utf-8")
    start(shared, mine, "glove", str(short), None, settings=QUICK)
    made = ended(shared, mine).model
    assert made in models.listing(shared, mine, "")[0] and made not in models.listing(shared, theirs, "")[0]
    with pytest.raises(StudioError):
        shared.studio.words.delete_fitted(made, shared.visitor(theirs))
