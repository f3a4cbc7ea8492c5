"""The tray of jobs, without a browser: what it tells, to whom, and what it may end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import quick, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.progress import StoppedError, checkpoint
from sbert_studio.services.jobs import BeginPhase
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.ui import task_list as rows
from sbert_studio.ui.handlers import handle_errors, progress_callback
from sbert_studio.ui.page import Page
from sbert_studio.ui.sessions import tasks
from sbert_studio.ui.sessions.tasks import TASKS, PageTask
from sbert_studio.ui.task_list import poll_tasks

from .waiting import ended


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short work is told of as well."""
    monkeypatch.setattr(rows, "_MIN_RUNNING", 0.0)
    monkeypatch.setattr(rows, "_MIN_ENDED", 0.0)


def asked(page: Page, session: str, owner: Any = None, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = poll_tasks(page, {"session": session, "owner": owner, **more})["entries"]
    return found


def carried_out(monkeypatch: pytest.MonkeyPatch, name: str, kind: str, handler: Callable[[], Any]) -> threading.Thread:
    """``handler`` as a page of that name has it carried out, in a thread."""
    monkeypatch.setattr(tasks, "session_id", lambda: name)
    begun, call = threading.Event(), handle_errors(handler, work=kind)

    def work() -> Any:
        begun.set()
        return call()

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(5)
    return thread


def test_work_of_a_page_tells_how_far_it_is_to_that_page_alone_and_how_it_ended(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    half, go_on = threading.Event(), threading.Event()

    def handler() -> None:
        progress_callback(lambda *_, **__: None, "Encoding the corpus")(500, 1000)
        half.set()
        assert go_on.wait(10)

    thread = carried_out(monkeypatch, "mine", "map", handler)
    assert half.wait(10)
    (entry,) = asked(page, "mine")
    assert (entry["title"], entry["phase"], entry["share"], entry["status"]) == (
        "Map",
        "Encoding the corpus · 500 of 1,000",
        0.5,
        "running",
    )
    assert asked(page, "another") == [] and asked(page, "") == []
    go_on.set()
    thread.join()
    (entry,) = asked(page, "mine")
    assert (entry["status"], entry["done"]) == ("finished", "Map drawn")


def test_stop_ends_the_work_of_the_page_that_asks_and_says_so_at_once(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def handler() -> None:
        begun.set()
        assert go_on.wait(10)
        checkpoint()

    monkeypatch.setattr("gradio.Info", lambda *_, **__: None)
    thread = carried_out(monkeypatch, "stopper", "search", handler)
    assert begun.wait(10)
    (entry,) = asked(page, "stopper")
    assert poll_tasks(page, {"session": "another", "id": entry["id"]}, stop=True) == {"error": "this task is no longer running"}
    (stopping,) = poll_tasks(page, {"session": "stopper", "id": entry["id"]}, stop=True)["entries"]
    assert stopping["stopping"]
    go_on.set()
    thread.join()
    assert [one["status"] for one in asked(page, "stopper")] == ["stopped"]


def test_of_two_searches_of_a_page_the_later_is_listed_and_its_stop_ends_both(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradio.Info", lambda *_, **__: None)
    begun, stopped = [threading.Event(), threading.Event()], list[int]()

    def search(number: int) -> None:
        TASKS.supersede_earlier()
        begun[number].set()
        while True:
            try:
                checkpoint()
            except StoppedError:
                stopped.append(number)
                raise
            time.sleep(0.01)

    first = carried_out(monkeypatch, "two", "search", lambda: search(0))
    assert begun[0].wait(10)
    second = carried_out(monkeypatch, "two", "search", lambda: search(1))
    assert begun[1].wait(10)
    (entry,) = asked(page, "two")
    poll_tasks(page, {"session": "two", "id": entry["id"]}, stop=True)
    first.join()
    second.join()
    assert sorted(stopped) == [0, 1]
    assert [one["status"] for one in asked(page, "two", known=[entry["id"]])] == ["stopped"]


def test_the_end_of_what_was_seen_under_way_is_told_however_soon_it_came(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_MIN_ENDED", 60.0)
    go_on = threading.Event()
    thread = carried_out(monkeypatch, "mine", "map", lambda: go_on.wait(10))
    (seen,) = asked(page, "mine")
    go_on.set()
    thread.join(10)
    assert asked(page, "mine") == []
    (over,) = asked(page, "mine", known=[seen["id"]])
    assert (over["id"], over["status"]) == (seen["id"], "finished")


def test_a_rate_is_that_of_the_phase_and_nothing_is_said_before_it_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(tasks.time, "monotonic", lambda: now[0])
    work = PageTask(1, "mine", "map", started=100.0)
    work.report("Encoding", 0, 1000)
    assert work.rate == 0
    now[0] = 110.0
    work.report("Encoding", 500, 1000)
    assert work.rate == 50 and rows._seconds_left(work.done, work.total, work.rate) == 10
    work.report("Laying out", 100, 200)
    assert work.rate == 0, "another phase counts something else"
    now[0] = 112.0
    work.report("Laying out", 101, 200)
    assert work.rate == 0.5
    assert rows._seconds_left(1, 1000, 0.5) is None, "too little is done"
    assert rows._seconds_left(1000, 1000, 0.5) is None, "what comes after the last step takes time, too"


def test_a_job_is_its_owners_and_its_end_is_told_to_who_saw_it(page: Page) -> None:
    page.shared = True
    mine, other = {"owner": "visitor-0123456789abcdef"}, {"owner": "visitor-fedcba9876543210"}
    begun = threading.Event()

    def work(begin: BeginPhase) -> Any:
        show = begin("learning", "epochs")
        assert show is not None
        while True:
            checkpoint()
            show(1, 4)
            begun.set()

    visitor = page.visitor(mine)
    page.studio.embedding_jobs.submit(visitor, "GloVe of my texts", work)
    assert begun.wait(10)
    (entry,) = asked(page, "", mine)
    assert (entry["title"], entry["share"], entry["phase"]) == ("GloVe of my texts", 0.25, "Learning · 1 of 4 epochs")
    assert asked(page, "", other) == []
    assert "error" in poll_tasks(page, {"session": "", "owner": other, "id": entry["id"]}, stop=True)
    poll_tasks(page, {"session": "", "owner": mine, "id": entry["id"]}, stop=True)
    ended(lambda: page.studio.embedding_jobs.latest(visitor))
    assert asked(page, "", mine) == []
    assert [one["status"] for one in asked(page, "", mine, known=[entry["id"]])] == ["stopped"]


def test_a_training_is_listed_with_its_steps_and_stopped_by_its_owner(page: Page, tmp_path: Path) -> None:
    run = page.studio.fine_tune.submit(
        TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(epochs=900, evaluations_per_epoch=1))
    )
    while not page.studio.fine_tune.get_last_step(run.id):
        pass
    (entry,) = asked(page, "")
    assert entry["id"] == run.id and entry["phase"].startswith("Training · step ") and 0 < entry["share"] < 1
    assert entry["rate"].endswith("rows per second") and entry["left"] > 0
    assert poll_tasks(page, {"session": "", "id": run.id}, stop=True)["entries"][0]["stopping"]
    assert page.studio.runner.wait(run.id, 60)
    assert asked(page, "") == []
    (entry,) = asked(page, "", known=[run.id, "run-0000000000"])
    assert (entry["status"], entry["share"]) == ("stopped", None)


@pytest.mark.parametrize("sent", [None, [], {"session": 3, "known": "run-"}, {"known": [1, None]}, {"owner": []}, {"id": 7}])
def test_what_a_browser_makes_up_finds_and_ends_nothing(page: Page, sent: Any) -> None:
    assert poll_tasks(page, sent) == {"entries": []}
    assert set(poll_tasks(page, sent, stop=True)) == {"error"}
    for number in ("99999999", "9" * 5000, "²", "-1", ""):
        with pytest.raises(StudioError, match="no longer running"):
            rows.stop_task(page, "", None, f"work-{number}")
