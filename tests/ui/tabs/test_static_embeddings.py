"""Static embeddings trained in the Models tab: the form, the job, and what can be done with the model."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from limits import no_file_above
from tiny_studio import sentences, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.models.static import LEARNERS
from sbert_studio.progress import checkpoint
from sbert_studio.services.jobs import JobView
from sbert_studio.services.static_embeddings import STATIC, FittedEmbeddings
from sbert_studio.settings import Limits
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.state import new_visitor_id
from sbert_studio.ui.tabs.models import handlers, jobs, static_embeddings
from sbert_studio.ui.views import UNCHANGED, Value, props

from .. import waiting
from .evaluations import evaluate

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


def filled_form(page: Page, kind: str, settings: dict[str, Any] | None = None, **values: Any) -> Value:
    """The form as the browser sends it."""
    form = static_embeddings.embeddings_form(page.studio, {"kind": kind})
    own = {f"{kind}-{name}": value for name, value in (settings or {}).items()}
    assert set(own) | set(values) <= set(form["values"])
    return {**form, "values": {**form["values"], **own, **values, "kind": kind}}


def start(page: Page, kind: str, file: Path | None, settings: dict[str, Any] | None = None, owner: object = None, **values: Any) -> JobView:
    form = filled_form(page, kind, settings, **values)["values"]
    return static_embeddings.start_training(page, owner, form, None if file is None else str(file), None)


def ended(page: Page, owner: object = None) -> JobView:
    return waiting.ended(lambda: page.studio.embedding_jobs.latest(page.visitor(owner)))


def endless(begun: threading.Event) -> Callable[..., FittedEmbeddings]:
    """Work of a thousand steps per second that ends only when it is stopped."""

    def work(begin: Any) -> FittedEmbeddings:
        show = begin("learning", "steps")
        for step in range(1_000_000):
            checkpoint()
            show(step, 1_000_000)
            begun.set()
            time.sleep(0.001)
        raise AssertionError("nobody stopped it")

    return work


def test_form_shows_the_chosen_type_and_file(page: Page, texts: Path) -> None:
    names = [name for _, name in static_embeddings.kind_choices(page.studio)]
    assert set(LEARNERS) < set(names) and names[-1] == STATIC
    assert [field.name for field in static_embeddings.kind_fields("tfidf")] == ["min_count", "most_words", "dim"]
    for kind in names:
        sent = {**filled_form(page, kind, **{"name": "Mine"}), "revision": 7}
        form = static_embeddings.change_form(page, sent)
        assert form["values"]["kind"] == kind and form["values"]["name"] == "Mine" and form["revision"] == 7
        visible = {group["name"] for group in form["items"][1]["items"] if group["visible"]}
        assert visible == {kind} | ({"weights"} if kind == "glove" or kind not in (*LEARNERS, STATIC) else visible & {"weights"})
        assert form["items"][0]["info"]
    assert [static_embeddings.has_weighting(kind) for kind in ("glove", "tfidf", STATIC)] == [True, False, False]
    assert static_embeddings.choose_file(str(texts)) == (str(texts), {"text": "File: notes.csv"})
    assert static_embeddings.choose_file(None) == (None, None)
    sample = static_embeddings.samples()[0]
    chosen_sample = static_embeddings.choose_sample(Selection("sample", sample.id))
    assert chosen_sample is not None and chosen_sample[0] == str(sample.path)
    assert static_embeddings.choose_sample(Selection("sample", "none")) is None


def test_full_disk_is_reported_and_leaves_no_files(page: Page, texts: Path) -> None:
    wide = QUICK | {"width": "100"}
    with no_file_above(4096):
        start(page, "glove", texts, wide)
        job = ended(page)
    assert (job.status, job.message, job.hint) == ("failed", "the disk is full", "free some disk space, then try again")
    assert not list(page.studio.workspace.fitted.iterdir())
    start(page, "glove", texts, wide)
    assert ended(page).status == "finished"


def test_files_of_a_killed_program_are_removed_a_day_later(page: Page, texts: Path) -> None:
    old, new = (page.studio.workspace.fitted / f"words-000000000{number}" / "model" for number in range(2))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"half")
    os.utime(old.parent, (0, 0))
    start(page, "glove", texts, QUICK)
    model = ended(page).model
    assert {folder.name for folder in page.studio.workspace.fitted.iterdir()} == {new.parent.name, model}


def test_trained_model_is_listed_used_exported_and_deleted(page: Page, texts: Path) -> None:
    started = start(page, "glove", texts, QUICK, common=1, name=" My words ")
    assert started.title == "My words" and started.active
    job = ended(page)
    assert (job.status, job.hint) == ("finished", "") and "20 words as 8-d vectors from 60 texts" in job.message
    view = jobs.show_job(page, None, static_embeddings.JOB)
    assert view.job and view.job["message"].startswith("20 words") and not view.job["live"]
    assert view.use == props(visible=True) and view.chosen == job.model
    shown = handlers.show_models(page, None, job.model)
    card = next(card for card in shown.cards["cards"] if card["id"] == job.model)
    assert (card["title"], card["badge"]) == ("My words", "own") and ("My words", job.model) in page.model_choices(None)
    assert shown.facts and ["Dimensions", 8] in shown.facts["facts"]  # type: ignore[index]
    assert shown.delete == shown.save == shown.push == props(visible=True) and shown.compare == props(visible=False)

    pairs = write_pairs(texts.with_name("pairs.csv"))
    pairs.write_text(pairs.read_text(encoding="utf-8") + "unheard,cat dog,2.5\n", encoding="utf-8")
    assert "1 of 122 texts contain no known word" in evaluate(page, [job.model], pairs).scores["note"]
    corpus = page.studio.data.read_corpus(texts)
    found = page.studio.search.search(corpus, "cat unheard", 3, model=job.model)
    assert len(found.hits) == 3 and any("1 of 2 words of your query" in note for note in found.notes)
    (note,) = page.studio.search.mine(page.studio.data.read_corpus(pairs, "sentence1"), 3, job.model).notes
    assert "not in the model's vocabulary" in note
    assert handlers.write_zip(page, job.model).stat().st_size > 1000

    deleted = handlers.delete_model(page, None, job.model, 4)
    assert deleted.runs_version == 5 and job.model not in deleted.view.listed and deleted.view.chosen == ""
    with pytest.raises(StudioError, match="no longer exist"):
        page.studio.similarity.compare("cat", "dog", job.model)


@pytest.mark.parametrize(
    ("kind", "settings", "dim"), [("tfidf", {"dim": "4", "min_count": 1}, 4), ("cbow", QUICK, 8), (STATIC, {"dim": "6"}, 6)]
)
def test_other_types_are_trained(page: Page, texts: Path, kind: str, settings: dict[str, Any], dim: int) -> None:
    start(page, kind, None if kind == STATIC else texts, settings)
    job = ended(page)
    assert job.status == "finished", job
    assert page.studio.similarity.compare_all(["cat dog", "dog cat"], job.model)[0, 1] == pytest.approx(1, abs=1e-4)
    assert page.studio.catalog.load(job.model).dim == dim


def test_name_is_cut_or_defaults_to_the_file_name(page: Page, texts: Path) -> None:
    for name, title in (("x" * 100_000, "x" * 80), (None, "notes-glove")):
        assert start(page, "glove", texts, QUICK, name=name).title == title
        assert ended(page).status == "finished"


def test_name_that_is_not_utf8_is_replaced(page: Page, texts: Path, tmp_path: Path) -> None:
    named, table = (tmp_path / os.fsdecode(name) for name in (b"caf\xe9.txt", b"t\xe4.txt"))
    try:
        named.write_bytes(texts.read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    table.write_text("cat 1 2\ndog 2 1\n", encoding="utf-8")
    for kind, out in (("tfidf", None), (str(table), None), (str(table), tmp_path / "model")):
        found = page.studio.static_embeddings.fit(named, kind, out=out)
        assert page.studio.catalog.load(found.model, allow_folders=True).encode(["cat dog"]).any()
    assert {one.name for one in page.studio.static_embeddings.list_models()} == {"caf?-tfidf", "caf?-t?"}


def test_invalid_input_is_refused(page: Page, texts: Path, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="width is 1"):
        start(page, "glove", texts, {"width": "1"})
    with pytest.raises(StudioError, match="no texts"):
        start(page, "glove", None)
    for made_up in ({"kind": "/etc/passwd"}, {}, {"kind": "glove"}):
        with pytest.raises(StudioError, match=r"unknown static embedding type|is missing"):
            static_embeddings.start_training(page, None, made_up, str(texts), None)
    lonely = tmp_path / "lonely.txt"
    lonely.write_text("one\ntwo\n", encoding="utf-8")
    static_embeddings.start(page, None, filled_form(page, "glove"), str(lonely), None)
    job, view = ended(page), jobs.show_job(page, None, static_embeddings.JOB)
    assert job.status == "failed" and job.hint and view.job and "no word occurs 2 times" in view.job["message"].lower()
    assert page.studio.static_embeddings.list_models() == []


def test_training_outlives_its_page_and_stops_at_once(page: Page) -> None:
    begun = threading.Event()
    job = page.studio.embedding_jobs.submit("local", "endless", endless(begun))
    assert begun.wait(10)
    wait_until(lambda: page.studio.embedding_jobs.latest("local").rate > 0)  # type: ignore[union-attr]
    seen = page.studio.embedding_jobs.latest("local")
    assert seen is not None and (seen.id, seen.phase, seen.unit) == (job.id, "learning", "steps")
    assert seen.rate < 1100 and seen.left is not None and seen.left > 100
    restored = jobs.restore_job(page, None, static_embeddings.JOB)
    assert restored.section == props(open=True) and restored.view.fits_timer == props(active=True) and restored.view.ended is UNCHANGED
    queued = page.studio.embedding_jobs.submit("local", "the next", lambda begin: FittedEmbeddings("", "", 1, 1, 1, 1))
    assert queued.status == "queued" and page.studio.embedding_jobs.stop("local", job.id).stopping
    wait_until(lambda: page.studio.embedding_jobs.latest("local").status == "finished")  # type: ignore[union-attr]


def test_end_of_a_training_updates_the_lists(page: Page) -> None:
    begun = threading.Event()
    job = page.studio.embedding_jobs.submit(page.visitor(None), "A table", endless(begun))
    assert begun.wait(60) and jobs.show_job(page, None, static_embeddings.JOB).ended is UNCHANGED
    jobs.stop_job(page, None, job.id, static_embeddings.JOB)
    over = ended(page)
    view = jobs.show_job(page, None, static_embeddings.JOB)
    assert view.ended == f"{over.id} stopped" and jobs.poll_job(page, None, view.state, static_embeddings.JOB) is None
    assert jobs.restore_job(page, None, static_embeddings.JOB).view.ended is UNCHANGED, "the lists have just been drawn"


def test_visitors_have_one_training_at_a_time_and_neither_see_nor_stop_those_of_others(shared: Page, texts: Path) -> None:
    mine, theirs = ({"owner": new_visitor_id(), "job": ""} for _ in range(2))
    begun = threading.Event()
    job = shared.studio.embedding_jobs.submit(shared.visitor(mine), "mine", endless(begun))
    assert jobs.show_job(shared, theirs, static_embeddings.JOB).job is None
    with pytest.raises(StudioError, match="no longer running"):
        jobs.stop_job(shared, theirs, job.id, static_embeddings.JOB)
    with pytest.raises(StudioError, match="one at a time"):
        start(shared, "glove", texts, QUICK, mine)
    shared.studio.embedding_jobs.stop(shared.visitor(mine), job.id)
    assert ended(shared, mine).status == "stopped"
    start(shared, "glove", texts, QUICK, mine)
    assert "the maximum here is 50" in ended(shared, mine).message
    short = texts.with_name("short.csv")
    short.write_text("text\n" + "\n".join(sentences(40)) + "\n", encoding="utf-8")
    start(shared, "glove", short, QUICK, mine)
    made = ended(shared, mine).model
    assert made in handlers.list_models(shared, mine, "")[0] and made not in handlers.list_models(shared, theirs, "")[0]
    assert made in handlers.delete_model(shared, theirs, made, 0).view.listed or shared.studio.static_embeddings.list_models(
        shared.visitor(mine)
    )
    with pytest.raises(StudioError):
        shared.studio.static_embeddings.delete(made, shared.visitor(theirs))
